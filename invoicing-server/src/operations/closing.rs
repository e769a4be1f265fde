//! Closing a company: ends every access of others to it.

use super::{CompanyHandle, webhooks};
use crate::error::Error;
use crate::records::HistoryAction;
use crate::store::Tables;

/// Signing links that one transaction revokes, while other changes of the company wait for it.
const LINKS: u32 = 500;

impl CompanyHandle {
    /// Ends every access of others to the company: revokes its API keys and signing links, and
    /// removes its webhooks. Deliveries that wait for them are kept as skipped. Records, documents,
    /// events and numbers stay as they are, and the host can read them.
    ///
    /// Links are revoked in batches, so some may be left after an error: call it again. Keys, links
    /// and webhooks that the host makes afterwards work.
    pub async fn close(&self) -> Result<(), Error> {
        self.operation("company.close", self.end_all()).await
    }

    async fn end_all(&self) -> Result<(), Error> {
        self.end_keys_and_webhooks().await?;
        // The first transaction has decided about the version; a later change leaves no link usable.
        let decided = self.without_version();
        while decided.revoke_links().await? {}
        Ok(())
    }

    async fn end_keys_and_webhooks(&self) -> Result<(), Error> {
        self.write([], async move |mut tx| {
            tx.company_to_change()?;
            for key in tx.keys().list().await? {
                // Revoking a revoked key again would notify the other nodes again.
                if key.revoked_at.is_none()
                    && let Some(label) = tx.revoke_key(key.id).await?
                {
                    tx.note(HistoryAction::KeyRevoked, key.id.0, &label).await?;
                }
            }
            for webhook in tx.webhooks().list().await? {
                webhooks::remove(&mut tx, &webhook).await?;
            }
            Ok(())
        })
        .await
    }

    /// Revokes a batch of signing links. Returns true if there may be more.
    async fn revoke_links(&self) -> Result<bool, Error> {
        self.write([], async move |mut tx| {
            let now = tx.change.now;
            let quotes = tx.signatures().revoke_good_links(now, LINKS).await?;
            if tx.is_audited() {
                for id in &quotes {
                    let quote = tx.quotes().find_summary(*id).await?;
                    tx.note(HistoryAction::SigningLinkRevoked, id.0, &quote.number).await?;
                }
            }
            Ok(!quotes.is_empty())
        })
        .await
    }
}
