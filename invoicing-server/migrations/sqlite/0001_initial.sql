-- Instants are milliseconds since 1970, dates are texts (`2026-10-14`), and ids are the 16 bytes of a UUID, except those of
-- deliveries. Amounts are in cents and rates in hundredths of a percent; the JSON of a record repeats them in currency units
-- and in percent. HT is without VAT, TTC with VAT, TVA is VAT, and the retention is the part of an invoice that is withheld for a
-- year. Tables with large rows keep their rowid. The process is the only writer, so it has no need for the commit status, the
-- blocks of row ids and the function that begins a change in PostgreSQL.
--
-- `record` is the JSON of a whole record, and `version` that of its shape. A row is replaced only up to the version that a
-- node supports, so that an older node beside a newer one drops none of its fields.

-- Values of the service itself, by name, such as the key that signs URLs of documents.
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- The tenants.
CREATE TABLE company (
    id BLOB PRIMARY KEY,
    -- Stamp of the last change, which is `updatedAt` of the changed records. It only increases.
    last_stamp INTEGER NOT NULL,
    record TEXT NOT NULL,
    version INTEGER NOT NULL
) WITHOUT ROWID;

-- Logos that companies have had on their documents. The facts of a document refer to its logo by the hash, so none is ever
-- deleted.
CREATE TABLE logo (
    company_id BLOB NOT NULL,
    sha256 TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (company_id, sha256)
);

-- The last number allocated, per company, kind of document and year.
CREATE TABLE series (
    company_id BLOB NOT NULL,
    kind TEXT NOT NULL,
    year INTEGER NOT NULL,
    last INTEGER NOT NULL,
    -- Date of the last number of invoices or credit notes, which no later number precedes; NULL for quotes.
    last_date TEXT,
    PRIMARY KEY (company_id, kind, year)
) WITHOUT ROWID;

-- Keys of the API, and the quota that they have used.
CREATE TABLE api_key (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    -- SHA-256 of the key.
    hash BLOB NOT NULL,
    -- Its last four characters, by which people know it again.
    last4 TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- Last use, up to a minute behind.
    last_used_at INTEGER,
    revoked_at INTEGER,
    -- Requests accepted in the last minute, and those reserved, as JSON. PostgreSQL has the instants in `accepted`.
    quota_log TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;
-- Look-up of a key by the hash of the one in a request.
CREATE UNIQUE INDEX api_key_hash ON api_key (hash);

CREATE TABLE client (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    external_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Name, e-mail and city, folded for searching.
    search TEXT NOT NULL,
    record TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (company_id, id)
);
-- The look-up by `externalId`, which at most one client has.
CREATE UNIQUE INDEX client_external_id ON client (company_id, external_id) WHERE external_id IS NOT NULL;
-- The list of those that have changed since an instant.
CREATE INDEX client_updated ON client (company_id, updated_at, id);
-- The list, newest first, which a search reads in order and filters.
CREATE INDEX client_created ON client (company_id, created_at, id);

-- Quotes. `summary` is the JSON object of a list item without its closing brace, `detail` is the rest of the whole object
-- without its opening brace. With `lines` between them they are the whole object, byte for byte. `lines` is NULL above 8 KiB
-- (see `large_lines`), and `lines_bytes` is their size in either case.
CREATE TABLE quote (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    status TEXT NOT NULL,
    -- Last day of the validity; NULL if the draft has none.
    valid_until TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    total_ht_cents INTEGER NOT NULL,
    total_ttc_cents INTEGER NOT NULL,
    tva_rate_bp INTEGER NOT NULL,
    retention_rate_bp INTEGER NOT NULL,
    retention_amount_cents INTEGER NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT,
    lines_bytes INTEGER NOT NULL,
    detail TEXT NOT NULL,
    -- Facts that are printed and no part of the API: the place of the work; the nature of the operations (goods, services or
    -- mixed), NULL for that of the company; 1 if the client owes the VAT; 1 for works in housing, NULL for those of a private
    -- client.
    work_site TEXT,
    operations TEXT,
    reverse_charge INTEGER NOT NULL,
    housing_works INTEGER,
    version INTEGER NOT NULL,
    PRIMARY KEY (company_id, id)
);
-- The list of those that have changed since an instant.
CREATE INDEX quote_updated ON quote (company_id, updated_at, id);
-- The list, newest first, of all quotes and of those in a status. A search reads it in order and filters.
CREATE INDEX quote_created ON quote (company_id, created_at, id);
CREATE INDEX quote_status ON quote (company_id, status, created_at, id);
-- The sweep of those whose validity has ended, in pages.
CREATE INDEX quote_last_day ON quote (company_id, valid_until, id) WHERE status = 'SENT';

-- Lines of a quote, an invoice or a credit note that have more than 8 KiB together. SQLite rewrites a whole row at each
-- update; apart, they are neither written by a change of state nor read by a list. PostgreSQL does this by itself (TOAST).
CREATE TABLE large_lines (
    company_id BLOB NOT NULL,
    document_id BLOB NOT NULL,
    lines TEXT NOT NULL,
    PRIMARY KEY (company_id, document_id)
) WITHOUT ROWID;

-- Internal costs of the lines of a quote, as a JSON array in their order. The API neither reads nor writes them.
CREATE TABLE quote_costing (
    company_id BLOB NOT NULL,
    quote_id BLOB NOT NULL,
    costings TEXT NOT NULL,
    PRIMARY KEY (company_id, quote_id)
) WITHOUT ROWID;

-- Invoices. Their JSON is split as that of quotes.
CREATE TABLE invoice (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    quote_id BLOB NOT NULL,
    status TEXT NOT NULL,
    -- NULL until the issue.
    due_date TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    total_ht_cents INTEGER NOT NULL,
    total_ttc_cents INTEGER NOT NULL,
    tva_rate_bp INTEGER NOT NULL,
    retention_rate_bp INTEGER NOT NULL,
    retention_amount_cents INTEGER NOT NULL,
    retention_due_cents INTEGER NOT NULL,
    amount_paid_cents INTEGER NOT NULL,
    amount_due_cents INTEGER NOT NULL,
    amount_overpaid_cents INTEGER NOT NULL,
    amount_credited_cents INTEGER NOT NULL,
    amount_written_off_cents INTEGER NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT,
    lines_bytes INTEGER NOT NULL,
    detail TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (company_id, id)
);
-- At most one invoice of a quote that is not cancelled, and its look-up.
CREATE UNIQUE INDEX invoice_quote ON invoice (company_id, quote_id) WHERE status <> 'CANCELED';
-- The list of those that have changed since an instant.
CREATE INDEX invoice_updated ON invoice (company_id, updated_at, id);
-- The list, newest first, of all invoices and of those in a status.
CREATE INDEX invoice_created ON invoice (company_id, created_at, id);
CREATE INDEX invoice_status ON invoice (company_id, status, created_at, id);
-- The sweep of those that are overdue, in pages.
CREATE INDEX invoice_last_day ON invoice (company_id, due_date, id) WHERE status = 'SENT' AND amount_due_cents > 0;

-- Payments on invoices, and refunds as payments below zero.
CREATE TABLE payment (
    company_id BLOB NOT NULL,
    invoice_id BLOB NOT NULL,
    id BLOB NOT NULL,
    amount_cents INTEGER NOT NULL,
    -- The movement at the bank or the processor, by which a payment is recognised.
    movement_id TEXT,
    reversed_at INTEGER,
    record TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (company_id, invoice_id, id)
) WITHOUT ROWID;
-- At most one payment of an invoice per movement, unless it was reversed, and its look-up.
CREATE UNIQUE INDEX payment_movement ON payment (company_id, invoice_id, movement_id)
    WHERE movement_id IS NOT NULL AND reversed_at IS NULL;

-- Credit notes. Their JSON is split as that of quotes. Rows are never updated.
CREATE TABLE credit_note (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    invoice_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    total_ht_cents INTEGER NOT NULL,
    total_ttc_cents INTEGER NOT NULL,
    tva_rate_bp INTEGER NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT,
    lines_bytes INTEGER NOT NULL,
    detail TEXT NOT NULL,
    -- Quantities of the invoice's lines that it takes back, as JSON. No part of the API.
    parts TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (company_id, id)
);
-- The credit notes on an invoice.
CREATE INDEX credit_note_invoice ON credit_note (company_id, invoice_id, id);
-- The list of those since an instant.
CREATE INDEX credit_note_updated ON credit_note (company_id, updated_at, id);
-- The list, newest first.
CREATE INDEX credit_note_created ON credit_note (company_id, created_at, id);

-- Records with their lines, wherever they stand, and the size of these.
CREATE VIEW quote_item AS
    SELECT company_id, id, status, created_at, updated_at, version, summary, detail, lines_bytes,
        coalesce(lines, (
            SELECT large_lines.lines FROM large_lines
            WHERE large_lines.company_id = quote.company_id AND large_lines.document_id = quote.id
        )) AS lines
    FROM quote;
CREATE VIEW invoice_item AS
    SELECT company_id, id, status, created_at, updated_at, version, summary, detail, lines_bytes,
        coalesce(lines, (
            SELECT large_lines.lines FROM large_lines
            WHERE large_lines.company_id = invoice.company_id AND large_lines.document_id = invoice.id
        )) AS lines
    FROM invoice;
CREATE VIEW credit_note_item AS
    SELECT company_id, id, created_at, updated_at, version, summary, detail, lines_bytes,
        coalesce(lines, (
            SELECT large_lines.lines FROM large_lines
            WHERE large_lines.company_id = credit_note.company_id AND large_lines.document_id = credit_note.id
        )) AS lines
    FROM credit_note;

-- Frozen files: the PDF of each quote, invoice and credit note. The last one of a document is the one served. Rows are never
-- updated.
CREATE TABLE frozen_file (
    company_id BLOB NOT NULL,
    -- Id of the quote, the invoice or the credit note.
    document_id BLOB NOT NULL,
    -- Number of the file of the document, from 1.
    number INTEGER NOT NULL,
    -- Id of the upload, which with the company is the name of the stored file.
    upload_id BLOB NOT NULL,
    sha256 TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    file_name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- Facts that are printed besides the record, as JSON. A signed copy repeats those of the sent one, and a credit note those
    -- of its invoice.
    facts TEXT NOT NULL,
    PRIMARY KEY (company_id, document_id, number)
) WITHOUT ROWID;

-- Frozen files on their way into the document store. A row is inserted before the bytes are put, and deleted by the
-- transaction that refers to the file. Rows left by a crash or a failure lead the sweep to the orphans in the store.
CREATE TABLE upload (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    began_at INTEGER NOT NULL,
    -- Instant at which the sweep gave it up, before it deletes the file. From then on no transaction can refer to the file.
    abandoned_at INTEGER,
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;

-- Links by which a client sees, signs and declines a quote.
CREATE TABLE signing_link (
    company_id BLOB NOT NULL,
    -- SHA-256 of the token.
    token_hash BLOB NOT NULL,
    quote_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    -- 30 days after the end of the quote's validity, or after the decision if that is later.
    ends_at INTEGER NOT NULL,
    revoked_at INTEGER,
    PRIMARY KEY (company_id, quote_id, token_hash)
) WITHOUT ROWID;
-- Look-up of a link by the token of a request.
CREATE UNIQUE INDEX signing_link_token ON signing_link (token_hash);

-- Evidence of a signature. No part of the API.
CREATE TABLE proof (
    company_id BLOB NOT NULL,
    quote_id BLOB NOT NULL,
    token_hash BLOB NOT NULL,
    ip TEXT,
    user_agent TEXT,
    -- The document that was shown.
    document_sha256 TEXT NOT NULL,
    -- SHA-256 over the evidence: see `proof_fingerprint` of the core.
    fingerprint TEXT NOT NULL,
    signed_at INTEGER NOT NULL,
    PRIMARY KEY (company_id, quote_id)
) WITHOUT ROWID;

-- Jobs of the company, with their quotes in the record.
CREATE TABLE project (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    record TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;

-- Webhooks. A removed one keeps its row, for its deliveries.
CREATE TABLE webhook (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    url TEXT NOT NULL,
    -- One bit per event kind, the first kind in the lowest bit.
    kinds INTEGER NOT NULL,
    -- The secret in clear if the host gave no key, else `v1.<key id>.<sealed bytes>`.
    secret TEXT NOT NULL,
    -- Id of the key that seals the secret; NULL where it is in clear.
    sealed_with TEXT GENERATED ALWAYS AS (
        CASE WHEN substr(secret, 1, 3) = 'v1.' THEN substr(secret, 4, instr(substr(secret, 4), '.') - 1) END
    ) VIRTUAL,
    -- The secret before the last rotation, sealed like the other one. Attempts are signed with it as well until
    -- `previous_secret_until`.
    previous_secret TEXT,
    previous_secret_until INTEGER,
    previous_sealed_with TEXT GENERATED ALWAYS AS (
        CASE WHEN substr(previous_secret, 1, 3) = 'v1.'
            THEN substr(previous_secret, 4, instr(substr(previous_secret, 4), '.') - 1) END
    ) VIRTUAL,
    -- Instant of the last rotation. A change that was based on another one is refused.
    rotated_at INTEGER,
    -- Number of deliveries that failed since the last success, and the end of the first of them.
    failures INTEGER NOT NULL,
    failing_since INTEGER,
    disabled_at INTEGER,
    disabled_reason TEXT,
    created_at INTEGER NOT NULL,
    removed_at INTEGER,
    -- The test deliveries of the last minute, and the last one in any case: ids and times, as JSON, oldest first.
    ping_log TEXT,
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;
-- The webhooks of attempts, of any company.
CREATE UNIQUE INDEX webhook_id ON webhook (id);

-- Webhooks that failures have disabled and of which the host is still to be told. A node that calls the host holds the row
-- meanwhile.
CREATE TABLE disabled_notice (
    company_id BLOB NOT NULL,
    webhook_id BLOB NOT NULL,
    disabled_at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    held_until INTEGER NOT NULL,
    PRIMARY KEY (company_id, webhook_id, disabled_at)
) WITHOUT ROWID;

-- Events. Their ids are ordered by time. Events and deliveries are never deleted.
CREATE TABLE event (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    kind TEXT NOT NULL,
    timestamp INTEGER NOT NULL,
    -- The text that every attempt sends, unchanged.
    body TEXT NOT NULL,
    -- The request that caused the event, and a value of the host, in base64, which it gets back at each attempt; NULL where
    -- none was given.
    request_id TEXT,
    trace_context TEXT,
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;

-- One row per event and webhook. A pending delivery may be claimed once `due_at` and `held_until` are over: while `held_until`
-- is ahead, it is claimed. Claiming writes the end of the lease to `held_until`, which is in no index, and the claimant's
-- token to `claim`; an attempt ends the delivery only while the token is still there.
CREATE TABLE delivery (
    id INTEGER PRIMARY KEY,
    company_id BLOB NOT NULL,
    event_id BLOB NOT NULL,
    webhook_id BLOB NOT NULL,
    -- `pending`, `delivered`, `failed` or `skipped`.
    status TEXT NOT NULL,
    -- Reason of a skip.
    reason TEXT,
    due_at INTEGER NOT NULL,
    held_until INTEGER NOT NULL DEFAULT 0,
    claim INTEGER NOT NULL,
    -- Claims and recorded attempts since it was last queued, and in all. Each claim gives an attempt its number.
    claims INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    claims_in_all INTEGER NOT NULL,
    attempts_in_all INTEGER NOT NULL,
    ended_at INTEGER
);
-- One delivery per event and webhook, and those of an event.
CREATE UNIQUE INDEX delivery_event ON delivery (event_id, webhook_id);
-- The claims of a webhook, and what waits for it.
CREATE INDEX delivery_due ON delivery (webhook_id, due_at) WHERE status = 'pending';
-- Deliveries that have begun and are to be attempted again. One that arrives at the first attempt is never an entry.
CREATE INDEX delivery_begun ON delivery (due_at) WHERE status = 'pending' AND attempts > 0;
-- The deliveries of a replay, counted and found in the index alone.
CREATE INDEX delivery_replay ON delivery (company_id, webhook_id, event_id, status, ended_at)
    WHERE status IN ('failed', 'skipped');
-- The recent failures of a webhook, counted.
CREATE INDEX delivery_failed ON delivery (company_id, webhook_id, ended_at) WHERE status = 'failed';

-- Work that is left on the deliveries of a webhook, done in batches; the row is deleted at the end. Those of the events after
-- `after_event` up to `until_event` that have failed or were skipped are queued again, due at `at`. While the webhook is
-- disabled or removed, those that wait are skipped.
CREATE TABLE bulk_change (
    company_id BLOB NOT NULL,
    webhook_id BLOB NOT NULL,
    at INTEGER NOT NULL,
    after_event BLOB NOT NULL,
    until_event BLOB NOT NULL,
    -- Only those that ended from the one instant to the other.
    since INTEGER NOT NULL,
    ended_until INTEGER NOT NULL,
    PRIMARY KEY (company_id, webhook_id)
) WITHOUT ROWID;

-- Attempts of deliveries. They are deleted after 30 days.
CREATE TABLE attempt (
    company_id BLOB NOT NULL,
    at INTEGER NOT NULL,
    event_id BLOB NOT NULL,
    webhook_id BLOB NOT NULL,
    -- Number of the attempt, given by its claim, so that recording it again conflicts with the key.
    number INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    -- HTTP status of the answer, or the class of the failure where there was none.
    status INTEGER,
    failure TEXT,
    PRIMARY KEY (company_id, at, event_id, webhook_id, number)
) WITHOUT ROWID;

-- The changes that people of a company made under their name. Each is written in the transaction of the change, never deleted,
-- and numbered per company in the order of the commits.
CREATE TABLE history (
    company_id BLOB NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    -- The changed record, of the table that the action begins with.
    subject BLOB NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (company_id, number)
) WITHOUT ROWID;
-- The refusals of a quote, by the client (`declined`) or the company (`rejected`). They are few, so the index stays small.
CREATE INDEX history_refusal ON history (company_id, subject, number) WHERE action IN ('quote.declined', 'quote.rejected');

-- Tokens of the console's forms that were carried out, so that none is carried out twice. Written in the transaction of the
-- change where one was made. A token carries its time (UUIDv7): the sweep deletes those that are older than any that is
-- accepted.
CREATE TABLE spent_form (
    company_id BLOB NOT NULL,
    token BLOB NOT NULL,
    -- Number of the change in the history; NULL if nothing was changed.
    noted INTEGER,
    PRIMARY KEY (company_id, token)
) WITHOUT ROWID;

-- Views for reports, with the same columns on both databases: see docs/operate-reports.md. Their columns stay when the tables
-- change.
-- Ids are texts as in the API. CROSS JOIN makes the company the outer loop, so that a condition on `company_id` reads the rows
-- of that company only.

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
    client.external_id,
    client.record ->> '$.createdAt' AS created_at,
    client.record ->> '$.updatedAt' AS updated_at
FROM company CROSS JOIN client ON client.company_id = company.id;

CREATE VIEW report_quotes AS
SELECT
    company.record ->> '$.id' AS company_id,
    (quote.summary || '}') ->> '$.id' AS id,
    (quote.summary || '}') ->> '$.number' AS number,
    quote.status,
    (quote.summary || '}') ->> '$.externalId' AS external_id,
    (quote.summary || '}') ->> '$.clientId' AS client_id,
    (quote.summary || '}') ->> '$.clientName' AS client_name,
    (quote.summary || '}') ->> '$.clientEmail' AS client_email,
    quote.total_ht_cents,
    quote.total_ttc_cents,
    quote.tva_rate_bp,
    quote.retention_rate_bp,
    quote.retention_amount_cents,
    (quote.summary || '}') ->> '$.currency' AS currency,
    quote.valid_until,
    (quote.summary || '}') ->> '$.createdAt' AS created_at,
    (quote.summary || '}') ->> '$.updatedAt' AS updated_at,
    (quote.summary || '}') ->> '$.sentAt' AS sent_at,
    (quote.summary || '}') ->> '$.signedAt' AS signed_at,
    (quote.summary || '}') ->> '$.acceptedAt' AS accepted_at,
    (quote.summary || '}') ->> '$.signedByName' AS signed_by_name,
    (quote.summary || '}') ->> '$.signedByEmail' AS signed_by_email
FROM company CROSS JOIN quote ON quote.company_id = company.id;

CREATE VIEW report_invoices AS
SELECT
    company.record ->> '$.id' AS company_id,
    (invoice.summary || '}') ->> '$.id' AS id,
    (invoice.summary || '}') ->> '$.number' AS number,
    invoice.status,
    (invoice.summary || '}') ->> '$.quoteId' AS quote_id,
    (invoice.summary || '}') ->> '$.clientId' AS client_id,
    (invoice.summary || '}') ->> '$.clientName' AS client_name,
    (invoice.summary || '}') ->> '$.clientEmail' AS client_email,
    (invoice.summary || '}') ->> '$.issueDate' AS issue_date,
    invoice.due_date,
    invoice.total_ht_cents,
    invoice.total_ttc_cents,
    invoice.tva_rate_bp,
    invoice.retention_rate_bp,
    invoice.retention_amount_cents,
    invoice.retention_due_cents,
    invoice.amount_paid_cents,
    invoice.amount_due_cents,
    invoice.amount_overpaid_cents,
    (invoice.summary || '}') ->> '$.currency' AS currency,
    (invoice.summary || '}') ->> '$.paidAt' AS paid_at,
    (invoice.summary || '}') ->> '$.canceledAt' AS canceled_at,
    (invoice.summary || '}') ->> '$.createdAt' AS created_at,
    (invoice.summary || '}') ->> '$.updatedAt' AS updated_at,
    (invoice.summary || '}') ->> '$.type' AS type,
    invoice.amount_credited_cents,
    invoice.amount_written_off_cents,
    (invoice.summary || '}') ->> '$.suppliedOn' AS supplied_on,
    (invoice.summary || '}') ->> '$.documentFormat' AS document_format
FROM company CROSS JOIN invoice ON invoice.company_id = company.id;

CREATE VIEW report_credit_notes AS
SELECT
    company.record ->> '$.id' AS company_id,
    (credit_note.summary || '}') ->> '$.id' AS id,
    (credit_note.summary || '}') ->> '$.number' AS number,
    (credit_note.summary || '}') ->> '$.invoiceId' AS invoice_id,
    (credit_note.summary || '}') ->> '$.invoiceNumber' AS invoice_number,
    (credit_note.summary || '}') ->> '$.quoteId' AS quote_id,
    (credit_note.summary || '}') ->> '$.clientId' AS client_id,
    (credit_note.summary || '}') ->> '$.clientName' AS client_name,
    (credit_note.summary || '}') ->> '$.clientEmail' AS client_email,
    (credit_note.summary || '}') ->> '$.issueDate' AS issue_date,
    (credit_note.summary || '}') ->> '$.reason' AS reason,
    (credit_note.summary || '}') ->> '$.documentFormat' AS document_format,
    credit_note.total_ht_cents,
    credit_note.total_ttc_cents,
    credit_note.tva_rate_bp,
    (credit_note.summary || '}') ->> '$.currency' AS currency,
    (credit_note.summary || '}') ->> '$.createdAt' AS created_at
FROM company CROSS JOIN credit_note ON credit_note.company_id = company.id;

-- The numbers of lines, VAT shares and internal costs stand in JSON. They have at most 15 digits, which survive a binary float:
-- the rounded product is exact.

-- The lines of quotes and invoices.
CREATE VIEW report_lines AS
SELECT
    company_id,
    document,
    record ->> '$.id' AS document_id,
    record ->> '$.number' AS document_number,
    status AS document_status,
    position,
    line ->> '$.description' AS description,
    CAST(round((line ->> '$.quantity') * 10000) AS INTEGER) AS quantity_e4,
    line ->> '$.unit' AS unit,
    CAST(round((line ->> '$.unitPrice') * 10000) AS INTEGER) AS unit_price_e4,
    CAST(round((line ->> '$.totalHT') * 100) AS INTEGER) AS total_ht_cents,
    CAST(round((line ->> '$.tvaRate') * 100) AS INTEGER) AS tva_rate_bp,
    record ->> '$.currency' AS currency,
    line ->> '$.lot' AS lot,
    line ->> '$.section' AS section
FROM (
    SELECT
        company.record ->> '$.id' AS company_id,
        'quote' AS document,
        item.summary || '}' AS record,
        item.status,
        line.key + 1 AS position,
        line.value AS line
    FROM company CROSS JOIN quote_item AS item ON item.company_id = company.id JOIN json_each(item.lines) AS line
    UNION ALL
    SELECT company.record ->> '$.id', 'invoice', item.summary || '}', item.status, line.key + 1, line.value
    FROM company CROSS JOIN invoice_item AS item ON item.company_id = company.id JOIN json_each(item.lines) AS line
);

-- The VAT of invoices, by rate.
CREATE VIEW report_vat AS
SELECT
    company.record ->> '$.id' AS company_id,
    (invoice.summary || '}') ->> '$.id' AS invoice_id,
    (invoice.summary || '}') ->> '$.number' AS invoice_number,
    invoice.status AS invoice_status,
    (invoice.summary || '}') ->> '$.issueDate' AS issue_date,
    CAST(round((share.value ->> '$.tvaRate') * 100) AS INTEGER) AS tva_rate_bp,
    CAST(round((share.value ->> '$.baseHT') * 100) AS INTEGER) AS base_ht_cents,
    CAST(round((share.value ->> '$.amountTVA') * 100) AS INTEGER) AS amount_tva_cents,
    (invoice.summary || '}') ->> '$.currency' AS currency
FROM company CROSS JOIN invoice ON invoice.company_id = company.id
JOIN json_each('{' || invoice.detail, '$.vatBreakdown') AS share;

-- The VAT of credit notes, by rate. It lessens that of invoices that were issued, cancelled ones included if they have a credit
-- note: see docs/operate-reports.md.
CREATE VIEW report_credit_note_vat AS
SELECT
    company.record ->> '$.id' AS company_id,
    (credit_note.summary || '}') ->> '$.id' AS credit_note_id,
    (credit_note.summary || '}') ->> '$.number' AS credit_note_number,
    (credit_note.summary || '}') ->> '$.invoiceId' AS invoice_id,
    (credit_note.summary || '}') ->> '$.issueDate' AS issue_date,
    CAST(round((share.value ->> '$.tvaRate') * 100) AS INTEGER) AS tva_rate_bp,
    CAST(round((share.value ->> '$.baseHT') * 100) AS INTEGER) AS base_ht_cents,
    CAST(round((share.value ->> '$.amountTVA') * 100) AS INTEGER) AS amount_tva_cents,
    (credit_note.summary || '}') ->> '$.currency' AS currency
FROM company CROSS JOIN credit_note ON credit_note.company_id = company.id
JOIN json_each('{' || credit_note.detail, '$.vatBreakdown') AS share;

CREATE VIEW report_payments AS
SELECT
    company.record ->> '$.id' AS company_id,
    payment.record ->> '$.id' AS id,
    payment.record ->> '$.invoiceId' AS invoice_id,
    (invoice.summary || '}') ->> '$.number' AS invoice_number,
    (invoice.summary || '}') ->> '$.clientId' AS client_id,
    (invoice.summary || '}') ->> '$.clientName' AS client_name,
    payment.amount_cents,
    (invoice.summary || '}') ->> '$.currency' AS currency,
    payment.record ->> '$.source' AS source,
    payment.record ->> '$.method' AS method,
    payment.record ->> '$.reference' AS reference,
    payment.record ->> '$.recordedAt' AS recorded_at,
    payment.record ->> '$.reversedAt' AS reversed_at,
    payment.movement_id
FROM company CROSS JOIN payment ON payment.company_id = company.id
CROSS JOIN invoice ON invoice.company_id = payment.company_id AND invoice.id = payment.invoice_id;

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

-- Deliveries, as if a replay, the disabling or the removal of their webhook had already reached them. One that is being
-- attempted is shown as it stands.
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

-- Internal costs, which no other report has. Positions are those of the quote's lines, from 1.
CREATE VIEW report_costings AS
SELECT
    company.record ->> '$.id' AS company_id,
    (quote.summary || '}') ->> '$.id' AS quote_id,
    (quote.summary || '}') ->> '$.number' AS quote_number,
    costing.key + 1 AS position,
    CAST(round((costing.value ->> '$.labourCost') * 100) AS INTEGER) AS labour_cost_cents,
    CAST(round((costing.value ->> '$.materialCost') * 100) AS INTEGER) AS material_cost_cents,
    (quote.summary || '}') ->> '$.currency' AS currency,
    costing.value ->> '$.subcontractor' AS subcontractor,
    costing.value ->> '$.privateNote' AS private_note
FROM company CROSS JOIN quote ON quote.company_id = company.id
CROSS JOIN quote_costing ON quote_costing.company_id = quote.company_id AND quote_costing.quote_id = quote.id
JOIN json_each(quote_costing.costings) AS costing;
