//! Records that fall due: quotes whose validity has ended, and invoices that are overdue.

use invoicing_core::{CompanyId, InvoiceId, QuoteId, Timestamp};
use uuid::Uuid;

use super::{BATCH, Progress, SweepReport, Sweeper, UnreadableRecord};
use crate::error::Error;
use crate::store::due::DueRecord;
use crate::store::{ChangeContext, CompanyReader, CompanyTx, Tables, UNAUDITED};

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

    /// The counter of the report for the changed records.
    fn count(self, report: &mut SweepReport) -> &mut u64 {
        match self {
            Self::Quotes => &mut report.expired_quotes,
            Self::Invoices => &mut report.overdue_invoices,
        }
    }

    /// The next records that are due, by their columns.
    async fn find(
        self,
        mut tx: CompanyReader<'_>,
        now: Timestamp,
        after: DueRecord,
    ) -> Result<Vec<DueRecord>, Error> {
        let (company, last_stamp) = tx.company_row().find().await?;
        let today = ChangeContext::new(company, last_stamp, now)?.today();
        match self {
            Self::Quotes => tx.quotes().ended_before(today, after, BATCH).await,
            Self::Invoices => tx.invoices().due_before(today, after, BATCH).await,
        }
    }

    /// Changes those of the records that are still due. Returns the number of changes.
    async fn change(self, mut tx: CompanyTx<'_>, ids: Vec<Uuid>) -> Result<u64, Error> {
        let mut changed = 0;
        for id in ids {
            changed += u64::from(self.change_one(&mut tx, id).await?);
        }
        if changed > 0 {
            tx.record_events(&[]).await?;
        }
        Ok(changed)
    }

    async fn change_one(self, tx: &mut CompanyTx<'_>, id: Uuid) -> Result<bool, Error> {
        let (stamp, today) = (tx.change.stamp, tx.change.today());
        match self {
            Self::Quotes => {
                let expired = tx.quotes().find_summary(QuoteId(id)).await?.expire(stamp, today);
                let Some(expired) = expired else { return Ok(false) };
                tx.quotes().update(&expired, None).await?;
            }
            Self::Invoices => {
                let invoice = tx.invoices().find_summary(InvoiceId(id)).await?;
                let Some(overdue) = invoice.mark_overdue(stamp, today) else { return Ok(false) };
                tx.invoices().update(&overdue, None).await?;
            }
        }
        Ok(true)
    }
}

impl Sweeper {
    /// Changes the due records of a company, in batches. Records that cannot be read are noted.
    pub(super) async fn sweep_due(
        &self,
        company: CompanyId,
        due: Due,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        let (store, env) = (&self.services.store, &self.services.env);
        let mut after = DueRecord::BEFORE_ALL;
        loop {
            let now = env.now();
            let find = async move |tx: CompanyReader<'_>| due.find(tx, now, after).await;
            let found = store.read(company, find).await?;
            let Some(last) = found.last() else { return Ok(()) };
            after = *last;
            let ids: Vec<Uuid> = found.iter().map(|record| record.id).collect();
            match self.change(company, due, ids.clone(), progress).await {
                // A failed statement ends the whole transaction, so each record gets its own.
                Err(Error::Internal(_)) => self.change_each(company, due, ids, progress).await?,
                changed => changed?,
            }
        }
    }

    async fn change_each(
        &self,
        company: CompanyId,
        due: Due,
        ids: Vec<Uuid>,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        for id in ids {
            let changed = self.change(company, due, vec![id], progress).await;
            progress.pass_over(due.record(company, id), changed)?;
        }
        Ok(())
    }

    async fn change(
        &self,
        company: CompanyId,
        due: Due,
        ids: Vec<Uuid>,
        progress: &mut Progress,
    ) -> Result<(), Error> {
        progress.lock.refresh().await?;
        let change = async move |tx: CompanyTx<'_>| due.change(tx, ids).await;
        let changed = self.services.store.write(company, UNAUDITED, [], change).await?;
        *due.count(&mut progress.report) += changed;
        Ok(())
    }
}
