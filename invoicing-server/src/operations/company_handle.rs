//! The handle of a company, from which every operation starts, and its two verbs: read and write.

use std::sync::Arc;

use invoicing_core::internal::{SHORT_TEXT, required_text, without_bidi_controls};
use invoicing_core::{CompanyId, Conflict, Invalid};

use super::Services;
use crate::cause::{Cause, is_request_id};
use crate::env::Env;
use crate::error::Error;
use crate::records::{StoredPage, Version};
use crate::store::expected::{Comparison, Expected, no_version};
#[cfg(feature = "console")]
use crate::store::spent_forms::OpenForm;
use crate::store::{AuditContext, CompanyReader, CompanyTx, Operation, Prefetch};

/// One company: every operation on its records starts here. Cheap to clone; holds no lock and no
/// connection.
///
/// A handle can be made for an id that does not exist; its operations then return
/// [`Error::NotFound`].
///
/// ```
/// # use invoicing_server::{Invoicing, NewCompany, Plan};
/// use invoicing_server::CompanyIdentity;
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// let id = company.id();
/// // What its documents say about it.
/// let identity = CompanyIdentity::default().address("3 rue du Four").zip_code("69003").city("Lyon");
/// invoicing.company(id).set_identity(&identity).await?;
/// // From now on, an accepted quote becomes a draft invoice by itself.
/// invoicing.company(id).set_automatic_invoicing(true).await?;
/// assert_eq!(company.details().await?.identity, identity);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct CompanyHandle {
    pub(super) services: Arc<Services>,
    pub(super) id: CompanyId,
    /// Author of the changes, if the history is to note them.
    actor: Option<Arc<str>>,
    /// The request that the changes are made for.
    pub(super) request_id: Option<Arc<str>>,
    /// The version in which changes must find their record.
    expected: Option<Expected>,
    /// The console's form that the next noted change carries out.
    #[cfg(feature = "console")]
    pub(super) form: Option<Arc<OpenForm>>,
}

impl CompanyHandle {
    pub(crate) fn new(services: Arc<Services>, id: CompanyId) -> Self {
        Self {
            services,
            id,
            actor: None,
            request_id: None,
            expected: None,
            #[cfg(feature = "console")]
            form: None,
        }
    }

    /// A handle that records `name` as the author of its changes in the [history](Self::history),
    /// for instance the name of the user who is signed in at the host. The name has 1 to 255
    /// characters; bidirectional control characters are removed from it. Without a name, the
    /// history records nothing.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that is not usable.
    pub fn acting_as(&self, name: &str) -> Result<Self, Error> {
        let actor = required_text("actor", &without_bidi_controls(name), SHORT_TEXT)?;
        Ok(Self { actor: Some(actor.into()), ..self.clone() })
    }

    /// A handle for a request with this id. The rows of the events that the request causes keep the
    /// id ([`EventRecord::request_id`]), and the spans of their attempts name it. An id has 1 to
    /// 128 letters, digits, `.`, `_` and `-`, as in `X-Request-Id`; any other text is left out, as
    /// is one with the beginning of a secret in it.
    ///
    /// [`EventRecord::request_id`]: crate::EventRecord::request_id
    #[must_use]
    pub fn for_request(&self, id: &str) -> Self {
        Self { request_id: request_id(id), ..self.clone() }
    }

    /// A handle whose changes are refused if their record no longer has this version, such as the
    /// one that a person was shown: `company.if_unchanged(at).invoices().pay(…)`. The version is
    /// the record's `updatedAt`; [`Version`] lists those of records without one. The transaction of
    /// the change decides, so of two changes with one version the later is refused, and has changed
    /// nothing. Reads take no notice of it.
    ///
    /// A change of a signing link is guarded by its quote, one of a payment by its invoice, one of
    /// a delivery by its webhook, and the closing of the company by the company's record.
    ///
    /// # Errors
    /// Of the operations of this handle: [`Error::Conflict`] if the record was changed meanwhile,
    /// and [`Error::Invalid`] about `version` if they would create a record.
    ///
    /// ```
    /// # use invoicing_server::{Invoicing, NewClient, NewCompany, Plan};
    /// use invoicing_server::Error;
    ///
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
    /// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
    /// # let company = invoicing.company(company.id);
    /// let new = NewClient::named("Claire Lefèvre");
    /// let shown = company.clients().create(&new).await?;
    /// // Two people have opened the page of the client. The later one is refused.
    /// let unchanged = company.if_unchanged(shown.updated_at);
    /// unchanged.clients().change(shown.id, &new.clone().city("Lyon")).await?;
    /// let refused = unchanged.clients().change(shown.id, &new.city("Lille")).await;
    /// assert!(matches!(refused, Err(Error::Conflict(_))));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn if_unchanged(&self, version: impl Into<Version>) -> Self {
        Self { expected: Some(Expected::new(version.into())), ..self.clone() }
    }

    /// The handle without its version, for what follows a transaction that has compared it.
    pub(super) fn without_version(&self) -> Self {
        Self { expected: None, ..self.clone() }
    }

    /// Refuses to prepare a change of a record that no longer has the version of the handle. The
    /// transaction of the change compares it again.
    pub(super) fn check_expected(
        &self,
        record: &'static str,
        found: impl Into<Version>,
    ) -> Result<(), Conflict> {
        self.expected.as_ref().map_or(Ok(()), |expected| expected.check(record, found))
    }

    /// Refuses to prepare a creation with a version.
    pub(super) fn check_creates(&self) -> Result<(), Invalid> {
        if self.expected.is_some() { Err(no_version()) } else { Ok(()) }
    }

    /// True if a change was refused as its record had another version.
    #[cfg(feature = "console")]
    pub(crate) fn is_stale(&self) -> bool {
        self.expected.as_ref().is_some_and(Expected::is_stale)
    }

    /// Identifier of the company.
    pub fn id(&self) -> CompanyId {
        self.id
    }

    /// Reads records of the company.
    pub(super) async fn read<T, F>(&self, operation: F) -> Result<T, Error>
    where
        F: for<'c> AsyncFnOnce(CompanyReader<'c>) -> Result<T, Error>,
        F: for<'c> Operation<CompanyReader<'c>, T> + Clone,
    {
        let read = self.services.store.read(self.id, operation).await;
        self.remind().await;
        read
    }

    /// Reads a page of a list, from the read replica if it shows the same state of the company as
    /// the primary.
    pub(super) async fn read_page<F>(&self, operation: F) -> Result<StoredPage, Error>
    where
        F: for<'c> AsyncFnOnce(CompanyReader<'c>) -> Result<StoredPage, Error>,
        F: for<'c> Operation<CompanyReader<'c>, StoredPage> + Clone,
    {
        #[cfg(feature = "postgres")]
        let of_replica = self.services.store.page_of_replica(self.id, operation.clone()).await;
        #[cfg(not(feature = "postgres"))]
        let of_replica = None;
        let page = match of_replica {
            Some(page) => Ok(page),
            None => self.services.store.read(self.id, operation).await,
        };
        self.remind().await;
        page
    }

    /// Changes records of the company in one transaction. `records` are those that the operation
    /// reads first; PostgreSQL reads them as the transaction begins.
    pub(super) async fn write<T, F>(
        &self,
        records: impl Into<Vec<Prefetch>>,
        operation: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> AsyncFnOnce(CompanyTx<'t>) -> Result<T, Error>,
        F: for<'t> Operation<CompanyTx<'t>, T> + Clone + 'static,
    {
        let audit = AuditContext {
            actor: self.actor.clone(),
            cause: Cause::now(self.request_id.clone(), self.services.traces.as_deref()),
            comparison: self.expected.clone().map(Comparison::new).map(Arc::new),
            #[cfg(feature = "console")]
            form: self.form.clone(),
        };
        let written = self.services.store.write(self.id, audit, records.into(), operation).await;
        self.remind().await;
        written
    }

    async fn remind(&self) {
        let Services { store, env, reminder, .. } = &*self.services;
        reminder.remind(store, env).await;
    }

    /// Runs the work of an operation in its span, and measures it. `name` is `noun.method`, as the
    /// metrics list it. No operation calls another one.
    pub(super) fn operation<T>(
        &self,
        name: &'static str,
        work: impl Future<Output = Result<T, Error>>,
    ) -> impl Future<Output = Result<T, Error>> {
        self.services.operation(name, Some(self.id), work)
    }

    pub(super) fn env(&self) -> &Env {
        &self.services.env
    }
}

/// The id of a request, if the text has the form of one.
pub(super) fn request_id(id: &str) -> Option<Arc<str>> {
    is_request_id(id.as_bytes()).then(|| id.into())
}
