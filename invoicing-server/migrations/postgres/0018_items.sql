-- A quote or an invoice with the size of its lines in bytes, which is known without reading them.
CREATE VIEW quote_item AS
    SELECT company_id, id, status, created_at, updated_at, version, summary, detail, lines,
        octet_length(lines)::bigint AS lines_bytes
    FROM quote;

CREATE VIEW invoice_item AS
    SELECT company_id, id, status, created_at, updated_at, version, summary, detail, lines,
        octet_length(lines)::bigint AS lines_bytes
    FROM invoice;
