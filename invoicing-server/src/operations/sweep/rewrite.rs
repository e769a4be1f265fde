//! Rewriting of records of older versions in today's shape, so that lists copy them again instead
//! of parsing them.

use invoicing_core::{ClientId, CompanyId, InvoiceId, QuoteId};
use uuid::Uuid;

use super::{BATCH, Progress, Sweeper, UnreadableRecord};
use crate::Error;
use crate::store::rewrite::Table;
use crate::store::{CompanyReader, CompanyTx, UNAUDITED};

impl Sweeper {
    /// Rewrites the older records of a company. Their stamps stay, as readers were shown the same
    /// before.
    pub(super) async fn rewrite_older(
        &self,
        company: CompanyId,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        for table in Table::ALL {
            let mut after = Uuid::nil();
            // Usually there are none, and a transaction keeps other writers waiting.
            while self.has_older(company, table, after).await? {
                progress.lock.refresh().await?;
                let rewrite = async move |mut tx: CompanyTx<'_>| tx.rewrite_older(table, after, BATCH).await;
                let batch = self.services.store.write(company, UNAUDITED, [], rewrite).await?;
                progress.report.rewritten_records += batch.rewritten;
                for (id, error) in batch.unreadable {
                    progress.note(unreadable(company, table, id), &error);
                }
                let Some(last) = batch.last else { break };
                after = last;
            }
        }
        Ok(())
    }

    async fn has_older(&self, company: CompanyId, table: Table, after: Uuid) -> Result<bool, Error> {
        let read = async move |mut tx: CompanyReader<'_>| tx.has_older(table, after).await;
        self.services.store.read(company, read).await
    }
}

fn unreadable(company: CompanyId, table: Table, id: Uuid) -> UnreadableRecord {
    match table {
        Table::Clients => UnreadableRecord::Client(company, ClientId(id)),
        Table::Quotes => UnreadableRecord::Quote(company, QuoteId(id)),
        Table::Invoices => UnreadableRecord::Invoice(company, InvoiceId(id)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::sync::Notify;
    use tokio::time::timeout;

    use super::*;
    use crate::Invoicing;

    #[tokio::test]
    async fn a_company_without_older_records_needs_no_transaction() {
        let (_folder, invoicing, company) = Invoicing::with_company().await;
        let company = company.id();
        let store = &invoicing.sweeper().services.store;
        let mut progress = Progress::begin(store).await.unwrap().unwrap();
        // The one writer is busy until the end.
        let (begun, end) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (has_begun, has_to_end) = (Arc::clone(&begun), Arc::clone(&end));
        let busy = store.write(company, UNAUDITED, [], async move |_: CompanyTx<'_>| {
            has_begun.notify_one();
            has_to_end.notified().await;
            Ok(())
        });
        let rewrite = async {
            begun.notified().await;
            let rewritten = invoicing.sweeper().rewrite_older(company, &mut progress);
            timeout(Duration::from_secs(20), rewritten).await.expect("no wait for the writer").unwrap();
            end.notify_one();
        };
        let (busy, ()) = tokio::join!(busy, rewrite);
        busy.unwrap();
    }
}
