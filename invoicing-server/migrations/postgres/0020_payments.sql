-- A payment is known again by its movement at the bank or the processor. The payer's reference may repeat.
ALTER TABLE payment ADD COLUMN movement_id TEXT COLLATE "C";
DROP INDEX payment_reference;
CREATE UNIQUE INDEX payment_movement ON payment (company_id, invoice_id, movement_id)
    WHERE movement_id IS NOT NULL AND reversed_at IS NULL;

-- The last rotation of a webhook's secret, by which two of its states differ.
ALTER TABLE webhook ADD COLUMN rotated_at BIGINT;

CREATE OR REPLACE VIEW report_payments AS
SELECT
    payment.company_id,
    payment.id,
    payment.invoice_id,
    i.number AS invoice_number,
    i."clientId" AS client_id,
    i."clientName" AS client_name,
    (r.amount * 100)::bigint AS amount_cents,
    i.currency,
    r.method AS source,
    r."paidBy" AS method,
    r.reference,
    r."recordedAt" AS recorded_at,
    r."reversedAt" AS reversed_at,
    r."movementId" AS movement_id
FROM payment
JOIN invoice ON invoice.company_id = payment.company_id AND invoice.id = payment.invoice_id
CROSS JOIN LATERAL json_to_record((invoice.summary || '}')::json)
    AS i(number text, "clientId" uuid, "clientName" text, currency text)
CROSS JOIN LATERAL json_to_record(payment.record::json) AS r(
    amount numeric, method text, "paidBy" text, reference text, "recordedAt" timestamptz, "reversedAt" timestamptz,
    "movementId" text
);
