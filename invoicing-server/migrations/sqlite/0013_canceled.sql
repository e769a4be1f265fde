-- A cancelled invoice owes nothing. Versions before stored the full sum: the sweep finds such rows by this index and stores 0
-- with a new stamp. Until then the API and the view show what is stored.
CREATE INDEX invoice_canceled_owing ON invoice (company_id, id)
    WHERE status = 'CANCELED' AND instr(summary, '"amountDue":0,') = 0;

DROP VIEW report_invoices;
CREATE VIEW report_invoices AS
SELECT
    company_id,
    record ->> '$.id' AS id,
    record ->> '$.number' AS number,
    status,
    record ->> '$.quoteId' AS quote_id,
    record ->> '$.clientId' AS client_id,
    record ->> '$.clientName' AS client_name,
    record ->> '$.clientEmail' AS client_email,
    record ->> '$.issueDate' AS issue_date,
    record ->> '$.dueDate' AS due_date,
    total_ht_cents,
    total_ttc_cents,
    tva_rate_bp,
    retention_rate_bp,
    retention_amount_cents,
    CASE WHEN owes THEN retention_amount_cents - min(
        retention_amount_cents, max(0, amount_paid_cents - total_ttc_cents + retention_amount_cents)
    ) ELSE 0 END AS retention_due_cents,
    amount_paid_cents,
    CASE WHEN owes THEN max(0, total_ttc_cents - retention_amount_cents - amount_paid_cents) ELSE 0 END AS amount_due_cents,
    max(0, amount_paid_cents - total_ttc_cents) AS amount_overpaid_cents,
    record ->> '$.currency' AS currency,
    record ->> '$.paidAt' AS paid_at,
    record ->> '$.canceledAt' AS canceled_at,
    record ->> '$.createdAt' AS created_at,
    record ->> '$.updatedAt' AS updated_at
FROM (
    SELECT
        company_id, status, record, owes,
        CAST(substr(total_ht, 1, instr(total_ht || '.', '.') - 1)
        || substr(substr(total_ht, instr(total_ht || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS total_ht_cents,
        CAST(substr(total_ttc, 1, instr(total_ttc || '.', '.') - 1)
        || substr(substr(total_ttc, instr(total_ttc || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS total_ttc_cents,
        CAST(substr(tva_rate, 1, instr(tva_rate || '.', '.') - 1)
        || substr(substr(tva_rate, instr(tva_rate || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS tva_rate_bp,
        CAST(substr(held_rate, 1, instr(held_rate || '.', '.') - 1)
        || substr(substr(held_rate, instr(held_rate || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS retention_rate_bp,
        CAST(substr(held, 1, instr(held || '.', '.') - 1)
        || substr(substr(held, instr(held || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS retention_amount_cents,
        CAST(substr(paid, 1, instr(paid || '.', '.') - 1)
        || substr(substr(paid, instr(paid || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS amount_paid_cents
    FROM (
        SELECT
            company.record ->> '$.id' AS company_id,
            invoice.status,
            invoice.summary || '}' AS record,
            invoice.status <> 'CANCELED' OR instr(invoice.summary, '"amountDue":0,') = 0 AS owes,
            (invoice.summary || '}') -> '$.totalHT' AS total_ht,
            (invoice.summary || '}') -> '$.totalTTC' AS total_ttc,
            (invoice.summary || '}') -> '$.tvaRate' AS tva_rate,
            (invoice.summary || '}') -> '$.retentionRate' AS held_rate,
            (invoice.summary || '}') -> '$.retentionAmount' AS held,
            (invoice.summary || '}') -> '$.amountPaid' AS paid
        FROM company CROSS JOIN invoice ON invoice.company_id = company.id
    )
);
