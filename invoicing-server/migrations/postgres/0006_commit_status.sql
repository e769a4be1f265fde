-- The ids of transactions are ordered by time, so their own index leads to the old ones.
DROP INDEX commit_status_at;
