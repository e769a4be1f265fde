//! Changes of a quote that freeze a document.
//!
//! The document is rendered and stored before the transaction that refers to it, from a preview of
//! the changed record. The transaction checks that the record is still the one of the preview;
//! otherwise all begins again.

use std::sync::Arc;

use invoicing_core::{Changed, Client, Company, Conflict, Quote, QuoteId};

use super::{Quotes, links, note, update};
use crate::Error;
use crate::documents::{Frozen, Particulars};
use crate::records::{HistoryAction, ProofRecord};
use crate::store::documents::DocumentRow;
use crate::store::rows::to_json;
use crate::store::{ChangeContext, CompanyTx, Prefetch, Tables};

/// Number of times that a change is attempted if the record changes while its document is being
/// rendered.
pub(in crate::operations) const ATTEMPTS: usize = 8;

/// A quote as it was read before its document was rendered.
pub(super) struct Snapshot {
    pub(super) change: ChangeContext,
    pub(super) quote: Arc<Quote>,
    client: Client,
    work_site: Option<String>,
}

impl Snapshot {
    /// The data besides the quote that a document shows if it is frozen now.
    pub(super) fn particulars(&self, quote: &Quote) -> Particulars {
        particulars(&self.change, quote, &self.client, self.work_site.clone())
    }
}

pub(super) fn particulars(
    change: &ChangeContext,
    quote: &Quote,
    client: &Client,
    work_site: Option<String>,
) -> Particulars {
    let issued_on = quote.summary.sent_at.map_or_else(|| change.today(), |at| change.date_of(at));
    Particulars {
        company: Company::clone(&change.company),
        client_address: client.postal_address(),
        client_phone: client.phone.clone(),
        work_site,
        issued_on,
    }
}

/// A change whose document is stored, and that is to be committed.
pub(in crate::operations) struct FrozenChange<D> {
    pub(in crate::operations) by: By,
    pub(in crate::operations) document: Option<Frozen>,
    /// The change itself, which the preview has proved to be allowed.
    pub(in crate::operations) decide: D,
}

/// The author of a change that freezes a document.
#[derive(Clone)]
pub(in crate::operations) enum By {
    /// The company. The history notes this.
    Company(HistoryAction),
    /// The client, with the evidence of the signature.
    Client(ProofRecord),
}

/// Attempts a change until it is committed. An attempt returns `None` if its document shows
/// outdated data.
pub(in crate::operations) async fn until_committed<T, F, A>(
    attempts: usize,
    mut attempt: F,
) -> Result<Option<T>, Error>
where
    F: FnMut() -> A,
    A: Future<Output = Result<Option<T>, Error>>,
{
    for _ in 0..attempts {
        if let Some(done) = attempt().await? {
            return Ok(Some(done));
        }
    }
    Ok(None)
}

impl Quotes<'_> {
    /// Changes a quote: `prepare` previews the change of a snapshot and freezes its document.
    pub(super) async fn change_frozen<P, R, D>(&self, id: QuoteId, prepare: P) -> Result<Quote, Error>
    where
        P: Fn(Arc<Snapshot>) -> R,
        R: Future<Output = Result<FrozenChange<D>, Error>>,
        D: FnOnce(&Quote, &ChangeContext) -> Result<Changed<Quote>, Error> + Clone + Send + 'static,
    {
        let changed = until_committed(ATTEMPTS, || async {
            let before = Arc::new(self.snapshot(id).await?);
            let change = prepare(Arc::clone(&before)).await?;
            self.commit(&before.quote, change).await
        });
        changed.await?.ok_or_else(keeps_changing)
    }

    pub(super) async fn snapshot(&self, id: QuoteId) -> Result<Snapshot, Error> {
        let now = self.0.env().now();
        self.0
            .read(async move |mut tx| {
                let quote = Arc::new(tx.quotes().find(id).await?);
                let (company, last_stamp) = tx.company_row().find().await?;
                let change = ChangeContext::new(company, last_stamp, now)?;
                let client = tx.clients().find(quote.summary.client_id).await?;
                let work_site = tx.quotes().find_work_site(id).await?;
                Ok(Snapshot { change, quote, client, work_site })
            })
            .await
    }

    /// A document without a signature.
    pub(super) async fn freeze(&self, particulars: Particulars, quote: &Quote) -> Result<Frozen, Error> {
        let services = &self.0.services;
        services.freeze_document(particulars, quote, None, &mut services.documents.bounded_store()).await
    }

    /// Commits a change of a quote as it was read before. `None` if the record or the data of its
    /// document has changed since, or the upload of the document is abandoned.
    pub(in crate::operations) async fn commit<D>(
        &self,
        before: &Arc<Quote>,
        change: FrozenChange<D>,
    ) -> Result<Option<Quote>, Error>
    where
        D: FnOnce(&Quote, &ChangeContext) -> Result<Changed<Quote>, Error> + Clone + Send + 'static,
    {
        let FrozenChange { by, document, decide } = change;
        let (quote, id, client_id) = (Arc::clone(before), before.summary.id, before.summary.client_id);
        let records = [Prefetch::QuoteSummary(id), Prefetch::Client(client_id)];
        self.0
            .write(records, async move |mut tx| {
                if let By::Client(proof) = &by {
                    links::check_unrevoked(&mut tx, id, &proof.token_hash).await?;
                }
                if tx.quotes().find_summary(id).await?.updated_at != quote.summary.updated_at {
                    return Ok(None);
                }
                // A signed copy repeats the data of the sent one; any other document must match the
                // current data.
                if let (Some(frozen), By::Company(_)) = (&document, &by)
                    && !is_current(&mut tx, &quote, &frozen.particulars).await?
                {
                    return Ok(None);
                }
                let changed = decide(&quote, &tx.change)?;
                if let Some(frozen) = &document
                    && !finish_upload(&mut tx, id, frozen).await?
                {
                    return Ok(None);
                }
                if let By::Client(proof) = &by {
                    tx.signatures().insert_proof(id, proof).await?;
                }
                links::extend_expiry(&mut tx, &changed.record.summary).await?;
                let changed = update(&mut tx, changed).await?;
                // The proof names the author of a signature.
                if let By::Company(action) = by {
                    note(&mut tx, action, &changed.summary).await?;
                }
                Ok(Some(changed))
            })
            .await
    }
}

/// The error of a change that began again too often.
pub(in crate::operations) fn keeps_changing() -> Error {
    Conflict::new("the record keeps changing; try again").into()
}

/// True if a document with these particulars shows the current data.
async fn is_current(tx: &mut CompanyTx<'_>, quote: &Quote, shown: &Particulars) -> Result<bool, Error> {
    let client = tx.clients().find(quote.summary.client_id).await?;
    let work_site = tx.quotes().find_work_site(quote.summary.id).await?;
    Ok(shown.company == *tx.change.company
        && shown.client_address == client.postal_address()
        && shown.client_phone == client.phone
        && shown.work_site == work_site)
}

/// Refers to a stored document and finishes its upload. Returns false if the upload is abandoned:
/// then nothing is written, and the document has to be frozen again.
pub(super) async fn finish_upload(
    tx: &mut CompanyTx<'_>,
    id: QuoteId,
    frozen: &Frozen,
) -> Result<bool, Error> {
    let Frozen { document, size_bytes, particulars } = frozen;
    if !tx.uploads().finish(document.key.upload).await? {
        return Ok(false);
    }
    let row = DocumentRow {
        upload: document.key.upload,
        sha256: document.sha256.to_string(),
        size_bytes: *size_bytes,
        file_name: document.file_name.clone(),
    };
    let now = tx.change.now;
    tx.documents().insert(id, &row, now, &to_json(particulars)?).await?;
    Ok(true)
}
