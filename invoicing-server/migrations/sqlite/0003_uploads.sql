-- Documents that are being put into the store: written before the bytes, deleted by the transaction that refers to
-- them. What stays behind is what a crash or a failure has left, so that the sweep need not list the store.
CREATE TABLE upload (
    company_id BLOB NOT NULL,
    id BLOB NOT NULL,
    sha256 TEXT NOT NULL,
    began_at INTEGER NOT NULL,
    -- When a sweep last took the object to delete it. From then on no transaction may refer to it.
    sweeping INTEGER,
    PRIMARY KEY (company_id, id)
) WITHOUT ROWID;
CREATE INDEX upload_sha256 ON upload (company_id, sha256);

-- Whether any record refers to an object.
CREATE INDEX document_sha256 ON document (company_id, sha256);
