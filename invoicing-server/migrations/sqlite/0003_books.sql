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
