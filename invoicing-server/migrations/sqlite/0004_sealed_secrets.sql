-- Which key a webhook's secret is sealed with; null where it is in clear. Computed from `v1.<key id>.<sealed bytes>`.
ALTER TABLE webhook ADD COLUMN sealed_with TEXT GENERATED ALWAYS AS (
    CASE WHEN substr(secret, 1, 3) = 'v1.' THEN substr(secret, 4, instr(substr(secret, 4), '.') - 1) END
) VIRTUAL;

-- Nothing is signed for a webhook that was removed.
UPDATE webhook SET secret = '' WHERE removed_at IS NOT NULL;
