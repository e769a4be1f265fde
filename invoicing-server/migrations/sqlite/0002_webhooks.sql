-- What still has to be done to the deliveries of a webhook, in batches. Those of the events after `after_event` up to
-- `until_event` that have failed or were skipped are queued again. While the webhook is disabled or removed, those that
-- wait are skipped. No row: nothing is left to do.
CREATE TABLE bulk_change (
    company_id BLOB NOT NULL,
    webhook_id BLOB NOT NULL,
    at INTEGER NOT NULL,
    after_event BLOB NOT NULL,
    until_event BLOB NOT NULL,
    -- Only those that ended from this instant to that one.
    since INTEGER NOT NULL,
    ended_until INTEGER NOT NULL,
    PRIMARY KEY (company_id, webhook_id)
) WITHOUT ROWID;

-- With the company, so that a replay counts and finds its deliveries in the index alone.
CREATE INDEX delivery_replay ON delivery (company_id, webhook_id, event_id, status, ended_at)
    WHERE status IN ('failed', 'skipped');
DROP INDEX delivery_replayable;

-- The secret before the last rotation, sealed like the other one. Attempts are signed with it as well until that instant.
ALTER TABLE webhook ADD COLUMN previous_secret TEXT;
ALTER TABLE webhook ADD COLUMN previous_secret_until INTEGER;
ALTER TABLE webhook ADD COLUMN previous_sealed_with TEXT GENERATED ALWAYS AS (
    CASE WHEN substr(previous_secret, 1, 3) = 'v1.'
        THEN substr(previous_secret, 4, instr(substr(previous_secret, 4), '.') - 1) END
) VIRTUAL;
