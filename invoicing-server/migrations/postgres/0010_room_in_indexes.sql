-- The end of a delivery adds a second entry beside its first. Where new entries go, at the right edge of an index, pages were
-- left full, and the ends split them again. Elsewhere a split leaves half of a page free as it is. Applies to new pages;
-- nothing is rewritten.
ALTER INDEX delivery_pkey SET (fillfactor = 50);
ALTER INDEX delivery_id SET (fillfactor = 50);
