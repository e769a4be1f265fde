//! The signing page: what the holder of a signing link sees and does. The token in its address is the permission.
//!
//! [`paper`] shows the frozen document as HTML, [`pages`] is a page for each state of the quote. A form carries the hash of
//! the document that was shown, so that nothing else is signed or declined.

mod fields;
mod pages;
mod paper;
mod visit;

use http::StatusCode;
use invoicing_core::{QuoteStatus, SignatureEvidence};

pub(super) use self::visit::Visit;
use super::error::PageError;
use super::layout::Content;
use super::request::FormOutcome;
use crate::Error;
use crate::documents::content::mentions::accepted_text;
use crate::operations::{Refusal, ShownQuote, Signature};
use fields::Fields;

/// What the client can still do with a quote, or why nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
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

impl State {
    fn of(shown: &ShownQuote) -> Result<Self, PageError> {
        let head = &shown.quote.summary;
        Ok(match head.status {
            QuoteStatus::Sent if head.valid_until.is_none_or(|day| day >= shown.today) => Self::Open,
            QuoteStatus::Sent | QuoteStatus::Expired => Self::Expired,
            QuoteStatus::Accepted if shown.quote.detail.signature.is_some() => Self::Signed,
            QuoteStatus::Accepted => Self::Accepted,
            QuoteStatus::Rejected => Self::Declined,
            _ => return Err(PageError::NOT_FOUND),
        })
    }
}

/// `GET /sign/{token}`.
pub(super) async fn show(visit: &Visit<'_>) -> Result<FormOutcome, PageError> {
    let shown = visit.shown().await?;
    let content = match State::of(&shown)? {
        State::Open => pages::open(visit, &shown, &Fields::empty(), None)?,
        state => pages::ended(visit, &shown, state, false)?,
    };
    Ok(FormOutcome::Page(StatusCode::OK, content))
}

/// `POST /sign/{token}`.
pub(super) async fn sign(visit: &Visit<'_>) -> Result<FormOutcome, PageError> {
    let (shown, fields) = (visit.shown().await?, Fields::read(&visit.form));
    if let Some(late) = too_late(visit, &shown, &fields)? {
        return Ok(late);
    }
    let evidence = SignatureEvidence::new(&*fields.name, &*fields.email, accepted_text(&shown.input()));
    let signature = Signature {
        ip: visit.ip,
        user_agent: visit.user_agent.clone(),
        ..Signature::new(evidence).document_sha256(&*fields.document)
    };
    match visit.links.sign(visit.token, &signature).await {
        Ok(_) => Ok(FormOutcome::See(String::new())),
        Err(Error::Invalid(invalid)) if Fields::has(&invalid.field) => {
            let content = pages::open(visit, &shown, &fields, Some(&invalid.field))?;
            Ok(FormOutcome::Page(StatusCode::BAD_REQUEST, content))
        }
        Err(error) => overtaken(visit, &fields, error).await,
    }
}

/// `GET /sign/{token}/decline`.
pub(super) async fn confirm_refusal(visit: &Visit<'_>) -> Result<FormOutcome, PageError> {
    let shown = visit.shown().await?;
    let content = match State::of(&shown)? {
        State::Open => pages::confirm_refusal(visit, &shown, "", false),
        state => pages::ended(visit, &shown, state, false)?,
    };
    Ok(FormOutcome::Page(StatusCode::OK, content))
}

/// `POST /sign/{token}/decline`.
pub(super) async fn decline(visit: &Visit<'_>) -> Result<FormOutcome, PageError> {
    let (shown, fields) = (visit.shown().await?, Fields::read(&visit.form));
    if let Some(late) = too_late(visit, &shown, &fields)? {
        // The same form, sent twice.
        let is_done =
            State::of(&shown)? == State::Declined && fields.document == shown.document.sha256.to_string();
        return Ok(if is_done { FormOutcome::See(String::new()) } else { late });
    }
    let reason = visit.form.text("reason");
    let refusal = Refusal::default().reason(reason).document_sha256(&*fields.document);
    match visit.links.decline(visit.token, &refusal).await {
        Ok(_) => Ok(FormOutcome::See(String::new())),
        Err(Error::Invalid(_)) => {
            let content = pages::confirm_refusal(visit, &shown, reason, true);
            Ok(FormOutcome::Page(StatusCode::BAD_REQUEST, content))
        }
        Err(error) => overtaken(visit, &fields, error).await,
    }
}

/// The answer to a form about a quote that can no longer be decided, or was sent again since.
fn too_late(
    visit: &Visit<'_>,
    shown: &ShownQuote,
    fields: &Fields,
) -> Result<Option<FormOutcome>, PageError> {
    let page = |content: Content| Some(FormOutcome::Page(StatusCode::CONFLICT, content));
    Ok(match State::of(shown)? {
        State::Open if fields.document == shown.document.sha256.to_string() => None,
        State::Open => page(pages::sent_again(visit, shown)),
        // The same form, sent twice.
        State::Signed if fields.are_signed(&shown.quote) => Some(FormOutcome::See(String::new())),
        state => page(pages::ended(visit, shown, state, true)?),
    })
}

/// The answer to a form after an operation has refused it: another decision was faster.
async fn overtaken(visit: &Visit<'_>, fields: &Fields, error: Error) -> Result<FormOutcome, PageError> {
    if !matches!(error, Error::Conflict(_)) {
        return Err(error.into());
    }
    let late = too_late(visit, &visit.shown().await?, fields)?;
    late.ok_or_else(|| error.into())
}
