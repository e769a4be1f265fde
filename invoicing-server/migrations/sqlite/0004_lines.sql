-- Lines of more than 8 KiB stand apart, as SQLite writes a whole row anew when any of it changes. `lines` of the quote or
-- invoice then holds their size in bytes, so that a list or a change of state reads no large lines.
CREATE TABLE large_lines (
    company_id BLOB NOT NULL,
    document_id BLOB NOT NULL,
    lines TEXT NOT NULL,
    PRIMARY KEY (company_id, document_id)
) WITHOUT ROWID;

INSERT INTO large_lines (company_id, document_id, lines)
SELECT company_id, id, lines FROM quote WHERE octet_length(lines) > 8192;
UPDATE quote SET lines = octet_length(lines) WHERE octet_length(lines) > 8192;

INSERT INTO large_lines (company_id, document_id, lines)
SELECT company_id, id, lines FROM invoice WHERE octet_length(lines) > 8192;
UPDATE invoice SET lines = octet_length(lines) WHERE octet_length(lines) > 8192;
