//! Sending a quote.

use invoicing_core::{QuoteId, QuoteStatus, QuoteSummary};
use maud::html;

use super::words;
use crate::console::error::PageError;
use crate::console::figures::Figures;
use crate::console::inputs::date;
use crate::console::layout::{Chapter, PageContent, described_by, entered, is_about, problem, wrong};
use crate::console::readiness::checklist;
use crate::console::request::{Outcome, PageRequest};
use crate::error::Error;
use crate::records::ReadinessGap;

/// True if a quote in this status can be sent.
pub(super) fn is_possible(status: QuoteStatus) -> bool {
    matches!(status, QuoteStatus::Draft | QuoteStatus::Rejected | QuoteStatus::Expired)
}

/// The title of the question, and of the link to it.
pub(super) fn title(request: &PageRequest<'_>, quote: &QuoteSummary) -> &'static str {
    if quote.sent_at.is_none() {
        request.pick("Send the quote", "Envoyer le devis")
    } else {
        request.pick("Send the quote again", "Renvoyer le devis")
    }
}

/// `GET /quotes/{id}/send`.
pub(in crate::console) async fn confirm_sending(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let quote = super::read(request, request.id()?).await?;
    let valid_until = quote.summary.valid_until.filter(|_| quote.summary.status == QuoteStatus::Draft);
    let shown = valid_until.map(|day| day.to_string()).unwrap_or_default();
    let entered = request.entered().map_or(shown, |form| form.text("validUntil").to_owned());
    let gaps = gaps(request, &quote.summary).await?;
    Ok(question(request, &quote.summary, gaps.as_deref(), &entered, None))
}

/// `POST /quotes/{id}/send`. `validUntil`: the last day on which it can be signed; if empty, the
/// service chooses it.
pub(in crate::console) async fn send(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let id: QuoteId = request.id()?;
    let sent = match date(&request.form, "validUntil") {
        Ok(valid_until) => request.company.quotes().send(id, valid_until).await,
        Err(invalid) => Err(invalid.into()),
    };
    let Err(error) = sent else { return Ok(Outcome::See(format!("/quotes/{id}?done=sent"))) };
    let (quote, entered) = (super::read(request, id).await?, request.form.text("validUntil"));
    let gaps = gaps(request, &quote.summary).await?;
    Outcome::refused(error, |error| question(request, &quote.summary, gaps.as_deref(), entered, Some(error)))
}

/// All that the document lacks; `None` for a quote that cannot be sent as it stands.
async fn gaps(
    request: &PageRequest<'_>,
    quote: &QuoteSummary,
) -> Result<Option<Vec<ReadinessGap>>, PageError> {
    match request.company.quotes().readiness(quote.id).await {
        Err(Error::Conflict(_) | Error::Invalid(_)) => Ok(None),
        gaps => Ok(Some(gaps?)),
    }
}

fn question(
    request: &PageRequest<'_>,
    quote: &QuoteSummary,
    gaps: Option<&[ReadinessGap]>,
    valid_until: &str,
    error: Option<&Error>,
) -> PageContent {
    let title = title(request, quote);
    let total = Figures::new(request.language, &quote.currency).amount(quote.total_ttc.get());
    let page = format!("/quotes/{}", quote.id);
    let body = html! {
        h1 { (title) }
        (problem(request.language, error, &[("validUntil", "valid-until")]))
        dl.facts {
            div { dt { (request.pick("Number", "Numéro")) } dd { (quote.number) } }
            div { dt { (request.pick("State", "État")) } dd { (words::state(request.language, quote)) } }
            div { dt { (request.pick("Client", "Client")) } dd { (entered(&quote.client_name)) } }
            div { dt { (request.pick("Total incl. VAT", "Total TTC")) } dd { (total) } }
        }
        p { (request.pick(
            "The document is frozen and the content can no longer be changed. The client can then see and sign it through a \
             signing link. The service sends no e-mail.",
            "Le document est figé et le contenu ne peut plus être modifié. Le client peut ensuite le consulter et le signer par un \
             lien de signature. Le service n’envoie pas d’e-mail.",
        )) }
        @if let Some(gaps) = gaps { (checklist(request, gaps, Some(quote.client_id))) }
        (request.form_about(format!("{page}/send"), quote.updated_at, &html! {
            label for="valid-until" { (request.pick("Valid until", "Valable jusqu’au")) }
            input #valid-until name="validUntil" type="date" value=(valid_until)
                aria-invalid=[is_about(error, "validUntil").then_some("true")]
                aria-describedby=(described_by(error, "validUntil", "valid-until"));
            (wrong(request.language, error, "validUntil", "valid-until"))
            p.hint #valid-until-hint { (request.pick(
                "The last day on which it can be signed. If empty: the date of the draft, or 30 days from today.",
                "Dernier jour pour signer. Si vide : la date du brouillon, ou 30 jours à partir d’aujourd’hui.",
            )) }
            p.actions {
                button { (title) }
                a href=(request.link(&page)) { (request.pick("Cancel", "Annuler")) }
            }
        }))
    };
    PageContent::new(title, Chapter::Quotes, body)
}
