-- Views for reports, the same on both databases: see OPERATIONS.md. Their columns stay when the tables change.
--
-- An amount is computed from the text of its JSON number, so that no binary float takes part: what stands before the
-- point, and as many digits behind it as the unit has. Ids are texts as in the API. The company is the outer loop, so
-- that a condition on `company_id` reads the rows of that company only.

CREATE VIEW report_companies AS
SELECT
    record ->> '$.id' AS company_id,
    record ->> '$.name' AS name,
    record ->> '$.plan' AS plan,
    record ->> '$.timeZone' AS time_zone,
    record ->> '$.currency' AS currency,
    record ->> '$.createdAt' AS created_at
FROM company;

CREATE VIEW report_clients AS
SELECT
    company.record ->> '$.id' AS company_id,
    client.record ->> '$.id' AS id,
    client.record ->> '$.name' AS name,
    client.record ->> '$.email' AS email,
    client.record ->> '$.phone' AS phone,
    client.record ->> '$.address' AS address,
    client.record ->> '$.city' AS city,
    client.record ->> '$.zipCode' AS zip_code,
    client.record ->> '$.type' AS type,
    client.record ->> '$.notes' AS notes,
    client.record ->> '$.externalId' AS external_id,
    client.record ->> '$.createdAt' AS created_at,
    client.record ->> '$.updatedAt' AS updated_at
FROM company CROSS JOIN client ON client.company_id = company.id;

CREATE VIEW report_quotes AS
SELECT
    company_id,
    record ->> '$.id' AS id,
    record ->> '$.number' AS number,
    status,
    record ->> '$.externalId' AS external_id,
    record ->> '$.clientId' AS client_id,
    record ->> '$.clientName' AS client_name,
    record ->> '$.clientEmail' AS client_email,
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
    record ->> '$.currency' AS currency,
    record ->> '$.validUntil' AS valid_until,
    record ->> '$.createdAt' AS created_at,
    record ->> '$.updatedAt' AS updated_at,
    record ->> '$.sentAt' AS sent_at,
    record ->> '$.signedAt' AS signed_at,
    record ->> '$.acceptedAt' AS accepted_at,
    record ->> '$.signedByName' AS signed_by_name,
    record ->> '$.signedByEmail' AS signed_by_email
FROM (
    SELECT
        company.record ->> '$.id' AS company_id,
        quote.status,
        quote.summary || '}' AS record,
        (quote.summary || '}') -> '$.totalHT' AS total_ht,
        (quote.summary || '}') -> '$.totalTTC' AS total_ttc,
        (quote.summary || '}') -> '$.tvaRate' AS tva_rate,
        ('{' || quote.detail) -> '$.retentionRate' AS held_rate,
        ('{' || quote.detail) -> '$.retentionAmount' AS held
    FROM company CROSS JOIN quote ON quote.company_id = company.id
);

-- What is due, what is still retained and what was overpaid follow from three amounts: invoices of the first release
-- lack what is retained, and call overpaid what pays it.
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
    retention_amount_cents - min(
        retention_amount_cents, max(0, amount_paid_cents - total_ttc_cents + retention_amount_cents)
    ) AS retention_due_cents,
    amount_paid_cents,
    max(0, total_ttc_cents - retention_amount_cents - amount_paid_cents) AS amount_due_cents,
    max(0, amount_paid_cents - total_ttc_cents) AS amount_overpaid_cents,
    record ->> '$.currency' AS currency,
    record ->> '$.paidAt' AS paid_at,
    record ->> '$.canceledAt' AS canceled_at,
    record ->> '$.createdAt' AS created_at,
    record ->> '$.updatedAt' AS updated_at
FROM (
    SELECT
        company_id, status, record,
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
        || substr(substr(paid, instr(paid || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS amount_paid_cents
    FROM (
        SELECT
            company.record ->> '$.id' AS company_id,
            invoice.status,
            invoice.summary || '}' AS record,
            (invoice.summary || '}') -> '$.totalHT' AS total_ht,
            (invoice.summary || '}') -> '$.totalTTC' AS total_ttc,
            (invoice.summary || '}') -> '$.tvaRate' AS tva_rate,
            (invoice.summary || '}') -> '$.retentionRate' AS held_rate,
            (invoice.summary || '}') -> '$.retentionAmount' AS held,
            (invoice.summary || '}') -> '$.amountPaid' AS paid
        FROM company CROSS JOIN invoice ON invoice.company_id = company.id
    )
);

-- The lines of quotes and invoices. Large ones stand apart.
CREATE VIEW report_lines AS
SELECT
    company_id,
    document,
    record ->> '$.id' AS document_id,
    record ->> '$.number' AS document_number,
    status AS document_status,
    position,
    line ->> '$.description' AS description,
    CAST(substr(quantity, 1, instr(quantity || '.', '.') - 1)
        || substr(substr(quantity, instr(quantity || '.', '.') + 1) || '0000', 1, 4) AS INTEGER) AS quantity_e4,
    line ->> '$.unit' AS unit,
    CAST(substr(unit_price, 1, instr(unit_price || '.', '.') - 1)
        || substr(substr(unit_price, instr(unit_price || '.', '.') + 1) || '0000', 1, 4) AS INTEGER) AS unit_price_e4,
    CAST(substr(total_ht, 1, instr(total_ht || '.', '.') - 1)
        || substr(substr(total_ht, instr(total_ht || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS total_ht_cents,
    CAST(substr(tva_rate, 1, instr(tva_rate || '.', '.') - 1)
        || substr(substr(tva_rate, instr(tva_rate || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS tva_rate_bp,
    record ->> '$.currency' AS currency,
    line ->> '$.lot' AS lot,
    line ->> '$.section' AS section
FROM (
    SELECT
        company.record ->> '$.id' AS company_id,
        'quote' AS document,
        quote.summary || '}' AS record,
        quote.status,
        line.key + 1 AS position,
        line.value AS line,
        line.value -> '$.quantity' AS quantity,
        line.value -> '$.unitPrice' AS unit_price,
        line.value -> '$.totalHT' AS total_ht,
        line.value -> '$.tvaRate' AS tva_rate
    FROM company CROSS JOIN quote ON quote.company_id = company.id
    LEFT JOIN large_lines ON large_lines.company_id = quote.company_id AND large_lines.document_id = quote.id
    JOIN json_each(coalesce(large_lines.lines, quote.lines)) AS line
    UNION ALL
    SELECT
        company.record ->> '$.id', 'invoice', invoice.summary || '}', invoice.status, line.key + 1, line.value,
        line.value -> '$.quantity', line.value -> '$.unitPrice', line.value -> '$.totalHT', line.value -> '$.tvaRate'
    FROM company CROSS JOIN invoice ON invoice.company_id = company.id
    LEFT JOIN large_lines ON large_lines.company_id = invoice.company_id AND large_lines.document_id = invoice.id
    JOIN json_each(coalesce(large_lines.lines, invoice.lines)) AS line
);

-- The VAT of invoices, by rate.
CREATE VIEW report_vat AS
SELECT
    company_id,
    record ->> '$.id' AS invoice_id,
    record ->> '$.number' AS invoice_number,
    status AS invoice_status,
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
        invoice.summary || '}' AS record,
        invoice.status,
        share.value -> '$.tvaRate' AS rate,
        share.value -> '$.baseHT' AS base,
        share.value -> '$.amountTVA' AS amount
    FROM company CROSS JOIN invoice ON invoice.company_id = company.id
    JOIN json_each('{' || invoice.detail, '$.vatBreakdown') AS share
);

-- The source has the name that it had in the first release, which did not know how the client paid.
CREATE VIEW report_payments AS
SELECT
    company_id,
    record ->> '$.id' AS id,
    record ->> '$.invoiceId' AS invoice_id,
    invoice ->> '$.number' AS invoice_number,
    invoice ->> '$.clientId' AS client_id,
    invoice ->> '$.clientName' AS client_name,
    CAST(substr(amount, 1, instr(amount || '.', '.') - 1)
        || substr(substr(amount, instr(amount || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS amount_cents,
    invoice ->> '$.currency' AS currency,
    record ->> '$.method' AS source,
    record ->> '$.paidBy' AS method,
    record ->> '$.reference' AS reference,
    record ->> '$.recordedAt' AS recorded_at,
    record ->> '$.reversedAt' AS reversed_at
FROM (
    SELECT
        company.record ->> '$.id' AS company_id,
        payment.record,
        payment.record -> '$.amount' AS amount,
        invoice.summary || '}' AS invoice
    FROM company CROSS JOIN payment ON payment.company_id = company.id
    CROSS JOIN invoice ON invoice.company_id = payment.company_id AND invoice.id = payment.invoice_id
);

CREATE VIEW report_events AS
SELECT
    company_id,
    lower(substr(id, 1, 8) || '-' || substr(id, 9, 4) || '-' || substr(id, 13, 4)
        || '-' || substr(id, 17, 4) || '-' || substr(id, 21)) AS id,
    kind,
    body ->> '$.data.id' AS record_id,
    strftime('%Y-%m-%dT%H:%M:%S', timestamp / 1000, 'unixepoch')
        || printf('.%03dZ', timestamp % 1000) AS occurred_at
FROM (
    SELECT company.record ->> '$.id' AS company_id, hex(event.id) AS id, event.kind, event.body, event.timestamp
    FROM company CROSS JOIN event ON event.company_id = company.id
);

-- As they are once the changes are carried out that are noted for their webhook: a replay, its disabling, its removal.
-- What is being attempted ends as its attempt does.
CREATE VIEW report_deliveries AS
SELECT
    company_id,
    lower(substr(event_id, 1, 8) || '-' || substr(event_id, 9, 4) || '-' || substr(event_id, 13, 4)
        || '-' || substr(event_id, 17, 4) || '-' || substr(event_id, 21)) AS event_id,
    lower(substr(webhook_id, 1, 8) || '-' || substr(webhook_id, 9, 4) || '-' || substr(webhook_id, 13, 4)
        || '-' || substr(webhook_id, 17, 4) || '-' || substr(webhook_id, 21)) AS webhook_id,
    kind,
    strftime('%Y-%m-%dT%H:%M:%S', timestamp / 1000, 'unixepoch')
        || printf('.%03dZ', timestamp % 1000) AS occurred_at,
    CASE WHEN skipped_at IS NULL THEN status ELSE 'skipped' END AS status,
    CASE
        WHEN skipped_at IS NULL THEN reason
        WHEN removed_at IS NULL THEN 'webhook_disabled'
        ELSE 'webhook_removed'
    END AS reason,
    attempts,
    CASE WHEN status = 'pending' AND skipped_at IS NULL THEN strftime('%Y-%m-%dT%H:%M:%S', next_at / 1000, 'unixepoch')
        || printf('.%03dZ', next_at % 1000) END AS next_attempt_at,
    strftime('%Y-%m-%dT%H:%M:%S', coalesce(skipped_at, ended_at) / 1000, 'unixepoch')
        || printf('.%03dZ', coalesce(skipped_at, ended_at) % 1000) AS ended_at
FROM (
    SELECT
        company_id, event_id, webhook_id, kind, timestamp, status, reason, attempts, next_at, removed_at,
        CASE WHEN status = 'pending' AND NOT is_held AND (kind <> 'ping' OR removed_at IS NOT NULL)
            THEN coalesce(removed_at, disabled_at) END AS skipped_at,
        ended_at
    FROM (
        SELECT
            company.record ->> '$.id' AS company_id,
            hex(event.id) AS event_id,
            hex(delivery.webhook_id) AS webhook_id,
            event.kind,
            event.timestamp,
            CASE WHEN bulk_change.at IS NULL THEN delivery.status ELSE 'pending' END AS status,
            CASE WHEN bulk_change.at IS NULL THEN delivery.reason END AS reason,
            delivery.attempts_in_all AS attempts,
            coalesce(bulk_change.at, max(delivery.due_at, delivery.held_until)) AS next_at,
            CASE WHEN bulk_change.at IS NULL THEN delivery.ended_at END AS ended_at,
            delivery.held_until > unixepoch() * 1000 AS is_held,
            webhook.disabled_at,
            webhook.removed_at
        FROM company CROSS JOIN event ON event.company_id = company.id
        CROSS JOIN delivery ON delivery.event_id = event.id AND delivery.company_id = event.company_id
        CROSS JOIN webhook ON webhook.company_id = delivery.company_id AND webhook.id = delivery.webhook_id
        LEFT JOIN bulk_change ON bulk_change.company_id = delivery.company_id
            AND bulk_change.webhook_id = delivery.webhook_id
            AND bulk_change.after_event < delivery.event_id AND delivery.event_id <= bulk_change.until_event
            AND bulk_change.since <= delivery.ended_at AND delivery.ended_at <= bulk_change.ended_until
            AND delivery.status IN ('failed', 'skipped')
    )
);

-- Internal costs stand in this view only. Positions are those of the quote's lines.
CREATE VIEW report_costings AS
SELECT
    company_id,
    record ->> '$.id' AS quote_id,
    record ->> '$.number' AS quote_number,
    position,
    CAST(substr(labour, 1, instr(labour || '.', '.') - 1)
        || substr(substr(labour, instr(labour || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS labour_cost_cents,
    CAST(substr(material, 1, instr(material || '.', '.') - 1)
        || substr(substr(material, instr(material || '.', '.') + 1) || '00', 1, 2) AS INTEGER) AS material_cost_cents,
    record ->> '$.currency' AS currency,
    costing ->> '$.subcontractor' AS subcontractor,
    costing ->> '$.privateNote' AS private_note
FROM (
    SELECT
        company.record ->> '$.id' AS company_id,
        quote.summary || '}' AS record,
        costing.key + 1 AS position,
        costing.value AS costing,
        nullif(costing.value -> '$.labourCost', 'null') AS labour,
        nullif(costing.value -> '$.materialCost', 'null') AS material
    FROM company CROSS JOIN quote ON quote.company_id = company.id
    CROSS JOIN quote_costing ON quote_costing.company_id = quote.company_id AND quote_costing.quote_id = quote.id
    JOIN json_each(quote_costing.costings) AS costing
);
