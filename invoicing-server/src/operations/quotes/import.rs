//! Quotes that were made elsewhere. Their documents are frozen at once, and show a number that is allocated only with
//! the quote.

use std::time::Duration;

use chrono::NaiveDate;
use invoicing_core::{
    Changed, Client, ClientId, Line, NewQuote, Percent, Quote, QuoteCreation, QuoteId, QuoteImport,
    QuoteStatus,
};

use super::{
    ATTEMPTS, Quotes, busy, check, insert_document, no_client, particulars, series, settle, store_new,
};
use crate::Error;
use crate::operations::companies::LONGEST_PAUSE;
use crate::store::quotes::Aside;
use crate::store::series::give_back;
use crate::store::{Unit, clients, reading};

/// How long numbers are left free before they are held: whoever waits for one gets it then.
const LEFT_FREE: Duration = LONGEST_PAUSE.saturating_mul(2);

const GIVING_BACK: Duration = Duration::from_secs(1);

/// A quote on its way in.
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
        let origin = QuoteCreation { id, number, currency: &unit.company.currency, at: unit.at };
        let lines = lines.clone();
        Ok(Quote::import(origin, client, lines, retention_rate, valid_until, import, unit.today())?)
    }
}

impl Quotes<'_> {
    /// Takes over a quote that was made elsewhere, in the state that it had there. It emits only `quote.created`;
    /// its number is ours. Unless it is a draft, its document is frozen.
    ///
    /// Where other quotes of the company are created at the same time, those may have to wait until its document is
    /// stored.
    pub async fn import(&self, new: &NewQuote, import: &QuoteImport) -> Result<Quote, Error> {
        if import.status == QuoteStatus::Draft {
            return self.import_draft(new, import).await;
        }
        let (id, incoming) = (QuoteId(self.0.inner.env.uuid()), Incoming::new(new, import)?);
        // Most often nobody else takes a number meanwhile.
        if let (unit, Some(number)) = self.next_number().await?
            && let Some(quote) = Box::pin(self.import_as(id, &incoming, &unit, number)).await?
        {
            return Ok(quote);
        }
        // Somebody did. From here on nobody can.
        let _turn = self.0.inner.importing.wait(self.0.id).await?;
        for _ in 0..ATTEMPTS {
            let imported = Box::pin(self.import_held(id, &incoming)).await;
            if !matches!(imported, Ok(Some(_))) {
                self.give_number_back(id).await;
            }
            if let Some(quote) = imported? {
                return Ok(quote);
            }
            // That took longer than a number is held, or what the document says was changed meanwhile.
        }
        Err(busy())
    }

    /// A draft has no document.
    pub(super) async fn import_draft(&self, new: &NewQuote, import: &QuoteImport) -> Result<Quote, Error> {
        let incoming = Incoming::new(new, import)?;
        let company = self.0.id;
        self.0
            .write_numbered(Duration::ZERO, move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let client = clients::find(tx.connection(), company, incoming.client_id).await;
                    let client = client.map_err(no_client)?;
                    let now = tx.env().now();
                    let Some(number) = series(&unit).take(tx.connection(), None, now).await? else {
                        return Ok(None);
                    };
                    let changed = incoming.quote(QuoteId(tx.env().uuid()), &unit, &client, &number)?;
                    store_new(tx, &unit, &changed, &incoming.aside).await?;
                    Ok(Some(changed.record))
                })
            })
            .await
    }

    async fn import_held(&self, id: QuoteId, incoming: &Incoming) -> Result<Option<Quote>, Error> {
        let (unit, number) = self.hold_number(id).await?;
        self.import_as(id, incoming, &unit, number).await
    }

    /// `None` where the number is no longer the next one, or what the document says no longer holds.
    async fn import_as(
        &self,
        id: QuoteId,
        incoming: &Incoming,
        then: &Unit,
        number: String,
    ) -> Result<Option<Quote>, Error> {
        let client = self.0.clients().get(incoming.client_id).await.map_err(no_client)?;
        let preview = incoming.quote(id, then, &client, &number)?;
        let (address, work_site) = (client.address.clone(), incoming.aside.work_site.clone());
        let particulars = particulars(then, &preview.record, address, work_site);
        let document = self.freeze_new(particulars, &preview.record).await?;
        let (company, aside) = (self.0.id, incoming.aside.clone());
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let (series, now, holder) = (series(&unit), tx.env().now(), Some(id.0));
                    // Until all is well nothing is written, as `None` is committed too.
                    let next = series.peek(tx.connection(), holder, now).await?;
                    if next.as_ref() != Some(&number)
                        || unit.company != document.particulars.company
                        || clients::find(tx.connection(), company, client.id).await.map_err(no_client)?
                            != client
                        || !settle(tx, &unit, Some(&document)).await?
                    {
                        return Ok(None);
                    }
                    if series.take(tx.connection(), holder, now).await? != next {
                        return Err(Error::internal("a number changed in the middle of a transaction"));
                    }
                    let Changed { mut record, mut events } = preview;
                    record.summary.created_at = unit.at;
                    record.summary.updated_at = unit.at;
                    for event in &mut events {
                        event.timestamp = unit.at;
                    }
                    let changed = Changed { record, events };
                    store_new(tx, &unit, &changed, &aside).await?;
                    insert_document(tx, &unit, id, document).await?;
                    Ok(Some(changed.record))
                })
            })
            .await
    }

    async fn next_number(&self) -> Result<(Unit, Option<String>), Error> {
        reading!(self.0.inner.store, |c| async {
            let unit = self.unit(c).await?;
            let number = series(&unit).peek(c, None, self.0.inner.env.now()).await?;
            Ok((unit, number))
        })
    }

    async fn hold_number(&self, id: QuoteId) -> Result<(Unit, String), Error> {
        let company = self.0.id;
        self.0
            .write_numbered(LEFT_FREE, move |tx| {
                Box::pin(async move {
                    let (unit, now) = (tx.unit(company).await?, tx.env().now());
                    let number = series(&unit).hold(tx.connection(), id.0, now).await?;
                    Ok(number.map(|number| (unit, number)))
                })
            })
            .await
    }

    /// Others need not wait until its time is over.
    async fn give_number_back(&self, id: QuoteId) {
        let company = self.0.id;
        let given = self.0.write(move |tx| Box::pin(give_back(tx.connection(), company, id.0)));
        // Where the database is away there is nothing to wait for.
        if !matches!(tokio::time::timeout(GIVING_BACK, given).await, Ok(Ok(()))) {
            tracing::debug!(%company, "a number is held until its time is over");
        }
    }
}
