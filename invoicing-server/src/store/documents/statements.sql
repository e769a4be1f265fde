-- quote: a page, newest first
    SELECT coalesce(string_agg(concat(summary, ',"lines":' || lines, '}'), ',
'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM quote_item
        WHERE company_id = $1
        ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items;

-- quote: a page of those in a status, newest first
    SELECT coalesce(string_agg(concat(summary, ',"lines":' || lines, '}'), ',
'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM quote_item
        WHERE company_id = $1 AND status = $5
        ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items;

-- quote: a page of those that have changed
    SELECT coalesce(string_agg(concat(summary, ',"lines":' || lines, '}'), ',
'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM quote_item
        WHERE company_id = $1 AND updated_at >= $4 AND ($5 IS NULL OR status || '' = $5)
        ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items;

-- quote: a page for people
    SELECT id, created_at, summary || '}' AS record, version FROM quote
    WHERE company_id = $1 AND (created_at, id) < ($2, $3)
    ORDER BY created_at DESC, id DESC LIMIT $4;

-- quote: a page for people, of those in a status
    SELECT id, created_at, summary || '}' AS record, version FROM quote
    WHERE company_id = $1 AND status = $5 AND (created_at, id) < ($2, $3)
    ORDER BY created_at DESC, id DESC LIMIT $4;

-- quote: the place in the list for people
SELECT created_at FROM quote WHERE company_id = $1 AND id = $2;

-- quote: the whole document
SELECT summary, lines, detail, version FROM quote_item WHERE company_id = $1 AND id = $2;

-- quote: the summary
SELECT summary || '}' AS record, version FROM quote WHERE company_id = $1 AND id = $2;

-- quote: the document unless it is large
    SELECT summary, CASE WHEN lines_bytes <= 8192 THEN lines ELSE '' END AS lines, detail, version, lines_bytes
    FROM quote_item WHERE company_id = $1 AND id = $2;

-- quote: the latest frozen file
    SELECT file.upload_id, file.sha256, file.size_bytes, file.file_name FROM quote document
    LEFT JOIN frozen_file file ON file.company_id = document.company_id AND file.document_id = document.id
    WHERE document.company_id = $1 AND document.id = $2 ORDER BY file.number DESC LIMIT 1;

-- quote: whether it exists
SELECT CAST(1 AS BIGINT) FROM quote WHERE company_id = $1 AND id = $2;

-- quote: its last change
SELECT updated_at FROM quote WHERE company_id = $1 AND id = $2;

-- quote: insertion, SQLite
    INSERT INTO quote (company_id, id, created_at, status, valid_until, updated_at,
        total_ht_cents, total_ttc_cents, tva_rate_bp, retention_rate_bp, retention_amount_cents, summary,
        lines, lines_bytes, detail, work_site, operations, reverse_charge, housing_works,
        version)
    VALUES ($1, $2, $3, $4, $5, $6,
        $7, $8, $9, $10, $11, $12,
        CASE WHEN octet_length($13) <= 8192 THEN $13 END, octet_length($13), $14, $15, $16, $17, $18,
        $20);
    INSERT INTO large_lines (company_id, document_id, lines) SELECT $1, $2, $13 WHERE octet_length($13) > 8192;
    INSERT INTO quote_costing (company_id, quote_id, costings) VALUES ($1, $2, $19);

-- quote: insertion, PostgreSQL
    WITH new AS (
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::date[], $6::bigint[],
        $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[],
        $13::text[], $14::text[], $15::text[], $16::text[], $17::bigint[], $18::bigint[],
        $19::text[], $20::bigint[]) AS new (company_id, id, created_at, status, valid_until, updated_at,
        total_ht_cents, total_ttc_cents, tva_rate_bp, retention_rate_bp, retention_amount_cents, summary,
        lines, detail, work_site, operations, reverse_charge, housing_works,
        costings, version)
    ), apart AS (
        INSERT INTO quote_costing (company_id, quote_id, costings) SELECT company_id, id, costings FROM new
    )
    INSERT INTO quote (company_id, id, created_at, status, valid_until, updated_at,
        total_ht_cents, total_ttc_cents, tva_rate_bp, retention_rate_bp, retention_amount_cents, summary,
        lines, detail, work_site, operations, reverse_charge, housing_works,
        version)
    SELECT company_id, id, created_at, status, valid_until, updated_at,
        total_ht_cents, total_ttc_cents, tva_rate_bp, retention_rate_bp, retention_amount_cents, summary,
        lines, detail, work_site, operations, reverse_charge, housing_works,
        version FROM new;

-- quote: update, SQLite
    UPDATE quote SET status = $3, valid_until = $4, updated_at = $5, total_ht_cents = $6, total_ttc_cents = $7, tva_rate_bp = $8,
        retention_rate_bp = coalesce($9, retention_rate_bp), retention_amount_cents = coalesce($10, retention_amount_cents), summary = $11, detail = coalesce($12, detail), version = $13
    WHERE company_id = $1 AND id = $2 AND version <= $13;

-- quote: update, PostgreSQL
    UPDATE quote SET status = new.status, valid_until = new.valid_until, updated_at = new.updated_at, total_ht_cents = new.total_ht_cents, total_ttc_cents = new.total_ttc_cents, tva_rate_bp = new.tva_rate_bp,
        retention_rate_bp = coalesce(new.retention_rate_bp, quote.retention_rate_bp), retention_amount_cents = coalesce(new.retention_amount_cents, quote.retention_amount_cents), summary = new.summary, detail = coalesce(new.detail, quote.detail), version = new.version
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::date[], $5::bigint[], $6::bigint[],
        $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[],
        $13::bigint[]) AS new (company_id, id, status, valid_until, updated_at, total_ht_cents,
        total_ttc_cents, tva_rate_bp, retention_rate_bp, retention_amount_cents, summary, detail,
        version)
    WHERE quote.company_id = new.company_id AND quote.id = new.id AND quote.version <= new.version;

-- invoice: a page, newest first
    SELECT coalesce(string_agg(concat(summary, ',"lines":' || lines, '}'), ',
'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM invoice_item
        WHERE company_id = $1
        ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items;

-- invoice: a page of those in a status, newest first
    SELECT coalesce(string_agg(concat(summary, ',"lines":' || lines, '}'), ',
'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM invoice_item
        WHERE company_id = $1 AND status = $5
        ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items;

-- invoice: a page of those that have changed
    SELECT coalesce(string_agg(concat(summary, ',"lines":' || lines, '}'), ',
'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM invoice_item
        WHERE company_id = $1 AND updated_at >= $4 AND ($5 IS NULL OR status || '' = $5)
        ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items;

-- invoice: a page for people
    SELECT id, created_at, summary || '}' AS record, version FROM invoice
    WHERE company_id = $1 AND (created_at, id) < ($2, $3)
    ORDER BY created_at DESC, id DESC LIMIT $4;

-- invoice: a page for people, of those in a status
    SELECT id, created_at, summary || '}' AS record, version FROM invoice
    WHERE company_id = $1 AND status = $5 AND (created_at, id) < ($2, $3)
    ORDER BY created_at DESC, id DESC LIMIT $4;

-- invoice: the place in the list for people
SELECT created_at FROM invoice WHERE company_id = $1 AND id = $2;

-- invoice: the whole document
SELECT summary, lines, detail, version FROM invoice_item WHERE company_id = $1 AND id = $2;

-- invoice: the summary
SELECT summary || '}' AS record, version FROM invoice WHERE company_id = $1 AND id = $2;

-- invoice: the document unless it is large
    SELECT summary, CASE WHEN lines_bytes <= 8192 THEN lines ELSE '' END AS lines, detail, version, lines_bytes
    FROM invoice_item WHERE company_id = $1 AND id = $2;

-- invoice: the latest frozen file
    SELECT file.upload_id, file.sha256, file.size_bytes, file.file_name FROM invoice document
    LEFT JOIN frozen_file file ON file.company_id = document.company_id AND file.document_id = document.id
    WHERE document.company_id = $1 AND document.id = $2 ORDER BY file.number DESC LIMIT 1;

-- invoice: whether it exists
SELECT CAST(1 AS BIGINT) FROM invoice WHERE company_id = $1 AND id = $2;

-- invoice: its last change
SELECT updated_at FROM invoice WHERE company_id = $1 AND id = $2;

-- invoice: insertion, SQLite
    INSERT INTO invoice (company_id, id, quote_id, created_at, total_ht_cents, total_ttc_cents,
        tva_rate_bp, retention_rate_bp, status, due_date, updated_at, retention_amount_cents,
        retention_due_cents, amount_paid_cents, amount_due_cents, amount_overpaid_cents, amount_credited_cents, amount_written_off_cents,
        summary, lines, lines_bytes, detail, version)
    VALUES ($1, $2, $3, $4, $5, $6,
        $7, $8, $9, $10, $11, $12,
        $13, $14, $15, $16, $17, $18,
        $19, CASE WHEN octet_length($20) <= 8192 THEN $20 END, octet_length($20), $21, $22);
    INSERT INTO large_lines (company_id, document_id, lines) SELECT $1, $2, $20 WHERE octet_length($20) > 8192;

-- invoice: insertion, PostgreSQL
    WITH new AS (
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[],
        $7::bigint[], $8::bigint[], $9::text[], $10::date[], $11::bigint[], $12::bigint[],
        $13::bigint[], $14::bigint[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[],
        $19::text[], $20::text[], $21::text[], $22::bigint[]) AS new (company_id, id, quote_id, created_at, total_ht_cents, total_ttc_cents,
        tva_rate_bp, retention_rate_bp, status, due_date, updated_at, retention_amount_cents,
        retention_due_cents, amount_paid_cents, amount_due_cents, amount_overpaid_cents, amount_credited_cents, amount_written_off_cents,
        summary, lines, detail, version)
    )
    INSERT INTO invoice (company_id, id, quote_id, created_at, total_ht_cents, total_ttc_cents,
        tva_rate_bp, retention_rate_bp, status, due_date, updated_at, retention_amount_cents,
        retention_due_cents, amount_paid_cents, amount_due_cents, amount_overpaid_cents, amount_credited_cents, amount_written_off_cents,
        summary, lines, detail, version)
    SELECT company_id, id, quote_id, created_at, total_ht_cents, total_ttc_cents,
        tva_rate_bp, retention_rate_bp, status, due_date, updated_at, retention_amount_cents,
        retention_due_cents, amount_paid_cents, amount_due_cents, amount_overpaid_cents, amount_credited_cents, amount_written_off_cents,
        summary, lines, detail, version FROM new;

-- invoice: update, SQLite
    UPDATE invoice SET status = $3, due_date = $4, updated_at = $5, retention_amount_cents = $6, retention_due_cents = $7, amount_paid_cents = $8,
        amount_due_cents = $9, amount_overpaid_cents = $10, amount_credited_cents = $11, amount_written_off_cents = $12, summary = $13, detail = coalesce($14, detail),
        version = $15
    WHERE company_id = $1 AND id = $2 AND version <= $15;

-- invoice: update, PostgreSQL
    UPDATE invoice SET status = new.status, due_date = new.due_date, updated_at = new.updated_at, retention_amount_cents = new.retention_amount_cents, retention_due_cents = new.retention_due_cents, amount_paid_cents = new.amount_paid_cents,
        amount_due_cents = new.amount_due_cents, amount_overpaid_cents = new.amount_overpaid_cents, amount_credited_cents = new.amount_credited_cents, amount_written_off_cents = new.amount_written_off_cents, summary = new.summary, detail = coalesce(new.detail, invoice.detail),
        version = new.version
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::date[], $5::bigint[], $6::bigint[],
        $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
        $13::text[], $14::text[], $15::bigint[]) AS new (company_id, id, status, due_date, updated_at, retention_amount_cents,
        retention_due_cents, amount_paid_cents, amount_due_cents, amount_overpaid_cents, amount_credited_cents, amount_written_off_cents,
        summary, detail, version)
    WHERE invoice.company_id = new.company_id AND invoice.id = new.id AND invoice.version <= new.version;

-- credit_note: a page, newest first
    SELECT coalesce(string_agg(concat(summary, ',"lines":' || lines, '}'), ',
'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM credit_note_item
        WHERE company_id = $1
        ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items;

-- credit_note: a page of those in a status, newest first
    SELECT coalesce(string_agg(concat(summary, ',"lines":' || lines, '}'), ',
'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM credit_note_item
        WHERE company_id = $1
        ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items;

-- credit_note: a page of those that have changed
    SELECT coalesce(string_agg(concat(summary, ',"lines":' || lines, '}'), ',
'), '') AS items,
        string_agg(CAST(lines_bytes AS TEXT), ',') AS lines_bytes, count(*) AS count,
        (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
    FROM (
        SELECT summary, lines_bytes,
            CASE
                WHEN $6 AND (lines_bytes <= 8192 OR $7 = (SELECT last_stamp FROM company WHERE id = $1)) THEN lines
            END AS lines
        FROM credit_note_item
        WHERE company_id = $1 AND updated_at >= $4 AND $5 IS NULL
        ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
    ) items;

-- credit_note: a page for people
    SELECT id, created_at, summary || '}' AS record, version FROM credit_note
    WHERE company_id = $1 AND (created_at, id) < ($2, $3)
    ORDER BY created_at DESC, id DESC LIMIT $4;

-- credit_note: a page for people, of those in a status
    SELECT id, created_at, summary || '}' AS record, version FROM credit_note
    WHERE company_id = $1 AND (created_at, id) < ($2, $3)
    ORDER BY created_at DESC, id DESC LIMIT $4;

-- credit_note: the place in the list for people
SELECT created_at FROM credit_note WHERE company_id = $1 AND id = $2;

-- credit_note: the whole document
SELECT summary, lines, detail, version FROM credit_note_item WHERE company_id = $1 AND id = $2;

-- credit_note: the summary
SELECT summary || '}' AS record, version FROM credit_note WHERE company_id = $1 AND id = $2;

-- credit_note: the document unless it is large
    SELECT summary, CASE WHEN lines_bytes <= 8192 THEN lines ELSE '' END AS lines, detail, version, lines_bytes
    FROM credit_note_item WHERE company_id = $1 AND id = $2;

-- credit_note: the latest frozen file
    SELECT file.upload_id, file.sha256, file.size_bytes, file.file_name FROM credit_note document
    LEFT JOIN frozen_file file ON file.company_id = document.company_id AND file.document_id = document.id
    WHERE document.company_id = $1 AND document.id = $2 ORDER BY file.number DESC LIMIT 1;

-- credit_note: whether it exists
SELECT CAST(1 AS BIGINT) FROM credit_note WHERE company_id = $1 AND id = $2;

-- credit_note: its last change
SELECT updated_at FROM credit_note WHERE company_id = $1 AND id = $2;

-- credit_note: insertion, SQLite
    INSERT INTO credit_note (company_id, id, invoice_id, created_at, updated_at, total_ht_cents,
        total_ttc_cents, tva_rate_bp, summary, lines, lines_bytes, detail, parts,
        version)
    VALUES ($1, $2, $3, $4, $5, $6,
        $7, $8, $9, CASE WHEN octet_length($10) <= 8192 THEN $10 END, octet_length($10), $11, $12,
        $13);
    INSERT INTO large_lines (company_id, document_id, lines) SELECT $1, $2, $10 WHERE octet_length($10) > 8192;

-- credit_note: insertion, PostgreSQL
    WITH new AS (
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[],
        $7::bigint[], $8::bigint[], $9::text[], $10::text[], $11::text[], $12::text[],
        $13::bigint[]) AS new (company_id, id, invoice_id, created_at, updated_at, total_ht_cents,
        total_ttc_cents, tva_rate_bp, summary, lines, detail, parts,
        version)
    )
    INSERT INTO credit_note (company_id, id, invoice_id, created_at, updated_at, total_ht_cents,
        total_ttc_cents, tva_rate_bp, summary, lines, detail, parts,
        version)
    SELECT company_id, id, invoice_id, created_at, updated_at, total_ht_cents,
        total_ttc_cents, tva_rate_bp, summary, lines, detail, parts,
        version FROM new;

