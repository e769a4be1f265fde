//! The page of a quote.

use invoicing_core::{Quote, QuoteId};
use maud::{Markup, html};

use super::{converting, links, sending, words};
use crate::console::ConsoleAction;
use crate::console::error::PageError;
use crate::console::history::{self, DeclineRecord};
use crate::console::inputs::order_number_fact;
use crate::console::layout::{Chapter, PageContent, entered, notice};
use crate::console::lines::{RecordLines, lines};
use crate::console::request::PageRequest;
use crate::console::table::{Table, column};
use crate::console::totals::{RecordTotals, totals};
use crate::records::FrozenFile;

/// Maximum number of documents that the page lists: the latest.
const DOCUMENTS: usize = 10;

const DOCUMENT_FILES: Table<3> = Table::new(
    ("Latest first", "Les plus récents d’abord"),
    [column("File", "Fichier"), column("Frozen", "Figé"), column("SHA-256", "SHA-256")],
);

/// `GET /quotes/{id}`. Its parameter `lines` is the number of lines before the shown part.
pub(in crate::console) async fn show(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let id: QuoteId = request.id()?;
    let quote = super::read(request, id).await?;
    let documents = request.company.quotes().documents(id).await?;
    let signing_links = links::section(request, &quote.summary).await?;
    let refusal = history::refusal(request, &quote.summary).await?;
    let history = history::section(request, id.0).await?;
    let invoice = converting::section(request, &quote.summary).await?;
    let summary = &quote.summary;
    let page = format!("/quotes/{id}");
    let lines = lines(request, &RecordLines { lines: &quote.lines, currency: &summary.currency, page })?;
    let body = html! {
        p { a href=(request.link("/quotes")) { "← " (request.pick("Quotes", "Devis")) } }
        h1 { (summary.number) }
        (done(request))
        (facts(request, &quote, refusal.as_ref()))
        @if request.allows(ConsoleAction::SendQuotes) && sending::is_possible(summary.status) {
            p.actions {
                a.button href=(request.link(format!("/quotes/{id}/send"))) { (sending::title(request, summary)) }
            }
        }
        (invoice)
        (lines)
        (totals(request, &totals_of(&quote)))
        (evidence(request, &quote))
        (documents_of(request, id, &documents))
        (signing_links)
        (history)
    };
    Ok(PageContent::new(&*summary.number, Chapter::Quotes, body))
}

fn totals_of(quote: &Quote) -> RecordTotals<'_> {
    let (head, terms) = (&quote.summary, &quote.detail);
    RecordTotals {
        currency: &head.currency,
        vat_breakdown: &terms.vat_breakdown,
        total_ht: head.total_ht,
        total_ttc: head.total_ttc,
        retention: (!terms.retention_rate.is_zero())
            .then_some((terms.retention_rate, terms.retention_amount)),
    }
}

fn facts(request: &PageRequest<'_>, quote: &Quote, refusal: Option<&DeclineRecord>) -> Markup {
    let Quote { summary: quote, detail, .. } = quote;
    let clock = request.clock();
    let instants = [
        (request.pick("Created", "Créé"), Some(quote.created_at)),
        (request.pick("Sent", "Envoyé"), quote.sent_at),
        (request.pick("Signed", "Signé"), quote.signed_at),
        // Left out for a signature, which accepts the quote at the same instant.
        (request.pick("Accepted", "Accepté"), quote.accepted_at.filter(|_| quote.signed_at.is_none())),
    ];
    html! {
        dl.facts {
            div { dt { (request.pick("State", "État")) } dd { (words::state(request.language, quote)) } }
            div {
                dt { (request.pick("Client", "Client")) }
                dd {
                    a href=(request.link(format!("/clients/{}", quote.client_id))) { (entered(&quote.client_name)) }
                    @if let Some(email) = &quote.client_email { br; span.soft { (entered(email)) } }
                }
            }
            @if let Some(day) = quote.valid_until {
                div { dt { (request.pick("Valid until", "Valable jusqu’au")) } dd { (clock.date(day)) } }
            }
            @for (name, at) in instants {
                @if let Some(at) = at { div { dt { (name) } dd { (clock.show(at)) } } }
            }
            @if let Some(name) = &quote.signed_by_name {
                div {
                    dt { (request.pick("Signed by", "Signé par")) }
                    dd { (entered(name)) @if let Some(email) = &quote.signed_by_email { br; span.soft { (entered(email)) } } }
                }
            }
            @if let Some(refusal) = refusal {
                div {
                    dt { (words::state(request.language, quote)) }
                    dd {
                        (clock.show(refusal.at)) br; span.soft { (entered(&refusal.by)) }
                        @if let Some(reason) = &refusal.reason { br; span.text { (entered(reason)) } }
                    }
                }
            }
            (order_number_fact(request, detail.order_number.as_deref()))
            @if let Some(external_id) = &quote.external_id {
                div { dt { (request.pick("External identifier", "Identifiant externe")) } dd { code { (entered(external_id)) } } }
            }
            div { dt { (request.pick("Identifier", "Identifiant")) } dd { code { (quote.id) } } }
        }
    }
}

/// The client's signature, with its evidence.
fn evidence(request: &PageRequest<'_>, quote: &Quote) -> Markup {
    let Some(signature) = &quote.detail.signature else { return Markup::default() };
    html! {
        h2 { (request.pick("Signature", "Signature")) }
        dl.facts {
            div {
                dt { (request.pick("Signed by", "Signé par")) }
                dd { (entered(&signature.signed_by_name)) br; span.soft { (entered(&signature.signed_by_email)) } }
            }
            div {
                dt { (request.pick("Accepted text", "Texte accepté")) }
                dd.text { (entered(&signature.accepted_text)) }
            }
            div { dt { (request.pick("Fingerprint", "Empreinte")) } dd { code { (signature.proof_fingerprint) } } }
        }
    }
}

fn documents_of(request: &PageRequest<'_>, id: QuoteId, documents: &[FrozenFile]) -> Markup {
    let left_out = documents.len().saturating_sub(DOCUMENTS);
    html! {
        h2 { (request.pick("Frozen documents", "Documents figés")) }
        @if documents.is_empty() {
            p { (request.pick(
                "There is none yet: a document is frozen when the quote is sent or accepted.",
                "Il n’y en a pas encore : un document est figé quand le devis est envoyé ou accepté.",
            )) }
        } @else {
            (DOCUMENT_FILES.show(request.language, documents.iter().rev().take(DOCUMENTS).map(|document| [
                html! {
                    a href=(request.link(format!("/quotes/{id}/documents/{}", document.sha256))) download {
                        (entered(&document.file_name))
                    }
                    " " span.soft { (document.size_bytes.div_ceil(1_024)) " " (request.pick("KiB", "Kio")) }
                },
                request.clock().show(document.created_at),
                html! { code { (document.sha256) } },
            ])))
        }
        @if left_out > 0 {
            p.soft { (request.pick("Older ones that are not shown:", "Plus anciens, non affichés :")) " " (left_out) }
        }
    }
}

/// The notice of the form before this page.
fn done(request: &PageRequest<'_>) -> Markup {
    let text = match request.form.text("done") {
        "sent" => request.pick(
            "Sent: the document is frozen. Make a signing link below, and give it to the client.",
            "Envoyé : le document est figé. Créez un lien de signature ci-dessous et transmettez-le au client.",
        ),
        "link-revoked" => request.pick("The link is revoked.", "Le lien est révoqué."),
        _ => return Markup::default(),
    };
    notice("done", &html! { p { (text) } })
}
