//! The version in which a change must find its record, and the loading of the record to be changed.
//!
//! Each record that an operation is called to change is loaded by a method of this file, which
//! compares the version. A transaction of a handle with a version that has compared none is refused
//! by [`Comparison::check_done`], so no operation can ignore it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use invoicing_core::{
    Client, ClientId, Company, Conflict, Invalid, Invoice, InvoiceId, InvoiceSummary, KeyId, Project,
    ProjectId, Quote, QuoteId, QuoteSummary, WebhookId,
};

use super::company::{CompanyTx, Tables};
use crate::Error;
use crate::records::{KeyRecord, Version, Webhook};

/// The version in which the changes of a handle must find their record.
#[derive(Debug, Clone)]
pub(crate) struct Expected {
    version: Version,
    /// True once a record had another version.
    is_stale: Arc<AtomicBool>,
}

impl Expected {
    pub(crate) fn new(version: Version) -> Self {
        Self { version, is_stale: Arc::default() }
    }

    #[cfg(feature = "console")]
    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale.load(Ordering::Relaxed)
    }

    /// Refuses to change a record that no longer has this version. `name`: with its article.
    pub(crate) fn check(&self, name: &str, found: impl Into<Version>) -> Result<(), Conflict> {
        if found.into() == self.version {
            return Ok(());
        }
        self.is_stale.store(true, Ordering::Relaxed);
        Err(Conflict::new(format!("{name} was changed meanwhile")))
    }
}

/// The comparison of one transaction.
#[derive(Debug)]
pub(crate) struct Comparison {
    expected: Expected,
    is_done: AtomicBool,
}

impl Comparison {
    pub(crate) fn new(expected: Expected) -> Self {
        Self { expected, is_done: AtomicBool::new(false) }
    }

    pub(super) fn check(&self, name: &str, found: impl Into<Version>) -> Result<(), Conflict> {
        self.is_done.store(true, Ordering::Relaxed);
        self.expected.check(name, found)
    }

    /// Refuses a change that has compared no version: it made a record.
    pub(super) fn check_done(&self) -> Result<(), Invalid> {
        if self.is_done.load(Ordering::Relaxed) { Ok(()) } else { Err(no_version()) }
    }
}

/// The refusal of a version where none is compared.
pub(crate) fn no_version() -> Invalid {
    Invalid::new("version", "must not be given to an operation that changes no record there is")
}

impl CompanyTx<'_> {
    /// As [`QuoteTable::reload_if_changed`](super::quotes::QuoteTable::reload_if_changed).
    pub(crate) async fn quote_to_change(
        &mut self,
        id: QuoteId,
        known: Option<Quote>,
    ) -> Result<Quote, Error> {
        let quote = self.quotes().reload_if_changed(id, known).await?;
        self.check_expected("the quote", quote.summary.updated_at)?;
        Ok(quote)
    }

    pub(crate) async fn quote_summary_to_change(&mut self, id: QuoteId) -> Result<QuoteSummary, Error> {
        let quote = self.quotes().find_summary(id).await?;
        self.check_expected("the quote", quote.updated_at)?;
        Ok(quote)
    }

    /// As [`InvoiceTable::reload_if_changed`](super::invoices::InvoiceTable::reload_if_changed).
    pub(crate) async fn invoice_to_change(
        &mut self,
        id: InvoiceId,
        known: Option<Invoice>,
    ) -> Result<Invoice, Error> {
        let invoice = self.invoices().reload_if_changed(id, known).await?;
        self.check_expected("the invoice", invoice.summary.updated_at)?;
        Ok(invoice)
    }

    pub(crate) async fn invoice_summary_to_change(&mut self, id: InvoiceId) -> Result<InvoiceSummary, Error> {
        let invoice = self.invoices().find_summary(id).await?;
        self.check_expected("the invoice", invoice.updated_at)?;
        Ok(invoice)
    }

    pub(crate) async fn client_to_change(&mut self, id: ClientId) -> Result<Client, Error> {
        let client = self.clients().find(id).await?;
        self.check_expected("the client", client.updated_at)?;
        Ok(client)
    }

    pub(crate) async fn project_to_change(&mut self, id: ProjectId) -> Result<Project, Error> {
        let project = self.projects().find(id).await?;
        self.check_expected("the project", project.updated_at)?;
        Ok(project)
    }

    pub(crate) async fn webhook_to_change(&mut self, id: WebhookId) -> Result<Webhook, Error> {
        let webhook = self.webhooks().find(id).await?;
        self.check_expected("the webhook", &webhook)?;
        Ok(webhook)
    }

    pub(crate) async fn key_to_change(&mut self, id: KeyId) -> Result<KeyRecord, Error> {
        let key = self.keys().find(id).await?;
        self.check_expected("the key", &key)?;
        Ok(key)
    }

    pub(crate) fn company_to_change(&self) -> Result<&Company, Error> {
        self.check_expected("the company", &*self.change.company)?;
        Ok(&self.change.company)
    }
}
