-- Instants are milliseconds since 1970. Amounts are in cents and rates in hundredths of a percent; the JSON of a record
-- repeats them in currency units and in percent. HT is without VAT, TTC with VAT, TVA is VAT, and the retention is the part of
-- an invoice that is withheld for a year. Texts that are keys or conditions are compared by their bytes. The key of every table
-- with data of a company begins with the company, so that the tables can be distributed by it; an index without it is not
-- unique, and there are no foreign keys. Half of a page stays free in tables that are often updated, for updates in place.
--
-- `record` is the JSON of a whole record, and `version` that of its shape. A row is replaced only up to the version that a
-- node supports, so that an older node beside a newer one drops none of its fields.

-- Values of the service itself, by name, such as the key that signs URLs of documents.
CREATE TABLE setting (
    name TEXT COLLATE "C" PRIMARY KEY,
    value BYTEA NOT NULL
);

-- The commit status of transactions. Each inserts its own row. A node that has lost the answer to a commit looks for it: if
-- the row is missing, the node inserts it as `given_up`, and the transaction can no longer commit. The ids are ordered by
-- time, and rows are kept for an hour.
CREATE TABLE commit_status (
    id UUID PRIMARY KEY,
    at BIGINT NOT NULL,
    given_up BOOLEAN NOT NULL
);

-- The tenants. Each change of a company locks its row.
CREATE TABLE company (
    id UUID PRIMARY KEY,
    -- Stamp of the last change, which is `updatedAt` of the changed records. It only increases.
    last_stamp BIGINT NOT NULL,
    record TEXT NOT NULL,
    version BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Logos that companies have had on their documents. The facts of a document refer to its logo by the hash, so none is ever
-- deleted.
CREATE TABLE logo (
    company_id UUID NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    bytes BYTEA NOT NULL,
    PRIMARY KEY (company_id, sha256)
);

-- The last number allocated, per company, kind of document and year.
CREATE TABLE series (
    company_id UUID NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    year BIGINT NOT NULL,
    last BIGINT NOT NULL,
    -- Date of the last number of invoices or credit notes, which no later number precedes; NULL for quotes.
    last_date DATE,
    PRIMARY KEY (company_id, kind, year)
) WITH (fillfactor = 50);

-- Keys of the API, and the quota that they have used.
CREATE TABLE api_key (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    -- SHA-256 of the key.
    hash BYTEA NOT NULL,
    -- Its last four characters, by which people know it again.
    last4 TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- Last use, up to a minute behind.
    last_used_at BIGINT,
    revoked_at BIGINT,
    -- Instants of the requests accepted in the last minute, oldest first.
    accepted BIGINT[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (company_id, id)
) WITH (fillfactor = 50);
-- Look-up of a key by the hash of the one in a request.
CREATE INDEX api_key_hash ON api_key (hash);

CREATE TABLE client (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    external_id TEXT COLLATE "C",
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    -- Name, e-mail and city, folded for searching.
    search TEXT COLLATE "C" NOT NULL,
    record TEXT NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (company_id, id)
);
-- The look-up by `externalId`, which at most one client has.
CREATE UNIQUE INDEX client_external_id ON client (company_id, external_id) WHERE external_id IS NOT NULL;
-- The list of those that have changed since an instant.
CREATE INDEX client_updated ON client (company_id, updated_at, id);
-- The list, newest first, which a search reads in order and filters.
CREATE INDEX client_created ON client (company_id, created_at, id);

-- Quotes. `summary` is the JSON object of a list item without its closing brace, `detail` is the rest of the whole object
-- without its opening brace. With `lines` between them they are the whole object, byte for byte. Lines of more than 8 KiB
-- stand apart from their row (TOAST), so that a change of state neither reads nor writes them.
CREATE TABLE quote (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    -- Last day of the validity; NULL if the draft has none.
    valid_until DATE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    total_ht_cents BIGINT NOT NULL,
    total_ttc_cents BIGINT NOT NULL,
    tva_rate_bp BIGINT NOT NULL,
    retention_rate_bp BIGINT NOT NULL,
    retention_amount_cents BIGINT NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT NOT NULL,
    detail TEXT NOT NULL,
    -- Facts that are printed and no part of the API: the place of the work; the nature of the operations (goods, services or
    -- mixed), NULL for that of the company; 1 if the client owes the VAT; 1 for works in housing, NULL for those of a private
    -- client.
    work_site TEXT,
    operations TEXT,
    reverse_charge BIGINT NOT NULL,
    housing_works BIGINT,
    version BIGINT NOT NULL,
    PRIMARY KEY (company_id, id)
);
-- The list of those that have changed since an instant.
CREATE INDEX quote_updated ON quote (company_id, updated_at, id);
-- The list, newest first, of all quotes and of those in a status. A search reads it in order and filters.
CREATE INDEX quote_created ON quote (company_id, created_at, id);
CREATE INDEX quote_status ON quote (company_id, status, created_at, id);
-- The sweep of those whose validity has ended, in pages.
CREATE INDEX quote_last_day ON quote (company_id, valid_until, id) WHERE status = 'SENT';

-- Internal costs of the lines of a quote, as a JSON array in their order. The API neither reads nor writes them.
CREATE TABLE quote_costing (
    company_id UUID NOT NULL,
    quote_id UUID NOT NULL,
    costings TEXT NOT NULL,
    PRIMARY KEY (company_id, quote_id)
);

-- Invoices. Their JSON is split as that of quotes.
CREATE TABLE invoice (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    quote_id UUID NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    -- NULL until the issue.
    due_date DATE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    total_ht_cents BIGINT NOT NULL,
    total_ttc_cents BIGINT NOT NULL,
    tva_rate_bp BIGINT NOT NULL,
    retention_rate_bp BIGINT NOT NULL,
    retention_amount_cents BIGINT NOT NULL,
    retention_due_cents BIGINT NOT NULL,
    amount_paid_cents BIGINT NOT NULL,
    amount_due_cents BIGINT NOT NULL,
    amount_overpaid_cents BIGINT NOT NULL,
    amount_credited_cents BIGINT NOT NULL,
    amount_written_off_cents BIGINT NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT NOT NULL,
    detail TEXT NOT NULL,
    version BIGINT NOT NULL,
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
    company_id UUID NOT NULL,
    invoice_id UUID NOT NULL,
    id UUID NOT NULL,
    amount_cents BIGINT NOT NULL,
    -- The movement at the bank or the processor, by which a payment is recognised.
    movement_id TEXT COLLATE "C",
    reversed_at BIGINT,
    record TEXT NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (company_id, invoice_id, id)
);
-- At most one payment of an invoice per movement, unless it was reversed, and its look-up.
CREATE UNIQUE INDEX payment_movement ON payment (company_id, invoice_id, movement_id)
    WHERE movement_id IS NOT NULL AND reversed_at IS NULL;

-- Credit notes. Their JSON is split as that of quotes. Rows are never updated.
CREATE TABLE credit_note (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    invoice_id UUID NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    total_ht_cents BIGINT NOT NULL,
    total_ttc_cents BIGINT NOT NULL,
    tva_rate_bp BIGINT NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT NOT NULL,
    detail TEXT NOT NULL,
    -- Quantities of the invoice's lines that it takes back, as JSON. No part of the API.
    parts TEXT NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (company_id, id)
);
-- The credit notes on an invoice.
CREATE INDEX credit_note_invoice ON credit_note (company_id, invoice_id, id);
-- The list of those since an instant.
CREATE INDEX credit_note_updated ON credit_note (company_id, updated_at, id);
-- The list, newest first.
CREATE INDEX credit_note_created ON credit_note (company_id, created_at, id);

-- Records with their lines and the size of these in bytes, which is known without reading them.
CREATE VIEW quote_item AS
    SELECT company_id, id, status, created_at, updated_at, version, summary, detail, lines,
        octet_length(lines)::bigint AS lines_bytes
    FROM quote;
CREATE VIEW invoice_item AS
    SELECT company_id, id, status, created_at, updated_at, version, summary, detail, lines,
        octet_length(lines)::bigint AS lines_bytes
    FROM invoice;
CREATE VIEW credit_note_item AS
    SELECT company_id, id, created_at, updated_at, version, summary, detail, lines,
        octet_length(lines)::bigint AS lines_bytes
    FROM credit_note;

-- Frozen files: the PDF of each quote, invoice and credit note. The last one of a document is the one served. Rows are never
-- updated.
CREATE TABLE frozen_file (
    company_id UUID NOT NULL,
    -- Id of the quote, the invoice or the credit note.
    document_id UUID NOT NULL,
    -- Number of the file of the document, from 1.
    number BIGINT NOT NULL,
    -- Id of the upload, which with the company is the name of the stored file.
    upload_id UUID NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL,
    file_name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- Facts that are printed besides the record, as JSON. A signed copy repeats those of the sent one, and a credit note those
    -- of its invoice.
    facts TEXT NOT NULL,
    PRIMARY KEY (company_id, document_id, number)
);

-- Frozen files on their way into the document store. A row is inserted before the bytes are put, and deleted by the
-- transaction that refers to the file. Rows left by a crash or a failure lead the sweep to the orphans in the store.
CREATE TABLE upload (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    began_at BIGINT NOT NULL,
    -- Instant at which the sweep gave it up, before it deletes the file. From then on no transaction can refer to the file.
    abandoned_at BIGINT,
    PRIMARY KEY (company_id, id)
);

-- Links by which a client sees, signs and declines a quote.
CREATE TABLE signing_link (
    company_id UUID NOT NULL,
    -- SHA-256 of the token.
    token_hash BYTEA NOT NULL,
    quote_id UUID NOT NULL,
    created_at BIGINT NOT NULL,
    -- 30 days after the end of the quote's validity, or after the decision if that is later.
    ends_at BIGINT NOT NULL,
    revoked_at BIGINT,
    PRIMARY KEY (company_id, quote_id, token_hash)
);
-- Look-up of a link by the token of a request.
CREATE INDEX signing_link_token ON signing_link (token_hash);

-- Evidence of a signature. No part of the API.
CREATE TABLE proof (
    company_id UUID NOT NULL,
    quote_id UUID NOT NULL,
    token_hash BYTEA NOT NULL,
    ip TEXT,
    user_agent TEXT,
    -- The document that was shown.
    document_sha256 TEXT NOT NULL,
    -- SHA-256 over the evidence: see `proof_fingerprint` of the core.
    fingerprint TEXT NOT NULL,
    signed_at BIGINT NOT NULL,
    PRIMARY KEY (company_id, quote_id)
);

-- Jobs of the company, with their quotes in the record.
CREATE TABLE project (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    record TEXT NOT NULL,
    version BIGINT NOT NULL,
    PRIMARY KEY (company_id, id)
);

-- Webhooks. A removed one keeps its row, for its deliveries.
CREATE TABLE webhook (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    url TEXT NOT NULL,
    -- One bit per event kind, the first kind in the lowest bit.
    kinds BIGINT NOT NULL,
    -- The secret in clear if the host gave no key, else `v1.<key id>.<sealed bytes>`.
    secret TEXT NOT NULL,
    -- Id of the key that seals the secret; NULL where it is in clear.
    sealed_with TEXT COLLATE "C" GENERATED ALWAYS AS (
        CASE WHEN substr(secret, 1, 3) = 'v1.' THEN split_part(secret, '.', 2) END
    ) STORED,
    -- The secret before the last rotation, sealed like the other one. Attempts are signed with it as well until
    -- `previous_secret_until`.
    previous_secret TEXT,
    previous_secret_until BIGINT,
    previous_sealed_with TEXT COLLATE "C" GENERATED ALWAYS AS (
        CASE WHEN substr(previous_secret, 1, 3) = 'v1.' THEN split_part(previous_secret, '.', 2) END
    ) STORED,
    -- Instant of the last rotation. A change that was based on another one is refused.
    rotated_at BIGINT,
    -- Number of deliveries that failed since the last success, and the end of the first of them.
    failures BIGINT NOT NULL,
    failing_since BIGINT,
    disabled_at BIGINT,
    disabled_reason TEXT,
    created_at BIGINT NOT NULL,
    removed_at BIGINT,
    -- The test deliveries of the last minute, and the last one in any case: ids and times, as JSON, oldest first.
    ping_log TEXT,
    PRIMARY KEY (company_id, id)
) WITH (fillfactor = 50);
-- The webhooks of attempts, of any company.
CREATE INDEX webhook_id ON webhook (id);

-- Webhooks that failures have disabled and of which the host is still to be told. A node that calls the host holds the row
-- meanwhile.
CREATE TABLE disabled_notice (
    company_id UUID NOT NULL,
    webhook_id UUID NOT NULL,
    disabled_at BIGINT NOT NULL,
    reason TEXT NOT NULL,
    held_until BIGINT NOT NULL,
    PRIMARY KEY (company_id, webhook_id, disabled_at)
);

-- Events. Their ids are ordered by time. Events and deliveries are never deleted.
CREATE TABLE event (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    kind TEXT NOT NULL,
    timestamp BIGINT NOT NULL,
    -- The text that every attempt sends, unchanged.
    body TEXT NOT NULL,
    -- The request that caused the event, and a value of the host, in base64, which it gets back at each attempt; NULL where
    -- none was given.
    request_id TEXT,
    trace_context TEXT,
    PRIMARY KEY (company_id, id)
);

-- A node takes row ids of deliveries in blocks of this size.
CREATE SEQUENCE delivery_id_block AS BIGINT INCREMENT BY 1024;

-- One row per event and webhook. A pending delivery may be claimed once `due_at` and `held_until` are over: while `held_until`
-- is ahead, it is claimed. Claiming writes the end of the lease to `held_until`, which is in no index, and the claimant's
-- token to `claim`; an attempt ends the delivery only while the token is still there. Deliveries that fall due together lie
-- together. Half of a page stays free, so that every row of it can be claimed in place: with less room most claims would move
-- to another page and change each index. So does half of a page of its key and of `delivery_id`, as the end of a delivery adds
-- a second entry beside its first.
CREATE TABLE delivery (
    company_id UUID NOT NULL,
    event_id UUID NOT NULL,
    webhook_id UUID NOT NULL,
    id BIGINT NOT NULL,
    -- `pending`, `delivered`, `failed` or `skipped`.
    status TEXT COLLATE "C" NOT NULL,
    -- Reason of a skip.
    reason TEXT,
    due_at BIGINT NOT NULL,
    held_until BIGINT NOT NULL DEFAULT 0,
    claim BIGINT NOT NULL,
    -- Claims and recorded attempts since it was last queued, and in all. Each claim gives an attempt its number.
    claims BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    claims_in_all BIGINT NOT NULL,
    attempts_in_all BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (company_id, event_id, webhook_id) WITH (fillfactor = 50)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);
-- Look-up of a delivery by its row id, when an attempt is recorded.
CREATE INDEX delivery_id ON delivery (id) WITH (fillfactor = 50);
-- The claims of a webhook, and what waits for it.
CREATE INDEX delivery_due ON delivery (webhook_id, due_at, id) WHERE status = 'pending';
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
    company_id UUID NOT NULL,
    webhook_id UUID NOT NULL,
    at BIGINT NOT NULL,
    after_event UUID NOT NULL,
    until_event UUID NOT NULL,
    -- Only those that ended from the one instant to the other.
    since BIGINT NOT NULL,
    ended_until BIGINT NOT NULL,
    PRIMARY KEY (company_id, webhook_id)
);

-- Attempts of deliveries. They are deleted after 30 days.
CREATE TABLE attempt (
    company_id UUID NOT NULL,
    at BIGINT NOT NULL,
    event_id UUID NOT NULL,
    webhook_id UUID NOT NULL,
    -- Number of the attempt, given by its claim, so that recording it again conflicts with the key.
    number BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    -- HTTP status of the answer, or the class of the failure where there was none.
    status BIGINT,
    failure TEXT,
    PRIMARY KEY (company_id, at, event_id, webhook_id, number)
);

-- The changes that people of a company made under their name. Each is written in the transaction of the change, never deleted,
-- and numbered per company in the order of the commits.
CREATE TABLE history (
    company_id UUID NOT NULL,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    -- The changed record, of the table that the action begins with.
    subject UUID NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (company_id, number)
);
-- The refusals of a quote, by the client (`declined`) or the company (`rejected`). They are few, so the index stays small.
CREATE INDEX history_refusal ON history (company_id, subject, number) WHERE action IN ('quote.declined', 'quote.rejected');

-- Tokens of the console's forms that were carried out, so that none is carried out twice. Written in the transaction of the
-- change where one was made. A token carries its time (UUIDv7): the sweep deletes those that are older than any that is
-- accepted.
CREATE TABLE spent_form (
    company_id UUID NOT NULL,
    token UUID NOT NULL,
    -- Number of the change in the history; NULL if nothing was changed.
    noted BIGINT,
    PRIMARY KEY (company_id, token)
);

-- Begins a change of companies: what each transaction that shares its commit does first, in one call. It notes the transaction
-- `note`, takes a block of the row ids of deliveries, locks the companies in one order, and reads what their changes need:
-- webhooks, last numbers, and the records that `parts`, `owners` and `ids` name. At READ COMMITTED each statement of a
-- volatile function has a snapshot of its own, so the reads see what was committed before the locks were granted. Companies
-- that are locked are left out if `skip_locked` is true. Quotes and invoices with large lines are always left out.
--
-- `part` is the table of a row, but for `block`, whose `last` is the value of the sequence, and `quote_summary`. Nodes of this
-- version call the function for as long as a later one is being rolled out: that one calls a function of another name.
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

-- Views for reports, with the same columns on both databases: see docs/operate-reports.md. Their columns stay when the tables
-- change.
-- None of them can be written through: each has more than one item in FROM.

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
    client.external_id,
    r."createdAt" AS created_at,
    r."updatedAt" AS updated_at
FROM client
CROSS JOIN LATERAL json_to_record(client.record::json) AS r(
    name text, email text, phone text, address text, city text, "zipCode" text, type text, notes text,
    "createdAt" timestamptz, "updatedAt" timestamptz
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
    quote.total_ht_cents,
    quote.total_ttc_cents,
    quote.tva_rate_bp,
    quote.retention_rate_bp,
    quote.retention_amount_cents,
    r.currency,
    quote.valid_until,
    r."createdAt" AS created_at,
    r."updatedAt" AS updated_at,
    r."sentAt" AS sent_at,
    r."signedAt" AS signed_at,
    r."acceptedAt" AS accepted_at,
    r."signedByName" AS signed_by_name,
    r."signedByEmail" AS signed_by_email
FROM quote
CROSS JOIN LATERAL json_to_record((quote.summary || '}')::json) AS r(
    number text, "externalId" text, "clientId" uuid, "clientName" text, "clientEmail" text, currency text,
    "createdAt" timestamptz, "updatedAt" timestamptz, "sentAt" timestamptz, "signedAt" timestamptz,
    "acceptedAt" timestamptz, "signedByName" text, "signedByEmail" text
);

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
    r.currency,
    r."paidAt" AS paid_at,
    r."canceledAt" AS canceled_at,
    r."createdAt" AS created_at,
    r."updatedAt" AS updated_at,
    r.type,
    invoice.amount_credited_cents,
    invoice.amount_written_off_cents,
    r."suppliedOn" AS supplied_on,
    r."documentFormat" AS document_format
FROM invoice
CROSS JOIN LATERAL json_to_record((invoice.summary || '}')::json) AS r(
    number text, "clientId" uuid, "clientName" text, "clientEmail" text, "issueDate" date, currency text,
    "paidAt" timestamptz, "canceledAt" timestamptz, "createdAt" timestamptz, "updatedAt" timestamptz, type text,
    "suppliedOn" date, "documentFormat" text
);

CREATE VIEW report_credit_notes AS
SELECT
    credit_note.company_id,
    credit_note.id,
    r.number,
    credit_note.invoice_id,
    r."invoiceNumber" AS invoice_number,
    r."quoteId" AS quote_id,
    r."clientId" AS client_id,
    r."clientName" AS client_name,
    r."clientEmail" AS client_email,
    r."issueDate" AS issue_date,
    r.reason,
    r."documentFormat" AS document_format,
    credit_note.total_ht_cents,
    credit_note.total_ttc_cents,
    credit_note.tva_rate_bp,
    r.currency,
    r."createdAt" AS created_at
FROM credit_note
CROSS JOIN LATERAL json_to_record((credit_note.summary || '}')::json) AS r(
    number text, "invoiceNumber" text, "quoteId" uuid, "clientId" uuid, "clientName" text, "clientEmail" text,
    "issueDate" date, reason text, "documentFormat" text, currency text, "createdAt" timestamptz
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

-- The VAT of credit notes, by rate. It lessens that of invoices that were issued, cancelled ones included if they have a
-- credit note: see docs/operate-reports.md.
CREATE VIEW report_credit_note_vat AS
SELECT
    credit_note.company_id,
    credit_note.id AS credit_note_id,
    r.number AS credit_note_number,
    credit_note.invoice_id,
    r."issueDate" AS issue_date,
    (share."tvaRate" * 100)::bigint AS tva_rate_bp,
    (share."baseHT" * 100)::bigint AS base_ht_cents,
    (share."amountTVA" * 100)::bigint AS amount_tva_cents,
    r.currency
FROM credit_note
CROSS JOIN LATERAL json_to_record((credit_note.summary || '}')::json) AS r(
    number text, "issueDate" date, currency text
)
CROSS JOIN LATERAL json_to_recordset(('{' || credit_note.detail)::json -> 'vatBreakdown') AS share(
    "tvaRate" numeric, "baseHT" numeric, "amountTVA" numeric
);

CREATE VIEW report_payments AS
SELECT
    payment.company_id,
    payment.id,
    payment.invoice_id,
    i.number AS invoice_number,
    i."clientId" AS client_id,
    i."clientName" AS client_name,
    payment.amount_cents,
    i.currency,
    r.source,
    r.method,
    r.reference,
    r."recordedAt" AS recorded_at,
    r."reversedAt" AS reversed_at,
    payment.movement_id
FROM payment
JOIN invoice ON invoice.company_id = payment.company_id AND invoice.id = payment.invoice_id
CROSS JOIN LATERAL json_to_record((invoice.summary || '}')::json)
    AS i(number text, "clientId" uuid, "clientName" text, currency text)
CROSS JOIN LATERAL json_to_record(payment.record::json) AS r(
    source text, method text, reference text, "recordedAt" timestamptz, "reversedAt" timestamptz
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

-- Deliveries, as if a replay, the disabling or the removal of their webhook had already reached them. One that is being
-- attempted is shown as it stands.
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

-- Internal costs, which no other report has. Positions are those of the quote's lines, from 1.
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
