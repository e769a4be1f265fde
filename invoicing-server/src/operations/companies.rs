//! Companies, and the handle from which every operation of a company starts.

use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono_tz::Tz;
use futures_util::future::BoxFuture;
use invoicing_core::{Company, CompanyId, CompanyIdentity, Conflict, Invalid, NewCompany, Plan};

use super::{Clients, Events, Invoices, Keys, Projects, Quotes, Webhooks};
use crate::Error;
use crate::invoicing::Inner;
use crate::store::notification::Notification;
use crate::store::{Tx, companies, reading, series};

/// How long a number is waited for: longer than anybody holds one.
const NUMBER_TIME_LIMIT: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// How often whoever waits for a number looks whether he can have one.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_millis(8);

/// The companies of the service.
#[derive(Debug, Clone)]
pub struct Companies(pub(crate) Arc<Inner>);

impl Companies {
    /// Opens a company.
    pub async fn create(&self, new: &NewCompany) -> Result<Company, Error> {
        Tz::from_str(&new.time_zone)
            .map_err(|_| Invalid::new("timeZone", "must be an IANA time zone such as Europe/Paris"))?;
        let company = new.create(CompanyId(self.0.env.uuid()), self.0.env.now())?;
        self.0
            .store
            .write(move |tx| {
                Box::pin(async move {
                    companies::insert(tx.connection(), &company).await?;
                    Ok(company)
                })
            })
            .await
    }

    /// All companies, oldest first.
    pub async fn list(&self) -> Result<Vec<Company>, Error> {
        reading!(self.0.store, |c| companies::list(c))
    }
}

/// One company: every operation on its records starts here. Cheap to clone; holds no lock and no connection.
///
/// A handle can be made for an id that does not exist; its operations then say [`Error::NotFound`].
#[derive(Debug, Clone)]
pub struct CompanyHandle {
    pub(super) inner: Arc<Inner>,
    pub(super) id: CompanyId,
}

impl CompanyHandle {
    pub(crate) fn new(inner: Arc<Inner>, id: CompanyId) -> Self {
        Self { inner, id }
    }

    /// Which company.
    pub fn id(&self) -> CompanyId {
        self.id
    }

    /// Its record.
    pub async fn details(&self) -> Result<Company, Error> {
        let found = reading!(self.inner.store, |c| companies::find(c, self.id))?;
        found.map(|(company, _)| company).ok_or(Error::NotFound)
    }

    /// Changes the plan. Keys lose or gain the API with it at once, also on other nodes where requests are counted; without
    /// a quota, another node that does not hear of it may go on for up to 5 s.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the new plan lacks the automatic conversion that the company has switched on.
    pub async fn set_plan(&self, plan: Plan) -> Result<Company, Error> {
        let keys = Arc::clone(&self.inner);
        self.change(move |tx, company| {
            if company.automatic_invoicing && !plan.has_automatic_invoicing() {
                return Err(
                    Conflict::new(format!("automatic conversion is not part of the plan {plan}")).into()
                );
            }
            company.plan = plan;
            let id = company.id;
            tx.on_commit(move || keys.keys.set_plan(id, plan));
            tx.notify(Notification::Plan(id));
            Ok(())
        })
        .await
    }

    /// Changes what documents say about the company. Frozen documents stay as they are.
    pub async fn set_identity(&self, identity: &CompanyIdentity) -> Result<Company, Error> {
        let identity = identity.check()?;
        self.change(move |_, company| {
            company.identity = identity;
            Ok(())
        })
        .await
    }

    /// Switches the automatic conversion of accepted quotes on or off.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the plan does not include it.
    pub async fn set_automatic_invoicing(&self, on: bool) -> Result<Company, Error> {
        self.change(move |_, company| {
            if on && !company.plan.has_automatic_invoicing() {
                let plan = company.plan;
                return Err(
                    Conflict::new(format!("automatic conversion is not part of the plan {plan}")).into()
                );
            }
            company.automatic_invoicing = on;
            Ok(())
        })
        .await
    }

    async fn change<F>(&self, change: F) -> Result<Company, Error>
    where
        F: FnOnce(&mut Tx, &mut Company) -> Result<(), Error> + Clone + Send + 'static,
    {
        let id = self.id;
        self.write(move |tx| {
            Box::pin(async move {
                let mut company = tx.unit(id).await?.company;
                change(tx, &mut company)?;
                companies::set_record(tx, &company).await?;
                Ok(company)
            })
        })
        .await
    }

    pub(super) async fn write<T, F>(&self, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        self.inner.store.write_of(self.id, operation).await
    }

    /// As [`Self::write`], for an operation that takes or holds a number: `None` says that somebody else holds the series,
    /// and that nothing has changed. Then it is run again once nobody does.
    ///
    /// Each time the others are left so much time to get a number before.
    pub(super) async fn write_numbered<T, F>(&self, leave: Duration, operation: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<Option<T>, Error>> + Clone + Send + 'static,
    {
        let begun = Instant::now();
        loop {
            if !leave.is_zero() {
                tokio::time::sleep(leave).await;
            }
            if let Some(done) = self.write(operation.clone()).await? {
                return Ok(done);
            }
            self.numbers_are_free(begun).await?;
        }
    }

    /// Looks again and again, as another process may hold them.
    async fn numbers_are_free(&self, begun: Instant) -> Result<(), Error> {
        let _turn = self.inner.looking.wait_for(self.id, NUMBER_TIME_LIMIT).await?;
        let mut pause = FIRST_PAUSE;
        while begun.elapsed() < NUMBER_TIME_LIMIT {
            if !self.numbers_are_held().await? {
                return Ok(());
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(LONGEST_PAUSE);
        }
        Err(Error::unavailable("the numbers of the company are held"))
    }

    async fn numbers_are_held(&self) -> Result<bool, Error> {
        reading!(self.inner.store, |c| series::is_held(c, self.id, self.inner.env.now()))
    }

    /// Its API keys.
    pub fn keys(&self) -> Keys<'_> {
        Keys(self)
    }

    /// Its webhooks.
    pub fn webhooks(&self) -> Webhooks<'_> {
        Webhooks(self)
    }

    /// Its clients.
    pub fn clients(&self) -> Clients<'_> {
        Clients(self)
    }

    /// Its quotes.
    pub fn quotes(&self) -> Quotes<'_> {
        Quotes(self)
    }

    /// Its invoices.
    pub fn invoices(&self) -> Invoices<'_> {
        Invoices(self)
    }

    /// Its projects.
    pub fn projects(&self) -> Projects<'_> {
        Projects(self)
    }

    /// What has happened to its records.
    pub fn events(&self) -> Events<'_> {
        Events(self)
    }
}
