-- Instants are milliseconds since 1970, amounts of money stand in the JSON of their record. Texts are compared and
-- ordered by their bytes. The key of every table with data of a company begins with the company, so that the tables can
-- be distributed by it.

CREATE TABLE setting (
    name TEXT COLLATE "C" PRIMARY KEY,
    value BYTEA NOT NULL
);

-- Commit status of a transaction whose answer was lost: its row exists if it was committed. A query for the status
-- inserts a missing row itself, so that the transaction can no longer commit. Rows are kept for an hour.
CREATE TABLE commit_status (
    id UUID PRIMARY KEY,
    at BIGINT NOT NULL,
    given_up BOOLEAN NOT NULL
);
CREATE INDEX commit_status_at ON commit_status (at);

CREATE TABLE company (
    id UUID PRIMARY KEY,
    last_stamp BIGINT NOT NULL,
    record TEXT NOT NULL
) WITH (fillfactor = 50);

-- The last number allocated, per company, kind of document and year.
CREATE TABLE series (
    company_id UUID NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    year BIGINT NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (company_id, kind, year)
) WITH (fillfactor = 50);

CREATE TABLE api_key (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    hash BYTEA NOT NULL,
    last4 TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at BIGINT,
    -- Instants of the requests accepted in the last minute, oldest first.
    accepted BIGINT[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (company_id, id)
) WITH (fillfactor = 50);
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
    PRIMARY KEY (company_id, id)
);
CREATE UNIQUE INDEX client_external_id ON client (company_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX client_updated ON client (company_id, updated_at, id);
CREATE INDEX client_created ON client (company_id, created_at, id);

-- `summary` is the JSON object of a list item without its closing brace, `detail` is the rest of the whole object without
-- its opening brace. With `lines` between them they are the whole object, byte for byte.
CREATE TABLE quote (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    valid_until DATE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT NOT NULL,
    detail TEXT NOT NULL,
    -- Where the work is done. Printed on the document, shown by no API.
    work_site TEXT,
    PRIMARY KEY (company_id, id)
);
CREATE INDEX quote_updated ON quote (company_id, updated_at, id);
CREATE INDEX quote_created ON quote (company_id, created_at, id);
CREATE INDEX quote_status ON quote (company_id, status, created_at, id);
CREATE INDEX quote_validity ON quote (company_id, valid_until) WHERE status = 'SENT';

-- Internal costs. No statement of the API names this table.
CREATE TABLE quote_costing (
    company_id UUID NOT NULL,
    quote_id UUID NOT NULL,
    costings TEXT NOT NULL,
    PRIMARY KEY (company_id, quote_id)
);

-- Frozen documents. The last one of a quote is the one served. Rows are never updated.
CREATE TABLE document (
    company_id UUID NOT NULL,
    quote_id UUID NOT NULL,
    number BIGINT NOT NULL,
    -- Names the stored file, together with the company.
    upload_id UUID NOT NULL,
    sha256 TEXT COLLATE "C" NOT NULL,
    size_bytes BIGINT NOT NULL,
    file_name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    -- What the document says besides the quote, as JSON. A signed copy is rendered from those of the sent one.
    particulars TEXT NOT NULL,
    PRIMARY KEY (company_id, quote_id, number)
);

-- Documents on their way into the store. A row is inserted before the bytes are put, and deleted by the transaction
-- that refers to the document. Rows left by a crash or a failure lead the sweep to the orphans in the store.
CREATE TABLE upload (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    began_at BIGINT NOT NULL,
    -- Set by the sweep before it deletes the file. From then on no transaction can refer to the document.
    abandoned_at BIGINT,
    PRIMARY KEY (company_id, id)
);

CREATE TABLE signing_link (
    company_id UUID NOT NULL,
    token_hash BYTEA NOT NULL,
    quote_id UUID NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (company_id, token_hash)
);
CREATE INDEX signing_link_token ON signing_link (token_hash);

-- Evidence of a signature. Shown by no API.
CREATE TABLE proof (
    company_id UUID NOT NULL,
    quote_id UUID NOT NULL,
    token_hash BYTEA NOT NULL,
    ip TEXT,
    user_agent TEXT,
    document_sha256 TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    signed_at BIGINT NOT NULL,
    PRIMARY KEY (company_id, quote_id)
);

CREATE TABLE invoice (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    quote_id UUID NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    -- Set while something is due.
    due_date DATE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (company_id, id)
);
-- One live invoice per quote.
CREATE UNIQUE INDEX invoice_quote ON invoice (company_id, quote_id) WHERE status <> 'CANCELED';
CREATE INDEX invoice_updated ON invoice (company_id, updated_at, id);
CREATE INDEX invoice_created ON invoice (company_id, created_at, id);
CREATE INDEX invoice_status ON invoice (company_id, status, created_at, id);
CREATE INDEX invoice_due ON invoice (company_id, due_date) WHERE status = 'SENT';

CREATE TABLE payment (
    company_id UUID NOT NULL,
    invoice_id UUID NOT NULL,
    id UUID NOT NULL,
    reference TEXT COLLATE "C",
    reversed_at BIGINT,
    record TEXT NOT NULL,
    PRIMARY KEY (company_id, invoice_id, id)
);
CREATE UNIQUE INDEX payment_reference ON payment (company_id, invoice_id, reference) WHERE reference IS NOT NULL;

CREATE TABLE project (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (company_id, id)
);

CREATE TABLE webhook (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    url TEXT NOT NULL,
    -- One bit per event kind, in the order of the documented table.
    kinds BIGINT NOT NULL,
    secret TEXT NOT NULL,
    -- Deliveries that ended failed since the last success.
    failures BIGINT NOT NULL,
    disabled_at BIGINT,
    disabled_reason TEXT,
    created_at BIGINT NOT NULL,
    removed_at BIGINT,
    -- Id of the key that seals the secret; NULL where it is in clear. Computed from `v1.<key id>.<sealed bytes>`.
    sealed_with TEXT COLLATE "C" GENERATED ALWAYS AS (
        CASE WHEN substr(secret, 1, 3) = 'v1.' THEN split_part(secret, '.', 2) END
    ) STORED,
    PRIMARY KEY (company_id, id)
) WITH (fillfactor = 50);
CREATE INDEX webhook_id ON webhook (id);

CREATE TABLE event (
    company_id UUID NOT NULL,
    id UUID NOT NULL,
    kind TEXT NOT NULL,
    timestamp BIGINT NOT NULL,
    -- The bytes that every attempt sends.
    body TEXT NOT NULL,
    PRIMARY KEY (company_id, id)
);

-- A node takes row ids of deliveries in blocks of this size.
CREATE SEQUENCE delivery_id_block AS BIGINT INCREMENT BY 1024;

-- One row per event and webhook. A pending delivery may be claimed from `due_at` on, unless `held_until` is later: then
-- it is claimed. Claiming writes the end of the lease to `held_until`, which is in no index, and the claimant's token to
-- `claim`; an attempt ends the delivery only while the token is still there.
-- Deliveries that fall due together lie together. Half of a page stays free, so that every row of it can be claimed in
-- place: with less room most claims moved to another page and changed each index.
CREATE TABLE delivery (
    company_id UUID NOT NULL,
    event_id UUID NOT NULL,
    webhook_id UUID NOT NULL,
    id BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
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
    PRIMARY KEY (company_id, event_id, webhook_id)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000);
CREATE INDEX delivery_id ON delivery (id);
CREATE INDEX delivery_due ON delivery (webhook_id, due_at, id) WHERE status = 'pending';
CREATE INDEX delivery_replayable ON delivery (webhook_id, event_id) WHERE status IN ('failed', 'skipped');

CREATE TABLE attempt (
    company_id UUID NOT NULL,
    at BIGINT NOT NULL,
    event_id UUID NOT NULL,
    webhook_id UUID NOT NULL,
    -- Of the claim that it was made with, so that recording it again conflicts with the key.
    number BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    -- HTTP status of the answer, or the class of the failure.
    status BIGINT,
    failure TEXT,
    PRIMARY KEY (company_id, at, event_id, webhook_id, number)
);
