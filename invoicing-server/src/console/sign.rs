//! The signing page, for the holder of a signing link. The token in its address is the permission.
//!
//! [`document_html`] shows the frozen document as HTML, [`pages`] is a page for each state of the
//! quote. A form carries the hash of the document that was shown, so that nothing else is signed or
//! declined, and the second form also that of the shown text. A form with unusable fields is
//! refused before the quote is read. The first form leads to the second one by an address that
//! [`keeps`](fields::SignatureFields::keep) the fields, so that browsers can go back to it.

mod document_html;
mod fields;
mod forwarded;
mod pages;
mod signing_request;

use std::sync::Arc;

use http::StatusCode;
use invoicing_core::{QuoteStatus, SignatureEvidence};

pub(super) use self::forwarded::without_signs_behind;
pub(super) use self::signing_request::SigningRequest;
use super::error::PageError;
use super::request::Outcome;
use crate::company_slots::Slot;
use crate::documents::ContentHash;
use crate::documents::content::legal_notices::accepted_text;
use crate::error::Error;
use crate::operations::{Decline, SignableQuote, Signature, sent_again};
use fields::{NOT_KEPT, SignatureFields};

/// The state of a quote for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SigningState {
    /// It can be signed and declined.
    Open,
    /// Its validity has ended.
    Expired,
    /// The client has signed it.
    Signed,
    /// It was accepted without a signature.
    Accepted,
    Declined,
}

impl SigningState {
    fn of(shown: &SignableQuote) -> Result<Self, PageError> {
        let head = &shown.quote.summary;
        Ok(match head.status {
            QuoteStatus::Sent if head.valid_until.is_none_or(|day| day >= shown.today()) => Self::Open,
            QuoteStatus::Sent | QuoteStatus::Expired => Self::Expired,
            QuoteStatus::Accepted if shown.quote.detail.signature.is_some() => Self::Signed,
            QuoteStatus::Accepted => Self::Accepted,
            QuoteStatus::Rejected => Self::Declined,
            _ => return Err(PageError::NOT_FOUND),
        })
    }
}

/// True if a form about this document can still decide the quote.
fn is_open(shown: &SignableQuote, fields: &SignatureFields) -> Result<bool, PageError> {
    Ok(SigningState::of(shown)? == SigningState::Open && fields.document == shown.document.sha256.to_string())
}

/// `GET /sign/{token}`.
pub(super) async fn show(request: &SigningRequest<'_>) -> Result<Outcome, PageError> {
    let place = request.place().await?;
    let shown = request.shown().await?;
    let content = match SigningState::of(&shown)? {
        SigningState::Open => pages::open(request, &shown, &request.sheet(place, &shown).await?),
        SigningState::Signed => pages::signed(request, &shown, &request.sheet(place, &shown).await?, false),
        state => pages::ended(request, &shown, state, false),
    };
    Ok(Outcome::Page(StatusCode::OK, content))
}

/// `POST /sign/{token}`: the first form leads to the second look, the form of which signs.
pub(super) async fn sign(request: &SigningRequest<'_>) -> Result<Outcome, PageError> {
    let entered = SignatureFields::read(&request.form);
    let fields = match entered.checked() {
        Ok(fields) => fields,
        Err(invalid) => return Ok(refused(request, &entered, &invalid.field)),
    };
    if fields.confirmed.is_empty() {
        return lead_to_second_look(request, &fields).await;
    }
    match sign_as(request, &fields).await {
        Ok(true) => Ok(Outcome::See(String::new())),
        Ok(false) => lead_to_second_look(request, &fields).await,
        Err(Error::Invalid(invalid)) if SignatureFields::has(&invalid.field) => {
            Ok(refused(request, &entered, &invalid.field))
        }
        Err(error) => overtaken(request, &fields, error).await,
    }
}

async fn lead_to_second_look(
    request: &SigningRequest<'_>,
    fields: &SignatureFields,
) -> Result<Outcome, PageError> {
    let place = request.place().await?;
    let shown = request.shown().await?;
    if !is_open(&shown, fields)? {
        return too_late(request, place, &shown, fields).await;
    }
    Ok(Outcome::See(fields.keep(request, "/confirm")))
}

/// `GET /sign/{token}/confirm`: the second look at the document and the signer.
pub(super) async fn confirm_signature(request: &SigningRequest<'_>) -> Result<Outcome, PageError> {
    let Some(fields) = SignatureFields::kept(request).and_then(|fields| fields.checked().ok()) else {
        return Ok(Outcome::See(NOT_KEPT.to_owned()));
    };
    let _place = request.place().await?;
    let shown = request.shown().await?;
    if SigningState::of(&shown)? != SigningState::Open {
        return Ok(Outcome::See(String::new()));
    }
    if !is_open(&shown, &fields)? {
        return Ok(Outcome::Page(StatusCode::CONFLICT, pages::sent_again(request, &shown)));
    }
    let content = pages::confirm_signature(request, &shown, &fields, &accepted_text(&shown.view()));
    Ok(Outcome::Page(StatusCode::OK, content))
}

/// Signs. Returns false if the second form has shown another text than would be signed, as a node
/// of another version does: then nothing is signed.
async fn sign_as(request: &SigningRequest<'_>, fields: &SignatureFields) -> Result<bool, Error> {
    // The validity is judged by this instant: waiting and rendering may last over midnight.
    let now = request.env.now();
    let _place = request.place_to_sign().await?;
    let quote = request.linked.signable(now).await?;
    if fields.document != quote.document.sha256.to_string() {
        return Err(sent_again());
    }
    let accepted_text = accepted_text(&quote.view());
    if fields.confirmed != ContentHash::of(accepted_text.as_bytes()).to_string() {
        return Ok(false);
    }
    let evidence = SignatureEvidence::new(&*fields.name, &*fields.email, accepted_text);
    let signature = Signature {
        ip: request.ip,
        user_agent: request.user_agent.clone(),
        ..Signature::new(evidence).document_sha256(&*fields.document)
    };
    request.linked.sign(quote, &signature, now).await?;
    Ok(true)
}

/// The form again, with the field that was refused.
fn refused(request: &SigningRequest<'_>, fields: &SignatureFields, wrong: &str) -> Outcome {
    Outcome::Page(StatusCode::BAD_REQUEST, pages::correct(request, fields, wrong))
}

/// `GET /sign/{token}/decline`.
pub(super) async fn confirm_refusal(request: &SigningRequest<'_>) -> Result<Outcome, PageError> {
    let place = request.place().await?;
    let shown = request.shown().await?;
    let content = match SigningState::of(&shown)? {
        SigningState::Open => pages::confirm_refusal(request, &shown),
        SigningState::Signed => pages::signed(request, &shown, &request.sheet(place, &shown).await?, false),
        state => pages::ended(request, &shown, state, false),
    };
    Ok(Outcome::Page(StatusCode::OK, content))
}

/// `POST /sign/{token}/decline`.
pub(super) async fn decline(request: &SigningRequest<'_>) -> Result<Outcome, PageError> {
    let (fields, reason) = (SignatureFields::read(&request.form), request.form.text("reason"));
    let refusal = Decline::default().reason(reason).document_sha256(&*fields.document);
    if refusal.checked_reason().is_err() {
        let content = pages::correct_reason(request, &fields.document, reason);
        return Ok(Outcome::Page(StatusCode::BAD_REQUEST, content));
    }
    let place = request.place().await?;
    let shown = request.shown().await?;
    if SigningState::of(&shown)? == SigningState::Declined
        && fields.document == shown.document.sha256.to_string()
    {
        // The same form, sent twice.
        return Ok(Outcome::See(String::new()));
    }
    if !is_open(&shown, &fields)? {
        return too_late(request, place, &shown, &fields).await;
    }
    drop(place);
    match request.linked.decline(&refusal).await {
        Ok(()) => Ok(Outcome::See(String::new())),
        Err(error) => overtaken(request, &fields, error).await,
    }
}

/// The answer to a form about a quote that was decided, has expired, or was sent again since.
async fn too_late(
    request: &SigningRequest<'_>,
    place: Slot,
    shown: &Arc<SignableQuote>,
    fields: &SignatureFields,
) -> Result<Outcome, PageError> {
    let content = match SigningState::of(shown)? {
        SigningState::Open => pages::sent_again(request, shown),
        // The same form, sent twice.
        SigningState::Signed if fields.are_signed(&shown.quote) => {
            return Ok(Outcome::See(String::new()));
        }
        SigningState::Signed => pages::signed(request, shown, &request.sheet(place, shown).await?, true),
        state => pages::ended(request, shown, state, true),
    };
    Ok(Outcome::Page(StatusCode::CONFLICT, content))
}

/// The answer to a form after an operation has refused it: another decision was faster.
async fn overtaken(
    request: &SigningRequest<'_>,
    fields: &SignatureFields,
    error: Error,
) -> Result<Outcome, PageError> {
    if !matches!(error, Error::Conflict(_)) {
        return Err(error.into());
    }
    let place = request.place().await?;
    let shown = request.shown().await?;
    if is_open(&shown, fields)? {
        return Err(error.into());
    }
    too_late(request, place, &shown, fields).await
}
