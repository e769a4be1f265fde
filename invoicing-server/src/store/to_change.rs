//! The loading of a record that an operation is called to change. Each method compares the version
//! that the change expects.

use invoicing_core::{
    Client, ClientId, Company, Invoice, InvoiceId, InvoiceSummary, KeyId, Project, ProjectId, Quote, QuoteId,
    QuoteSummary, WebhookId,
};

use super::company::{CompanyTx, Tables};
use crate::error::Error;
use crate::records::{KeyRecord, Webhook};

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
