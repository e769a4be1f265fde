-- Views for reports, the same on both databases: see OPERATIONS.md. Their columns stay when the tables change. None of
-- them can be written through: each reads more than one relation.

CREATE VIEW report_companies AS
SELECT
    company.id AS company_id,
    r.name,
    r.plan,
    r."timeZone" AS time_zone,
    r.currency,
    r."createdAt" AS created_at
FROM company
CROSS JOIN LATERAL json_to_record(company.record::json)
    AS r(name text, plan text, "timeZone" text, currency text, "createdAt" timestamptz);

CREATE VIEW report_clients AS
SELECT
    client.company_id,
    client.id,
    r.name,
    r.email,
    r.phone,
    r.address,
    r.city,
    r."zipCode" AS zip_code,
    r.type,
    r.notes,
    r."externalId" AS external_id,
    r."createdAt" AS created_at,
    r."updatedAt" AS updated_at
FROM client
CROSS JOIN LATERAL json_to_record(client.record::json) AS r(
    name text, email text, phone text, address text, city text, "zipCode" text, type text, notes text,
    "externalId" text, "createdAt" timestamptz, "updatedAt" timestamptz
);

CREATE VIEW report_quotes AS
SELECT
    quote.company_id,
    quote.id,
    r.number,
    quote.status,
    r."externalId" AS external_id,
    r."clientId" AS client_id,
    r."clientName" AS client_name,
    r."clientEmail" AS client_email,
    (r."totalHT" * 100)::bigint AS total_ht_cents,
    (r."totalTTC" * 100)::bigint AS total_ttc_cents,
    (r."tvaRate" * 100)::bigint AS tva_rate_bp,
    (d."retentionRate" * 100)::bigint AS retention_rate_bp,
    (d."retentionAmount" * 100)::bigint AS retention_amount_cents,
    r.currency,
    r."validUntil" AS valid_until,
    r."createdAt" AS created_at,
    r."updatedAt" AS updated_at,
    r."sentAt" AS sent_at,
    r."signedAt" AS signed_at,
    r."acceptedAt" AS accepted_at,
    r."signedByName" AS signed_by_name,
    r."signedByEmail" AS signed_by_email
FROM quote
CROSS JOIN LATERAL json_to_record((quote.summary || '}')::json) AS r(
    number text, "externalId" text, "clientId" uuid, "clientName" text, "clientEmail" text, "totalHT" numeric,
    "totalTTC" numeric, "tvaRate" numeric, currency text, "validUntil" date, "createdAt" timestamptz,
    "updatedAt" timestamptz, "sentAt" timestamptz, "signedAt" timestamptz, "acceptedAt" timestamptz,
    "signedByName" text, "signedByEmail" text
)
CROSS JOIN LATERAL json_to_record(('{' || quote.detail)::json)
    AS d("retentionRate" numeric, "retentionAmount" numeric);

-- What is due, what is still retained and what was overpaid follow from three amounts: invoices of the first release
-- lack what is retained, and call overpaid what pays it.
CREATE VIEW report_invoices AS
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
    (100 * (r."retentionAmount" - least(
        r."retentionAmount", greatest(0, r."amountPaid" - r."totalTTC" + r."retentionAmount")
    )))::bigint AS retention_due_cents,
    (r."amountPaid" * 100)::bigint AS amount_paid_cents,
    (100 * greatest(0, r."totalTTC" - r."retentionAmount" - r."amountPaid"))::bigint AS amount_due_cents,
    (100 * greatest(0, r."amountPaid" - r."totalTTC"))::bigint AS amount_overpaid_cents,
    r.currency,
    r."paidAt" AS paid_at,
    r."canceledAt" AS canceled_at,
    r."createdAt" AS created_at,
    r."updatedAt" AS updated_at
FROM invoice
CROSS JOIN LATERAL json_to_record((invoice.summary || '}')::json) AS r(
    number text, "clientId" uuid, "clientName" text, "clientEmail" text, "issueDate" date, "dueDate" date,
    "totalHT" numeric, "totalTTC" numeric, "tvaRate" numeric, "retentionRate" numeric, "retentionAmount" numeric,
    "amountPaid" numeric, currency text, "paidAt" timestamptz, "canceledAt" timestamptz, "createdAt" timestamptz,
    "updatedAt" timestamptz
);

-- The lines of quotes and invoices.
CREATE VIEW report_lines AS
SELECT
    d.company_id,
    d.document,
    d.id AS document_id,
    r.number AS document_number,
    d.status AS document_status,
    line.position,
    l.description,
    (l.quantity * 10000)::bigint AS quantity_e4,
    l.unit,
    (l."unitPrice" * 10000)::bigint AS unit_price_e4,
    (l."totalHT" * 100)::bigint AS total_ht_cents,
    (l."tvaRate" * 100)::bigint AS tva_rate_bp,
    r.currency,
    l.lot,
    l.section
FROM (
    SELECT company_id, 'quote' AS document, id, status, summary, lines FROM quote
    UNION ALL
    SELECT company_id, 'invoice', id, status, summary, lines FROM invoice
) AS d
CROSS JOIN LATERAL json_to_record((d.summary || '}')::json) AS r(number text, currency text)
CROSS JOIN LATERAL json_array_elements(d.lines::json) WITH ORDINALITY AS line(value, position)
CROSS JOIN LATERAL json_to_record(line.value) AS l(
    description text, quantity numeric, unit text, "unitPrice" numeric, "totalHT" numeric, "tvaRate" numeric, lot text,
    section text
);

-- The VAT of invoices, by rate.
CREATE VIEW report_vat AS
SELECT
    invoice.company_id,
    invoice.id AS invoice_id,
    r.number AS invoice_number,
    invoice.status AS invoice_status,
    r."issueDate" AS issue_date,
    (share."tvaRate" * 100)::bigint AS tva_rate_bp,
    (share."baseHT" * 100)::bigint AS base_ht_cents,
    (share."amountTVA" * 100)::bigint AS amount_tva_cents,
    r.currency
FROM invoice
CROSS JOIN LATERAL json_to_record((invoice.summary || '}')::json) AS r(number text, "issueDate" date, currency text)
CROSS JOIN LATERAL json_to_recordset(('{' || invoice.detail)::json -> 'vatBreakdown')
    AS share("tvaRate" numeric, "baseHT" numeric, "amountTVA" numeric);

-- The source has the name that it had in the first release, which did not know how the client paid.
CREATE VIEW report_payments AS
SELECT
    payment.company_id,
    payment.id,
    payment.invoice_id,
    i.number AS invoice_number,
    i."clientId" AS client_id,
    i."clientName" AS client_name,
    (r.amount * 100)::bigint AS amount_cents,
    i.currency,
    r.method AS source,
    r."paidBy" AS method,
    r.reference,
    r."recordedAt" AS recorded_at,
    r."reversedAt" AS reversed_at
FROM payment
JOIN invoice ON invoice.company_id = payment.company_id AND invoice.id = payment.invoice_id
CROSS JOIN LATERAL json_to_record((invoice.summary || '}')::json)
    AS i(number text, "clientId" uuid, "clientName" text, currency text)
CROSS JOIN LATERAL json_to_record(payment.record::json) AS r(
    amount numeric, method text, "paidBy" text, reference text, "recordedAt" timestamptz, "reversedAt" timestamptz
);

CREATE VIEW report_events AS
SELECT
    event.company_id,
    event.id,
    event.kind,
    d.id AS record_id,
    to_timestamp(event.timestamp / 1000.0) AS occurred_at
FROM event
CROSS JOIN LATERAL json_to_record(event.body::json -> 'data') AS d(id uuid);

-- As they are once the changes are carried out that are noted for their webhook: a replay, its disabling, its removal.
-- What is being attempted ends as its attempt does.
CREATE VIEW report_deliveries AS
SELECT
    company_id,
    event_id,
    webhook_id,
    kind,
    to_timestamp(timestamp / 1000.0) AS occurred_at,
    CASE WHEN skipped_at IS NULL THEN status ELSE 'skipped' END AS status,
    CASE
        WHEN skipped_at IS NULL THEN reason
        WHEN removed_at IS NULL THEN 'webhook_disabled'
        ELSE 'webhook_removed'
    END AS reason,
    attempts,
    CASE WHEN status = 'pending' AND skipped_at IS NULL THEN to_timestamp(next_at / 1000.0) END AS next_attempt_at,
    to_timestamp(coalesce(skipped_at, ended_at) / 1000.0) AS ended_at
FROM (
    SELECT
        *,
        CASE WHEN status = 'pending' AND NOT is_held AND (kind <> 'ping' OR removed_at IS NOT NULL)
            THEN coalesce(removed_at, disabled_at) END AS skipped_at
    FROM (
        SELECT
            delivery.company_id,
            delivery.event_id,
            delivery.webhook_id,
            event.kind,
            event.timestamp,
            CASE WHEN bulk_change.at IS NULL THEN delivery.status ELSE 'pending' END AS status,
            CASE WHEN bulk_change.at IS NULL THEN delivery.reason END AS reason,
            delivery.attempts_in_all AS attempts,
            coalesce(bulk_change.at, greatest(delivery.due_at, delivery.held_until)) AS next_at,
            CASE WHEN bulk_change.at IS NULL THEN delivery.ended_at END AS ended_at,
            delivery.held_until > extract(epoch FROM now()) * 1000 AS is_held,
            webhook.disabled_at,
            webhook.removed_at
        FROM delivery
        JOIN event ON event.company_id = delivery.company_id AND event.id = delivery.event_id
        JOIN webhook ON webhook.company_id = delivery.company_id AND webhook.id = delivery.webhook_id
        LEFT JOIN bulk_change ON bulk_change.company_id = delivery.company_id
            AND bulk_change.webhook_id = delivery.webhook_id
            AND bulk_change.after_event < delivery.event_id AND delivery.event_id <= bulk_change.until_event
            AND bulk_change.since <= delivery.ended_at AND delivery.ended_at <= bulk_change.ended_until
            AND delivery.status IN ('failed', 'skipped')
    ) AS row
) AS delivery;

-- Internal costs stand in this view only. Positions are those of the quote's lines.
CREATE VIEW report_costings AS
SELECT
    quote.company_id,
    quote.id AS quote_id,
    r.number AS quote_number,
    costing.position,
    (c."labourCost" * 100)::bigint AS labour_cost_cents,
    (c."materialCost" * 100)::bigint AS material_cost_cents,
    r.currency,
    c.subcontractor,
    c."privateNote" AS private_note
FROM quote
JOIN quote_costing ON quote_costing.company_id = quote.company_id AND quote_costing.quote_id = quote.id
CROSS JOIN LATERAL json_to_record((quote.summary || '}')::json) AS r(number text, currency text)
CROSS JOIN LATERAL json_array_elements(quote_costing.costings::json) WITH ORDINALITY AS costing(value, position)
CROSS JOIN LATERAL json_to_record(costing.value)
    AS c("labourCost" numeric, "materialCost" numeric, subcontractor text, "privateNote" text);
