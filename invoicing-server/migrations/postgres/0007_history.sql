-- Who changed what, of the changes that a host's users made through a handle with their name. Written in the transaction
-- of the change, and kept like the events. Numbered per company, in the order of the commits.
CREATE TABLE history (
    company_id UUID NOT NULL,
    number BIGINT NOT NULL,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    -- The record that was changed, of the table that the action names; the company itself where it names that.
    subject UUID NOT NULL,
    detail TEXT NOT NULL,
    PRIMARY KEY (company_id, number)
);
