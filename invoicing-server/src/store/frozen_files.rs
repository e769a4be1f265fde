//! Frozen files: the PDF of each quote, invoice and credit note.

use invoicing_core::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::FromRow;
use uuid::Uuid;

use super::rows::{from_json, to_json};
use super::scope::Scope;
use crate::error::Error;
use crate::records::FrozenFile;

/// A file that a document refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrozenFileRow {
    /// The upload that stored it; its id names the file in the store.
    pub(crate) upload: Uuid,
    /// SHA-256 of its bytes, 64 lowercase hex digits.
    pub(crate) sha256: String,
    pub(crate) size_bytes: u64,
    pub(crate) file_name: String,
}

#[derive(FromRow)]
struct FileRecordRow {
    sha256: String,
    size_bytes: i64,
    file_name: String,
    created_at: i64,
}

/// The columns of a file, which are NULL for a document without one.
#[derive(FromRow)]
pub(super) struct FoundFileRow {
    upload_id: Option<Uuid>,
    sha256: Option<String>,
    size_bytes: Option<i64>,
    file_name: Option<String>,
}

#[derive(FromRow)]
struct FileWithFactsRow {
    #[sqlx(flatten)]
    found: FoundFileRow,
    facts: String,
}

impl FoundFileRow {
    /// The file; `None` if the document has none.
    pub(super) fn file(self) -> Option<FrozenFileRow> {
        Some(FrozenFileRow {
            upload: self.upload_id?,
            sha256: self.sha256?,
            size_bytes: u64::try_from(self.size_bytes?).unwrap_or(0),
            file_name: self.file_name?,
        })
    }
}

/// The frozen files of a company's documents.
pub(crate) struct FrozenFileTable<'c>(pub(super) Scope<'c>);

impl FrozenFileTable<'_> {
    /// Adds the latest file of a document. `facts` are the data that it shows besides the record.
    pub(crate) async fn insert(
        &mut self,
        document: Uuid,
        file: &FrozenFileRow,
        created_at: Timestamp,
        facts: &impl Serialize,
    ) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO frozen_file
                (company_id, document_id, number, upload_id, sha256, size_bytes, file_name, created_at, facts)
            SELECT $1, $2, coalesce(max(number), 0) + 1, $3, $4, $5, $6, $7, $8 FROM frozen_file
            WHERE company_id = $1 AND document_id = $2";
        let FrozenFileRow { upload, sha256, size_bytes, file_name } = file;
        let size = i64::try_from(*size_bytes).unwrap_or(i64::MAX);
        let facts = to_json(facts)?;
        let insert =
            self.0.query(INSERT, &[&document, upload, sha256, &size, file_name, &created_at, &facts]);
        insert.execute().await?;
        Ok(())
    }

    /// Every file of a document, oldest first.
    pub(crate) async fn list(&mut self, document: Uuid) -> Result<Vec<FrozenFile>, Error> {
        const LIST: &str = "
            SELECT sha256, size_bytes, file_name, created_at FROM frozen_file
            WHERE company_id = $1 AND document_id = $2 ORDER BY number";
        let rows: Vec<FileRecordRow> = self.0.query(LIST, &[&document]).fetch_all().await?;
        let record = |row: FileRecordRow| FrozenFile {
            sha256: row.sha256,
            size_bytes: u64::try_from(row.size_bytes).unwrap_or(0),
            file_name: row.file_name,
            created_at: Timestamp::from_millis(row.created_at),
        };
        Ok(rows.into_iter().map(record).collect())
    }

    /// The file of a document with this hash; the latest if there are several.
    pub(crate) async fn find(&mut self, document: Uuid, sha256: &str) -> Result<FrozenFileRow, Error> {
        const FIND: &str = "
            SELECT upload_id, sha256, size_bytes, file_name FROM frozen_file
            WHERE company_id = $1 AND document_id = $2 AND sha256 = $3 ORDER BY number DESC LIMIT 1";
        let row: Option<FoundFileRow> = self.0.query(FIND, &[&document, &sha256]).fetch_optional().await?;
        row.and_then(FoundFileRow::file).ok_or(Error::NotFound)
    }

    /// The latest file of a document, with the facts that it shows; `None` if there is none.
    pub(crate) async fn latest_with_facts<F: DeserializeOwned>(
        &mut self,
        document: Uuid,
    ) -> Result<Option<(FrozenFileRow, F)>, Error> {
        const LATEST: &str = "
            SELECT upload_id, sha256, size_bytes, file_name, facts FROM frozen_file
            WHERE company_id = $1 AND document_id = $2 ORDER BY number DESC LIMIT 1";
        let row: Option<FileWithFactsRow> = self.0.query(LATEST, &[&document]).fetch_optional().await?;
        let Some(FileWithFactsRow { found, facts }) = row else { return Ok(None) };
        let facts = from_json(facts, "frozen_file", document)?;
        Ok(found.file().map(|file| (file, facts)))
    }
}
