//! Imports: quotes that were made in another system.
//!
//! The document of an import is frozen at once, and shows a number that is allocated only with the quote. So the import
//! renders the number that is next, and its transaction takes that number or starts again.

use std::time::Duration;

use chrono::NaiveDate;
use futures_util::future::{self, Either};
use invoicing_core::{
    Changed, Client, ClientId, Line, NewQuote, Percent, Quote, QuoteId, QuoteImport, QuoteOrigin, QuoteStatus,
};

use super::{ATTEMPTS, Quotes, check, finish_upload, no_client, particulars, series, store_new};
use crate::Error;
use crate::store::quotes::Aside;
use crate::store::{Unit, clients, reading};

/// How long an import keeps the other creations of its company and process from allocating numbers.
const LOCK_LIMIT: Duration = Duration::from_secs(5);

/// The content of an import.
#[derive(Clone)]
struct Incoming {
    client_id: ClientId,
    retention_rate: Percent,
    valid_until: Option<NaiveDate>,
    import: QuoteImport,
    lines: Vec<Line>,
    aside: Aside,
}

impl Incoming {
    fn new(new: &NewQuote, import: &QuoteImport) -> Result<Self, Error> {
        let (lines, aside) = check(new)?;
        let NewQuote { client_id, retention_rate, valid_until, .. } = *new;
        Ok(Self { client_id, retention_rate, valid_until, import: import.clone(), lines, aside })
    }

    fn quote(
        &self,
        id: QuoteId,
        unit: &Unit,
        client: &Client,
        number: &str,
    ) -> Result<Changed<Quote>, Error> {
        let Self { retention_rate, valid_until, ref import, ref lines, .. } = *self;
        let origin = QuoteOrigin { id, number, currency: &unit.company.currency, at: unit.at };
        let lines = lines.clone();
        Ok(Quote::import(origin, client, lines, retention_rate, valid_until, import, unit.today())?)
    }
}

impl Quotes<'_> {
    /// Takes over a quote that was made in another system, in the state that it had there. It emits only
    /// `quote.created`; its number is from the company's own series. Unless it is a draft, its document is frozen.
    ///
    /// While other quotes of the company are created, its document may have to be rendered again. From the second
    /// rendering on the other creations in this process wait for the import, for 5 s at most.
    ///
    /// # Errors
    /// [`Error::StorageUnavailable`] where creations by other processes have taken the number of each of 8 renderings.
    pub async fn import(&self, new: &NewQuote, import: &QuoteImport) -> Result<Quote, Error> {
        if import.status == QuoteStatus::Draft {
            return self.import_draft(new, import).await;
        }
        let (id, incoming) = (QuoteId(self.0.inner.env.uuid()), Incoming::new(new, import)?);
        // Another import that renders again comes first: this one would take its number.
        if !self.0.inner.imports.is_used(self.0.id)
            && let Some(quote) = Box::pin(self.try_import(id, &incoming)).await?
        {
            return Ok(quote);
        }
        Box::pin(self.import_again(id, &incoming)).await
    }

    /// Further attempts. Other creations of the company in this process wait meanwhile, but not for longer than
    /// [`LOCK_LIMIT`].
    async fn import_again(&self, id: QuoteId, incoming: &Incoming) -> Result<Quote, Error> {
        let turn = self.0.inner.imports.acquire(self.0.id).await?;
        let numbers = self.0.inner.numbers.acquire_all_within(self.0.id, LOCK_LIMIT).await?;
        let attempts = Box::pin(self.retry_import(id, incoming));
        match future::select(attempts, Box::pin(tokio::time::sleep(LOCK_LIMIT))).await {
            Either::Left((imported, _)) => imported,
            Either::Right(((), attempts)) => {
                drop((numbers, turn));
                attempts.await
            }
        }
    }

    async fn retry_import(&self, id: QuoteId, incoming: &Incoming) -> Result<Quote, Error> {
        for _ in 1..ATTEMPTS {
            if let Some(quote) = self.try_import(id, incoming).await? {
                return Ok(quote);
            }
        }
        Err(Error::unavailable("other quotes keep taking the number of the import"))
    }

    /// A draft has no document.
    pub(super) async fn import_draft(&self, new: &NewQuote, import: &QuoteImport) -> Result<Quote, Error> {
        let incoming = Incoming::new(new, import)?;
        let company = self.0.id;
        let _permit = self.0.inner.numbers.acquire_if_used(company).await?;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let client = clients::find(tx.connection(), company, incoming.client_id).await;
                    let client = client.map_err(no_client)?;
                    let number = series(&unit).take(tx.connection()).await?;
                    let changed = incoming.quote(QuoteId(tx.env().uuid()), &unit, &client, &number)?;
                    store_new(tx, &unit, &changed, &incoming.aside).await?;
                    Ok(changed.record)
                })
            })
            .await
    }

    /// `None` where the rendered number is no longer the next one, or the document does not show the current data.
    async fn try_import(&self, id: QuoteId, incoming: &Incoming) -> Result<Option<Quote>, Error> {
        let (then, number) = self.next_number().await?;
        let client = self.0.clients().get(incoming.client_id).await.map_err(no_client)?;
        let preview = incoming.quote(id, &then, &client, &number)?;
        let (address, work_site) = (client.address.clone(), incoming.aside.work_site.clone());
        let particulars = particulars(&then, &preview.record, address, work_site);
        let frozen = self.freeze_new(particulars, &preview.record).await?;
        let (company, aside) = (self.0.id, incoming.aside.clone());
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let series = series(&unit);
                    // A transaction that answers `None` is committed, so the checks come before the first change.
                    if series.next(tx.connection()).await? != number
                        || unit.company != frozen.particulars.company
                        || clients::find(tx.connection(), company, client.id).await.map_err(no_client)?
                            != client
                        || !finish_upload(tx, &unit, id, frozen).await?
                    {
                        return Ok(None);
                    }
                    if series.take(tx.connection()).await? != number {
                        return Err(Error::internal("the next number changed within a transaction"));
                    }
                    let Changed { mut record, mut events } = preview;
                    record.head.created_at = unit.at;
                    record.head.updated_at = unit.at;
                    for event in &mut events {
                        event.timestamp = unit.at;
                    }
                    let changed = Changed { record, events };
                    store_new(tx, &unit, &changed, &aside).await?;
                    Ok(Some(changed.record))
                })
            })
            .await
    }

    async fn next_number(&self) -> Result<(Unit, String), Error> {
        reading!(self.0.inner.store, |c| async {
            let unit = self.unit(c).await?;
            let number = series(&unit).next(c).await?;
            Ok((unit, number))
        })
    }
}
