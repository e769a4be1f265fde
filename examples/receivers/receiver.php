<?php
// Receives webhooks with PHP 8.2 or newer and its extensions curl and pdo_sqlite. SIGNING_SECRET, API_KEY and BASE_URL
// are in the environment.
//
//     php -S 127.0.0.1:9000 receiver.php   verifies deliveries, keeps them in the inbox and answers
//     php receiver.php                     fetches the documents of what is in the inbox, and links them

declare(strict_types=1);

http_response_code(500); // until the event is kept: where errors are displayed, one that is not caught would be a 200
umask(0077); // the inbox has your clients' names, so it is for this user only, and outside of what a web server serves
$file = getenv('INBOX') ?: throw new RuntimeException('INBOX is not set: a file outside of the web root');
$root = PHP_SAPI === 'cli' ? false : realpath($_SERVER['DOCUMENT_ROOT'] ?? '');
if ($root !== false && str_starts_with(realpath(dirname($file)) . '/', "$root/")) {
    throw new RuntimeException('INBOX is in the web root');
}
$receiver = getenv('RECEIVER') ?: ''; // names this receiver in an inbox that several share
$inbox = new PDO("sqlite:$file", options: [PDO::ATTR_TIMEOUT => 3]); // seconds for another process: the sender waits for 5
$inbox->exec('CREATE TABLE IF NOT EXISTS inbox (receiver TEXT, event TEXT, id TEXT, timestamp TEXT, body TEXT, handled
              INTEGER DEFAULT FALSE, attempts INTEGER DEFAULT 0, due INTEGER DEFAULT 0,
              PRIMARY KEY (receiver, event, id, timestamp))');

function is_genuine(string $secret, string $header, string $body): bool
{
    $parts = array_map(fn ($part) => explode('=', $part, 2) + [1 => ''], explode(',', $header));
    $values = fn ($name) => array_column(array_filter($parts, fn ($part) => $part[0] === $name), 1);
    $times = $values('t');
    if (count($times) !== 1 || !preg_match('/^[0-9]{1,12}$/D', $times[0]) || abs(time() - (int) $times[0]) > 300) {
        return false;
    }
    // The key is the whole secret, `whsec_` included. There are two `v1` while a secret is being replaced.
    $mac = hash_hmac('sha256', "$times[0].$body", $secret);
    return array_filter($values('v1'), fn ($value) => hash_equals($mac, $value)) !== [];
}

function call(string $method, string $path, ?array $body = null): array
{
    $curl = curl_init(getenv('BASE_URL') . "/api/v1$path");
    curl_setopt_array($curl, [
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_HTTPHEADER => ['Authorization: Bearer ' . trim((string) getenv('API_KEY')), 'Content-Type: application/json'],
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_FOLLOWLOCATION => false, // the key goes to no other address
        CURLOPT_TIMEOUT => 30,
    ] + ($body === null ? [] : [CURLOPT_POSTFIELDS => json_encode($body, JSON_THROW_ON_ERROR)]));
    for ($attempt = 0; ; $attempt++) {
        $answer = curl_exec($curl);
        $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        if ($answer !== false && $status < 300) {
            break;
        }
        if (!in_array($status, [429, 503], true) || $attempt === 4) { // the quota of the key, or an outage
            throw new RuntimeException("$method $path: " . ($answer ?: curl_error($curl)));
        }
        // What the answer asks for, in seconds or as a date, and longer with each attempt.
        sleep(min(max((int) curl_getinfo($curl, CURLINFO_RETRY_AFTER), 2 ** $attempt), 90));
    }
    return json_decode($answer, true, flags: JSON_THROW_ON_ERROR);
}

function handle(array $event): string
{
    switch ($event['event']) {
        case 'quote.created': case 'quote.signed': case 'quote.accepted':
            $quote = call('GET', "/quotes/{$event['data']['id']}");
            $deal = "deal-{$quote['number']}"; // the id in your own system
            if ($quote['externalId'] !== $deal) {
                call('PATCH', "/quotes/{$quote['id']}", ['externalId' => $deal]);
            }
            return "$deal has " . count($quote['lines']) . ' lines';
        case 'invoice.created': case 'invoice.paid':
            $invoice = call('GET', "/invoices/{$event['data']['id']}");
            return "{$invoice['status']} with " . count($invoice['lines']) . ' lines';
    }
    return 'nothing to do'; // pings, projects, and what later versions add
}

if (PHP_SAPI !== 'cli') {
    $body = file_get_contents('php://input'); // as it came, not parsed
    $secret = trim((string) getenv('SIGNING_SECRET')) ?: throw new RuntimeException('SIGNING_SECRET is not set');
    if (!is_genuine($secret, $_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '', $body)) {
        http_response_code(400); // a 4xx ends the delivery
        exit;
    }
    $event = json_decode($body, true, flags: JSON_THROW_ON_ERROR);
    // What is known already is left alone. An event that is not known here may be without an id.
    $inbox->prepare('INSERT OR IGNORE INTO inbox (receiver, event, id, timestamp, body) VALUES (?, ?, ?, ?, ?)')
        ->execute([$receiver, $event['event'], $event['data']['id'] ?? '', $event['timestamp'], $body]);
    http_response_code(204);
    exit;
}
$waiting = "SELECT rowid, event, id, timestamp, body FROM inbox
            WHERE receiver = ? AND NOT handled AND due <= strftime('%s', 'now') ORDER BY rowid";
// In 5 s, then in 10 s, and so on up to 85 minutes: one that always fails does not hold up the others.
$postpone = "UPDATE inbox SET attempts = attempts + 1, due = strftime('%s', 'now') + (5 << min(attempts, 10))
             WHERE rowid = ?";
for (;; usleep(200_000)) {
    $select = $inbox->prepare($waiting);
    $select->execute([$receiver]);
    foreach ($select->fetchAll() as [$rowid, $kind, $id, $timestamp, $body]) {
        try {
            $done = handle(json_decode($body, true, flags: JSON_THROW_ON_ERROR));
            $inbox->prepare('UPDATE inbox SET handled = TRUE WHERE rowid = ?')->execute([$rowid]);
            echo "$kind $id $timestamp $done\n";
        } catch (Throwable $failed) {
            fwrite(STDERR, "$kind: {$failed->getMessage()}\n");
            $inbox->prepare($postpone)->execute([$rowid]);
        }
    }
}
