//! Companies: opened, listed, and their settings.

use std::str::FromStr;
use std::sync::Arc;

use chrono_tz::Tz;
use invoicing_core::{
    Company, CompanyId, CompanyIdentity, ConflictReason, DocumentFormat, EInvoicing, Invalid, NewCompany,
    Plan, Rule, sha256_hex,
};
use tokio::task::spawn_blocking;

use super::{CompanyHandle, Services};
use crate::documents::{DocumentLogo, gaps_of_company};
use crate::error::Error;
use crate::records::{GapLevel, HistoryAction, ReadinessGap};
use crate::store::notification::Notification;
use crate::store::{ServiceTables, Tables};

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
    ///
    /// # Errors
    /// [`Error::Invalid`] about `eInvoicing` if it is ON and legal data is missing.
    pub async fn create(&self, new: &NewCompany) -> Result<Company, Error> {
        Tz::from_str(&new.time_zone).map_err(|_| Invalid::new("timeZone", Rule::TimeZone))?;
        let Services { store, env, .. } = &*self.0;
        let company = new.create(CompanyId(env.uuid()), env.now())?;
        check_e_invoicing(&company)?;
        let created = store.write_service(async move |tx| {
            tx.companies().insert(&company).await?;
            Ok(company)
        });
        self.0.operation("companies.create", None, created).await
    }

    /// All companies, oldest first.
    pub async fn list(&self) -> Result<Vec<Company>, Error> {
        let all = self.0.store.read_service(async |tx| tx.companies().list().await);
        self.0.operation("companies.list", None, all).await
    }
}

impl CompanyHandle {
    /// The record of the company.
    pub async fn details(&self) -> Result<Company, Error> {
        let row = self.read(async |mut tx| tx.company_row().find().await);
        let (company, _) = self.operation("company.details", row).await?;
        Ok(company)
    }

    /// Changes the plan. Keys lose or gain the API with it at once, also on other nodes if requests
    /// are counted. Without a quota, another node that misses the notification may go on for up to
    /// 5 s.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the new plan lacks the automatic conversion that the company has
    /// switched on.
    pub async fn set_plan(&self, plan: Plan) -> Result<Company, Error> {
        let (action, detail) = (HistoryAction::CompanyPlanSet, plan.as_str());
        let set = self.change(action, detail, move |company| {
            company.plan = plan;
            Ok(())
        });
        self.operation("company.set_plan", set).await
    }

    /// Changes the company's details as documents show them. Frozen documents stay as they are.
    ///
    /// # Errors
    /// [`Error::Invalid`] about `eInvoicing` if it is ON and legal data is missing. The error lists
    /// the data.
    pub async fn set_identity(&self, identity: &CompanyIdentity) -> Result<Company, Error> {
        let identity = identity.clone();
        let set = self.change(HistoryAction::CompanyIdentitySet, "", move |company| {
            company.identity = identity.check()?;
            check_e_invoicing(company)
        });
        self.operation("company.set_identity", set).await
    }

    /// Sets the logo of the company's documents, or removes it: a PNG or JPEG of at most 256 KiB,
    /// also in a document, 1 megapixel and 65,535 pixels on a side. It is stored without metadata.
    /// Frozen documents stay as they are.
    ///
    /// # Errors
    /// [`Error::Invalid`] for any other bytes: see [`DocumentLogo::parse`].
    pub async fn set_logo(&self, image: Option<Vec<u8>>) -> Result<Company, Error> {
        let logo = match image {
            // On a blocking thread, as the image is decoded and compressed.
            Some(image) => {
                let parsed = spawn_blocking(|| DocumentLogo::parse(image)).await;
                Some(parsed.map_err(Error::internal)??)
            }
            None => None,
        };
        let set = async {
            if let Some(logo) = logo {
                let (sha256, bytes) = (sha256_hex(&logo.bytes), logo.bytes.to_vec());
                let stored = sha256.clone();
                let insert = self.write([], async move |mut tx| {
                    tx.company_to_change()?;
                    tx.logos().insert(&stored, bytes).await
                });
                insert.await?;
                return self.change_logo(Some(sha256)).await;
            }
            self.change_logo(None).await
        };
        self.operation("company.set_logo", set).await
    }

    async fn change_logo(&self, sha256: Option<String>) -> Result<Company, Error> {
        let detail = if sha256.is_some() { "set" } else { "removed" };
        self.change(HistoryAction::CompanyLogoSet, detail, move |company| {
            company.logo = sha256;
            Ok(())
        })
        .await
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
        self.operation("company.set_automatic_invoicing", set).await
    }

    async fn change(
        &self,
        action: HistoryAction,
        detail: &'static str,
        change: impl FnOnce(&mut Company) -> Result<(), Invalid> + Clone + Send + 'static,
    ) -> Result<Company, Error> {
        self.write([], async move |mut tx| {
            let mut company = tx.company_to_change()?.clone();
            change(&mut company)?;
            let plan = company.plan;
            if company.automatic_invoicing && !plan.has_automatic_invoicing() {
                return Err(ConflictReason::AutomaticInvoicing { plan }.into());
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
}

/// Checks that a company with e-invoicing ON has the legal data for it.
fn check_e_invoicing(company: &Company) -> Result<(), Invalid> {
    if company.identity.e_invoicing == EInvoicing::Off {
        return Ok(());
    }
    let gaps: Vec<_> = gaps_of_company(company, DocumentFormat::FacturX)
        .into_iter()
        .filter(|gap| gap.level == GapLevel::Refused)
        .map(|ReadinessGap { field, rule, english, .. }| format!("{field}: {english} ({rule})"))
        .collect();
    if gaps.is_empty() {
        return Ok(());
    }
    Err(Invalid::new("eInvoicing", Rule::EInvoicingOn { gaps: gaps.join("; ") }))
}
