//! Handles on the records of one company. Every table reached through them names the company in its statements, so an
//! operation cannot forget to.

use std::str::FromStr;

use chrono::NaiveDate;
use chrono_tz::Tz;
use invoicing_core::{Company, CompanyId, Event, EventId, Timestamp, WebhookId};

use super::clients::ClientTable;
use super::companies::CompanyRow;
use super::connection::Connection;
use super::deliveries::DeliveryTable;
use super::documents::{DocumentTable, UploadTable};
use super::events::{self, EventTable};
use super::invoices::InvoiceTable;
use super::keys::KeyTable;
use super::notification::Notification;
use super::projects::ProjectTable;
use super::quotes::QuoteTable;
use super::series::Series;
use super::signatures::SignatureTable;
use super::tx::Tx;
use super::webhooks::{Webhook, WebhookTable};
use crate::Error;
use crate::env::Env;
use crate::queue::NewDelivery;

/// A connection, and the company whose records may be reached with it.
pub(crate) struct Scope<'c> {
    pub(super) connection: &'c mut Connection,
    pub(super) company: CompanyId,
}

/// The tables of a company.
pub(crate) trait Tables {
    /// What a table's statements run on.
    fn scope(&mut self) -> Scope<'_>;

    /// The company's own row.
    fn company_row(&mut self) -> CompanyRow<'_> {
        CompanyRow(self.scope())
    }

    fn clients(&mut self) -> ClientTable<'_> {
        ClientTable(self.scope())
    }

    fn deliveries(&mut self) -> DeliveryTable<'_> {
        DeliveryTable(self.scope())
    }

    fn documents(&mut self) -> DocumentTable<'_> {
        DocumentTable(self.scope())
    }

    fn events(&mut self) -> EventTable<'_> {
        EventTable(self.scope())
    }

    fn invoices(&mut self) -> InvoiceTable<'_> {
        InvoiceTable(self.scope())
    }

    fn keys(&mut self) -> KeyTable<'_> {
        KeyTable(self.scope())
    }

    fn projects(&mut self) -> ProjectTable<'_> {
        ProjectTable(self.scope())
    }

    fn quotes(&mut self) -> QuoteTable<'_> {
        QuoteTable(self.scope())
    }

    /// The numbers of the quotes of a year.
    fn quote_series(&mut self, year: i32) -> Series<'_> {
        Series { scope: self.scope(), kind: Series::QUOTES, year }
    }

    /// The numbers of the invoices of a year.
    fn invoice_series(&mut self, year: i32) -> Series<'_> {
        Series { scope: self.scope(), kind: Series::INVOICES, year }
    }

    fn signatures(&mut self) -> SignatureTable<'_> {
        SignatureTable(self.scope())
    }

    fn uploads(&mut self) -> UploadTable<'_> {
        UploadTable(self.scope())
    }

    fn webhooks(&mut self) -> WebhookTable<'_> {
        WebhookTable(self.scope())
    }
}

/// Reads records of a company. Each statement is a snapshot of its own.
pub(crate) struct CompanyReader<'c> {
    pub(super) connection: &'c mut Connection,
    pub(super) company: CompanyId,
}

impl Tables for CompanyReader<'_> {
    fn scope(&mut self) -> Scope<'_> {
        Scope { connection: self.connection, company: self.company }
    }
}

/// A transaction that changes records of a company. No other transaction changes them before it ends.
pub(crate) struct CompanyTx<'t> {
    pub(super) tx: &'t mut Tx,
    pub(super) change: CompanyChange,
}

/// The company that is being changed, and the instants of the change.
#[derive(Debug, Clone)]
pub(crate) struct CompanyChange {
    pub(crate) company: Company,
    pub(crate) zone: Tz,
    /// The instant on the clock.
    pub(crate) now: Timestamp,
    /// The modification stamp: `max(now, last stamp + 1 ms)`.
    pub(crate) stamp: Timestamp,
}

impl CompanyChange {
    pub(crate) fn new(company: Company, last_stamp: Timestamp, now: Timestamp) -> Result<Self, Error> {
        let zone = Tz::from_str(&company.time_zone)
            .map_err(|cause| Error::bad_row("company", "record.timeZone", company.id, cause))?;
        Ok(Self { company, zone, now, stamp: Self::next_stamp(last_stamp, now) })
    }

    pub(super) fn next_stamp(last: Timestamp, now: Timestamp) -> Timestamp {
        now.max(Timestamp::from_millis(last.as_millis().saturating_add(1)))
    }

    pub(crate) fn id(&self) -> CompanyId {
        self.company.id
    }

    /// The date in the company's time zone. It follows the clock: a clock that once ran ahead has moved the stamps
    /// ahead for good.
    pub(crate) fn today(&self) -> NaiveDate {
        self.date_of(self.now)
    }

    /// The date of an instant in the company's time zone.
    pub(crate) fn date_of(&self, at: Timestamp) -> NaiveDate {
        at.to_chrono().with_timezone(&self.zone).date_naive()
    }
}

impl Tables for CompanyTx<'_> {
    fn scope(&mut self) -> Scope<'_> {
        Scope { connection: self.tx.connection(), company: self.change.company.id }
    }
}

impl CompanyTx<'_> {
    pub(crate) fn change(&self) -> &CompanyChange {
        &self.change
    }

    pub(crate) fn company(&self) -> &Company {
        &self.change.company
    }

    /// The instant on the clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.change.now
    }

    /// The modification stamp of every record that the transaction changes.
    pub(crate) fn stamp(&self) -> Timestamp {
        self.change.stamp
    }

    /// The date in the company's time zone.
    pub(crate) fn today(&self) -> NaiveDate {
        self.change.today()
    }

    pub(crate) fn env(&self) -> &Env {
        self.tx.env()
    }

    /// Ends a change of records: moves the company's stamp, and records the events with their deliveries.
    pub(crate) async fn finish(&mut self, events: &[Event]) -> Result<(), Error> {
        self.tx.finish(&self.change, events).await
    }

    /// Records a test delivery for one webhook.
    pub(crate) async fn record_ping(&mut self, webhook: &Webhook) -> Result<EventId, Error> {
        events::record_ping(self.tx, &self.change, webhook).await
    }

    /// Queues the skipped and failed deliveries of a webhook again: that of one event, or all. How many.
    pub(crate) async fn replay(&mut self, webhook: WebhookId, event: Option<EventId>) -> Result<u64, Error> {
        let now = self.change.now;
        let queued = match event {
            Some(event) => self.deliveries().replay_one(webhook, event, now).await?,
            None => self.deliveries().replay_all(webhook, now).await?,
        };
        self.tx.push_new([NewDelivery::Pending(webhook)]);
        Ok(queued)
    }

    /// Tells the caches of this node and the other nodes once the transaction is committed.
    pub(crate) fn notify(&mut self, notification: Notification) {
        self.tx.notify(notification);
    }
}
