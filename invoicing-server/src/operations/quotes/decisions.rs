//! Decisions of the company about a quote: sending and accepting, which freeze its document.

use chrono::NaiveDate;
use invoicing_core::{Changed, Client, Quote, QuoteId, Timestamp};

use super::{Quotes, links, note, update};
use crate::documents::{BoundedStore, DocumentContent, DocumentFacts, DocumentLogo, Frozen};
use crate::error::Error;
use crate::operations::CompanyHandle;
use crate::operations::freezing::{ATTEMPTS, FreezingPlan, keeps_changing};
use crate::operations::frozen_files::{current_facts, find_logo};
use crate::records::{HistoryAction, ReadinessGap};
use crate::store::quotes::DocumentTerms;
use crate::store::{ChangeContext, CompanyReader, CompanyTx, Prefetch, Tables};

/// A decision of the company about a quote.
#[derive(Debug, Clone, Copy)]
struct Decision {
    id: QuoteId,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Send { valid_until: Option<NaiveDate> },
    Accept,
}

/// A quote as it was read before its document was rendered.
struct ReadQuote {
    change: ChangeContext,
    quote: Quote,
    client: Client,
    terms: DocumentTerms,
    logo: Option<DocumentLogo>,
}

impl ReadQuote {
    async fn read(tx: &mut CompanyReader<'_>, id: QuoteId, now: Timestamp) -> Result<Self, Error> {
        let quote = tx.quotes().find(id).await?;
        let (company, last_stamp) = tx.company_row().find().await?;
        let change = ChangeContext::new(company, last_stamp, now)?;
        let client = tx.clients().find(quote.summary.client_id).await?;
        let terms = tx.quotes().find_terms(id).await?;
        let logo = find_logo(tx, &change.company).await?;
        Ok(Self { change, quote, client, terms, logo })
    }

    /// The quote as it would be sent now.
    fn sent(&self, valid_until: Option<NaiveDate>) -> Result<Quote, Error> {
        let ChangeContext { now, stamp, .. } = self.change;
        Ok(self.quote.send(valid_until, now, stamp, self.change.today())?.record)
    }

    fn content(&self, preview: Quote) -> DocumentContent {
        let facts = facts(&self.change, &preview, &self.client, self.terms.clone());
        DocumentContent::of_quote(preview, None, facts, self.logo.clone())
    }
}

/// The facts that the document of a quote shows if it is frozen now.
pub(super) fn facts(
    change: &ChangeContext,
    quote: &Quote,
    client: &Client,
    terms: DocumentTerms,
) -> DocumentFacts {
    let date = quote.summary.sent_at.map_or_else(|| change.today(), |at| change.date_of(at));
    DocumentFacts { quote_date: Some(date), ..current_facts(&change.company, client, terms) }
}

impl FreezingPlan for Decision {
    type Read = (ReadQuote, Quote);
    type Done = Quote;

    /// The quote as it stands, and as it would be then.
    async fn read(&self, company: &CompanyHandle) -> Result<Self::Read, Error> {
        let (id, now) = (self.id, company.env().now());
        let read = company.read(async move |mut tx| ReadQuote::read(&mut tx, id, now).await).await?;
        company.check_expected("the quote", read.quote.summary.updated_at)?;
        let preview = match self.kind {
            Kind::Send { valid_until } => read.sent(valid_until)?,
            Kind::Accept => read.quote.accept(read.change.at())?.record,
        };
        Ok((read, preview))
    }

    async fn preview(
        &self,
        (read, preview): &Self::Read,
        _: &mut BoundedStore<'_>,
    ) -> Result<Option<DocumentContent>, Error> {
        if matches!(self.kind, Kind::Accept) && read.quote.summary.sent_at.is_some() {
            return Ok(None);
        }
        let content = read.content(preview.clone());
        content.check_lawful()?;
        Ok(Some(content))
    }

    fn prefetched(&self, (read, _): &Self::Read) -> Vec<Prefetch> {
        vec![Prefetch::QuoteSummary(self.id), Prefetch::Client(read.quote.summary.client_id)]
    }

    async fn still_current(
        &self,
        tx: &mut CompanyTx<'_>,
        (read, _): &Self::Read,
        frozen: Option<&Frozen>,
    ) -> Result<bool, Error> {
        let stored = tx.summary_to_change::<Quote>(self.id).await?;
        if stored.updated_at != read.quote.summary.updated_at {
            return Ok(false);
        }
        let Some(Frozen { facts: shown, .. }) = frozen else { return Ok(true) };
        let client = tx.clients().find(stored.client_id).await?;
        let terms = tx.quotes().find_terms(self.id).await?;
        let current = facts(&tx.change, &read.quote, &client, terms);
        Ok(*shown == DocumentFacts { quote_date: shown.quote_date, ..current })
    }

    async fn commit(
        &self,
        tx: &mut CompanyTx<'_>,
        (read, preview): &Self::Read,
        _: Option<&Frozen>,
    ) -> Result<Quote, Error> {
        let ChangeContext { stamp, .. } = tx.change;
        match self.kind {
            Kind::Send { .. } => {
                // The document shows this day, also if midnight has passed since.
                let valid_until = preview.summary.valid_until;
                let sent = read.quote.send(valid_until, read.change.now, stamp, tx.change.today())?;
                store_decided(tx, sent, HistoryAction::QuoteSent).await
            }
            Kind::Accept => {
                let accepted = read.quote.accept(tx.change.at())?;
                store_decided(tx, accepted, HistoryAction::QuoteAccepted).await
            }
        }
    }
}

/// Stores a quote about which someone has decided, and notes the decision.
pub(in crate::operations) async fn store_decided(
    tx: &mut CompanyTx<'_>,
    decided: Changed<Quote>,
    action: HistoryAction,
) -> Result<Quote, Error> {
    links::extend_expiry(tx, &decided.record.summary).await?;
    let quote = update(tx, decided).await?;
    note(tx, action, &quote.summary).await?;
    Ok(quote)
}

impl Quotes<'_> {
    /// All that sending this quote would refuse, or that its invoice will lack, each with its field,
    /// its rule and a sentence in both languages. A text that the document cannot show is refused
    /// too.
    ///
    /// A host whose companies need other scripts adds fonts to the renderer: see
    /// `PdfRenderer::with_fallback`.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the quote cannot be sent in its state, or has no line.
    pub async fn readiness(&self, id: QuoteId) -> Result<Vec<ReadinessGap>, Error> {
        let now = self.0.env().now();
        let checked = async {
            let read = self.0.read(async move |mut tx| {
                // No transaction compares what is read here.
                tx.begin_snapshot().await?;
                let read = ReadQuote::read(&mut tx, id, now).await;
                tx.end_snapshot().await?;
                read
            });
            let read = read.await?;
            self.0.services.documents.gaps(read.content(read.sent(None)?)).await
        };
        self.0.operation("quotes.readiness", checked).await
    }

    /// Sends a draft, or sends an expired or rejected quote again with a new validity. Freezes the
    /// document; no event. `valid_until` defaults to the draft's own, or else to 30 days from
    /// today.
    ///
    /// # Errors
    /// [`Error::Invalid`] about a text that the document cannot show, and about a VAT rate that the
    /// law forbids: see [`Self::readiness`].
    pub async fn send(&self, id: QuoteId, valid_until: Option<NaiveDate>) -> Result<Quote, Error> {
        let sent = self.decide(Decision { id, kind: Kind::Send { valid_until } });
        self.0.operation("quotes.send", sent).await
    }

    /// Marks a quote accepted by hand: `quote.accepted`. Freezes a document if there is none.
    pub async fn accept(&self, id: QuoteId) -> Result<Quote, Error> {
        let accepted = async {
            match self.accept_sent(id).await? {
                Some(accepted) => Ok(accepted),
                None => self.decide(Decision { id, kind: Kind::Accept }).await,
            }
        };
        self.0.operation("quotes.accept", accepted).await
    }

    async fn decide(&self, decision: Decision) -> Result<Quote, Error> {
        self.0.freeze(&decision, ATTEMPTS).await?.ok_or_else(keeps_changing)
    }

    /// As [`Self::accept`], for a quote that has a document; `None` if it has none.
    async fn accept_sent(&self, id: QuoteId) -> Result<Option<Quote>, Error> {
        let known = self.preload(id).await?;
        self.0
            .write([Prefetch::Quote(id)], async move |mut tx| {
                let quote = tx.document_to_change(id, known).await?;
                if quote.summary.sent_at.is_none() {
                    return Ok(None);
                }
                let accepted = quote.accept(tx.change.at())?;
                store_decided(&mut tx, accepted, HistoryAction::QuoteAccepted).await.map(Some)
            })
            .await
    }
}
