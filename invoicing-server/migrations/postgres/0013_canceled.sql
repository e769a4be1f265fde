-- A cancelled invoice owes nothing. Versions before stored the full sum: the sweep finds such rows by this index and stores 0
-- with a new stamp. Until then the API and the view show what is stored.
CREATE INDEX invoice_canceled_owing ON invoice (company_id, id)
    WHERE status = 'CANCELED' AND strpos(summary, '"amountDue":0,') = 0;

CREATE OR REPLACE VIEW report_invoices AS
SELECT
    invoice.company_id,
    invoice.id,
    r.number,
    invoice.status,
    invoice.quote_id,
    r."clientId" AS client_id,
    r."clientName" AS client_name,
    r."clientEmail" AS client_email,
    r."issueDate" AS issue_date,
    r."dueDate" AS due_date,
    (r."totalHT" * 100)::bigint AS total_ht_cents,
    (r."totalTTC" * 100)::bigint AS total_ttc_cents,
    (r."tvaRate" * 100)::bigint AS tva_rate_bp,
    (r."retentionRate" * 100)::bigint AS retention_rate_bp,
    (r."retentionAmount" * 100)::bigint AS retention_amount_cents,
    CASE WHEN owes THEN (100 * (r."retentionAmount" - least(
        r."retentionAmount", greatest(0, r."amountPaid" - r."totalTTC" + r."retentionAmount")
    )))::bigint ELSE 0 END AS retention_due_cents,
    (r."amountPaid" * 100)::bigint AS amount_paid_cents,
    CASE WHEN owes THEN (100 * greatest(0, r."totalTTC" - r."retentionAmount" - r."amountPaid"))::bigint ELSE 0
    END AS amount_due_cents,
    (100 * greatest(0, r."amountPaid" - r."totalTTC"))::bigint AS amount_overpaid_cents,
    r.currency,
    r."paidAt" AS paid_at,
    r."canceledAt" AS canceled_at,
    r."createdAt" AS created_at,
    r."updatedAt" AS updated_at
FROM invoice
CROSS JOIN LATERAL (SELECT invoice.status <> 'CANCELED' OR strpos(invoice.summary, '"amountDue":0,') = 0 AS owes) o
CROSS JOIN LATERAL json_to_record((invoice.summary || '}')::json) AS r(
    number text, "clientId" uuid, "clientName" text, "clientEmail" text, "issueDate" date, "dueDate" date,
    "totalHT" numeric, "totalTTC" numeric, "tvaRate" numeric, "retentionRate" numeric, "retentionAmount" numeric,
    "amountPaid" numeric, currency text, "paidAt" timestamptz, "canceledAt" timestamptz, "createdAt" timestamptz,
    "updatedAt" timestamptz
);
