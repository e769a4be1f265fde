//! Handles on records that belong to no single company.
//!
//! The list is short on purpose: all companies, keys and signing links by the hash of their text,
//! the delivery queue with its bulk changes, and the service's own settings. Everything else is
//! reached through a company's handle.

use super::bulk_changes::AllBulkChanges;
use super::companies::CompanyTable;
use super::connection::Connection;
use super::deliveries::AllDeliveries;
use super::keys::AllKeys;
use super::sealed::SealedSecrets;
use super::settings::SettingTable;
use super::signatures::AllSigningLinks;
use super::tx::Tx;
use super::webhooks::AllWebhooks;

/// The tables that go across companies.
pub(crate) trait ServiceTables {
    /// The connection for the statements of a table.
    fn connection(&mut self) -> &mut Connection;

    fn bulk_changes(&mut self) -> AllBulkChanges<'_> {
        AllBulkChanges(self.connection())
    }

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

/// A reader across companies. Each statement reads a new snapshot.
pub(crate) type ServiceReader<'c> = &'c mut Connection;

impl ServiceTables for Connection {
    fn connection(&mut self) -> &mut Connection {
        self
    }
}

/// A transaction that goes across companies.
pub(crate) type ServiceTx<'t> = &'t mut Tx;

impl ServiceTables for Tx {
    fn connection(&mut self) -> &mut Connection {
        self.connection()
    }
}
