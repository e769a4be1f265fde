//! The history of changes and their authors, for the host's own pages.

use super::CompanyHandle;
use crate::error::Error;
use crate::list_query::HistoryQuery;
use crate::records::{HistoryPage, HistoryRecord};
use crate::store::Tables;

/// The changes of a company that were made through a handle [with a
/// name](CompanyHandle::acting_as). The transaction of a change notes it, so a refused call, or one
/// that changes nothing, leaves no note. Notes are kept like the records.
///
/// ```
/// # use invoicing_server::{Invoicing, NewCompany, Plan};
/// use invoicing_server::HistoryAction;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// let issued = company.acting_as("Léa Martin")?.keys().issue("CRM").await?;
///
/// let latest = &company.history().list(None, 50).await?[0];
/// assert_eq!((&*latest.actor, &*latest.detail), ("Léa Martin", "CRM"));
/// assert_eq!(latest.action, HistoryAction::KeyIssued);
/// assert_eq!(latest.subject, issued.record.id.0);
///
/// // The number of the last one that was read leads to the page before it.
/// assert!(company.history().list(Some(latest.number), 50).await?.is_empty());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct History<'a>(pub(super) &'a CompanyHandle);

impl CompanyHandle {
    /// The changes of the company, with their authors.
    pub fn history(&self) -> History<'_> {
        History(self)
    }
}

impl History<'_> {
    /// Changes before the one with this number (or up to the last), latest first, at most `limit`.
    /// `limit` has no maximum; the whole answer is in memory at once.
    pub async fn list(&self, before: Option<i64>, limit: u32) -> Result<Vec<HistoryRecord>, Error> {
        let before = before.unwrap_or(i64::MAX);
        let found = self.0.read(async move |mut tx| tx.history().list(before, limit).await);
        self.0.operation("history.list", found).await
    }

    /// The last time that a quote was declined or discarded, if that was done under a name or
    /// through a signing link.
    #[cfg(feature = "console")]
    pub(crate) async fn refusal(
        &self,
        quote: invoicing_core::QuoteId,
    ) -> Result<Option<HistoryRecord>, Error> {
        let found = self.0.read(async move |mut tx| tx.history().refusal(quote.0).await);
        self.0.operation("history.refusal", found).await
    }

    /// A page of the changes, latest first, at most `limit` (1 to 1,000). With a record it looks at
    /// 2,000 changes at most, so it may be shorter or empty, and still name a
    /// [`next`](HistoryPage::next) page.
    ///
    /// # Errors
    /// [`Error::Invalid`] about any other `limit`.
    pub async fn page(&self, query: &HistoryQuery, limit: u32) -> Result<HistoryPage, Error> {
        let query = *query;
        let found = self.0.read(async move |mut tx| tx.history().page(&query, limit).await);
        self.0.operation("history.page", found).await
    }
}
