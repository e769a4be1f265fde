-- The last rotation of a webhook's secret, by which two of its states differ.
ALTER TABLE webhook ADD COLUMN rotated_at INTEGER;
