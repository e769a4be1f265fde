-- When the first delivery after the last success ended failed. Null where none did.
ALTER TABLE webhook ADD COLUMN failing_since INTEGER;
-- The test deliveries of the last minute, and the last one in any case: ids and times, as JSON, oldest first.
ALTER TABLE webhook ADD COLUMN ping_log TEXT;

-- Of those that fail now: since the last success that is on record.
UPDATE webhook SET failing_since = coalesce(
    (
        SELECT max(a.at + a.duration_ms) FROM attempt a
        JOIN event e ON e.company_id = a.company_id AND e.id = a.event_id
        WHERE a.company_id = webhook.company_id AND a.webhook_id = webhook.id AND a.status BETWEEN 200 AND 299
            AND e.kind <> 'ping' AND (webhook.disabled_at IS NULL OR a.at + a.duration_ms <= webhook.disabled_at)
    ),
    created_at
)
WHERE failures > 0 AND removed_at IS NULL;

-- How many deliveries to a webhook failed of late.
CREATE INDEX delivery_failed ON delivery (company_id, webhook_id, ended_at) WHERE status = 'failed';

-- Webhooks that failures have disabled and of which the host is still to be told. A node that calls the host holds the
-- row meanwhile.
CREATE TABLE disabled_notice (
    company_id BLOB NOT NULL,
    webhook_id BLOB NOT NULL,
    disabled_at INTEGER NOT NULL,
    reason TEXT NOT NULL,
    held_until INTEGER NOT NULL,
    PRIMARY KEY (company_id, webhook_id, disabled_at)
) WITHOUT ROWID;
