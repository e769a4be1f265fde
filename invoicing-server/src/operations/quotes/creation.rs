//! Creation of quotes: drafts, imports of quotes that were made in another system, and quotes that
//! are accepted and invoiced at once. All allocate their number here.
//!
//! The document of the latter two is frozen at once, and shows a number that is allocated only with
//! the quote. So it is rendered with the next number, and the transaction takes that number or
//! starts again. An import brings neither a number nor an identifier: the same import twice makes
//! two quotes.

use chrono::Datelike;
use invoicing_core::{
    Changed, Client, ClientId, Invoice, Line, NewQuote, Quote, QuoteCreation, QuoteId, QuoteImport,
    QuoteStatus, QuoteTerms,
};

use super::decisions::facts;
use super::{Quotes, check, missing_client, note};
use crate::documents::{BoundedStore, DocumentContent, DocumentLogo, Frozen};
use crate::error::Error;
use crate::operations::CompanyHandle;
use crate::operations::conversion::convert_noted;
use crate::operations::freezing::{ATTEMPTS, FreezingPlan};
use crate::operations::frozen_files::find_logo;
use crate::operations::numbering::{CREATIONS_AT_ONCE, LOCK_LIMIT, Numbering};
use crate::records::HistoryAction;
use crate::store::quotes::QuoteExtras;
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
    terms: QuoteTerms,
    origin: Origin,
    lines: Vec<Line>,
    internal: QuoteExtras,
}

/// A quote as it was created, and the invoice of a [`Origin::Direct`] one.
struct Created {
    quote: Quote,
    invoice: Option<Invoice>,
}

impl NewContent {
    fn new(new: &NewQuote, origin: Origin) -> Result<Self, Error> {
        let (lines, internal) = check(new)?;
        Ok(Self { client_id: new.client_id, terms: new.terms(), origin, lines, internal })
    }

    fn quote(
        &self,
        id: QuoteId,
        change: &ChangeContext,
        client: &Client,
        number: &str,
    ) -> Result<Changed<Quote>, Error> {
        let Self { terms, origin, lines, .. } = self;
        let creation = QuoteCreation { id, number, currency: &change.company.currency, at: change.at() };
        let lines = lines.clone();
        match origin {
            Origin::Import(import) => {
                let today = change.today();
                Ok(Quote::import(creation, client, lines, terms, import, today)?)
            }
            Origin::Direct => {
                let draft = Quote::draft(creation, client, lines, terms)?;
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
        Ok(self.create_frozen(content).await?.quote)
    }

    /// Creates a quote that is accepted by hand, and the draft of its invoice, in one transaction.
    pub(in crate::operations) async fn create_direct(&self, new: &NewQuote) -> Result<Invoice, Error> {
        let created = self.create_frozen(NewContent::new(new, Origin::Direct)?).await?;
        created.invoice.ok_or_else(|| Error::internal("a quote without its invoice"))
    }

    async fn create_frozen(&self, content: NewContent) -> Result<Created, Error> {
        self.0.check_creates()?;
        let plan = Creation { id: QuoteId(self.0.env().uuid()), content };
        // A creation that renders again comes first: this one would take its number.
        if !self.0.services.numbering.rendered_again.is_used(&self.0.id)
            && let Some(created) = Box::pin(self.0.try_freeze(&plan)).await?
        {
            return Ok(created);
        }
        Box::pin(self.create_again(&plan)).await
    }

    /// Makes the further attempts. Other creations of the company in this process wait meanwhile,
    /// but not for longer than [`LOCK_LIMIT`].
    async fn create_again(&self, plan: &Creation) -> Result<Created, Error> {
        let Numbering { rendered_again, numbers, .. } = &self.0.services.numbering;
        let turn = rendered_again.acquire(self.0.id).await?;
        let all_numbers = numbers.acquire_within(self.0.id, CREATIONS_AT_ONCE, LOCK_LIMIT).await?;
        let mut attempts = Box::pin(self.0.freeze(plan, ATTEMPTS - 1));
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
}

/// The creation of a quote whose document is frozen with it.
#[derive(Clone)]
struct Creation {
    id: QuoteId,
    content: NewContent,
}

/// The next number and the client, as they were read before the document was rendered.
struct ReadCreation {
    change: ChangeContext,
    client: Client,
    logo: Option<DocumentLogo>,
    number: String,
    /// The quote with that number.
    preview: Changed<Quote>,
}

impl FreezingPlan for Creation {
    type Read = ReadCreation;
    type Done = Created;

    async fn read(&self, company: &CompanyHandle) -> Result<ReadCreation, Error> {
        let (client_id, now) = (self.content.client_id, company.env().now());
        let found = company.read(async move |mut tx| {
            let (company, last_stamp) = tx.company_row().find().await?;
            let change = ChangeContext::new(company, last_stamp, now)?;
            let client = tx.clients().find(client_id).await.map_err(missing_client)?;
            let logo = find_logo(&mut tx, &change.company).await?;
            let number = tx.quote_series(change.today().year()).next().await?;
            Ok((change, client, logo, number))
        });
        let (change, client, logo, number) = found.await?;
        let preview = self.content.quote(self.id, &change, &client, &number)?;
        Ok(ReadCreation { change, client, logo, number, preview })
    }

    async fn preview(
        &self,
        read: &ReadCreation,
        _: &mut BoundedStore<'_>,
    ) -> Result<Option<DocumentContent>, Error> {
        let quote = &read.preview.record;
        let facts = facts(&read.change, quote, &read.client, self.content.internal.terms.clone());
        let content = DocumentContent::of_quote(quote.clone(), None, facts, read.logo.clone());
        content.check_lawful()?;
        Ok(Some(content))
    }

    fn prefetched(&self, _: &ReadCreation) -> Vec<Prefetch> {
        vec![Prefetch::Client(self.content.client_id)]
    }

    async fn still_current(
        &self,
        tx: &mut CompanyTx<'_>,
        read: &ReadCreation,
        _: Option<&Frozen>,
    ) -> Result<bool, Error> {
        let year = tx.change.today().year();
        Ok(tx.quote_series(year).next().await? == read.number
            && read.change.company == tx.change.company
            && tx.clients().find(read.client.id).await.map_err(missing_client)? == read.client)
    }

    async fn commit(
        &self,
        tx: &mut CompanyTx<'_>,
        read: &ReadCreation,
        _: Option<&Frozen>,
    ) -> Result<Created, Error> {
        let Self { id, content } = self;
        let year = tx.change.today().year();
        if tx.quote_series(year).allocate().await? != read.number {
            return Err(Error::internal("the next number changed within a transaction"));
        }
        let created = match content.origin {
            Origin::Import(_) => at(read.preview.clone(), &tx.change),
            Origin::Direct => content.quote(*id, &tx.change, &read.client, &read.number)?,
        };
        let quote = insert(tx, content.actions(), created, &content.internal).await?;
        let invoice = match content.origin {
            Origin::Import(_) => None,
            Origin::Direct => Some(convert_noted(tx, &quote).await?),
        };
        Ok(Created { quote, invoice })
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

/// Stores a new quote with its events.
async fn insert(
    tx: &mut CompanyTx<'_>,
    actions: &[HistoryAction],
    created: Changed<Quote>,
    internal: &QuoteExtras,
) -> Result<Quote, Error> {
    tx.quotes().insert(&created.record, internal).await?;
    tx.record_events(&created.events).await?;
    for action in actions {
        note(tx, *action, &created.record.summary).await?;
    }
    Ok(created.record)
}
