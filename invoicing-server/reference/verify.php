<?php
// Whether a delivery is genuine, with PHP alone. Exits with 0 where it is, else with 1:
//
//   INVOICING_WEBHOOK_SECRET=whsec_… SIGNATURE='t=…,v1=…' php verify.php < body

declare(strict_types=1);

// region verify
/** Takes the whole secret with `whsec_`, the signature header, and php://input as it came. */
function verify(string $secret, string $signature, string $body): bool
{
    $values = ['t' => [], 'v1' => []];
    foreach (explode(',', $signature) as $part) {
        [$name, $value] = explode('=', $part, 2) + [1 => ''];
        $values[$name][] = $value;
    }
    if (count($values['t']) !== 1 || !preg_match('/^[0-9]{1,12}$/D', $values['t'][0])) {
        return false;
    }
    $t = $values['t'][0];
    if (abs(time() - (int) $t) > 300) {
        return false; // a replay, or a clock that is wrong
    }
    $mac = hash_hmac('sha256', "$t.$body", trim($secret)); // a secret from a file ends with a line break
    // In constant time. There are two `v1` while a secret is rotated: any match is enough.
    return in_array(true, array_map(fn (string $v1): bool => hash_equals($mac, $v1), $values['v1']), true);
}
// endregion

$body = file_get_contents('php://stdin');
exit(verify((string) getenv('INVOICING_WEBHOOK_SECRET'), (string) getenv('SIGNATURE'), $body) ? 0 : 1);
