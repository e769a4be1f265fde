//! Quotes: created, edited while they are drafts, sent, accepted, rejected, linked.

mod creation;
mod decisions;
mod documents;
pub(super) mod links;

use invoicing_core::{
    Changed, ConflictReason, Costing, EventKind, ExternalLink, Invalid, Line, NewQuote, Page, PricedLines,
    Quote, QuoteId, QuoteImport, QuoteItem, QuoteStatus, QuoteSummary, price_lines,
};

use super::conversion::convert_accepted;
use super::{CompanyHandle, missing_client};
use crate::documents::ContentHash;
use crate::error::Error;
use crate::list_query::{QuoteQuery, QuoteSearch};
use crate::records::{FrozenFile, HistoryAction, ProofRecord, QuotePage};
use crate::store::quotes::{DocumentTerms, QuoteExtras};
use crate::store::{CompanyTx, Prefetch, Tables};

pub(super) use decisions::store_decided;

/// The quotes of a company.
///
/// ```
/// # use invoicing_server::{Invoicing, NewClient, NewCompany, Plan};
/// use invoicing_server::{NewLine, NewQuote, QuoteQuery, PageWindow, QuoteSearch, QuoteStatus, unit_price};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// # let client = company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
/// let quotes = company.quotes();
/// let painting = NewLine::new("Two coats of matt paint", 40, unit_price!(22.50), 10).unit("m2");
/// let content = NewQuote::empty(client.id).line(painting);
/// let draft = quotes.create(&content).await?;
///
/// // Only a draft can be edited. Sending freezes its document.
/// let id = draft.summary.id;
/// quotes.edit(id, &content.clone().line(NewLine::new("Discount", -1, 50, 10))).await?;
/// let sent = quotes.send(id, None).await?;
/// println!("{} is valid until {:?}", sent.summary.number, sent.summary.valid_until);
/// println!("{}", quotes.document(id).await?.url);
///
/// // A draft can be discarded. It is not deleted: its number stays taken, and `since` shows it.
/// let draft = quotes.create(&content).await?;
/// let discarded = quotes.reject(draft.summary.id).await?;
/// let window = PageWindow::default().since(discarded.summary.updated_at);
/// let changed = quotes.list(&QuoteQuery::default().window(window)).await?.data;
/// assert_eq!(changed[0].summary.number, draft.summary.number);
/// assert_eq!(changed[0].summary.status, QuoteStatus::Rejected);
///
/// // A list of the host, which also searches.
/// let found = quotes.search(&QuoteSearch::default().q("LEFEVRE").status(QuoteStatus::Sent), 50).await?;
/// assert_eq!(found.items[0].number, sent.summary.number);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Quotes<'a>(pub(super) &'a CompanyHandle);

impl CompanyHandle {
    /// The quotes of the company.
    pub fn quotes(&self) -> Quotes<'_> {
        Quotes(self)
    }
}

impl Quotes<'_> {
    /// Creates a draft: `quote.created`.
    pub async fn create(&self, new: &NewQuote) -> Result<Quote, Error> {
        let draft = QuoteImport::new(QuoteStatus::Draft);
        self.0.operation("quotes.create", self.import_draft(new, &draft)).await
    }

    /// Gives a draft new content.
    pub async fn edit(&self, id: QuoteId, content: &NewQuote) -> Result<Quote, Error> {
        let (client_id, terms) = (content.client_id, content.terms());
        let checked = check(content);
        let changed = async {
            let known = self.preload(id).await?;
            self.0
                .write([Prefetch::Quote(id), Prefetch::Client(client_id)], async move |mut tx| {
                    let quote = tx.document_to_change(id, known).await?;
                    let (lines, internal) = checked?;
                    let client = tx.clients().find(client_id).await.map_err(missing_client)?;
                    let changed = quote.edit(&client, lines, &terms, tx.change.stamp)?;
                    if tx.is_audited()
                        && (changed.record != quote
                            || tx.quotes().find_internal_details(id).await? != internal)
                    {
                        note(&mut tx, HistoryAction::QuoteEdited, &quote.summary).await?;
                    }
                    tx.quotes().set_internal_details(id, &internal).await?;
                    // The record that the API shows is the same, so the company's stamp stays too.
                    if changed.record == quote {
                        return Ok(quote);
                    }
                    tx.quotes().update_lines(id, &changed.record.lines).await?;
                    update(&mut tx, changed).await
                })
                .await
        };
        self.0.operation("quotes.edit", changed).await
    }

    /// Records that the client declined, or discards a draft. No event. A discarded draft is not
    /// deleted: its number stays taken, and `since` shows it.
    pub async fn reject(&self, id: QuoteId) -> Result<Quote, Error> {
        let changed = async {
            let known = self.preload(id).await?;
            self.0
                .write([Prefetch::Quote(id)], async move |mut tx| {
                    let rejected = refuse(&mut tx, id, known).await?;
                    note(&mut tx, HistoryAction::QuoteRejected, &rejected.summary).await?;
                    Ok(rejected)
                })
                .await
        };
        self.0.operation("quotes.reject", changed).await
    }

    /// As [`Self::reject`], by the client, with this link. `shown`: the document that the client
    /// has seen, if known.
    pub(super) async fn decline(
        &self,
        id: QuoteId,
        token_hash: [u8; 32],
        shown: Option<ContentHash>,
        reason: Option<String>,
    ) -> Result<Quote, Error> {
        let known = self.preload(id).await?;
        self.0
            .write([Prefetch::Quote(id)], async move |mut tx| {
                links::check_unrevoked(&mut tx, id, &token_hash).await?;
                if let Some(shown) = shown
                    && tx.quotes().latest_file(id).await?.is_none_or(|sent| sent.sha256 != shown.to_string())
                {
                    return Err(sent_again());
                }
                let declined = refuse(&mut tx, id, known).await?;
                let number = &declined.summary.number;
                let detail = reason.map_or_else(|| number.clone(), |reason| format!("{number}: {reason}"));
                tx.note(HistoryAction::QuoteDeclined, id.0, &detail).await?;
                Ok(declined)
            })
            .await
    }

    /// Links a quote to an identifier of the caller's system, or unlinks it with `None`.
    pub async fn link(&self, id: QuoteId, external_id: Option<&str>) -> Result<ExternalLink, Error> {
        let external_id = external_id.map(str::to_owned);
        let linked = self.0.write([Prefetch::QuoteSummary(id)], async move |mut tx| {
            let quote = tx.summary_to_change::<Quote>(id).await?;
            let Some(linked) = quote.link(external_id.as_deref(), tx.change.stamp)? else {
                return Ok(quote.external_id);
            };
            tx.quotes().update(&linked, None).await?;
            tx.record_events(&[]).await?;
            note(&mut tx, HistoryAction::QuoteLinked, &linked).await?;
            Ok(linked.external_id)
        });
        Ok(ExternalLink { id, external_id: self.0.operation("quotes.link", linked).await? })
    }

    /// Preloads the quote on SQLite, before the transaction; `None` on PostgreSQL.
    pub(super) async fn preload(&self, id: QuoteId) -> Result<Option<Quote>, Error> {
        self.0.documents().preload(id).await
    }

    /// One quote.
    pub async fn get(&self, id: QuoteId) -> Result<Quote, Error> {
        self.0.documents().get(id).await
    }

    /// One quote as the JSON of the API.
    pub async fn get_json(&self, id: QuoteId) -> Result<Vec<u8>, Error> {
        self.0.documents::<Quote>().detail(id).await
    }

    /// A page of quotes.
    ///
    /// # Errors
    /// As [`Self::list_json`].
    pub async fn list(&self, query: &QuoteQuery) -> Result<Page<QuoteItem>, Error> {
        self.0.documents::<Quote>().list(query).await
    }

    /// A page of quotes as the JSON envelope of the API.
    ///
    /// # Errors
    /// [`Error::Invalid`] about `limit` if the lines make a page of several quotes larger than 16
    /// MiB. The error names the largest limit that works: see
    /// [`Rule::PageTooLarge`](crate::Rule::PageTooLarge).
    pub async fn list_json(&self, query: &QuoteQuery) -> Result<Vec<u8>, Error> {
        self.0.documents::<Quote>().whole_page(query).await
    }

    /// A page of quotes for the host's own list, newest first, at most `limit` (1 to 100). With `q`
    /// it looks at 10,000 quotes at most, so it may be shorter or empty, and still name a
    /// [`next`](QuotePage::next) page.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an [`after`](QuoteSearch::after) that is no quote of the company.
    pub async fn search(&self, search: &QuoteSearch, limit: u32) -> Result<QuotePage, Error> {
        let search = search.clone();
        let found = self.0.read(async move |mut tx| tx.quotes().search(&search, limit).await);
        self.0.operation("quotes.search", found).await
    }

    /// Internal costs of the lines, in the order of the lines. For the host only.
    pub async fn costings(&self, id: QuoteId) -> Result<Vec<Costing>, Error> {
        let found = self.0.read(async move |mut tx| tx.quotes().find_costings(id).await);
        self.0.operation("quotes.costings", found).await
    }

    /// The place of the work of a quote, as its document shows it.
    pub async fn work_site(&self, id: QuoteId) -> Result<Option<String>, Error> {
        let found = self.0.read(async move |mut tx| tx.quotes().find_terms(id).await);
        Ok(self.0.operation("quotes.work_site", found).await?.work_site)
    }

    /// Every frozen document of a quote, oldest first.
    pub async fn documents(&self, id: QuoteId) -> Result<Vec<FrozenFile>, Error> {
        let found = self.0.read(async move |mut tx| {
            tx.quotes().check_exists(id).await?;
            tx.frozen_files().list(id.0).await
        });
        self.0.operation("quotes.documents", found).await
    }

    /// The evidence of the signature, if the quote was signed. For the host only.
    pub async fn proof(&self, id: QuoteId) -> Result<Option<ProofRecord>, Error> {
        let found = self.0.read(async move |mut tx| {
            tx.quotes().check_exists(id).await?;
            tx.signatures().find_proof(id).await
        });
        self.0.operation("quotes.proof", found).await
    }
}

/// Checks and prices the content, and separates the lines that the API shows from internal details.
fn check(content: &NewQuote) -> Result<(Vec<Line>, QuoteExtras), Invalid> {
    let PricedLines { lines, costings } = price_lines(&content.lines)?;
    content.check_reverse_charge()?;
    let NewQuote { operations, reverse_charge, housing_works, .. } = *content;
    let work_site = content.check_work_site()?;
    let terms = DocumentTerms { work_site, operations, reverse_charge, housing_works };
    Ok((lines, QuoteExtras { costings, terms }))
}

/// The refusal of a decision about an outdated document: the quote was sent again since.
pub(crate) fn sent_again() -> Error {
    ConflictReason::SentAgain.into()
}

/// Stores that a quote was rejected.
async fn refuse(tx: &mut CompanyTx<'_>, id: QuoteId, known: Option<Quote>) -> Result<Quote, Error> {
    let rejected = tx.document_to_change(id, known).await?.reject(tx.change.stamp)?;
    links::extend_expiry(tx, &rejected.record.summary).await?;
    update(tx, rejected).await
}

/// Notes a change of a quote in the history.
async fn note(tx: &mut CompanyTx<'_>, action: HistoryAction, quote: &QuoteSummary) -> Result<(), Error> {
    tx.note(action, quote.id.0, &quote.number).await
}

/// Stores a changed quote with its events. If it has just been accepted and the company converts
/// automatically, also stores the invoice.
async fn update(tx: &mut CompanyTx<'_>, changed: Changed<Quote>) -> Result<Quote, Error> {
    let Changed { record, events } = changed;
    tx.quotes().update(&record.summary, Some(&record.detail)).await?;
    tx.record_events(&events).await?;
    let accepted = events.iter().any(|event| event.kind == Some(EventKind::QuoteAccepted));
    if accepted && tx.change.company.automatic_invoicing {
        convert_accepted(tx, &record).await?;
    }
    Ok(record)
}
