-- Invoices as documents, and credit notes.

-- Facts of a quote that documents show and the API does not: the nature of the operations, if it is not the company's, and
-- whether the client owes the VAT.
ALTER TABLE quote ADD COLUMN operations TEXT;
ALTER TABLE quote ADD COLUMN reverse_charge BIGINT NOT NULL DEFAULT 0;

-- Logos that companies have had on their documents. A document names its logo by the hash, so none is ever deleted.
CREATE TABLE logo (
    company_id UUID NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (company_id, sha256)
);

-- Frozen documents of invoices and credit notes, one for each. Rows are never updated.
CREATE TABLE issued_document (
    company_id UUID NOT NULL,
    record_id UUID NOT NULL,
    -- Names the stored file, together with the company.
    upload_id UUID NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL,
    file_name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- What the document says besides the record, as JSON. A credit note repeats those of its invoice.
    particulars TEXT NOT NULL,
    PRIMARY KEY (company_id, record_id)
);

-- As invoices: `summary`, `lines` and `detail` are the whole object, byte for byte. Rows are never updated.
CREATE TABLE credit_note (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    invoice_id UUID NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT NOT NULL,
    detail TEXT NOT NULL,
    -- The quantities of the invoice's lines that it takes back. Shown by no API.
    parts TEXT NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (company_id, id)
);
CREATE INDEX credit_note_invoice ON credit_note (company_id, invoice_id, id);
CREATE INDEX credit_note_updated ON credit_note (company_id, updated_at, id);
CREATE INDEX credit_note_created ON credit_note (company_id, created_at, id);

CREATE VIEW credit_note_item AS
    SELECT company_id, id, created_at, updated_at, version, summary, detail, lines,
        octet_length(lines)::bigint AS lines_bytes
    FROM credit_note;

-- Version 2 of a client and version 3 of an invoice add fields.
DROP INDEX client_older;
CREATE INDEX client_older ON client (company_id, id) WHERE version < 2;
DROP INDEX invoice_older;
CREATE INDEX invoice_older ON invoice (company_id, id) WHERE version < 3;

-- What is credited or written off lessens what an invoice asks for; invoices of before have neither.
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
        r."retentionAmount", greatest(0, r."amountPaid" + written_off - billed + r."retentionAmount")
    )))::bigint ELSE 0 END AS retention_due_cents,
    (r."amountPaid" * 100)::bigint AS amount_paid_cents,
    CASE WHEN owes THEN (100 * greatest(0, billed - r."retentionAmount" - r."amountPaid" - written_off))::bigint ELSE 0
    END AS amount_due_cents,
    (100 * greatest(0, r."amountPaid" - billed))::bigint AS amount_overpaid_cents,
    r.currency,
    r."paidAt" AS paid_at,
    r."canceledAt" AS canceled_at,
    r."createdAt" AS created_at,
    r."updatedAt" AS updated_at,
    coalesce(r.type, 'STANDARD') AS type,
    (credited * 100)::bigint AS amount_credited_cents,
    (written_off * 100)::bigint AS amount_written_off_cents,
    r."suppliedOn" AS supplied_on,
    r."documentFormat" AS document_format
FROM invoice
CROSS JOIN LATERAL (SELECT invoice.status <> 'CANCELED' OR strpos(invoice.summary, '"amountDue":0,') = 0 AS owes) o
CROSS JOIN LATERAL json_to_record((invoice.summary || '}')::json) AS r(
    number text, "clientId" uuid, "clientName" text, "clientEmail" text, "issueDate" date, "dueDate" date,
    "totalHT" numeric, "totalTTC" numeric, "tvaRate" numeric, "retentionRate" numeric, "retentionAmount" numeric,
    "amountPaid" numeric, currency text, "paidAt" timestamptz, "canceledAt" timestamptz, "createdAt" timestamptz,
    "updatedAt" timestamptz, type text, "amountCredited" numeric, "amountWrittenOff" numeric, "suppliedOn" date,
    "documentFormat" text
)
CROSS JOIN LATERAL (
    SELECT coalesce(r."amountCredited", 0) AS credited, coalesce(r."amountWrittenOff", 0) AS written_off,
        r."totalTTC" - coalesce(r."amountCredited", 0) AS billed
) c;

CREATE VIEW report_credit_notes AS
SELECT
    credit_note.company_id,
    credit_note.id,
    r.number,
    credit_note.invoice_id,
    r."invoiceNumber" AS invoice_number,
    r."quoteId" AS quote_id,
    r."clientId" AS client_id,
    r."clientName" AS client_name,
    r."clientEmail" AS client_email,
    r."issueDate" AS issue_date,
    r.reason,
    r."documentFormat" AS document_format,
    (r."totalHT" * 100)::bigint AS total_ht_cents,
    (r."totalTTC" * 100)::bigint AS total_ttc_cents,
    (r."tvaRate" * 100)::bigint AS tva_rate_bp,
    r.currency,
    r."createdAt" AS created_at
FROM credit_note
CROSS JOIN LATERAL json_to_record((credit_note.summary || '}')::json) AS r(
    number text, "invoiceNumber" text, "quoteId" uuid, "clientId" uuid, "clientName" text, "clientEmail" text,
    "issueDate" date, reason text, "documentFormat" text, "totalHT" numeric, "totalTTC" numeric, "tvaRate" numeric,
    currency text, "createdAt" timestamptz
);

-- The VAT of credit notes, by rate. It lessens that of invoices that were issued, cancelled ones included if they have a
-- credit note: see OPERATIONS.md.
CREATE VIEW report_credit_note_vat AS
SELECT
    credit_note.company_id,
    credit_note.id AS credit_note_id,
    r.number AS credit_note_number,
    credit_note.invoice_id,
    r."issueDate" AS issue_date,
    (share."tvaRate" * 100)::bigint AS tva_rate_bp,
    (share."baseHT" * 100)::bigint AS base_ht_cents,
    (share."amountTVA" * 100)::bigint AS amount_tva_cents,
    r.currency
FROM credit_note
CROSS JOIN LATERAL json_to_record((credit_note.summary || '}')::json) AS r(
    number text, "issueDate" date, currency text
)
CROSS JOIN LATERAL json_to_recordset(('{' || credit_note.detail)::json -> 'vatBreakdown') AS share(
    "tvaRate" numeric, "baseHT" numeric, "amountTVA" numeric
);
