-- A quote or an invoice with the size of its lines in bytes. Large lines stand apart, and their size in their place: a
-- number of 4 to 9 digits, while an array has two characters without lines, and more than nine with one.
CREATE VIEW quote_item AS
    SELECT company_id, id, status, created_at, updated_at, version, summary, detail,
        CASE WHEN octet_length(lines) NOT BETWEEN 3 AND 9 THEN lines ELSE (
            SELECT large_lines.lines FROM large_lines
            WHERE large_lines.company_id = quote.company_id AND large_lines.document_id = quote.id
        ) END AS lines,
        CASE WHEN octet_length(lines) NOT BETWEEN 3 AND 9 THEN octet_length(lines) ELSE CAST(lines AS INTEGER) END AS lines_bytes
    FROM quote;

CREATE VIEW invoice_item AS
    SELECT company_id, id, status, created_at, updated_at, version, summary, detail,
        CASE WHEN octet_length(lines) NOT BETWEEN 3 AND 9 THEN lines ELSE (
            SELECT large_lines.lines FROM large_lines
            WHERE large_lines.company_id = invoice.company_id AND large_lines.document_id = invoice.id
        ) END AS lines,
        CASE WHEN octet_length(lines) NOT BETWEEN 3 AND 9 THEN octet_length(lines) ELSE CAST(lines AS INTEGER) END AS lines_bytes
    FROM invoice;
