-- A payment is known again by its movement at the bank or the processor. The payer's reference may repeat.
ALTER TABLE payment ADD COLUMN movement_id TEXT;
DROP INDEX payment_reference;
CREATE UNIQUE INDEX payment_movement ON payment (company_id, invoice_id, movement_id)
    WHERE movement_id IS NOT NULL AND reversed_at IS NULL;

-- The last rotation of a webhook's secret, by which two of its states differ.
ALTER TABLE webhook ADD COLUMN rotated_at INTEGER;

DROP VIEW report_payments;
CREATE VIEW report_payments AS
SELECT
    company_id,
    record ->> '$.id' AS id,
    record ->> '$.invoiceId' AS invoice_id,
    invoice ->> '$.number' AS invoice_number,
    invoice ->> '$.clientId' AS client_id,
    invoice ->> '$.clientName' AS client_name,
    CAST(substr(amount, 1, instr(amount || '.', '.') - 1)
        || substr(substr(amount, instr(amount || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS amount_cents,
    invoice ->> '$.currency' AS currency,
    record ->> '$.method' AS source,
    record ->> '$.paidBy' AS method,
    record ->> '$.reference' AS reference,
    record ->> '$.recordedAt' AS recorded_at,
    record ->> '$.reversedAt' AS reversed_at,
    record ->> '$.movementId' AS movement_id
FROM (
    SELECT
        company.record ->> '$.id' AS company_id,
        payment.record,
        payment.record -> '$.amount' AS amount,
        invoice.summary || '}' AS invoice
    FROM company CROSS JOIN payment ON payment.company_id = company.id
    CROSS JOIN invoice ON invoice.company_id = payment.company_id AND invoice.id = payment.invoice_id
);
