-- Version of the shape of a row's JSON. A row without one was written before shapes had versions.
ALTER TABLE company ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE client ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE quote ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE invoice ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE payment ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE project ADD COLUMN version BIGINT NOT NULL DEFAULT 1;

-- Rows that the sweep has to rewrite: those below today's version. A migration that comes with a new version makes the
-- index again.
CREATE INDEX client_older ON client (company_id, id) WHERE version < 1;
CREATE INDEX quote_older ON quote (company_id, id) WHERE version < 1;
CREATE INDEX invoice_older ON invoice (company_id, id) WHERE version < 2;

-- A node of the version before knows no versions. During a rolling upgrade it must not put an invoice without
-- `retentionDue` into a row whose version promises it. No row has such a version yet, so none is looked at.
ALTER TABLE invoice ADD CONSTRAINT invoice_version CHECK (version < 2 OR strpos(summary, '"retentionDue":') > 0)
    NOT VALID;
