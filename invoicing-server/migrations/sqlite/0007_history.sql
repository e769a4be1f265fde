-- Who changed what, of the changes that a host's users made through a handle with their name. Written in the transaction
-- of the change, and kept like the events. Numbered per company, in the order of the commits.
CREATE TABLE history (
    company_id BLOB NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    -- The record that was changed, of the table that the action names; the company itself where it names that.
    subject BLOB NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (company_id, number)
) WITHOUT ROWID;
