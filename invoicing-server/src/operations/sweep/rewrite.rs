//! Records of older versions, rewritten in today's shape, so that lists copy them again instead of parsing them.

use invoicing_core::{ClientId, CompanyId, InvoiceId, QuoteId};
use uuid::Uuid;

use super::{BATCH, Progress, Sweeper, UnreadableRecord};
use crate::Error;
use crate::store::CompanyTx;
use crate::store::rewrite::Table;

impl Sweeper {
    /// Rewrites the older records of a company. Their stamps stay, as readers were shown the same before.
    pub(super) async fn rewrite_older(
        &self,
        company: CompanyId,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        for table in Table::ALL {
            let mut after = Uuid::nil();
            loop {
                progress.lock.refresh().await?;
                let rewrite = async move |mut tx: CompanyTx<'_>| tx.rewrite_older(table, after, BATCH).await;
                let batch = self.services.store.write_company(company, rewrite).await?;
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
}

fn unreadable(company: CompanyId, table: Table, id: Uuid) -> UnreadableRecord {
    match table {
        Table::Clients => UnreadableRecord::Client(company, ClientId(id)),
        Table::Quotes => UnreadableRecord::Quote(company, QuoteId(id)),
        Table::Invoices => UnreadableRecord::Invoice(company, InvoiceId(id)),
    }
}
