-- The forms of the console that were carried out, so that none is carried out twice. Written in the transaction of the change
-- where one was made. A token carries its time (UUIDv7): the sweep deletes those that are older than any that is accepted.
CREATE TABLE spent_form (
    company_id BLOB NOT NULL,
    token BLOB NOT NULL,
    -- The note of the change in the history; null where nothing was changed.
    noted INTEGER,
    PRIMARY KEY (company_id, token)
) WITHOUT ROWID;
