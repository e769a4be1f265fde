//! Quotes that were made elsewhere. Their documents are frozen at once, and show a number that is allocated only with
//! the quote.

use invoicing_core::{Changed, Line, NewQuote, Quote, QuoteId, QuoteImport, QuoteOrigin, QuoteStatus};

use super::{
    ATTEMPTS, Quotes, busy, check, insert_document, no_client, particulars, series, settle, store_new,
};
use crate::Error;
use crate::store::Unit;
use crate::store::quotes::Aside;
use crate::store::series::give_back;

/// A quote on its way in.
struct Incoming<'i> {
    id: QuoteId,
    new: &'i NewQuote,
    import: &'i QuoteImport,
    lines: Vec<Line>,
    aside: Aside,
}

impl Quotes<'_> {
    /// Takes over a quote that was made elsewhere, in the state that it had there. It emits only `quote.created`;
    /// its number is ours. Unless it is a draft, its document is frozen.
    ///
    /// Where other quotes are created at the same time, those may wait for it, for 6 s at most.
    pub async fn import(&self, new: &NewQuote, import: &QuoteImport) -> Result<Quote, Error> {
        let (lines, aside) = check(new)?;
        let id = QuoteId(self.0.inner.env.uuid());
        let incoming = Incoming { id, new, import, lines, aside };
        // Most often nobody else takes a number meanwhile.
        if let (unit, Some(number)) = self.next_number(id).await?
            && let Some(quote) = self.import_as(&incoming, &unit, number).await?
        {
            return Ok(quote);
        }
        // Somebody did. From here on nobody can; the imports of this process come one after the other.
        let _turn = self.0.inner.import_turn.lock().await;
        let imported = self.import_held(&incoming).await;
        if imported.is_err() {
            self.give_number_back(id).await;
        }
        imported
    }

    async fn import_held(&self, incoming: &Incoming<'_>) -> Result<Quote, Error> {
        for _ in 0..ATTEMPTS {
            let (unit, number) = self.hold_number(incoming.id).await?;
            if let Some(quote) = self.import_as(incoming, &unit, number).await? {
                return Ok(quote);
            }
            // That took longer than a number is held, or the document was given up meanwhile.
        }
        Err(busy())
    }

    async fn next_number(&self, id: QuoteId) -> Result<(Unit, Option<String>), Error> {
        let mut connection = self.0.inner.store.read().await?;
        let unit = self.unit(&mut connection).await?;
        let number = series(&unit).peek(&mut connection, Some(id.0), self.0.inner.env.now()).await?;
        Ok((unit, number))
    }

    async fn hold_number(&self, id: QuoteId) -> Result<(Unit, String), Error> {
        let company = self.0.id;
        self.0
            .write_numbered(move |tx| {
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
        let given = self.0.write(move |tx| Box::pin(give_back(tx.connection(), company, id.0))).await;
        if let Err(error) = given {
            tracing::debug!(%error, %company, "a number is held until its time is over");
        }
    }

    /// `None` where the number has been taken by somebody else.
    async fn import_as(
        &self,
        incoming: &Incoming<'_>,
        unit: &Unit,
        number: String,
    ) -> Result<Option<Quote>, Error> {
        let &Incoming { id, new, import, ref lines, ref aside } = incoming;
        let client = self.0.clients().get(new.client_id).await.map_err(no_client)?;
        let origin = QuoteOrigin { id, number: &number, currency: &unit.company.currency, at: unit.at };
        let (rate, until) = (new.retention_rate, new.valid_until);
        let preview = Quote::import(origin, &client, lines.clone(), rate, until, import, unit.today())?;
        let document = if import.status == QuoteStatus::Draft {
            None
        } else {
            let particulars = particulars(unit, &preview.record, client.address, aside.work_site.clone());
            Some(Box::pin(self.freeze(particulars, &preview.record, None)).await?)
        };
        let (company, aside) = (self.0.id, aside.clone());
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let (series, now, holder) = (series(&unit), tx.env().now(), Some(id.0));
                    // Until all is well nothing is written, as `None` is committed too.
                    let next = series.peek(tx.connection(), holder, now).await?;
                    if next.as_ref() != Some(&number) || !settle(tx, &unit, document.as_ref()).await? {
                        return Ok(None);
                    }
                    if series.take(tx.connection(), holder, now).await? != next {
                        return Err(Error::internal("a number changed in the middle of a transaction"));
                    }
                    let Changed { mut record, mut events } = preview;
                    record.head.created_at = unit.at;
                    record.head.updated_at = unit.at;
                    for event in &mut events {
                        event.timestamp = unit.at;
                    }
                    let changed = Changed { record, events };
                    store_new(tx, &unit, &changed, &aside).await?;
                    if let Some(document) = document {
                        insert_document(tx, &unit, id, document).await?;
                    }
                    Ok(Some(changed.record))
                })
            })
            .await
    }
}
