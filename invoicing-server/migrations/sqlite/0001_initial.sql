-- Instants are milliseconds since 1970, ids are 16 bytes, amounts of money stand in the JSON of their record.

CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE company (
    id BLOB PRIMARY KEY,
    last_stamp INTEGER NOT NULL,
    record TEXT NOT NULL
) WITHOUT ROWID;

-- The last number allocated, per company, kind of document and year.
CREATE TABLE series (
    company_id BLOB NOT NULL,
    kind TEXT NOT NULL,
    year INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (company_id, kind, year)
) WITHOUT ROWID;

CREATE TABLE api_key (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    hash BLOB NOT NULL,
    last4 TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at INTEGER,
    -- Requests accepted in the last minute, and those reserved: see keys.rs.
    quota_log TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX api_key_hash ON api_key (hash);

CREATE TABLE client (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    external_id TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- Name, e-mail and city, folded for searching.
    search TEXT NOT NULL,
    record TEXT NOT NULL
);
CREATE UNIQUE INDEX client_id ON client (company_id, id);
CREATE UNIQUE INDEX client_external_id ON client (company_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX client_updated ON client (company_id, updated_at, id);
CREATE INDEX client_created ON client (company_id, created_at, id);

-- `summary` is the JSON object of a list item without its closing brace, `detail` is the rest of the whole object without
-- its opening brace. With `lines` between them they are the whole object, byte for byte.
CREATE TABLE quote (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    status TEXT NOT NULL,
    valid_until TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT NOT NULL,
    detail TEXT NOT NULL,
    -- Where the work is done. Printed on the document, shown by no API.
    work_site TEXT
);
CREATE UNIQUE INDEX quote_id ON quote (company_id, id);
CREATE INDEX quote_updated ON quote (company_id, updated_at, id);
CREATE INDEX quote_created ON quote (company_id, created_at, id);
CREATE INDEX quote_status ON quote (company_id, status, created_at, id);
CREATE INDEX quote_validity ON quote (company_id, valid_until) WHERE status = 'SENT';

-- Internal costs. No statement of the API names this table.
CREATE TABLE quote_costing (
    company_id BLOB NOT NULL,
    quote_id BLOB NOT NULL,
    costings TEXT NOT NULL,
    PRIMARY KEY (company_id, quote_id)
) WITHOUT ROWID;

-- Frozen documents. The last one of a quote is the one served. Rows are never updated.
CREATE TABLE document (
    company_id BLOB NOT NULL,
    quote_id BLOB NOT NULL,
    number INTEGER NOT NULL,
    -- Names the stored file, together with the company.
    upload_id BLOB NOT NULL,
    sha256 TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    file_name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    -- What the document says besides the quote, as JSON. A signed copy is rendered from those of the sent one.
    particulars TEXT NOT NULL,
    PRIMARY KEY (company_id, quote_id, number)
) WITHOUT ROWID;

-- Documents on their way into the store. A row is inserted before the bytes are put, and deleted by the transaction
-- that refers to the document. Rows left by a crash or a failure lead the sweep to the orphans in the store.
CREATE TABLE upload (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    began_at INTEGER NOT NULL,
    -- Set by the sweep before it deletes the file. From then on no transaction can refer to the document.
    abandoned_at INTEGER,
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;

CREATE TABLE signing_link (
    company_id BLOB NOT NULL,
    token_hash BLOB NOT NULL,
    quote_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (company_id, token_hash)
) WITHOUT ROWID;
CREATE UNIQUE INDEX signing_link_token ON signing_link (token_hash);

-- Evidence of a signature. Shown by no API.
CREATE TABLE proof (
    company_id BLOB NOT NULL,
    quote_id BLOB NOT NULL,
    token_hash BLOB NOT NULL,
    ip TEXT,
    user_agent TEXT,
    document_sha256 TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    signed_at INTEGER NOT NULL,
    PRIMARY KEY (company_id, quote_id)
) WITHOUT ROWID;

CREATE TABLE invoice (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    quote_id BLOB NOT NULL,
    status TEXT NOT NULL,
    -- Set while something is due.
    due_date TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    summary TEXT NOT NULL,
    lines TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE UNIQUE INDEX invoice_id ON invoice (company_id, id);
-- One live invoice per quote.
CREATE UNIQUE INDEX invoice_quote ON invoice (company_id, quote_id) WHERE status <> 'CANCELED';
CREATE INDEX invoice_updated ON invoice (company_id, updated_at, id);
CREATE INDEX invoice_created ON invoice (company_id, created_at, id);
CREATE INDEX invoice_status ON invoice (company_id, status, created_at, id);
CREATE INDEX invoice_due ON invoice (company_id, due_date) WHERE status = 'SENT';

CREATE TABLE payment (
    company_id BLOB NOT NULL,
    invoice_id BLOB NOT NULL,
    id BLOB NOT NULL,
    reference TEXT,
    reversed_at INTEGER,
    record TEXT NOT NULL,
    PRIMARY KEY (company_id, invoice_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX payment_reference ON payment (company_id, invoice_id, reference) WHERE reference IS NOT NULL;

CREATE TABLE project (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    record TEXT NOT NULL,
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;

CREATE TABLE webhook (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    url TEXT NOT NULL,
    -- One bit per event kind, in the order of the documented table.
    kinds INTEGER NOT NULL,
    secret TEXT NOT NULL,
    -- Deliveries that ended failed since the last success.
    failures INTEGER NOT NULL,
    disabled_at INTEGER,
    disabled_reason TEXT,
    created_at INTEGER NOT NULL,
    removed_at INTEGER,
    -- Id of the key that seals the secret; NULL where it is in clear. Computed from `v1.<key id>.<sealed bytes>`.
    sealed_with TEXT GENERATED ALWAYS AS (
        CASE WHEN substr(secret, 1, 3) = 'v1.' THEN substr(secret, 4, instr(substr(secret, 4), '.') - 1) END
    ) VIRTUAL,
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX webhook_id ON webhook (id);

CREATE TABLE event (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    kind TEXT NOT NULL,
    timestamp INTEGER NOT NULL,
    -- The bytes that every attempt sends.
    body TEXT NOT NULL,
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;

-- One row per event and webhook. A pending delivery may be claimed from `due_at` on, unless `held_until` is later: then
-- it is claimed. Claiming writes the end of the lease to `held_until`, which is in no index, and the claimant's token to
-- `claim`; an attempt ends the delivery only while the token is still there.
CREATE TABLE delivery (
    id INTEGER PRIMARY KEY,
    company_id BLOB NOT NULL,
    event_id BLOB NOT NULL,
    webhook_id BLOB NOT NULL,
    status TEXT NOT NULL,
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
CREATE UNIQUE INDEX delivery_event ON delivery (event_id, webhook_id);
CREATE INDEX delivery_due ON delivery (webhook_id, due_at) WHERE status = 'pending';
CREATE INDEX delivery_replayable ON delivery (webhook_id, event_id) WHERE status IN ('failed', 'skipped');

CREATE TABLE attempt (
    company_id BLOB NOT NULL,
    at INTEGER NOT NULL,
    event_id BLOB NOT NULL,
    webhook_id BLOB NOT NULL,
    -- Of the claim that it was made with, so that recording it again conflicts with the key.
    number INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    -- HTTP status of the answer, or the class of the failure.
    status INTEGER,
    failure TEXT,
    PRIMARY KEY (company_id, at, event_id, webhook_id, number)
) WITHOUT ROWID;
