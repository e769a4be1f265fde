-- Deliveries that have begun and are to be attempted again. One that arrives at the first attempt is never an entry.
CREATE INDEX delivery_begun ON delivery (due_at) WHERE status = 'pending' AND attempts > 0;
