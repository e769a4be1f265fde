//! Handles on what belongs to no single company.
//!
//! The list is short on purpose: all companies, keys and signing links by the hash of their text, the delivery queue,
//! and what the service keeps about itself. Everything else is reached through a company's handle.

use invoicing_core::CompanyId;

use super::companies::CompanyTable;
use super::company::CompanyReader;
use super::connection::Connection;
use super::deliveries::AllDeliveries;
use super::keys::AllKeys;
use super::notification::Notification;
use super::sealed::SealedSecrets;
use super::settings::SettingTable;
use super::signatures::AllSigningLinks;
use super::tx::Tx;
use super::webhooks::AllWebhooks;
use crate::Error;
use crate::env::Env;
use crate::queue::Queue;

/// The tables that go across companies.
pub(crate) trait ServiceTables {
    /// What a table's statements run on.
    fn connection(&mut self) -> &mut Connection;

    fn companies(&mut self) -> CompanyTable<'_> {
        CompanyTable(self.connection())
    }

    fn deliveries(&mut self) -> AllDeliveries<'_> {
        AllDeliveries(self.connection())
    }

    fn keys(&mut self) -> AllKeys<'_> {
        AllKeys(self.connection())
    }

    fn sealed_secrets(&mut self) -> SealedSecrets<'_> {
        SealedSecrets(self.connection())
    }

    fn settings(&mut self) -> SettingTable<'_> {
        SettingTable(self.connection())
    }

    fn signing_links(&mut self) -> AllSigningLinks<'_> {
        AllSigningLinks(self.connection())
    }

    fn webhooks(&mut self) -> AllWebhooks<'_> {
        AllWebhooks(self.connection())
    }
}

/// Reads across companies. Each statement is a snapshot of its own.
pub(crate) struct ServiceReader<'c>(pub(super) &'c mut Connection);

impl ServiceTables for ServiceReader<'_> {
    fn connection(&mut self) -> &mut Connection {
        self.0
    }
}

/// A transaction that goes across companies.
pub(crate) struct ServiceTx<'t>(pub(super) &'t mut Tx);

impl ServiceTables for ServiceTx<'_> {
    fn connection(&mut self) -> &mut Connection {
        self.0.connection()
    }
}

impl ServiceTx<'_> {
    pub(crate) fn env(&self) -> &Env {
        self.0.env()
    }

    /// Keeps other nodes from changing what the service keeps about itself before the end of the transaction.
    pub(crate) async fn lock_service(&mut self) -> Result<(), Error> {
        self.0.lock_service().await
    }

    /// The tables of a company, which the transaction does not lock.
    pub(crate) fn of_company(&mut self, company: CompanyId) -> CompanyReader<'_> {
        self.0.reader(company)
    }

    /// The queue of the dispatcher of this process.
    pub(crate) fn queue(&self) -> &Queue {
        self.0.queue()
    }

    /// Runs `hook` once the transaction is committed, even where the caller has gone away.
    pub(crate) fn on_commit(&mut self, hook: impl FnOnce() + Send + 'static) {
        self.0.on_commit(hook);
    }

    /// Tells the caches of this node and the other nodes once the transaction is committed.
    pub(crate) fn notify(&mut self, notification: Notification) {
        self.0.notify(notification);
    }
}
