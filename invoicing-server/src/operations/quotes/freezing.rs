//! Changes of a quote that freeze a document.
//!
//! The document is rendered and stored before the transaction that refers to it, from a preview of
//! the changed record. The transaction checks that the record is still the one of the preview;
//! otherwise all begins again.

use std::sync::Arc;

use invoicing_core::{Changed, Client, Company, Quote, QuoteId};

use super::{Quotes, links, note, update};
use crate::documents::{DocumentLogo, Frozen, Particulars};
use crate::error::Error;
use crate::operations::attempts::{ATTEMPTS, keeps_changing, until_committed};
use crate::operations::documents::{document_row, find_logo};
use crate::records::{HistoryAction, ProofRecord};
use crate::store::quotes::DocumentTerms;
use crate::store::{ChangeContext, CompanyTx, Prefetch, Tables};

/// A quote as it was read before its document was rendered.
pub(super) struct Snapshot {
    pub(super) change: ChangeContext,
    pub(super) quote: Arc<Quote>,
    client: Client,
    terms: DocumentTerms,
    pub(super) logo: Option<DocumentLogo>,
}

impl Snapshot {
    /// The data besides the quote that a document shows if it is frozen now.
    pub(super) fn particulars(&self, quote: &Quote) -> Particulars {
        particulars(&self.change, quote, &self.client, self.terms.clone())
    }
}

pub(super) fn particulars(
    change: &ChangeContext,
    quote: &Quote,
    client: &Client,
    terms: DocumentTerms,
) -> Particulars {
    let issued_on = quote.summary.sent_at.map_or_else(|| change.today(), |at| change.date_of(at));
    Particulars {
        company: Company::clone(&change.company),
        client_address: client.postal_address(),
        client_phone: client.phone.clone(),
        reverse_charge: terms.reverse_charge,
        work_site: terms.work_site,
        issued_on,
        client_type: client.r#type,
        client_siren: client.siren.clone(),
        client_vat_number: client.vat_number.clone(),
        operations: terms.operations.unwrap_or(change.company.identity.operations),
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
    /// The client, with the evidence of the signature. The history notes the signature.
    Client(ProofRecord),
}

impl By {
    /// The note of the change.
    fn action(&self) -> HistoryAction {
        match self {
            Self::Company(action) => *action,
            Self::Client(_) => HistoryAction::QuoteSigned,
        }
    }
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
            self.0.check_expected("the quote", before.quote.summary.updated_at)?;
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
                let terms = tx.quotes().find_terms(id).await?;
                let logo = find_logo(&mut tx, &change.company).await?;
                Ok(Snapshot { change, quote, client, terms, logo })
            })
            .await
    }

    /// A document without a signature.
    pub(super) async fn freeze(
        &self,
        particulars: Particulars,
        quote: &Quote,
        logo: Option<DocumentLogo>,
    ) -> Result<Frozen, Error> {
        let services = &self.0.services;
        let mut store = services.documents.bounded_store();
        services.freeze_document(particulars, quote, logo, None, &mut store).await
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
                if tx.summary_to_change::<Quote>(id).await?.updated_at != quote.summary.updated_at {
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
                note(&mut tx, by.action(), &changed.summary).await?;
                Ok(Some(changed))
            })
            .await
    }
}

/// True if a document with these particulars shows the current data.
async fn is_current(tx: &mut CompanyTx<'_>, quote: &Quote, shown: &Particulars) -> Result<bool, Error> {
    let client = tx.clients().find(quote.summary.client_id).await?;
    let terms = tx.quotes().find_terms(quote.summary.id).await?;
    Ok(*shown == Particulars { issued_on: shown.issued_on, ..particulars(&tx.change, quote, &client, terms) })
}

/// Refers to a stored document and finishes its upload. Returns false if the upload is abandoned:
/// then nothing is written, and the document has to be frozen again.
pub(super) async fn finish_upload(
    tx: &mut CompanyTx<'_>,
    id: QuoteId,
    frozen: &Frozen,
) -> Result<bool, Error> {
    let Frozen { document, particulars, .. } = frozen;
    if !tx.uploads().finish(document.key.upload).await? {
        return Ok(false);
    }
    let (row, now) = (document_row(frozen), tx.change.now);
    tx.frozen_files().insert(id.0, &row, now, particulars).await?;
    Ok(true)
}
