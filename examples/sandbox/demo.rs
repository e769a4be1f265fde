//! The demo companies, and the credentials that the sandbox shows at each start.
//!
//! The service keeps only hashes of keys and shows secrets once. A sandbox has to show them again, so it keeps them in
//! a file of its own beside the database, or beside the documents if the database is a server: secrets of a
//! demonstration, readable by their owner only.

use std::fmt;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use invoicing_core::{
    Company, CompanyId, CompanyIdentity, EInvoicing, EventKind, NewCompany, Plan, WebhookId,
    french_vat_number,
};
use invoicing_examples::Failure;
use invoicing_server::{CompanyHandle, Invoicing, NewWebhook, Webhook};
use serde::{Deserialize, Serialize};

use crate::args::WebhookArg;

/// The first one is where all the activity is.
const COMPANIES: [Demo; 3] = [
    demo("Martin Peinture", Plan::Team, Some("73282932000074")),
    demo("Atelier Roux", Plan::Team, Some("90000010000017")),
    // It has entered nothing yet: its pages list what its invoices need.
    demo("Dépannage Petit", Plan::Starter, None),
];

/// A demo company.
struct Demo {
    name: &'static str,
    plan: Plan,
    siret: Option<&'static str>,
}

const fn demo(name: &'static str, plan: Plan, siret: Option<&'static str>) -> Demo {
    Demo { name, plan, siret }
}

impl Demo {
    /// With all data that an electronic invoice states, if it has a SIRET.
    fn input(&self) -> NewCompany {
        let company = NewCompany::named(self.name, self.plan);
        let Some(number) = self.siret else { return company };
        let siren = &number[..9];
        let identity = CompanyIdentity::default()
            .address("8 impasse des Tanneurs")
            .zip_code("69007")
            .city("Lyon")
            .email("contact@exemple.fr")
            .phone("04 72 00 00 00")
            .siret(number)
            .vat_number(french_vat_number(siren))
            .legal_form("SARL")
            .share_capital("10 000 €")
            .registration(format!("RCS Lyon {siren}"))
            .insurance("Mutuelle du Rhône, police 4471-A, France métropolitaine")
            .mediator("Médiateur de la consommation du bâtiment, 12 rue de la Paix, 75002 Paris")
            .waste_terms("Les déchets du chantier sont triés et portés en déchèterie, frais compris.")
            .iban("FR76 3000 6000 0112 3456 7890 189")
            .e_invoicing(EInvoicing::On);
        company.identity(identity)
    }
}

/// The credentials in the first line and in the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Credentials {
    pub(crate) companies: Vec<CompanyEntry>,
    webhooks: Vec<WebhookEntry>,
}

impl fmt::Display for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for CompanyEntry { name, plan, api_key, .. } in &self.companies {
            let use_of_key = if *plan == Plan::Team { "" } else { ", refused by the API" };
            writeln!(f, "  key        {api_key} ({name}, plan {plan}{use_of_key})")?;
        }
        if self.webhooks.is_empty() {
            writeln!(f, "  webhook    none: --webhook http://127.0.0.1:9000/hook adds one")?;
        }
        for WebhookEntry { url, secret, .. } in &self.webhooks {
            writeln!(f, "  webhook    {url}\n  secret     {secret}")?;
        }
        Ok(())
    }
}

/// A company and its key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompanyEntry {
    pub(crate) id: CompanyId,
    pub(crate) name: String,
    plan: Plan,
    pub(crate) api_key: String,
}

/// A webhook and its secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebhookEntry {
    id: WebhookId,
    company_id: CompanyId,
    url: String,
    secret: String,
    events: Vec<EventKind>,
}

/// Finds or opens the companies, finds or registers the webhooks, and keeps what it had to show.
///
/// Completes what a crash left half done: a key that was not saved is replaced, a secret is rotated.
pub(crate) async fn open(
    invoicing: &Invoicing,
    file: &Path,
    asked: &[WebhookArg],
) -> Result<Credentials, Failure> {
    let known = load(file)?;
    let existing = invoicing.companies().list().await?;
    let mut now = Credentials::default();
    for demo in &COMPANIES {
        now.companies.push(company(invoicing, &known, &existing, demo).await?);
    }
    let active = invoicing.company(now.companies[0].id);
    for webhook in active.webhooks().list().await? {
        now.webhooks.push(kept(&active, &known, webhook).await?);
    }
    let mut matched = vec![false; now.webhooks.len()];
    for WebhookArg { url, events } in asked {
        let same = |entry: &WebhookEntry| entry.url == *url && entry.events == *events;
        let free = (0..matched.len()).find(|&index| !matched[index] && same(&now.webhooks[index]));
        if let Some(index) = free {
            matched[index] = true;
            continue;
        }
        let new = NewWebhook::new(url, events.iter().copied());
        let registered = active.webhooks().register(&new).await?;
        now.webhooks.push(entry(active.id(), registered.webhook, registered.secret.reveal()));
    }
    save(file, &now)?;
    Ok(now)
}

async fn company(
    invoicing: &Invoicing,
    known: &Credentials,
    existing: &[Company],
    demo: &Demo,
) -> Result<CompanyEntry, Failure> {
    let is_it = |company: &&Company| company.name == demo.name && company.plan == demo.plan;
    let company = match existing.iter().find(is_it) {
        Some(company) => company.clone(),
        None => invoicing.companies().create(&demo.input()).await?,
    };
    let keys = invoicing.company(company.id);
    let valid = keys.keys().list().await?;
    let good = |key: &&String| {
        valid.iter().any(|record| record.revoked_at.is_none() && key.ends_with(&record.last4))
    };
    let mut noted = known.companies.iter().filter(|entry| entry.id == company.id).map(|entry| &entry.api_key);
    let api_key = match noted.rfind(good) {
        Some(key) => key.clone(),
        None => keys.keys().issue("sandbox").await?.key.reveal().to_owned(),
    };
    Ok(CompanyEntry { id: company.id, name: company.name, plan: demo.plan, api_key })
}

async fn kept(
    active: &CompanyHandle,
    known: &Credentials,
    webhook: Webhook,
) -> Result<WebhookEntry, Failure> {
    if let Some(noted) = known.webhooks.iter().find(|entry| entry.id == webhook.id) {
        return Ok(entry(active.id(), webhook, &noted.secret));
    }
    let rotated = active.webhooks().rotate(webhook.id).await?;
    Ok(entry(active.id(), rotated.webhook, rotated.secret.reveal()))
}

fn entry(company_id: CompanyId, webhook: Webhook, secret: &str) -> WebhookEntry {
    let Webhook { id, url, events, .. } = webhook;
    WebhookEntry { id, company_id, url, secret: secret.to_owned(), events }
}

fn load(file: &Path) -> Result<Credentials, Failure> {
    match fs::read(file) {
        Ok(bytes) => {
            Ok(serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", file.display()))?)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Credentials::default()),
        Err(error) => Err(format!("{}: {error}", file.display()).into()),
    }
}

/// Replaces the file as a whole. A temporary file is readable by its owner only, and stays so.
fn save(file: &Path, credentials: &Credentials) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    fresh.write_all(&serde_json::to_vec_pretty(credentials)?)?;
    fresh.as_file().sync_all()?;
    fresh.persist(file)?;
    Ok(())
}
