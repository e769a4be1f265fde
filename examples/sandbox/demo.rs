//! The demo companies, and the credentials that the sandbox shows at each start.
//!
//! The service keeps only hashes of keys and shows secrets once. A sandbox has to show them again, so it keeps them in
//! a file of its own beside the database, or beside the documents if the database is a server: secrets of a
//! demonstration, readable by their owner only.

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::Path;

use invoicing_core::{Company, CompanyId, EventKind, NewCompany, Plan, WebhookId};
use invoicing_examples::Failure;
use invoicing_server::{CompanyHandle, Invoicing, NewWebhook, Webhook};
use serde::{Deserialize, Serialize};

use crate::args::WebhookArg;

/// The first one is where all the activity is.
const COMPANIES: [(&str, Plan); 3] =
    [("Martin Peinture", Plan::Team), ("Atelier Roux", Plan::Team), ("Dépannage Petit", Plan::Starter)];

/// The credentials in the first line and in the file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Credentials {
    pub(crate) companies: Vec<CompanyEntry>,
    webhooks: Vec<WebhookEntry>,
}

/// A company and its key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompanyEntry {
    pub(crate) id: CompanyId,
    name: String,
    plan: Plan,
    api_key: String,
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
    for (name, plan) in COMPANIES {
        now.companies.push(company(invoicing, &known, &existing, name, plan).await?);
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
    name: &str,
    plan: Plan,
) -> Result<CompanyEntry, Failure> {
    let company = match existing.iter().find(|company| company.name == name && company.plan == plan) {
        Some(company) => company.clone(),
        None => invoicing.companies().create(&NewCompany::named(name, plan)).await?,
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
    Ok(CompanyEntry { id: company.id, name: company.name, plan, api_key })
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
