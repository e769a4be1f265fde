-- As in the table, half of a page stays free: the end of a delivery adds a second entry beside its first. In full pages each
-- of them was split for that. Applies to new pages; nothing is rewritten.
ALTER INDEX delivery_pkey SET (fillfactor = 50);
ALTER INDEX delivery_id SET (fillfactor = 50);
