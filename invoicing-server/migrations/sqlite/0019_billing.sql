-- Invoices as documents, and credit notes.

-- Facts of a quote that documents show and the API does not: the nature of the operations, if it is not the company's, and
-- whether the client owes the VAT.
ALTER TABLE quote ADD COLUMN operations TEXT;
ALTER TABLE quote ADD COLUMN reverse_charge INTEGER NOT NULL DEFAULT 0;

-- Logos that companies have had on their documents. A document names its logo by the hash, so none is ever deleted.
CREATE TABLE logo (
    company_id BLOB NOT NULL,
    sha256 TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (company_id, sha256)
);

-- Frozen documents of invoices and credit notes, one for each. Rows are never updated.
CREATE TABLE issued_document (
    company_id BLOB NOT NULL,
    record_id BLOB NOT NULL,
    -- Names the stored file, together with the company.
    upload_id BLOB NOT NULL,
    sha256 TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    file_name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- What the document says besides the record, as JSON. A credit note repeats those of its invoice.
    particulars TEXT NOT NULL,
    PRIMARY KEY (company_id, record_id)
);

-- As invoices: `summary`, `lines` and `detail` are the whole object, byte for byte. Rows are never updated.
CREATE TABLE credit_note (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    invoice_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT NOT NULL,
    detail TEXT NOT NULL,
    -- The quantities of the invoice's lines that it takes back. Shown by no API.
    parts TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (company_id, id)
);
CREATE INDEX credit_note_invoice ON credit_note (company_id, invoice_id, id);
CREATE INDEX credit_note_updated ON credit_note (company_id, updated_at, id);
CREATE INDEX credit_note_created ON credit_note (company_id, created_at, id);

CREATE VIEW credit_note_item AS
    SELECT company_id, id, created_at, updated_at, version, summary, detail,
        CASE WHEN octet_length(lines) NOT BETWEEN 3 AND 9 THEN lines ELSE (
            SELECT large_lines.lines FROM large_lines
            WHERE large_lines.company_id = credit_note.company_id AND large_lines.document_id = credit_note.id
        ) END AS lines,
        CASE WHEN octet_length(lines) NOT BETWEEN 3 AND 9 THEN octet_length(lines) ELSE CAST(lines AS INTEGER) END AS lines_bytes
    FROM credit_note;

-- Version 2 of a client and version 3 of an invoice add fields.
DROP INDEX client_older;
CREATE INDEX client_older ON client (company_id, id) WHERE version < 2;
DROP INDEX invoice_older;
CREATE INDEX invoice_older ON invoice (company_id, id) WHERE version < 3;

-- What is credited or written off lessens what an invoice asks for; invoices of before have neither.
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
        retention_amount_cents,
        max(0, amount_paid_cents + written_off_cents - total_ttc_cents + credited_cents + retention_amount_cents)
    ) ELSE 0 END AS retention_due_cents,
    amount_paid_cents,
    CASE WHEN owes THEN max(
        0, total_ttc_cents - credited_cents - retention_amount_cents - amount_paid_cents - written_off_cents
    ) ELSE 0 END AS amount_due_cents,
    max(0, amount_paid_cents - total_ttc_cents + credited_cents) AS amount_overpaid_cents,
    record ->> '$.currency' AS currency,
    record ->> '$.paidAt' AS paid_at,
    record ->> '$.canceledAt' AS canceled_at,
    record ->> '$.createdAt' AS created_at,
    record ->> '$.updatedAt' AS updated_at,
    coalesce(record ->> '$.type', 'STANDARD') AS type,
    credited_cents AS amount_credited_cents,
    written_off_cents AS amount_written_off_cents,
    record ->> '$.suppliedOn' AS supplied_on,
    record ->> '$.documentFormat' AS document_format
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
        || substr(substr(paid, instr(paid || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS amount_paid_cents,
        CAST(substr(credited, 1, instr(credited || '.', '.') - 1)
        || substr(substr(credited, instr(credited || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS credited_cents,
        CAST(substr(written_off, 1, instr(written_off || '.', '.') - 1)
        || substr(substr(written_off, instr(written_off || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS written_off_cents
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
            (invoice.summary || '}') -> '$.amountPaid' AS paid,
            coalesce((invoice.summary || '}') -> '$.amountCredited', '0') AS credited,
            coalesce((invoice.summary || '}') -> '$.amountWrittenOff', '0') AS written_off
        FROM company CROSS JOIN invoice ON invoice.company_id = company.id
    )
);

CREATE VIEW report_credit_notes AS
SELECT
    company_id,
    record ->> '$.id' AS id,
    record ->> '$.number' AS number,
    record ->> '$.invoiceId' AS invoice_id,
    record ->> '$.invoiceNumber' AS invoice_number,
    record ->> '$.quoteId' AS quote_id,
    record ->> '$.clientId' AS client_id,
    record ->> '$.clientName' AS client_name,
    record ->> '$.clientEmail' AS client_email,
    record ->> '$.issueDate' AS issue_date,
    record ->> '$.reason' AS reason,
    record ->> '$.documentFormat' AS document_format,
    CAST(substr(total_ht, 1, instr(total_ht || '.', '.') - 1)
    || substr(substr(total_ht, instr(total_ht || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS total_ht_cents,
    CAST(substr(total_ttc, 1, instr(total_ttc || '.', '.') - 1)
    || substr(substr(total_ttc, instr(total_ttc || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS total_ttc_cents,
    CAST(substr(tva_rate, 1, instr(tva_rate || '.', '.') - 1)
    || substr(substr(tva_rate, instr(tva_rate || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS tva_rate_bp,
    record ->> '$.currency' AS currency,
    record ->> '$.createdAt' AS created_at
FROM (
    SELECT
        company.record ->> '$.id' AS company_id,
        credit_note.summary || '}' AS record,
        (credit_note.summary || '}') -> '$.totalHT' AS total_ht,
        (credit_note.summary || '}') -> '$.totalTTC' AS total_ttc,
        (credit_note.summary || '}') -> '$.tvaRate' AS tva_rate
    FROM company CROSS JOIN credit_note ON credit_note.company_id = company.id
);

-- The VAT of credit notes, by rate. It lessens that of invoices that were issued, cancelled ones included if they have a
-- credit note: see OPERATIONS.md.
CREATE VIEW report_credit_note_vat AS
SELECT
    company_id,
    record ->> '$.id' AS credit_note_id,
    record ->> '$.number' AS credit_note_number,
    record ->> '$.invoiceId' AS invoice_id,
    record ->> '$.issueDate' AS issue_date,
    CAST(substr(rate, 1, instr(rate || '.', '.') - 1)
    || substr(substr(rate, instr(rate || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS tva_rate_bp,
    CAST(substr(base, 1, instr(base || '.', '.') - 1)
    || substr(substr(base, instr(base || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS base_ht_cents,
    CAST(substr(amount, 1, instr(amount || '.', '.') - 1)
    || substr(substr(amount, instr(amount || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS amount_tva_cents,
    record ->> '$.currency' AS currency
FROM (
    SELECT
        company.record ->> '$.id' AS company_id,
        credit_note.summary || '}' AS record,
        share.value -> '$.tvaRate' AS rate,
        share.value -> '$.baseHT' AS base,
        share.value -> '$.amountTVA' AS amount
    FROM company CROSS JOIN credit_note ON credit_note.company_id = company.id
    JOIN json_each('{' || credit_note.detail, '$.vatBreakdown') AS share
);
