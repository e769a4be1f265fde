<?php
// Every request of the API with the curl extension of PHP 8.2. Runs as a whole against a service that has an accepted
// quote, and an invoice with a document and a credit note:
//
//   INVOICING_URL=http://127.0.0.1:8080 INVOICING_API_KEY=isk_… php requests.php

declare(strict_types=1);

// region setup
/** A refusal: its status, its code, which may be one that is not known yet, and a text for people. */
final class ApiError extends RuntimeException
{
    public function __construct(public readonly int $status, public readonly string $apiCode, string $message)
    {
        parent::__construct("$status $apiCode: $message");
    }
}

/** The JSON of an answer. Waits where the quota is used up or the service is busy. */
function api(string $method, string $path, ?array $body = null): array
{
    $request = curl_init(getenv('INVOICING_URL') . '/api/v1' . $path);
    curl_setopt_array($request, [
        CURLOPT_CUSTOMREQUEST => $method,
        CURLOPT_HTTPHEADER => [
            'Authorization: Bearer ' . trim((string) getenv('INVOICING_API_KEY')),
            'Content-Type: application/json',
        ],
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_FOLLOWLOCATION => false, // the key goes to no other address
        CURLOPT_TIMEOUT => 30,
    ]);
    if ($body !== null) {
        curl_setopt($request, CURLOPT_POSTFIELDS, json_encode($body, JSON_THROW_ON_ERROR));
    }
    for ($attempt = 1; ; $attempt++) {
        $answer = curl_exec($request);
        if ($answer === false) {
            throw new RuntimeException(curl_error($request));
        }
        $status = curl_getinfo($request, CURLINFO_RESPONSE_CODE);
        if ($status < 300) {
            return json_decode($answer, true, flags: JSON_THROW_ON_ERROR);
        }
        if (!in_array($status, [429, 503], true) || $attempt === 4) {
            // A 429 is flat. Any other error has an envelope. What a proxy answers may be no JSON.
            $json = json_decode($answer, true);
            $error = $json['error'] ?? $json;
            throw new ApiError($status, $error['code'] ?? 'unknown', $error['message'] ?? '');
        }
        // What the answer asks for, in seconds or as a date, and longer with each attempt.
        sleep(min(max((int) curl_getinfo($request, CURLINFO_RETRY_AFTER), 2 ** ($attempt - 1)), 90));
    }
}
// endregion

// region listQuotes
/** The quotes that changed at or after `$since`, and the `since` of the next catch-up, to be stored with them. */
function quotesSince(string $since): array
{
    $quotes = [];
    $asOf = null;
    $offset = 0;
    do {
        $query = http_build_query(['since' => $since, 'limit' => 100, 'offset' => $offset]);
        $page = api('GET', "/quotes?$query");
        // Of the first page: what changes while the others are read comes with the next catch-up.
        $asOf ??= $page['asOf'];
        // A quote may come twice, because others that change meanwhile push it back.
        foreach ($page['data'] as $quote) {
            $quotes[$quote['id']] = $quote;
        }
        $offset += count($page['data']);
    } while ($page['pagination']['hasMore']);
    return [array_values($quotes), $asOf];
}
// endregion

function getQuote(string $quoteId): array
{
    // region getQuote
    $quote = api('GET', "/quotes/$quoteId");
    foreach ($quote['lines'] as $line) {
        echo "{$line['description']} {$line['quantity']} {$line['unit']} {$line['totalHT']}\n";
    }
    // endregion
    return $quote;
}

function linkQuote(string $quoteId): array
{
    // region linkQuote
    $link = api('PATCH', "/quotes/$quoteId", ['externalId' => 'deal-7']); // null unlinks
    // endregion
    return $link;
}

function getQuoteDocument(string $quoteId): array
{
    // region getQuoteDocument
    $document = api('GET', "/quotes/$quoteId/document");
    echo "{$document['fileName']} {$document['url']} until {$document['expiresAt']}\n";
    // endregion
    return $document;
}

function downloadDocument(array $document): string
{
    // region downloadDocument
    // No key: the URL is its own permission.
    $request = curl_init($document['url']);
    curl_setopt_array($request, [CURLOPT_RETURNTRANSFER => true, CURLOPT_FAILONERROR => true, CURLOPT_TIMEOUT => 30]);
    $pdf = curl_exec($request);
    if ($pdf === false) {
        throw new RuntimeException(curl_error($request));
    }
    if (hash('sha256', $pdf) !== $document['sha256']) {
        throw new RuntimeException('the document was damaged on the way');
    }
    // endregion
    return $pdf;
}

function listInvoices(): array
{
    // region listInvoices
    $query = http_build_query(['since' => '2026-01-01T00:00:00Z', 'include' => 'lines']);
    $page = api('GET', "/invoices?$query");
    foreach ($page['data'] as $invoice) {
        // A draft has no number yet.
        $number = $invoice['number'] ?? 'draft';
        echo "$number {$invoice['status']} {$invoice['amountDue']}\n";
    }
    // endregion
    return $page;
}

function getInvoice(string $invoiceId): array
{
    // region getInvoice
    $invoice = api('GET', "/invoices/$invoiceId");
    // Sums are exact in cents: a float of PHP is a binary fraction.
    $dueCents = (int) round($invoice['amountDue'] * 100);
    echo "$dueCents cents ({$invoice['currency']}) are due\n";
    // endregion
    return $invoice;
}

function getInvoiceDocument(string $invoiceId): array
{
    // region getInvoiceDocument
    $document = api('GET', "/invoices/$invoiceId/document"); // a draft has none yet: 409
    echo "{$document['fileName']} {$document['url']} until {$document['expiresAt']}\n";
    // endregion
    return $document;
}

function listCreditNotes(): array
{
    // region listCreditNotes
    $query = http_build_query(['since' => '2026-01-01T00:00:00Z', 'include' => 'lines']);
    $page = api('GET', "/credit-notes?$query");
    foreach ($page['data'] as $note) {
        // Amounts are positive: they are what is taken back.
        echo "{$note['number']} on {$note['invoiceNumber']} {$note['totalTTC']}\n";
    }
    // endregion
    return $page;
}

function getCreditNote(string $creditNoteId): array
{
    // region getCreditNote
    $note = api('GET', "/credit-notes/$creditNoteId");
    foreach ($note['vatBreakdown'] as $share) {
        echo "{$share['tvaRate']} % of {$share['baseHT']} is {$share['amountTVA']}\n";
    }
    // endregion
    return $note;
}

function getCreditNoteDocument(string $creditNoteId): array
{
    // region getCreditNoteDocument
    $document = api('GET', "/credit-notes/$creditNoteId/document");
    echo "{$document['fileName']} {$document['url']} until {$document['expiresAt']}\n";
    // endregion
    return $document;
}

function listClients(): array
{
    // region listClients
    $page = api('GET', '/clients?' . http_build_query(['q' => 'lefevre'])); // finds Lefèvre, too
    foreach ($page['data'] as $client) {
        echo "{$client['name']} {$client['email']} {$client['city']}\n";
    }
    // endregion
    return $page;
}

function createClient(): array
{
    // region createClient
    // With an externalId, creating twice creates once.
    $client = api('POST', '/clients', [
        'name' => 'Dupont SARL',
        'type' => 'PROFESSIONNEL',
        'city' => 'Lyon',
        'externalId' => 'crm-42',
    ]);
    // endregion
    return $client;
}

function check(bool $holds, string $what): void
{
    if (!$holds) {
        throw new RuntimeException($what);
    }
}

function checkPdf(array $document): void
{
    check(str_starts_with(downloadDocument($document), '%PDF-'), 'the document is a PDF');
}

function toCents(float $amount): int
{
    return (int) round($amount * 100);
}

// An uncaught exception ends the program with 255.
[$quotes, $asOf] = quotesSince('1970-01-01T00:00:00Z');
check(count(quotesSince($asOf)[0]) <= count($quotes), 'a catch-up has only what changed');
$accepted = array_values(array_filter($quotes, fn (array $quote): bool => $quote['status'] === 'ACCEPTED'));
check($accepted !== [], 'there is an accepted quote');
$quote = getQuote($accepted[0]['id']);
check(linkQuote($quote['id'])['externalId'] === 'deal-7', 'the quote is linked');
checkPdf(getQuoteDocument($quote['id']));
listInvoices();
$notes = listCreditNotes()['data'];
check($notes !== [], 'there is a credit note');
$note = getCreditNote($notes[0]['id']);
$cents = fn (array $share): int => toCents($share['baseHT']) + toCents($share['amountTVA']);
$sum = array_sum(array_map($cents, $note['vatBreakdown']));
check($sum === toCents($note['totalTTC']), 'the VAT shares add up to the total');
checkPdf(getCreditNoteDocument($note['id']));
// Only an issued invoice has a credit note, so it has a document.
$invoice = getInvoice($note['invoiceId']);
check($invoice['totalTTC'] >= $invoice['amountDue'], 'no more is due than the total');
check(in_array($note['id'], array_column($invoice['creditNotes'], 'id'), true), 'the invoice names its credit note');
checkPdf(getInvoiceDocument($invoice['id']));
listClients();
check(createClient()['id'] === createClient()['id'], 'an externalId is one client');
try {
    api('GET', '/quotes?since=2026-09-14');
    check(false, 'a date alone is refused');
} catch (ApiError $refused) {
    check($refused->apiCode === 'validation_error', $refused->getMessage());
}
echo "every request was answered\n";
