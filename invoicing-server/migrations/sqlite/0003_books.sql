-- Date of the last number of the invoices: a later one is never dated before it.
ALTER TABLE series ADD COLUMN last_date TEXT;
UPDATE series SET last_date = (
    SELECT max(substr(summary, instr(summary, '"issueDate":"') + 13, 10)) FROM invoice
    WHERE company_id = series.company_id AND instr(summary, '"issueDate":"' || series.year || '-') > 0
) WHERE kind = 'FAC';

-- A reference is free again once its payment was reversed.
DROP INDEX payment_reference;
CREATE UNIQUE INDEX payment_reference ON payment (company_id, invoice_id, reference)
    WHERE reference IS NOT NULL AND reversed_at IS NULL;

-- A signing link ends 30 days after the validity of its quote, or after the decision if that is later. The links of
-- before end after 32 days, as the time zones of companies are not known here.
ALTER TABLE signing_link ADD COLUMN ends_at INTEGER;
ALTER TABLE signing_link ADD COLUMN revoked_at INTEGER;
UPDATE signing_link SET ends_at = 2764800000 + (
    SELECT max(
        coalesce(unixepoch(valid_until) * 1000, updated_at),
        CASE WHEN status IN ('ACCEPTED', 'REJECTED') THEN updated_at ELSE 0 END
    ) FROM quote WHERE quote.company_id = signing_link.company_id AND quote.id = signing_link.quote_id
);
CREATE INDEX signing_link_quote ON signing_link (company_id, quote_id);
-- As in PostgreSQL, where nodes of the version before make links without an end and the sweep ends them.
CREATE INDEX signing_link_endless ON signing_link (company_id, quote_id) WHERE ends_at IS NULL;

-- With the id, so that the sweep reads what is due in pages.
CREATE INDEX quote_last_day ON quote (company_id, valid_until, id) WHERE status = 'SENT';
DROP INDEX quote_validity;
CREATE INDEX invoice_last_day ON invoice (company_id, due_date, id) WHERE status = 'SENT';
DROP INDEX invoice_due;
