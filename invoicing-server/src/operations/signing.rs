//! The public signing link: the client of a company opens, signs and declines a quote with it.
//!
//! The token of the link is the only proof of the right to do so; it leads to one quote of one
//! company.

#[cfg(feature = "console")]
mod entries;
mod linked_quote;

use std::sync::Arc;

use invoicing_core::internal::{optional_text, without_bidi_controls};
use invoicing_core::{Invalid, Quote, Rule, SignatureEvidence, Timestamp};

use super::company_handle::request_id;
use super::frozen_files::OpenedDocument;
use super::{CompanyHandle, Services};
use crate::documents::ContentHash;
use crate::error::Error;
#[cfg(feature = "console")]
use crate::secret::split_behind;
use crate::secret::{SIGNING_LINK, has_form, sha256};
use crate::store::Tables;
#[cfg(feature = "console")]
pub(crate) use entries::entry_sealer;
pub(crate) use linked_quote::LinkedQuote;
use linked_quote::Purpose;
#[cfg(feature = "console")]
pub(crate) use linked_quote::SignableQuote;

/// Actor in the history of changes that are made through a link.
pub(crate) const ACTOR: &str = "signing link";

/// Longest reason for a refusal, in characters.
pub(crate) const REASON_LIMIT: usize = 500;

/// The operations of the holder of a signing link, by the text of its token
/// ([`token.reveal()`](crate::Secret::reveal)). A link that has ended or was revoked is
/// [`Error::NotFound`], like an unknown one.
///
/// ```
/// # use invoicing_server::{Invoicing, NewClient, NewCompany, NewLine, NewQuote, Plan};
/// use invoicing_server::{QuoteStatus, Signature, SignatureEvidence};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// # let client = company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
/// # let new = NewQuote::empty(client.id).line(NewLine::new("Two coats of matt paint", 40, 25, 10));
/// # let id = company.quotes().create(&new).await?.summary.id;
/// # company.quotes().send(id, None).await?;
/// // The company sends its client a link that ends with this token.
/// let token = company.quotes().create_signing_link(id).await?;
///
/// // The page behind the link shows the quote and its document.
/// let links = invoicing.signing_links();
/// let page = links.open(token.reveal()).await?;
/// println!("{} of {}", page.quote.summary.number, page.company_name);
/// let shown = links.document(token.reveal()).await?;
///
/// // What the client enters there, with the document that was shown.
/// let evidence = SignatureEvidence::new("Claire Lefèvre", "claire@exemple.fr", "Bon pour accord");
/// let signature = Signature::new(evidence).document_sha256(shown.sha256);
/// let signed = links.sign(token.reveal(), &signature).await?;
/// assert_eq!(signed.summary.status, QuoteStatus::Accepted);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct SigningLinks {
    services: Arc<Services>,
    /// The request that the links are used for.
    request_id: Option<Arc<str>>,
}

/// The client's input to sign. `Debug` shows none of it: it is evidence about a person.
#[must_use]
#[derive(Clone, PartialEq, Eq)]
pub struct Signature {
    /// Name, e-mail and the text that the client agrees to.
    pub evidence: SignatureEvidence,
    /// The client's address, as the host sees it. Kept as evidence, never shown.
    pub ip: Option<std::net::IpAddr>,
    /// The client's browser, as it identifies itself. Kept as evidence, never shown.
    pub user_agent: Option<String>,
    /// The copy that was shown to the client: [`OpenedDocument::sha256`] of
    /// [`SigningLinks::document`]. If it is given, no other copy can be signed, such as one that
    /// was sent since.
    pub document_sha256: Option<String>,
}

impl Signature {
    /// A signature with this evidence and nothing else.
    pub const fn new(evidence: SignatureEvidence) -> Self {
        Self { evidence, ip: None, user_agent: None, document_sha256: None }
    }

    /// Sets [`ip`](Self#structfield.ip).
    pub fn ip(mut self, ip: std::net::IpAddr) -> Self {
        self.ip = Some(ip);
        self
    }

    /// Sets [`user_agent`](Self#structfield.user_agent).
    pub fn user_agent(mut self, user_agent: impl Into<String>) -> Self {
        self.user_agent = Some(user_agent.into());
        self
    }

    /// Sets [`document_sha256`](Self#structfield.document_sha256).
    pub fn document_sha256(mut self, sha256: impl Into<String>) -> Self {
        self.document_sha256 = Some(sha256.into());
        self
    }
}

/// A signature whose parts are usable.
#[derive(Clone)]
pub(crate) struct CheckedSignature {
    pub(super) signature: Signature,
    pub(super) evidence: SignatureEvidence,
    pub(super) shown: Option<ContentHash>,
    /// The instant that decides if the validity has ended: rendering and waiting may last over
    /// midnight.
    pub(super) submitted_at: Timestamp,
}

impl Signature {
    pub(crate) fn check(&self, submitted_at: Timestamp) -> Result<CheckedSignature, Invalid> {
        Ok(CheckedSignature {
            signature: self.clone(),
            evidence: self.evidence.check()?,
            shown: shown_document(self.document_sha256.as_deref())?,
            submitted_at,
        })
    }
}

impl std::fmt::Debug for Signature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signature").finish_non_exhaustive()
    }
}

/// The client's input to decline. `Debug` shows none of it.
#[must_use]
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decline {
    /// The reason: at most 500 characters. Line breaks are read as spaces, and controls of
    /// direction are left out.
    pub reason: Option<String>,
    /// The copy that was shown to the client, as in [`Signature::document_sha256`].
    pub document_sha256: Option<String>,
}

impl Decline {
    /// Sets [`reason`](Self#structfield.reason).
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets [`document_sha256`](Self#structfield.document_sha256).
    pub fn document_sha256(mut self, sha256: impl Into<String>) -> Self {
        self.document_sha256 = Some(sha256.into());
        self
    }

    /// The reason for the history, and the document that was shown.
    fn check(&self) -> Result<(Option<String>, Option<ContentHash>), Invalid> {
        Ok((self.checked_reason()?, shown_document(self.document_sha256.as_deref())?))
    }

    /// The reason for the history.
    pub(crate) fn checked_reason(&self) -> Result<Option<String>, Invalid> {
        let reason = self.reason.as_deref().map(without_bidi_controls);
        let reason = reason.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        optional_text("reason", reason.as_deref(), REASON_LIMIT)
    }
}

impl std::fmt::Debug for Decline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decline").finish_non_exhaustive()
    }
}

/// The page behind a signing link, as the client sees it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SigningPage {
    /// Name of the company that made the quote.
    pub company_name: String,
    /// The quote.
    pub quote: Quote,
}

impl SigningLinks {
    pub(crate) fn new(services: Arc<Services>) -> Self {
        Self { services, request_id: None }
    }

    /// The same links for a request with this id: see [`CompanyHandle::for_request`].
    #[must_use]
    pub fn for_request(&self, id: &str) -> Self {
        Self { request_id: request_id(id), ..self.clone() }
    }

    /// The quote behind a link.
    pub async fn open(&self, token: &str) -> Result<SigningPage, Error> {
        self.services.operation("signing_links.open", None, self.page(token)).await
    }

    async fn page(&self, token: &str) -> Result<SigningPage, Error> {
        let LinkedQuote { company, id, .. } = self.resolve(token).await?;
        let page = company.read(async move |mut tx| {
            let (company, _) = tx.company_row().find().await?;
            Ok(SigningPage { company_name: company.name, quote: tx.quotes().find(id).await? })
        });
        page.await
    }

    /// The document behind a link: the last one that was frozen.
    pub async fn document(&self, token: &str) -> Result<OpenedDocument, Error> {
        let opened = async {
            let LinkedQuote { company, id, .. } = self.resolve(token).await?;
            let (document, _) = company.frozen_file::<Quote>(id).await?;
            self.services.open(document).await
        };
        self.services.operation("signing_links.document", None, opened).await
    }

    /// Signs: SENT → ACCEPTED, `quote.signed` and `quote.accepted`. Keeps the evidence and freezes
    /// the document anew, with the signature. The history notes it as done by `signing link`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the evidence or the hash is not usable. [`Error::Conflict`] when the
    /// quote is not SENT, its validity ended before the call, or another document was shown than
    /// the last one that was sent. [`Error::NotFound`] also when the link is revoked, or the
    /// company closed, before the signature is stored.
    pub async fn sign(&self, token: &str, signature: &Signature) -> Result<Quote, Error> {
        let signed = async {
            let signature = signature.check(self.services.env.now())?;
            let linked = self.resolve(token).await?;
            let quote = linked.read(Purpose::Sign(signature.submitted_at)).await?;
            linked.sign_from(quote, signature).await
        };
        self.services.operation("signing_links.sign", None, signed).await
    }

    /// Declines: SENT → REJECTED. The history notes it, with the reason, as done by `signing link`.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the reason or the hash is not usable. [`Error::Conflict`] when the
    /// quote is not SENT, or another document was shown than the last one that was sent.
    pub async fn decline(&self, token: &str, refusal: &Decline) -> Result<Quote, Error> {
        let declined = async {
            let (reason, shown) = refusal.check()?;
            self.resolve(token).await?.decline_with(reason, shown).await
        };
        self.services.operation("signing_links.decline", None, declined).await
    }

    /// The quote of a link. A text that cannot be a token is refused without a statement.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown, ended or revoked link, [`Error::Overloaded`] while too
    /// many are being looked up.
    pub(crate) async fn resolve(&self, token: &str) -> Result<LinkedQuote, Error> {
        if !has_form(SIGNING_LINK, token) {
            return Err(Error::NotFound);
        }
        let token_hash = sha256(token);
        let link = self.services.links.find(token_hash, false).await?.ok_or(Error::NotFound)?;
        let (company, id) = link.leads_to(self.services.env.now())?;
        let mut company = CompanyHandle::new(Arc::clone(&self.services), company);
        company.request_id.clone_from(&self.request_id);
        Ok(LinkedQuote { company, id, token_hash })
    }
}

/// Splits a text behind the token with which it begins. The form decides alone; the link may be
/// unknown.
#[cfg(feature = "console")]
pub(crate) fn split_behind_token(text: &str) -> Option<(&str, &str)> {
    split_behind(SIGNING_LINK, text)
}

fn shown_document(sha256: Option<&str>) -> Result<Option<ContentHash>, Invalid> {
    let shown = sha256.map(str::parse::<ContentHash>).transpose();
    shown.map_err(|_| Invalid::new("documentSha256", Rule::Sha256))
}
