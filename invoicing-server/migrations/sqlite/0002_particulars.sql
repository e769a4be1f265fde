-- Where the work is done. Printed on the document, shown by no API.
ALTER TABLE quote ADD COLUMN work_site TEXT;

-- What the document says besides the quote, as JSON. The copy with the signature is rendered from the particulars of
-- the copy that was signed. NULL in documents that were frozen before there were any.
ALTER TABLE document ADD COLUMN particulars TEXT;
