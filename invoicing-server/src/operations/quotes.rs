//! Quotes: made, edited while they are drafts, sent, accepted, rejected, linked.
//!
//! Sending freezes a document. It is rendered and stored before the transaction that refers to it, from what the
//! record will be; the transaction makes sure that the record is still the one that was rendered.

mod import;

use chrono::NaiveDate;
use invoicing_core::{
    Changed, Company, Conflict, Costing, EventKind, ExternalLink, Invalid, Line, NewQuote, Page, PricedLines,
    Quote, QuoteId, QuoteImport, QuoteItem, QuoteStatus, price_lines,
};

use super::CompanyHandle;
use crate::Error;
use crate::documents::{Frozen, Particulars, Patience, SentCopy};
use crate::secret::Secret;
use crate::store::page::PageQuery;
use crate::store::quotes::{Aside, DocumentRecord, ProofRecord};
use crate::store::rows::from_json;
use crate::store::series::Series;
use crate::store::{Connection, Tx, Unit, clients, companies, quotes, reading, uploads};

/// How often an operation starts again because the record changed while its document was being rendered.
pub(super) const ATTEMPTS: usize = 8;

/// The quotes of a company.
#[derive(Debug, Clone, Copy)]
pub struct Quotes<'a>(pub(super) &'a CompanyHandle);

/// A record as it was read before its document was rendered.
pub(super) struct Snapshot {
    pub(super) unit: Unit,
    pub(super) quote: Quote,
    client_address: Option<String>,
    work_site: Option<String>,
}

impl Quotes<'_> {
    /// Creates a draft: `quote.created`.
    pub async fn create(&self, new: &NewQuote) -> Result<Quote, Error> {
        self.import_draft(new, &QuoteImport { status: QuoteStatus::Draft, sent_at: None, accepted_at: None })
            .await
    }

    /// Gives a draft new content.
    pub async fn edit(&self, id: QuoteId, content: &NewQuote) -> Result<Quote, Error> {
        let (lines, aside) = check(content)?;
        let NewQuote { client_id, retention_rate, valid_until, .. } = *content;
        let company = self.0.id;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let quote = quotes::find(tx.connection(), company, id).await?;
                    let client =
                        clients::find(tx.connection(), company, client_id).await.map_err(no_client)?;
                    let changed = quote.edit(&client, lines, retention_rate, valid_until, unit.at)?;
                    quotes::put_aside(tx.connection(), company, id, &aside).await?;
                    // What the API shows stays, so nothing was modified: the company's stamp stays as well.
                    if changed.record == quote {
                        return Ok(quote);
                    }
                    quotes::update_lines(tx.connection(), company, &changed.record).await?;
                    store(tx, &unit, &changed).await?;
                    Ok(changed.record)
                })
            })
            .await
    }

    /// Sends a draft, or sends an expired or rejected quote again with a new validity. Freezes the document.
    /// `valid_until` defaults to the draft's own, or else to 30 days from today.
    pub async fn send(&self, id: QuoteId, valid_until: Option<NaiveDate>) -> Result<Quote, Error> {
        for _ in 0..ATTEMPTS {
            let before = self.snapshot(id).await?;
            let sent_at = self.0.inner.env.now();
            let preview =
                before.quote.send(valid_until, sent_at, before.unit.at, before.unit.today())?.record;
            let document = self.freeze_new(before.particulars(&preview), &preview).await?;
            let decided = preview.summary.valid_until;
            let sent = self.change_frozen(&before, Some(document), move |quote, unit| {
                Ok(quote.send(decided, sent_at, unit.at, unit.today())?)
            });
            if let Some(quote) = sent.await? {
                return Ok(quote);
            }
        }
        Err(busy())
    }

    /// Marks a quote accepted by hand: `quote.accepted`. Freezes a document if there is none.
    pub async fn accept(&self, id: QuoteId) -> Result<Quote, Error> {
        for _ in 0..ATTEMPTS {
            let before = self.snapshot(id).await?;
            let preview = before.quote.accept(before.unit.at)?.record;
            let document = match before.quote.summary.status {
                QuoteStatus::Draft => Some(self.freeze_new(before.particulars(&preview), &preview).await?),
                _ => None,
            };
            let accepted = self.change_frozen(&before, document, |quote, unit| Ok(quote.accept(unit.at)?));
            if let Some(quote) = accepted.await? {
                return Ok(quote);
            }
        }
        Err(busy())
    }

    /// Records that the client declined.
    pub async fn reject(&self, id: QuoteId) -> Result<Quote, Error> {
        self.change(id, |quote, unit| Ok(Some(quote.reject(unit.at)?))).await
    }

    /// Links a quote to an identifier of the caller's system, or unlinks it with `None`.
    pub async fn link(&self, id: QuoteId, external_id: Option<&str>) -> Result<ExternalLink, Error> {
        let external_id = external_id.map(str::to_owned);
        let quote =
            self.change(id, move |quote, unit| Ok(quote.link(external_id.as_deref(), unit.at)?)).await?;
        Ok(ExternalLink { id, external_id: quote.summary.external_id })
    }

    /// A link with which the client can see, sign and decline the quote. Its token is shown once; each call makes
    /// another one, and all of them stay good.
    pub async fn signing_link(&self, id: QuoteId) -> Result<Secret, Error> {
        let token = Secret::generate("sgn_", &self.0.inner.env);
        let company = self.0.id;
        let hash = token.sha256();
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let at = tx.env().now();
                    let quote = quotes::find(tx.connection(), company, id).await?;
                    if quote.summary.status == QuoteStatus::Draft {
                        return Err(
                            Conflict::new("a quote in DRAFT has no signing link; send it first").into()
                        );
                    }
                    quotes::insert_link(tx.connection(), company, id, &hash, at).await
                })
            })
            .await?;
        Ok(token)
    }

    /// One quote.
    pub async fn get(&self, id: QuoteId) -> Result<Quote, Error> {
        reading!(self.0.inner.store, |c| quotes::find(c, self.0.id, id))
    }

    /// One quote as the JSON of the API.
    pub async fn detail(&self, id: QuoteId) -> Result<Vec<u8>, Error> {
        self.0.inner.store.quote_detail(self.0.id, id).await
    }

    /// A page of quotes.
    pub async fn list(&self, query: &PageQuery<QuoteStatus>) -> Result<Page<QuoteItem>, Error> {
        from_json(&self.page(query).await?, "quote", self.0.id)
    }

    /// A page of quotes as the JSON envelope of the API.
    pub async fn page(&self, query: &PageQuery<QuoteStatus>) -> Result<Vec<u8>, Error> {
        let page = reading!(self.0.inner.store, |c| quotes::page(c, self.0.id, query))?;
        query.window.envelope(&page)
    }

    /// What the lines cost the company itself, in the order of the lines. Only the host can ask.
    pub async fn costings(&self, id: QuoteId) -> Result<Vec<Costing>, Error> {
        reading!(self.0.inner.store, |c| quotes::find_costings(c, self.0.id, id))
    }

    /// Where the work of a quote is done, as its document says it.
    pub async fn work_site(&self, id: QuoteId) -> Result<Option<String>, Error> {
        reading!(self.0.inner.store, |c| quotes::find_work_site(c, self.0.id, id))
    }

    /// Every frozen document of a quote, oldest first.
    pub async fn documents(&self, id: QuoteId) -> Result<Vec<DocumentRecord>, Error> {
        reading!(self.0.inner.store, |c| async {
            quotes::find_pieces(c, self.0.id, id).await?;
            quotes::documents(c, self.0.id, id).await
        })
    }

    /// What stands behind the signature, if the quote was signed. Only the host can ask.
    pub async fn proof(&self, id: QuoteId) -> Result<Option<ProofRecord>, Error> {
        reading!(self.0.inner.store, |c| async {
            quotes::find_pieces(c, self.0.id, id).await?;
            quotes::find_proof(c, self.0.id, id).await
        })
    }

    /// A change that needs no document; `decide` says `None` where nothing changes.
    pub(super) async fn change<F>(&self, id: QuoteId, decide: F) -> Result<Quote, Error>
    where
        F: FnOnce(&Quote, &Unit) -> Result<Option<Changed<Quote>>, Error> + Clone + Send + 'static,
    {
        let company = self.0.id;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let quote = quotes::find(tx.connection(), company, id).await?;
                    let Some(changed) = decide(&quote, &unit)? else { return Ok(quote) };
                    store(tx, &unit, &changed).await?;
                    Ok(changed.record)
                })
            })
            .await
    }

    /// A change whose document is already stored. `None` where the record is no longer the one of the snapshot,
    /// or the document has been given up.
    pub(super) async fn change_frozen<F>(
        &self,
        before: &Snapshot,
        document: Option<Frozen>,
        decide: F,
    ) -> Result<Option<Quote>, Error>
    where
        F: FnOnce(&Quote, &Unit) -> Result<Changed<Quote>, Error> + Clone + Send + 'static,
    {
        self.change_frozen_with(before, document, decide, None).await
    }

    /// As [`Self::change_frozen`], and keeps the proof of a signature.
    pub(super) async fn change_frozen_with<F>(
        &self,
        before: &Snapshot,
        document: Option<Frozen>,
        decide: F,
        proof: Option<ProofRecord>,
    ) -> Result<Option<Quote>, Error>
    where
        F: FnOnce(&Quote, &Unit) -> Result<Changed<Quote>, Error> + Clone + Send + 'static,
    {
        let (company, id, seen) = (self.0.id, before.quote.summary.id, before.quote.summary.updated_at);
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let quote = quotes::find(tx.connection(), company, id).await?;
                    if quote.summary.updated_at != seen {
                        return Ok(None);
                    }
                    // A signature says again what was sent; everything else says what holds now.
                    if let (Some(document), None) = (&document, &proof)
                        && !says_what_holds(tx, &unit, &quote, document).await?
                    {
                        return Ok(None);
                    }
                    let changed = decide(&quote, &unit)?;
                    if !settle(tx, &unit, document.as_ref()).await? {
                        return Ok(None);
                    }
                    if let Some(document) = document {
                        insert_document(tx, &unit, id, document).await?;
                    }
                    if let Some(proof) = proof {
                        quotes::insert_proof(tx.connection(), company, id, &proof).await?;
                    }
                    store(tx, &unit, &changed).await?;
                    Ok(Some(changed.record))
                })
            })
            .await
    }

    pub(super) async fn snapshot(&self, id: QuoteId) -> Result<Snapshot, Error> {
        reading!(self.0.inner.store, |c| async {
            let quote = quotes::find(c, self.0.id, id).await?;
            let unit = self.unit(c).await?;
            let client = clients::find(c, self.0.id, quote.summary.client_id).await?;
            let work_site = quotes::find_work_site(c, self.0.id, id).await?;
            Ok(Snapshot { unit, quote, client_address: client.address, work_site })
        })
    }

    async fn unit(&self, connection: &mut Connection) -> Result<Unit, Error> {
        let found = companies::find(connection, self.0.id).await?;
        let (company, last_stamp): (Company, i64) = found.ok_or(Error::NotFound)?;
        Unit::new(company, last_stamp, self.0.inner.env.now())
    }

    /// A document that nobody has signed.
    async fn freeze_new(&self, particulars: Particulars, quote: &Quote) -> Result<Frozen, Error> {
        self.freeze(particulars, quote, None, &mut Patience::new()).await
    }

    pub(super) async fn freeze(
        &self,
        particulars: Particulars,
        quote: &Quote,
        signed: Option<SentCopy>,
        patience: &mut Patience,
    ) -> Result<Frozen, Error> {
        let rendered = self.0.inner.documents.render(particulars, quote.clone(), signed).await?;
        self.0.inner.keep(rendered, patience).await
    }
}

impl Snapshot {
    /// What a document that is frozen now says besides the quote.
    pub(super) fn particulars(&self, quote: &Quote) -> Particulars {
        particulars(&self.unit, quote, self.client_address.clone(), self.work_site.clone())
    }
}

fn particulars(
    unit: &Unit,
    quote: &Quote,
    client_address: Option<String>,
    work_site: Option<String>,
) -> Particulars {
    let issued_on = quote.summary.sent_at.map_or_else(|| unit.today(), |at| unit.date_of(at));
    Particulars { company: unit.company.clone(), client_address, work_site, issued_on }
}

/// Checks and prices the content, and takes apart what the API shows and what it does not.
fn check(content: &NewQuote) -> Result<(Vec<Line>, Aside), Invalid> {
    let PricedLines { lines, costings } = price_lines(&content.lines)?;
    Ok((lines, Aside { costings, work_site: content.check_work_site()? }))
}

/// Whether what the document says besides the quote has not been changed since it was rendered.
async fn says_what_holds(tx: &mut Tx, unit: &Unit, quote: &Quote, document: &Frozen) -> Result<bool, Error> {
    let said = &document.particulars;
    let client = clients::find(tx.connection(), unit.id(), quote.summary.client_id).await?;
    let work_site = quotes::find_work_site(tx.connection(), unit.id(), quote.summary.id).await?;
    Ok(said.company == unit.company && said.client_address == client.address && said.work_site == work_site)
}

/// The series that numbers the quotes of the company's year.
fn series(unit: &Unit) -> Series {
    Series::of_quotes(unit.id(), chrono::Datelike::year(&unit.today()))
}

async fn store_new(tx: &mut Tx, unit: &Unit, changed: &Changed<Quote>, aside: &Aside) -> Result<(), Error> {
    let quote = &changed.record;
    quotes::insert(tx.connection(), unit.id(), quote, aside).await?;
    tx.finish(unit, &changed.events).await
}

/// Stores a changed quote with its events; where it has just been accepted and the company wants it, also the
/// invoice that follows from it.
async fn store(tx: &mut Tx, unit: &Unit, changed: &Changed<Quote>) -> Result<(), Error> {
    quotes::update(tx.connection(), unit.id(), &changed.record).await?;
    tx.finish(unit, &changed.events).await?;
    let accepted = changed.events.iter().any(|event| event.kind == Some(EventKind::QuoteAccepted));
    if accepted && unit.company.automatic_invoicing {
        super::invoices::convert_in(tx, unit, &changed.record).await?;
    }
    Ok(())
}

/// `false` where the document has been given up in the meantime, so that nothing may refer to it: freeze it again.
/// Where there is none to settle, that is well.
async fn settle(tx: &mut Tx, unit: &Unit, document: Option<&Frozen>) -> Result<bool, Error> {
    let Some(document) = document else { return Ok(true) };
    uploads::settle(tx.connection(), unit.id(), document.upload).await
}

/// Refers to a document that is settled.
async fn insert_document(tx: &mut Tx, unit: &Unit, id: QuoteId, frozen: Frozen) -> Result<(), Error> {
    let document = DocumentRecord {
        sha256: frozen.sha256.to_string(),
        size_bytes: frozen.size_bytes,
        file_name: frozen.file_name,
        created_at: unit.at,
    };
    quotes::insert_document(tx.connection(), unit.id(), id, &document, &frozen.particulars).await
}

pub(super) fn busy() -> Error {
    Conflict::new("the record keeps changing; try again").into()
}

/// A quote for a client that does not exist is bad input, not a missing quote.
fn no_client(error: Error) -> Error {
    match error {
        Error::NotFound => Invalid::new("clientId", "must be a client of the company").into(),
        error => error,
    }
}
