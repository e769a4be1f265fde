//! The logos that companies have had on their documents, by their hashes.

use super::scope::Scope;
use crate::error::Error;

/// The logos of a company.
pub(crate) struct LogoTable<'c>(pub(super) Scope<'c>);

impl LogoTable<'_> {
    /// Stores a logo; nothing if it is stored already.
    pub(crate) async fn insert(&mut self, sha256: &str, bytes: Vec<u8>) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO logo (company_id, sha256, bytes) VALUES ($1, $2, $3)
            ON CONFLICT (company_id, sha256) DO NOTHING";
        self.0.query(INSERT, &[&sha256, &bytes]).execute().await?;
        Ok(())
    }

    /// The bytes of a logo; `None` if none with this hash is stored.
    pub(crate) async fn find(&mut self, sha256: &str) -> Result<Option<Vec<u8>>, Error> {
        const FIND: &str = "SELECT bytes FROM logo WHERE company_id = $1 AND sha256 = $2";
        Ok(self.0.query(FIND, &[&sha256]).optional_scalar().await?)
    }
}
