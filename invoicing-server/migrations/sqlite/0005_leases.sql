-- How long a claim holds; 0 where nothing is claimed. Apart from `due_at`, which is indexed: claiming and giving back
-- change no index.
ALTER TABLE delivery ADD COLUMN held_until INTEGER NOT NULL DEFAULT 0;

-- Claims used to push `due_at` to the end of the lease.
UPDATE delivery SET held_until = due_at WHERE status = 'pending' AND claim <> 0;
