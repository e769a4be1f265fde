//! Companies, and the handle from which every operation of a company starts.

use std::str::FromStr;
use std::sync::Arc;

use chrono_tz::Tz;
use invoicing_core::{
    Company, CompanyId, CompanyIdentity, Conflict, Invalid, NewCompany, Plan, SHORT_TEXT, required_text,
    without_bidi_controls,
};

use super::Services;
use crate::Error;
use crate::cause::{Cause, is_request_id};
use crate::env::Env;
use crate::store::history::HistoryAction;
use crate::store::notification::Notification;
use crate::store::page::PageAnswer;
#[cfg(feature = "console")]
use crate::store::spent_forms::OpenForm;
use crate::store::{CompanyReader, CompanyTx, Operation, Origin, Prefetch, ServiceTables, Tables};

/// The companies of the service.
///
/// ```
/// # use invoicing_server::Invoicing;
/// use invoicing_server::{NewCompany, Plan};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// let martin = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// assert_eq!(martin.time_zone, "Europe/Paris");
/// assert_eq!(invoicing.companies().list().await?, [martin]);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Companies(pub(crate) Arc<Services>);

impl Companies {
    /// Opens a company.
    pub async fn create(&self, new: &NewCompany) -> Result<Company, Error> {
        Tz::from_str(&new.time_zone)
            .map_err(|_| Invalid::new("timeZone", "must be an IANA time zone such as Europe/Paris"))?;
        let Services { store, env, .. } = &*self.0;
        let company = new.create(CompanyId(env.uuid()), env.now())?;
        let created = store.write_service(async move |tx| {
            tx.companies().insert(&company).await?;
            Ok(company)
        });
        self.0.run("companies.create", created).await
    }

    /// All companies, oldest first.
    pub async fn list(&self) -> Result<Vec<Company>, Error> {
        let all = self.0.store.read_service(async |tx| tx.companies().list().await);
        self.0.run("companies.list", all).await
    }
}

/// One company: every operation on its records starts here. Cheap to clone; holds no lock and no connection.
///
/// A handle can be made for an id that does not exist; its operations then return [`Error::NotFound`].
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
    /// Who makes the changes, where they are to be noted.
    actor: Option<Arc<str>>,
    /// The request that they are made for.
    pub(super) request_id: Option<Arc<str>>,
    /// The form that they answer.
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

    /// A handle whose changes note in the [history](Self::history) who made them: `name`, for instance the name of the
    /// user who is signed in at the host, 1 to 255 characters, of which controls of direction are left out. A handle without a name notes nothing.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that is not usable.
    pub fn acting_as(&self, name: &str) -> Result<Self, Error> {
        let actor = required_text("actor", &without_bidi_controls(name), SHORT_TEXT)?;
        Ok(Self { actor: Some(actor.into()), ..self.clone() })
    }

    /// A handle for a request with this id, which the rows of the events that it causes keep ([`EventRecord::request_id`]),
    /// and the spans of their attempts name. 1 to 128 letters, digits, `.`, `_` and `-`, as in `X-Request-Id`; anything else is
    /// left out, as is what begins like a secret.
    ///
    /// [`EventRecord::request_id`]: crate::EventRecord::request_id
    #[must_use]
    pub fn for_request(&self, id: &str) -> Self {
        Self { request_id: request_id(id), ..self.clone() }
    }

    /// Which company.
    pub fn id(&self) -> CompanyId {
        self.id
    }

    /// Its record.
    pub async fn details(&self) -> Result<Company, Error> {
        let operation = self.operation("company.details");
        let (company, _) = operation.read(async |mut tx| tx.company_row().find().await).await?;
        Ok(company)
    }

    /// Changes the plan. Keys lose or gain the API with it at once, also on other nodes where requests are counted; without
    /// a quota, another node that does not hear of it may go on for up to 5 s.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the new plan lacks the automatic conversion that the company has switched on.
    pub async fn set_plan(&self, plan: Plan) -> Result<Company, Error> {
        let (action, detail) = (HistoryAction::CompanyPlanSet, plan.as_str());
        let set = self.change(action, detail, move |company| {
            company.plan = plan;
            Ok(())
        });
        self.operation("company.set_plan").run(set).await
    }

    /// Changes what documents say about the company. Frozen documents stay as they are.
    pub async fn set_identity(&self, identity: &CompanyIdentity) -> Result<Company, Error> {
        let identity = identity.clone();
        let set = self.change(HistoryAction::CompanyIdentitySet, "", move |company| {
            company.identity = identity.check_change(&company.identity)?;
            Ok(())
        });
        self.operation("company.set_identity").run(set).await
    }

    /// Switches the automatic conversion of accepted quotes on or off.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the plan does not include it.
    pub async fn set_automatic_invoicing(&self, on: bool) -> Result<Company, Error> {
        let (action, detail) = (HistoryAction::CompanyAutomaticInvoicingSet, if on { "on" } else { "off" });
        let set = self.change(action, detail, move |company| {
            company.automatic_invoicing = on;
            Ok(())
        });
        self.operation("company.set_automatic_invoicing").run(set).await
    }

    async fn change(
        &self,
        action: HistoryAction,
        detail: &'static str,
        change: impl FnOnce(&mut Company) -> Result<(), Invalid> + Clone + Send + 'static,
    ) -> Result<Company, Error> {
        self.write(async move |mut tx| {
            let mut company = Company::clone(&tx.change.company);
            change(&mut company)?;
            let plan = company.plan;
            if company.automatic_invoicing && !plan.has_automatic_invoicing() {
                let reason = format!("automatic conversion is not part of the plan {plan}");
                return Err(Conflict::new(reason).into());
            }
            tx.company_row().set_record(&company).await?;
            if plan != tx.change.company.plan {
                tx.notify(Notification::Plan { company: company.id, plan });
            }
            if company != *tx.change.company {
                tx.note(action, company.id.0, &detail).await?;
            }
            Ok(company)
        })
        .await
    }

    /// Reads records of the company.
    pub(super) async fn read<T, F>(&self, operation: F) -> Result<T, Error>
    where
        F: for<'c> AsyncFnOnce(CompanyReader<'c>) -> Result<T, Error>,
        F: for<'c> Operation<CompanyReader<'c>, T> + Clone,
    {
        let read = self.services.store.read(self.id, operation).await;
        self.services.remind().await;
        read
    }

    /// Reads a page of a list, which a read replica may give.
    pub(super) async fn read_page<F>(&self, operation: F) -> Result<Vec<u8>, Error>
    where
        F: for<'c> AsyncFnOnce(CompanyReader<'c>) -> Result<PageAnswer, Error>,
        F: for<'c> Operation<CompanyReader<'c>, PageAnswer> + Clone,
    {
        let read = self.services.store.read_page(self.id, operation).await;
        self.services.remind().await;
        read
    }

    /// Changes records of the company in one transaction.
    pub(super) fn write<T, F>(&self, operation: F) -> impl Future<Output = Result<T, Error>>
    where
        T: Send + 'static,
        F: for<'t> AsyncFnOnce(CompanyTx<'t>) -> Result<T, Error>,
        F: for<'t> Operation<CompanyTx<'t>, T> + Clone + 'static,
    {
        self.write_prefetched(Vec::new(), operation)
    }

    /// As [`Self::write`], for an operation that reads these records first.
    pub(super) async fn write_prefetched<T, F>(
        &self,
        records: Vec<Prefetch>,
        operation: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> AsyncFnOnce(CompanyTx<'t>) -> Result<T, Error>,
        F: for<'t> Operation<CompanyTx<'t>, T> + Clone + 'static,
    {
        let cause = Cause::now(self.request_id.clone(), self.services.traces.as_deref());
        let origin = Origin {
            actor: self.actor.clone(),
            cause,
            #[cfg(feature = "console")]
            form: self.form.clone(),
        };
        let written = self.services.store.write_company_as(self.id, origin, records, operation).await;
        self.services.remind().await;
        written
    }

    pub(super) fn env(&self) -> &Env {
        &self.services.env
    }
}

/// The id of a request, if one can have it.
pub(super) fn request_id(id: &str) -> Option<Arc<str>> {
    is_request_id(id.as_bytes()).then(|| id.into())
}
