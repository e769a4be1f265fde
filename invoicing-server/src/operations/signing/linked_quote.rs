//! The quote behind a signing link. The console and the host show, sign and decline it alike.

#[cfg(feature = "console")]
use chrono::NaiveDate;
#[cfg(feature = "console")]
use invoicing_core::Company;
use invoicing_core::{
    Changed, ProofParts, Quote, QuoteId, SignatureBlock, SignatureEvidence, Timestamp, proof_fingerprint,
};

#[cfg(feature = "console")]
use super::Decline;
use super::{ACTOR, CheckedSignature, Signature};
#[cfg(feature = "console")]
use crate::documents::content::view::DocumentView;
use crate::documents::{
    BoundedStore, ContentHash, DocumentContent, DocumentFacts, DocumentLogo, Frozen, StoredCopy, StoredFile,
};
#[cfg(feature = "console")]
use crate::documents::{DocumentInput, DocumentRef, RenderDeadline, SentCopy};
use crate::error::Error;
use crate::operations::CompanyHandle;
use crate::operations::freezing::{ATTEMPTS, FreezingPlan, keeps_changing};
use crate::operations::frozen_files::{find_logo, stored};
use crate::operations::quotes::links::check_unrevoked;
use crate::operations::quotes::{sent_again, store_decided};
use crate::records::{HistoryAction, ProofRecord};
#[cfg(feature = "console")]
use crate::store::rows::from_json;
use crate::store::{ChangeContext, CompanyReader, CompanyTx, Prefetch, Tables};

/// Longest user agent that is kept, in characters.
const USER_AGENT_LIMIT: usize = 500;

/// The quote that a signing link leads to.
#[derive(Clone)]
pub(crate) struct LinkedQuote {
    pub(crate) company: CompanyHandle,
    pub(crate) id: QuoteId,
    pub(crate) token_hash: [u8; 32],
}

/// A quote and its last frozen document, read in one snapshot: the document shows this state.
pub(crate) struct SignableQuote {
    /// The quote, with its lines if it was read to be signed. Few pages show them, and they may be
    /// large.
    pub(crate) quote: Quote,
    pub(crate) document: StoredFile,
    facts: DocumentFacts,
    /// The logo of the document, if it was read to be signed.
    logo: Option<DocumentLogo>,
    /// The document that was signed, if the quote is.
    #[cfg(feature = "console")]
    signed: Option<ContentHash>,
    change: ChangeContext,
}

/// The reason to read a quote.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    #[cfg(feature = "console")]
    Show,
    /// It must be signable at this instant, and has its lines.
    Sign(Timestamp),
}

impl LinkedQuote {
    pub(super) async fn read(&self, purpose: Purpose) -> Result<SignableQuote, Error> {
        let (id, now) = (self.id, self.company.env().now());
        let read = self.company.read(async move |mut tx| {
            let (company, last_stamp) = tx.company_row().find().await?;
            let change = ChangeContext::new(company, last_stamp, now)?;
            tx.begin_snapshot().await?;
            let read = read(&mut tx, id, change, purpose).await;
            tx.end_snapshot().await?;
            read
        });
        read.await
    }

    /// Signs the quote as it was read. If it has changed since, it is read again.
    pub(super) async fn sign_from(
        &self,
        quote: SignableQuote,
        signature: CheckedSignature,
    ) -> Result<Quote, Error> {
        let company = self.company.acting_as(ACTOR)?;
        let plan = Signing { linked: self.clone(), signature };
        if let Some(signed) = company.freeze_from(&plan, quote).await? {
            return Ok(signed);
        }
        company.freeze(&plan, ATTEMPTS - 1).await?.ok_or_else(keeps_changing)
    }

    /// Declines the quote for this reason. `shown`: the document that the client has seen, if
    /// known.
    pub(super) async fn decline_with(
        &self,
        reason: Option<String>,
        shown: Option<ContentHash>,
    ) -> Result<Quote, Error> {
        let company = self.company.acting_as(ACTOR)?;
        company.quotes().decline(self.id, self.token_hash, shown, reason).await
    }
}

/// The signature of a quote.
#[derive(Clone)]
struct Signing {
    linked: LinkedQuote,
    signature: CheckedSignature,
}

impl Signing {
    /// The signature of the document that was read.
    fn block(&self, read: &SignableQuote) -> SignatureBlock {
        let CheckedSignature { evidence, submitted_at, .. } = &self.signature;
        signature_block(*submitted_at, &read.quote, evidence, &read.document.sha256.to_string())
    }

    /// The quote as it is signed. The moment of the submission decides if its validity has ended.
    fn sign(
        &self,
        read: &SignableQuote,
        block: SignatureBlock,
        change: &ChangeContext,
    ) -> Result<Changed<Quote>, Error> {
        let day = change.date_of(self.signature.submitted_at);
        Ok(read.quote.sign(block, change.stamp, day)?)
    }
}

impl FreezingPlan for Signing {
    type Read = SignableQuote;
    type Done = Quote;

    async fn read(&self, _: &CompanyHandle) -> Result<SignableQuote, Error> {
        self.linked.read(Purpose::Sign(self.signature.submitted_at)).await
    }

    async fn preview(
        &self,
        read: &SignableQuote,
        store: &mut BoundedStore<'_>,
    ) -> Result<Option<DocumentContent>, Error> {
        if self.signature.shown.is_some_and(|shown| shown != read.document.sha256) {
            return Err(sent_again());
        }
        // The signature is about these bytes: a quote whose copy cannot be read cannot be signed.
        let bytes = store.fetch(&read.document).await?;
        let sent = StoredCopy { document: read.document.clone(), bytes };
        let signed = self.sign(read, self.block(read), &read.change)?.record;
        Ok(Some(DocumentContent::of_quote(signed, Some(sent), read.facts.clone(), read.logo.clone())))
    }

    fn prefetched(&self, read: &SignableQuote) -> Vec<Prefetch> {
        vec![Prefetch::QuoteSummary(self.linked.id), Prefetch::Client(read.quote.summary.client_id)]
    }

    /// A signed copy repeats the facts of the sent one, so they are not compared.
    async fn still_current(
        &self,
        tx: &mut CompanyTx<'_>,
        read: &SignableQuote,
        _: Option<&Frozen>,
    ) -> Result<bool, Error> {
        check_unrevoked(tx, self.linked.id, &self.linked.token_hash).await?;
        let stored = tx.summary_to_change::<Quote>(self.linked.id).await?;
        Ok(stored.updated_at == read.quote.summary.updated_at)
    }

    async fn commit(
        &self,
        tx: &mut CompanyTx<'_>,
        read: &SignableQuote,
        _: Option<&Frozen>,
    ) -> Result<Quote, Error> {
        let Self { linked, signature } = self;
        let block = self.block(read);
        let signed = self.sign(read, block.clone(), &tx.change)?;
        let sha256 = read.document.sha256.to_string();
        let proof = proof(linked.token_hash, &signature.signature, &block, sha256);
        tx.signatures().insert_proof(linked.id, &proof).await?;
        store_decided(tx, signed, HistoryAction::QuoteSigned).await
    }
}

#[cfg(feature = "console")]
impl LinkedQuote {
    /// The quote, without its lines.
    ///
    /// # Errors
    /// [`Error::DocumentUnavailable`] for a quote without a document.
    pub(crate) async fn shown(&self) -> Result<SignableQuote, Error> {
        self.company.operation("signing_links.show", self.read(Purpose::Show)).await
    }

    /// The quote with its lines, to be signed as of this instant.
    ///
    /// # Errors
    /// [`Error::Conflict`] for a quote that cannot be signed.
    pub(crate) async fn signable(&self, at: Timestamp) -> Result<SignableQuote, Error> {
        self.company.operation("signing_links.show", self.read(Purpose::Sign(at))).await
    }

    /// Signs the quote: see [`SigningLinks::sign`](super::SigningLinks::sign).
    pub(crate) async fn sign(
        &self,
        quote: SignableQuote,
        signature: &Signature,
        at: Timestamp,
    ) -> Result<(), Error> {
        let signed = async { self.sign_from(quote, signature.check(at)?).await };
        self.company.operation("signing_links.sign", signed).await.map(drop)
    }

    /// Declines the quote: see [`SigningLinks::decline`](super::SigningLinks::decline).
    pub(crate) async fn decline(&self, decline: &Decline) -> Result<(), Error> {
        let declined = async {
            let (reason, shown) = decline.check()?;
            self.decline_with(reason, shown).await
        };
        self.company.operation("signing_links.decline", declined).await.map(drop)
    }

    /// The quote with its lines, as it is stored.
    pub(crate) async fn unread(&self) -> Result<UnreadQuote, Error> {
        let id = self.id;
        let detail = self.company.read(async move |mut tx| tx.quotes().detail(id).await);
        self.company.operation("signing_links.lines", detail).await.map(UnreadQuote)
    }
}

/// A quote with its lines as it is stored. Reading it takes long if the lines are large.
#[cfg(feature = "console")]
pub(crate) struct UnreadQuote(Vec<u8>);

#[cfg(feature = "console")]
impl UnreadQuote {
    pub(crate) fn read(&self, id: QuoteId) -> Result<Quote, Error> {
        from_json(&self.0, "quote", id)
    }
}

#[cfg(feature = "console")]
impl SignableQuote {
    /// Today's date in the company's time zone.
    pub(crate) fn today(&self) -> NaiveDate {
        self.change.today()
    }

    /// The company as its document shows it.
    pub(crate) fn company(&self) -> &Company {
        &self.facts.parties.seller
    }

    /// The view that the document was rendered from, without the lines, the logo and the bytes of
    /// the copy that was signed.
    pub(crate) fn view(&self) -> DocumentView<'_> {
        self.view_of(&self.quote)
    }

    /// The same view of the quote with its lines.
    pub(crate) fn view_of<'q>(&'q self, quote: &'q Quote) -> DocumentView<'q> {
        // The copy that was sent has the name that the signed one has.
        let file_name = &self.document.file_name;
        let sent_copy = self.signed.map(|sha256| SentCopy { file_name, sha256, bytes: &[] });
        let record = DocumentRef::Quote { quote, sent_copy };
        let (facts, deadline) = (&self.facts, RenderDeadline::NONE);
        DocumentView::of(&DocumentInput { record, facts, logo: None, factur_x: None, deadline })
    }
}

async fn read(
    tx: &mut CompanyReader<'_>,
    id: QuoteId,
    change: ChangeContext,
    purpose: Purpose,
) -> Result<SignableQuote, Error> {
    let quote = match purpose {
        #[cfg(feature = "console")]
        Purpose::Show => tx.quotes().find_without_lines(id).await?,
        Purpose::Sign(at) => {
            let quote = tx.quotes().find_to_sign(id).await?;
            quote.check_signable(change.date_of(at))?;
            quote
        }
    };
    let latest = tx.frozen_files().latest_with_facts::<DocumentFacts>(id.0).await?;
    let (row, facts) = latest.ok_or(Error::DocumentUnavailable)?;
    let (document, _) = stored(change.company.id, id, row)?;
    let logo = match purpose {
        #[cfg(feature = "console")]
        Purpose::Show => None,
        Purpose::Sign(_) => find_logo(tx, &facts.parties.seller).await?,
    };
    Ok(SignableQuote {
        logo,
        #[cfg(feature = "console")]
        signed: signed_document(tx, &quote).await?,
        quote,
        document,
        facts,
        change,
    })
}

/// The hash of the document that was signed, if the quote is.
#[cfg(feature = "console")]
async fn signed_document(tx: &mut CompanyReader<'_>, quote: &Quote) -> Result<Option<ContentHash>, Error> {
    let id = quote.summary.id;
    let signed = match &quote.detail.signature {
        Some(_) => tx.signatures().find_proof(id).await?,
        None => None,
    };
    let signed = signed.map(|proof| proof.document_sha256.parse()).transpose();
    signed.map_err(|cause| Error::bad_row("proof", "document_sha256", id, cause))
}

fn signature_block(
    signed_at: Timestamp,
    quote: &Quote,
    evidence: &SignatureEvidence,
    document_sha256: &str,
) -> SignatureBlock {
    let SignatureEvidence { signed_by_name, signed_by_email, accepted_text } = evidence.clone();
    let proof_fingerprint = proof_fingerprint(&ProofParts {
        accepted_text: &accepted_text,
        document_sha256,
        number: &quote.summary.number,
        quote_id: quote.summary.id,
        signed_at,
        signed_by_email: &signed_by_email,
        signed_by_name: &signed_by_name,
    });
    SignatureBlock { signed_at, signed_by_name, signed_by_email, accepted_text, proof_fingerprint }
}

fn proof(
    token_hash: [u8; 32],
    signature: &Signature,
    block: &SignatureBlock,
    document_sha256: String,
) -> ProofRecord {
    // PostgreSQL stores no NUL.
    let user_agent = |text: &String| text.chars().filter(|c| *c != '\0').take(USER_AGENT_LIMIT).collect();
    ProofRecord {
        token_hash: token_hash.to_vec(),
        ip: signature.ip.map(|ip| ip.to_string()),
        user_agent: signature.user_agent.as_ref().map(user_agent),
        document_sha256,
        proof_fingerprint: block.proof_fingerprint.clone(),
        signed_at: block.signed_at,
    }
}
