//! Creation of quotes: drafts, imports of quotes that were made in another system, and quotes that
//! are accepted and invoiced at once. All allocate their number here.
//!
//! The document of the latter two is frozen at once, and shows a number that is allocated only with
//! the quote. So it is rendered with the next number, and the transaction takes that number or
//! starts again. An import brings neither a number nor an identifier: the same import twice makes
//! two quotes.

use chrono::{Datelike, NaiveDate};
use invoicing_core::{
    Changed, Client, ClientId, Invoice, Line, NewQuote, Percent, Quote, QuoteCreation, QuoteId, QuoteImport,
    QuoteStatus,
};

use super::freezing::{finish_upload, particulars};
use super::{Quotes, check, missing_client, note};
use crate::documents::{DocumentLogo, Frozen};
use crate::error::Error;
use crate::operations::attempts::{ATTEMPTS, until_committed};
use crate::operations::conversion::convert_noted;
use crate::operations::documents::find_logo;
use crate::operations::numbering::{CREATIONS_AT_ONCE, LOCK_LIMIT, Numbering};
use crate::records::HistoryAction;
use crate::store::quotes::InternalDetails;
use crate::store::{ChangeContext, CompanyTx, Prefetch, Tables};

/// The origin of a quote whose document is frozen with its creation.
#[derive(Clone)]
enum Origin {
    /// Another system.
    Import(QuoteImport),
    /// A job without an offer: accepted and invoiced at once.
    Direct,
}

/// The content of a new quote.
#[derive(Clone)]
struct NewContent {
    client_id: ClientId,
    retention_rate: Percent,
    valid_until: Option<NaiveDate>,
    origin: Origin,
    lines: Vec<Line>,
    internal: InternalDetails,
}

/// A quote as it was created, and the invoice of a [`Origin::Direct`] one.
struct Created {
    quote: Quote,
    invoice: Option<Invoice>,
}

impl NewContent {
    fn new(new: &NewQuote, origin: Origin) -> Result<Self, Error> {
        let (lines, internal) = check(new)?;
        let NewQuote { client_id, retention_rate, valid_until, .. } = *new;
        Ok(Self { client_id, retention_rate, valid_until, origin, lines, internal })
    }

    fn quote(
        &self,
        id: QuoteId,
        change: &ChangeContext,
        client: &Client,
        number: &str,
    ) -> Result<Changed<Quote>, Error> {
        let Self { retention_rate, valid_until, ref origin, ref lines, .. } = *self;
        let creation = QuoteCreation { id, number, currency: &change.company.currency, at: change.at() };
        let lines = lines.clone();
        match origin {
            Origin::Import(import) => {
                let today = change.today();
                Ok(Quote::import(creation, client, lines, retention_rate, valid_until, import, today)?)
            }
            Origin::Direct => {
                let draft = Quote::draft(creation, client, lines, retention_rate, valid_until)?;
                let accepted = draft.record.accept(change.at())?;
                let events = [draft.events, accepted.events].concat();
                Ok(Changed { record: accepted.record, events })
            }
        }
    }

    /// The changes that the history notes.
    fn actions(&self) -> &'static [HistoryAction] {
        match self.origin {
            Origin::Import(_) => &[HistoryAction::QuoteImported],
            Origin::Direct => &[HistoryAction::QuoteCreated, HistoryAction::QuoteAccepted],
        }
    }
}

impl Quotes<'_> {
    /// Takes over a quote that was made in another system, in the state that it had there. It emits
    /// only `quote.created`; its number is from the company's own series. Unless it is a draft, its
    /// document is frozen.
    ///
    /// While other quotes of the company are created, its document may have to be rendered again.
    /// From the second rendering on, the other creations in this process wait for the import, for 5
    /// s at most.
    ///
    /// # Errors
    /// [`Error::StorageUnavailable`] if creations by other processes have taken the number of each
    /// of 8 renderings.
    pub async fn import(&self, new: &NewQuote, import: &QuoteImport) -> Result<Quote, Error> {
        self.0.operation("quotes.import", self.import_any(new, import)).await
    }

    async fn import_any(&self, new: &NewQuote, import: &QuoteImport) -> Result<Quote, Error> {
        if import.status == QuoteStatus::Draft {
            return self.import_draft(new, import).await;
        }
        let content = NewContent::new(new, Origin::Import(import.clone()))?;
        Ok(self.create_frozen(&content).await?.quote)
    }

    /// Creates a quote that is accepted by hand, and the draft of its invoice, in one transaction.
    pub(in crate::operations) async fn create_direct(&self, new: &NewQuote) -> Result<Invoice, Error> {
        let created = self.create_frozen(&NewContent::new(new, Origin::Direct)?).await?;
        created.invoice.ok_or_else(|| Error::internal("a quote without its invoice"))
    }

    async fn create_frozen(&self, content: &NewContent) -> Result<Created, Error> {
        self.0.check_creates()?;
        let id = QuoteId(self.0.env().uuid());
        // A creation that renders again comes first: this one would take its number.
        if !self.0.services.numbering.rendered_again.is_used(&self.0.id)
            && let Some(created) = Box::pin(self.try_create(id, content)).await?
        {
            return Ok(created);
        }
        Box::pin(self.create_again(id, content)).await
    }

    /// Makes the further attempts. Other creations of the company in this process wait meanwhile,
    /// but not for longer than [`LOCK_LIMIT`].
    async fn create_again(&self, id: QuoteId, content: &NewContent) -> Result<Created, Error> {
        let Numbering { rendered_again, numbers, .. } = &self.0.services.numbering;
        let turn = rendered_again.acquire(self.0.id).await?;
        let all_numbers = numbers.acquire_within(self.0.id, CREATIONS_AT_ONCE, LOCK_LIMIT).await?;
        let mut attempts = Box::pin(until_committed(ATTEMPTS - 1, || self.try_create(id, content)));
        let created = if let Ok(created) = tokio::time::timeout(LOCK_LIMIT, &mut attempts).await {
            created
        } else {
            drop((all_numbers, turn));
            attempts.await
        };
        created?.ok_or_else(|| Error::unavailable("other quotes keep taking the number of the import"))
    }

    /// Creates a draft, which has no document.
    pub(super) async fn import_draft(&self, new: &NewQuote, import: &QuoteImport) -> Result<Quote, Error> {
        let content = NewContent::new(new, Origin::Import(import.clone()))?;
        let _permit = self.0.services.numbering.numbers.acquire_if_used(self.0.id).await?;
        self.0
            .write([Prefetch::Client(content.client_id)], async move |mut tx| {
                let client = tx.clients().find(content.client_id).await.map_err(missing_client)?;
                let year = tx.change.today().year();
                let number = tx.quote_series(year).allocate().await?;
                let id = QuoteId(tx.env().uuid());
                let created = content.quote(id, &tx.change, &client, &number)?;
                insert(&mut tx, &[HistoryAction::QuoteCreated], created, &content.internal).await
            })
            .await
    }

    /// Attempts a creation. `None` if the rendered number is no longer the next one, or the document
    /// does not show the current data.
    async fn try_create(&self, id: QuoteId, content: &NewContent) -> Result<Option<Created>, Error> {
        let (then, logo, number) = self.next_number().await?;
        let client_id = content.client_id;
        let client = self.0.read(async move |mut tx| tx.clients().find(client_id).await);
        let client = client.await.map_err(missing_client)?;
        let preview = content.quote(id, &then, &client, &number)?;
        let terms = content.internal.terms.clone();
        let particulars = particulars(&then, &preview.record, &client, terms);
        let frozen = self.freeze(particulars, &preview.record, logo).await?;
        let content = content.clone();
        self.0
            .write([Prefetch::Client(client_id)], async move |mut tx| {
                // A transaction that answers `None` is committed, so the checks come before the
                // first change.
                if !is_current(&mut tx, &frozen, &client, &number).await?
                    || !finish_upload(&mut tx, id, &frozen).await?
                {
                    return Ok(None);
                }
                let year = tx.change.today().year();
                if tx.quote_series(year).allocate().await? != number {
                    return Err(Error::internal("the next number changed within a transaction"));
                }
                let created = match content.origin {
                    Origin::Import(_) => at(preview, &tx.change),
                    Origin::Direct => content.quote(id, &tx.change, &client, &number)?,
                };
                let quote = insert(&mut tx, content.actions(), created, &content.internal).await?;
                let invoice = match content.origin {
                    Origin::Import(_) => None,
                    Origin::Direct => Some(convert_noted(&mut tx, &quote).await?),
                };
                Ok(Some(Created { quote, invoice }))
            })
            .await
    }

    async fn next_number(&self) -> Result<(ChangeContext, Option<DocumentLogo>, String), Error> {
        let now = self.0.env().now();
        self.0
            .read(async move |mut tx| {
                let (company, last_stamp) = tx.company_row().find().await?;
                let change = ChangeContext::new(company, last_stamp, now)?;
                let logo = find_logo(&mut tx, &change.company).await?;
                let number = tx.quote_series(change.today().year()).next().await?;
                Ok((change, logo, number))
            })
            .await
    }
}

/// The import as of its transaction. The other instants are those that the document shows.
fn at(preview: Changed<Quote>, change: &ChangeContext) -> Changed<Quote> {
    let Changed { mut record, mut events } = preview;
    record.summary.created_at = change.now;
    record.summary.updated_at = change.stamp;
    for event in &mut events {
        event.timestamp = change.stamp;
    }
    Changed { record, events }
}

/// True if the document shows the next number and the current data.
async fn is_current(
    tx: &mut CompanyTx<'_>,
    frozen: &Frozen,
    client: &Client,
    number: &str,
) -> Result<bool, Error> {
    let year = tx.change.today().year();
    Ok(tx.quote_series(year).next().await? == number
        && frozen.particulars.company == *tx.change.company
        && tx.clients().find(client.id).await.map_err(missing_client)? == *client)
}

/// Stores a new quote with its events.
async fn insert(
    tx: &mut CompanyTx<'_>,
    actions: &[HistoryAction],
    created: Changed<Quote>,
    internal: &InternalDetails,
) -> Result<Quote, Error> {
    tx.quotes().insert(&created.record, internal).await?;
    tx.record_events(&created.events).await?;
    for action in actions {
        note(tx, *action, &created.record.summary).await?;
    }
    Ok(created.record)
}
