//! Records that fall due: quotes whose validity has ended, invoices that are overdue.

use invoicing_core::{CompanyId, InvoiceId, QuoteId};
use uuid::Uuid;

use super::{BATCH, Progress, Sweeper, UnreadableRecord};
use crate::Error;
use crate::store::{CompanyTx, Tables};

/// A kind of record that falls due.
#[derive(Debug, Clone, Copy)]
pub(super) enum Due {
    Quotes,
    Invoices,
}

impl Due {
    fn record(self, company: CompanyId, id: Uuid) -> UnreadableRecord {
        match self {
            Self::Quotes => UnreadableRecord::Quote(company, QuoteId(id)),
            Self::Invoices => UnreadableRecord::Invoice(company, InvoiceId(id)),
        }
    }

    /// The records that are due, by their columns.
    async fn find(self, mut tx: CompanyTx<'_>) -> Result<Vec<Uuid>, Error> {
        let today = tx.change.today();
        Ok(match self {
            Self::Quotes => tx.quotes().ended_before(today).await?.into_iter().map(|id| id.0).collect(),
            Self::Invoices => tx.invoices().due_before(today).await?.into_iter().map(|id| id.0).collect(),
        })
    }

    /// Changes those of the records that are still due; how many.
    async fn change(self, mut tx: CompanyTx<'_>, ids: Vec<Uuid>) -> Result<u64, Error> {
        let mut changed = 0;
        for id in ids {
            changed += u64::from(self.change_one(&mut tx, id).await?);
        }
        if changed > 0 {
            tx.finish(&[]).await?;
        }
        Ok(changed)
    }

    async fn change_one(self, tx: &mut CompanyTx<'_>, id: Uuid) -> Result<bool, Error> {
        let (stamp, today) = (tx.change.stamp, tx.change.today());
        match self {
            Self::Quotes => {
                let expired = tx.quotes().find_summary(QuoteId(id)).await?.expire(stamp, today);
                let Some(expired) = expired else { return Ok(false) };
                tx.quotes().update_summary(&expired).await?;
            }
            Self::Invoices => {
                let invoice = tx.invoices().find_summary(InvoiceId(id)).await?;
                let Some(overdue) = invoice.mark_overdue(stamp, today) else { return Ok(false) };
                tx.invoices().update(&overdue).await?;
            }
        }
        Ok(true)
    }
}

impl Sweeper {
    /// Changes what is due of a company, in batches; how many records. Those that cannot be read are noted.
    pub(super) async fn sweep_due(
        &self,
        company: CompanyId,
        due: Due,
        progress: &mut Progress,
    ) -> Result<u64, Error> {
        let store = &self.services.store;
        let ids = store.write_company(company, async move |tx| due.find(tx).await).await?;
        let mut changed = 0;
        for batch in ids.chunks(BATCH as usize) {
            changed += match self.change(company, due, batch.to_vec()).await {
                // A failed statement ends the whole transaction, so each record gets its own.
                Err(Error::Internal(_)) => self.change_each(company, due, batch, progress).await?,
                changed => changed?,
            };
        }
        Ok(changed)
    }

    async fn change_each(
        &self,
        company: CompanyId,
        due: Due,
        ids: &[Uuid],
        progress: &mut Progress,
    ) -> Result<u64, Error> {
        let mut changed = 0;
        for id in ids {
            match self.change(company, due, vec![*id]).await {
                Err(error @ Error::Internal(_)) => progress.note(due.record(company, *id), error),
                result => changed += result?,
            }
        }
        Ok(changed)
    }

    async fn change(&self, company: CompanyId, due: Due, ids: Vec<Uuid>) -> Result<u64, Error> {
        self.services.store.write_company(company, async move |tx| due.change(tx, ids).await).await
    }
}
