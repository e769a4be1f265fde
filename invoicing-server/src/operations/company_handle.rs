//! The handle of a company, from which every operation starts, and its two verbs: read and write.

use std::sync::Arc;

use invoicing_core::{CompanyId, SHORT_TEXT, required_text, without_bidi_controls};

use super::Services;
use crate::Error;
use crate::cause::{Cause, is_request_id};
use crate::env::Env;
use crate::records::StoredPage;
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
            #[cfg(feature = "console")]
            form: None,
        }
    }

    /// A handle whose changes note their author in the [history](Self::history): `name`, for
    /// instance the name of the user who is signed in at the host. It has 1 to 255 characters;
    /// controls of direction are left out of it. A handle without a name notes nothing.
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
    pub(super) async fn write<T, F, const N: usize>(
        &self,
        records: [Prefetch; N],
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
            #[cfg(feature = "console")]
            form: self.form.clone(),
        };
        let written = self.services.store.write(self.id, audit, records, operation).await;
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
