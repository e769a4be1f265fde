-- Begins a change of companies: what each transaction that shares its commit does first, in one call. It notes the
-- transaction `note`, takes a block of the row ids of deliveries, locks the companies in one order, and reads what their
-- changes need: webhooks, last numbers, and the records that `parts`, `owners` and `ids` name. Each statement of a volatile
-- function has a snapshot of its own, so the reads see what was committed before the locks were granted. Companies that are
-- locked are left out if `skip_locked` is true, and so are records with large lines.
--
-- The columns of a row are those of its table, which `part` names. Nodes of this version call the function for as long as a
-- later one is being rolled out: that one calls a function of another name.
CREATE FUNCTION begin_change_1(
    note UUID, noted_at BIGINT, companies UUID[], skip_locked BOOLEAN, parts TEXT[], owners UUID[], ids UUID[]
) RETURNS TABLE (
    part TEXT, company_id UUID, id UUID, record TEXT, summary TEXT, lines TEXT, detail TEXT, version BIGINT,
    last_stamp BIGINT, kinds BIGINT, disabled_at BIGINT, kind TEXT, year BIGINT, last BIGINT, last_date DATE
) LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO commit_status VALUES (note, noted_at, false);
    part := 'block';
    last := nextval('delivery_id_block');
    RETURN NEXT;
    IF skip_locked THEN
        companies := ARRAY(
            SELECT c.id FROM company c WHERE c.id = ANY (companies) ORDER BY c.id FOR UPDATE SKIP LOCKED
        );
    ELSE
        companies := ARRAY(SELECT c.id FROM company c WHERE c.id = ANY (companies) ORDER BY c.id FOR UPDATE);
    END IF;
    RETURN QUERY
        SELECT 'company', c.id, c.id, c.record, NULL, NULL, NULL, c.version, c.last_stamp,
            NULL::BIGINT, NULL::BIGINT, NULL, NULL::BIGINT, NULL::BIGINT, NULL::DATE
        FROM company c WHERE c.id = ANY (companies);
    RETURN QUERY
        SELECT 'webhook', w.company_id, w.id, NULL, NULL, NULL, NULL, NULL::BIGINT, NULL::BIGINT,
            w.kinds, w.disabled_at, NULL, NULL::BIGINT, NULL::BIGINT, NULL::DATE
        FROM webhook w WHERE w.company_id = ANY (companies) AND w.removed_at IS NULL ORDER BY w.id;
    RETURN QUERY
        SELECT 'series', s.company_id, NULL::UUID, NULL, NULL, NULL, NULL, NULL::BIGINT, NULL::BIGINT,
            NULL::BIGINT, NULL::BIGINT, s.kind, s.year, s.last, s.last_date
        FROM series s WHERE s.company_id = ANY (companies);
    IF 'client' = ANY (parts) THEN
        RETURN QUERY
            SELECT 'client', d.company_id, d.id, d.record, NULL, NULL, NULL, d.version, NULL::BIGINT,
                NULL::BIGINT, NULL::BIGINT, NULL, NULL::BIGINT, NULL::BIGINT, NULL::DATE
            FROM unnest(parts, owners, ids) AS w (part, owner, id)
            JOIN client d ON d.company_id = w.owner AND d.id = w.id
            WHERE w.part = 'client' AND w.owner = ANY (companies);
    END IF;
    IF 'quote' = ANY (parts) THEN
        RETURN QUERY
            SELECT 'quote', d.company_id, d.id, NULL, d.summary, d.lines, d.detail, d.version, NULL::BIGINT,
                NULL::BIGINT, NULL::BIGINT, NULL, NULL::BIGINT, NULL::BIGINT, NULL::DATE
            FROM unnest(parts, owners, ids) AS w (part, owner, id)
            JOIN quote d ON d.company_id = w.owner AND d.id = w.id
            WHERE w.part = 'quote' AND w.owner = ANY (companies) AND octet_length(d.lines) <= 8192;
    END IF;
    IF 'quote_summary' = ANY (parts) THEN
        RETURN QUERY
            SELECT 'quote_summary', d.company_id, d.id, d.summary || '}', NULL, NULL, NULL, d.version, NULL::BIGINT,
                NULL::BIGINT, NULL::BIGINT, NULL, NULL::BIGINT, NULL::BIGINT, NULL::DATE
            FROM unnest(parts, owners, ids) AS w (part, owner, id)
            JOIN quote d ON d.company_id = w.owner AND d.id = w.id
            WHERE w.part = 'quote_summary' AND w.owner = ANY (companies);
    END IF;
    IF 'invoice' = ANY (parts) THEN
        RETURN QUERY
            SELECT 'invoice', d.company_id, d.id, NULL, d.summary, d.lines, d.detail, d.version, NULL::BIGINT,
                NULL::BIGINT, NULL::BIGINT, NULL, NULL::BIGINT, NULL::BIGINT, NULL::DATE
            FROM unnest(parts, owners, ids) AS w (part, owner, id)
            JOIN invoice d ON d.company_id = w.owner AND d.id = w.id
            WHERE w.part = 'invoice' AND w.owner = ANY (companies) AND octet_length(d.lines) <= 8192;
    END IF;
END $$;
