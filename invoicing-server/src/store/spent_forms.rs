//! Forms of the console that were carried out, each at most once.

#[cfg(feature = "console")]
use std::sync::atomic::{AtomicBool, Ordering};

use uuid::Uuid;

#[cfg(feature = "console")]
use super::connection::ReadSet;
use super::scope::Scope;
use crate::error::Error;

/// A form whose change is being made.
#[cfg(feature = "console")]
#[derive(Debug)]
pub(crate) struct OpenForm {
    pub(crate) token: Uuid,
    /// True once a transaction has spent the token.
    is_spent: AtomicBool,
}

#[cfg(feature = "console")]
impl OpenForm {
    pub(crate) fn new(token: Uuid) -> Self {
        Self { token, is_spent: AtomicBool::new(false) }
    }

    pub(crate) fn is_spent(&self) -> bool {
        self.is_spent.load(Ordering::Relaxed)
    }

    pub(super) fn set_spent(&self) {
        self.is_spent.store(true, Ordering::Relaxed);
    }
}

/// The forms that were carried out.
pub(crate) struct SpentFormTable<'c>(pub(super) Scope<'c>);

impl SpentFormTable<'_> {
    /// Spends a token. Returns false if it was spent before.
    #[cfg(feature = "console")]
    pub(crate) async fn insert(&mut self, token: Uuid) -> Result<bool, Error> {
        const INSERT: &str = "
            INSERT INTO spent_form (company_id, token, noted) VALUES ($1, $2, NULL) ON CONFLICT DO NOTHING";
        Ok(self.0.query(INSERT, &[&token]).execute().await? > 0)
    }

    /// As [`Self::insert`], for the change that is noted next. The transaction locks the company,
    /// so the next note belongs to this change.
    #[cfg(feature = "console")]
    pub(super) async fn insert_noted(&mut self, token: Uuid) -> Result<bool, Error> {
        const INSERT: &str = "
            INSERT INTO spent_form (company_id, token, noted)
            SELECT $1, $2, coalesce(max(number), 0) + 1 FROM history WHERE company_id = $1 ON CONFLICT DO NOTHING";
        Ok(self.0.query_of(ReadSet::Table("history"), INSERT, &[&token]).execute().await? > 0)
    }

    /// The number of the note of the change that a spent token has made, 0 if it has made none.
    #[cfg(feature = "console")]
    pub(crate) async fn find(&mut self, token: Uuid) -> Result<Option<i64>, Error> {
        const FIND: &str = "
            SELECT coalesce(noted, 0) FROM spent_form WHERE company_id = $1 AND token = $2";
        Ok(self.0.query(FIND, &[&token]).optional_scalar().await?)
    }

    /// Deletes the tokens that sort before this one.
    pub(crate) async fn prune(&mut self, before: Uuid) -> Result<(), Error> {
        const PRUNE: &str = "DELETE FROM spent_form WHERE company_id = $1 AND token < $2";
        self.0.query(PRUNE, &[&before]).execute().await?;
        Ok(())
    }
}
