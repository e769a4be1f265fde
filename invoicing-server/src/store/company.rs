//! Handles on the records of one company. The statements of every table reached through them name
//! the company, so no operation can leave it out.

use std::fmt::Display;

use invoicing_core::{CompanyId, Conflict, Event, EventId, KeyId, Timestamp, WebhookId};
use uuid::Uuid;

use super::AuditContext;
use super::UNAUDITED;
use super::bulk_changes::{BulkChangeTable, Replayable};
use super::change::ChangeContext;
use super::clients::ClientTable;
use super::companies::CompanyRow;
use super::credit_notes::CreditNoteTable;
use super::deliveries::DeliveryTable;
use super::documents::{DocumentTable, StoredDocument};
use super::events::{self, EventTable};
use super::frozen_files::FrozenFileTable;
use super::history::{HistoryTable, NewEntry};
use super::invoices::InvoiceTable;
use super::keys::KeyTable;
use super::logos::LogoTable;
use super::notification::Notification;
use super::projects::ProjectTable;
use super::quotes::QuoteTable;
use super::scope::Scope;
use super::series::Series;
use super::signatures::SignatureTable;
use super::spent_forms::SpentFormTable;
use super::tx::Tx;
use super::uploads::UploadTable;
use super::webhooks::WebhookTable;
use crate::env::Env;
use crate::error::Error;
use crate::queue::NewDelivery;
use crate::records::{HistoryAction, KeyRecord, Version};

/// The tables of a company.
pub(crate) trait Tables {
    /// The connection and the company for the statements of a table.
    fn scope(&mut self) -> Scope<'_>;

    /// The company's own row.
    fn company_row(&mut self) -> CompanyRow<'_> {
        CompanyRow(self.scope())
    }

    fn bulk_changes(&mut self) -> BulkChangeTable<'_> {
        BulkChangeTable(self.scope())
    }

    fn clients(&mut self) -> ClientTable<'_> {
        ClientTable(self.scope())
    }

    fn credit_notes(&mut self) -> CreditNoteTable<'_> {
        self.documents()
    }

    fn deliveries(&mut self) -> DeliveryTable<'_> {
        DeliveryTable(self.scope())
    }

    /// The documents of a kind.
    fn documents<D: StoredDocument>(&mut self) -> DocumentTable<'_, D> {
        DocumentTable::new(self.scope())
    }

    fn events(&mut self) -> EventTable<'_> {
        EventTable(self.scope())
    }

    fn frozen_files(&mut self) -> FrozenFileTable<'_> {
        FrozenFileTable(self.scope())
    }

    fn history(&mut self) -> HistoryTable<'_> {
        HistoryTable(self.scope())
    }

    fn invoices(&mut self) -> InvoiceTable<'_> {
        self.documents()
    }

    fn keys(&mut self) -> KeyTable<'_> {
        KeyTable(self.scope())
    }

    fn logos(&mut self) -> LogoTable<'_> {
        LogoTable(self.scope())
    }

    fn projects(&mut self) -> ProjectTable<'_> {
        ProjectTable(self.scope())
    }

    fn quotes(&mut self) -> QuoteTable<'_> {
        self.documents()
    }

    /// The numbers of the quotes of a year.
    fn quote_series(&mut self, year: i32) -> Series<'_> {
        Series { scope: self.scope(), kind: Series::QUOTES, year }
    }

    /// The numbers of the invoices of a year.
    fn invoice_series(&mut self, year: i32) -> Series<'_> {
        Series { scope: self.scope(), kind: Series::INVOICES, year }
    }

    /// The numbers of the credit notes of a year.
    fn credit_note_series(&mut self, year: i32) -> Series<'_> {
        Series { scope: self.scope(), kind: Series::CREDIT_NOTES, year }
    }

    fn signatures(&mut self) -> SignatureTable<'_> {
        SignatureTable(self.scope())
    }

    fn spent_forms(&mut self) -> SpentFormTable<'_> {
        SpentFormTable(self.scope())
    }

    fn uploads(&mut self) -> UploadTable<'_> {
        UploadTable(self.scope())
    }

    fn webhooks(&mut self) -> WebhookTable<'_> {
        WebhookTable(self.scope())
    }
}

/// A reader of the records of a company. Each statement reads a new snapshot, unless one was begun
/// on the connection.
pub(crate) type CompanyReader<'c> = Scope<'c>;

impl Tables for Scope<'_> {
    fn scope(&mut self) -> Scope<'_> {
        Scope { connection: self.connection, company: self.company }
    }
}

/// A transaction that changes records of a company. No other transaction changes them before it
/// ends.
pub(crate) struct CompanyTx<'t> {
    pub(super) tx: &'t mut Tx,
    /// The company and the instants of the change.
    pub(crate) change: ChangeContext,
    origin: AuditContext,
}

impl Tables for CompanyTx<'_> {
    fn scope(&mut self) -> Scope<'_> {
        Scope { connection: self.tx.connection(), company: self.change.company.id }
    }
}

impl CompanyTx<'_> {
    pub(super) fn with_audit(self, origin: AuditContext) -> Self {
        Self { origin, ..self }
    }

    /// Refuses to change a record that no longer has the version of the handle, if there is one.
    pub(super) fn check_expected(
        &self,
        record: &'static str,
        found: impl Into<Version>,
    ) -> Result<(), Conflict> {
        self.origin.comparison.as_ref().map_or(Ok(()), |comparison| comparison.check(record, found))
    }

    /// True if [`Self::note`] notes anything.
    pub(crate) fn is_audited(&self) -> bool {
        self.origin.actor.is_some()
    }

    /// Notes in the history that the actor has made a change; without an actor, nothing. Spends the
    /// token of the form that the change answers.
    pub(crate) async fn note(
        &mut self,
        action: HistoryAction,
        subject: Uuid,
        detail: &(impl Display + Sync),
    ) -> Result<(), Error> {
        let Some(actor) = self.origin.actor.clone() else { return Ok(()) };
        #[cfg(feature = "console")]
        self.spend_form().await?;
        let (at, detail) = (self.change.now, detail.to_string());
        self.history().insert(NewEntry { at, actor: &actor, action, subject, detail }).await
    }

    #[cfg(feature = "console")]
    async fn spend_form(&mut self) -> Result<(), Error> {
        // A second note of this transaction belongs to the same form.
        let Some(form) = self.origin.form.take() else { return Ok(()) };
        if !self.spent_forms().insert_noted(form.token).await? {
            return Err(invoicing_core::ConflictReason::CarriedOut.into());
        }
        form.set_spent();
        Ok(())
    }

    pub(crate) fn env(&self) -> &Env {
        self.tx.env()
    }

    /// Ends a change of records: moves the company's stamp, and records the events with their
    /// deliveries.
    pub(crate) async fn record_events(&mut self, events: &[Event]) -> Result<(), Error> {
        let Self { tx, change, origin } = self;
        tx.remember_stamp(change);
        if events.is_empty() {
            return tx.of_company(change.company.id).company_row().set_stamp(change.stamp).await;
        }
        events::record(tx, change, origin.cause.as_ref(), events).await
    }

    /// Stores a new key.
    pub(crate) async fn issue_key(&mut self, key: &KeyRecord, hash: &[u8; 32]) -> Result<(), Error> {
        self.keys().insert(key, hash).await?;
        self.notify(Notification::KeyIssued);
        Ok(())
    }

    /// Revokes a key for good. Returns its label, unless it was revoked before.
    pub(crate) async fn revoke_key(&mut self, id: KeyId) -> Result<Option<String>, Error> {
        let now = self.change.now;
        let revoked = self.keys().revoke(id, now).await?;
        self.notify(Notification::Key(id));
        Ok(revoked)
    }

    /// Revokes a key for good if it was not used since that instant. Returns true if it was
    /// revoked.
    pub(crate) async fn revoke_idle_key(&mut self, id: KeyId, idle_since: Timestamp) -> Result<bool, Error> {
        let now = self.change.now;
        let revoked = self.keys().revoke_idle(id, now, idle_since).await?;
        if revoked {
            self.notify(Notification::Key(id));
        }
        Ok(revoked)
    }

    /// Records a test delivery for one webhook.
    pub(crate) async fn record_ping(&mut self, webhook: WebhookId) -> Result<EventId, Error> {
        events::record_ping(self.tx, &self.change, self.origin.cause.as_ref(), webhook).await
    }

    /// Queues the skipped or failed delivery of an event again, unless an earlier replay does so.
    /// Returns the number of queued deliveries.
    pub(crate) async fn replay_one(&mut self, webhook: WebhookId, event: EventId) -> Result<u64, Error> {
        let now = self.change.now;
        let queued = self.deliveries().replay_one(webhook, event, now).await?;
        self.tx.push_new([NewDelivery::Pending(webhook)]);
        Ok(queued)
    }

    /// Queues the counted deliveries again, if no other replay [is noted](Self::is_current).
    /// Returns their number, now or by the batches that follow.
    pub(crate) async fn replay(&mut self, webhook: WebhookId, counted: &Replayable) -> Result<u64, Error> {
        self.tx.replay(self.change.company.id, webhook, counted).await
    }

    /// Skips the deliveries that wait for a webhook that is disabled or removed. Returns true if
    /// nothing is left for the batches that follow.
    pub(crate) async fn skip_waiting(&mut self, webhook: WebhookId) -> Result<bool, Error> {
        self.tx.skip_waiting(self.change.company.id, webhook).await
    }

    /// Carries out a batch of the changes that a webhook has left. Returns true if nothing is left.
    pub(crate) async fn continue_bulk_change(&mut self, webhook: WebhookId) -> Result<bool, Error> {
        self.tx.continue_bulk_change(self.change.company.id, webhook).await
    }

    /// Notifies the caches of this node and the other nodes once the transaction is committed.
    pub(crate) fn notify(&mut self, notification: Notification) {
        self.tx.notify(notification);
    }
}

impl Tx {
    /// Begins a change of a company: reads its settings and last stamp, and locks both to the end
    /// of the transaction.
    pub(super) async fn company(&mut self, company: CompanyId) -> Result<CompanyTx<'_>, Error> {
        let change = self.begin_change(company).await?;
        Ok(CompanyTx { tx: self, change, origin: UNAUDITED })
    }

    async fn begin_change(&mut self, company: CompanyId) -> Result<ChangeContext, Error> {
        let now = self.env().now();
        if let Some(change) = self.connection().write_cache().and_then(|cache| cache.change(company, now)) {
            return Ok(change);
        }
        let (record, last_stamp) = self.of_company(company).company_row().lock().await?;
        // The clock is read after the lock: the wait for it may have been long, and the change
        // begins only now.
        let now = self.env().now();
        let change = ChangeContext::new(record, last_stamp, now)?;
        if let Some(cache) = self.connection().write_cache() {
            cache.remember(&change, last_stamp);
        }
        Ok(change)
    }

    /// The tables of a company, which the transaction does not lock.
    pub(crate) fn of_company(&mut self, company: CompanyId) -> CompanyReader<'_> {
        CompanyReader { connection: self.connection(), company }
    }
}
