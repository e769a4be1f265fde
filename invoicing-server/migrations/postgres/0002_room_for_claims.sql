-- Half of a page stays free, so that every row of it can be claimed in place: what falls due together lies together, and
-- with less room most claims moved to another page and changed each index. For pages that are written from now on.
ALTER TABLE delivery SET (fillfactor = 50);
