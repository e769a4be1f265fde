//! The second page of a credit note: its parts as they were read, its total, and the form that
//! issues it. The texts are entered here, so that no address holds them.

use invoicing_core::{CreditContent, Quantity};
use maud::{Markup, html};

use super::{CreditForm, Outlook, quantity_name};
use crate::console::event_cells::shortened;
use crate::console::inputs::{Input, InputKind, value};
use crate::console::invoices::change::{Asked, Change, question};
use crate::console::layout::{PageContent, entered, notice};
use crate::console::lines::LINES_PER_PART;
use crate::console::request::PageRequest;
use crate::console::table::{Table, figure, text};
use crate::console::totals::{RecordTotals, totals};

/// The page. `outlook`: the credit note, but for its texts.
pub(super) fn page(
    request: &PageRequest<'_>,
    creditable: &CreditForm,
    Outlook { content, stays_sold }: &Outlook,
    asked: &Asked<'_>,
) -> PageContent {
    let given = given(creditable);
    let mut query = form_urlencoded::Serializer::new(String::new());
    // A proposed share follows other quantities, so it is not entered.
    let shares: Vec<_> = creditable.proposed.iter().map(|line| quantity_name(*line)).collect();
    let typed = given.iter().filter(|(name, _)| !shares.contains(name));
    query.extend_pairs(typed.map(|(name, text)| (&**name, *text)));
    let entries = format!("/invoices/{}/credit?{}", asked.invoice.id, query.finish());
    let sums = RecordTotals {
        currency: &asked.invoice.currency,
        vat_breakdown: &content.vat_breakdown,
        total_ht: content.total_ht,
        total_ttc: content.total_ttc,
        retention: None,
    };
    let is_rest = creditable.form.text("what") == "rest";
    let text = html! {
        h2 { (request.pick("Credited", "Repris")) }
        @if is_rest {
            p { (request.pick("All that is left of the invoice", "Tout ce qui reste de la facture")) }
        } @else {
            (parts(request, creditable, content))
        }
        @if !creditable.proposed.is_empty() { (proposed(request)) }
        @if !stays_sold.is_empty() { (sold(request, creditable, stays_sold)) }
        p { a href=(request.link(entries)) { (request.pick("Change the entries", "Modifier la saisie")) } }
        (totals(request, &sums))
        p { (request.pick(
            "The credit note gets its own number and document, and cannot be changed. A payment beyond the rest of the invoice can \
             then be refunded.",
            "L’avoir reçoit son propre numéro et son document, et ne peut plus être modifié. Ce qui a été payé au-delà du reste de la \
             facture peut ensuite être remboursé.",
        )) }
    };
    let has_reduction = content.lines.len() > content.parts.len() && !is_rest;
    let fields = html! {
        @for (name, text) in &given { input type="hidden" name=(name) value=(text) autocomplete="off"; }
        @if has_reduction { (description(request, asked)) }
        (reason(request, asked))
    };
    question(request, Change::Credit, asked, &["reason", "description"], &text, &fields)
}

/// The fields of the entries that have a value.
fn given(creditable: &CreditForm) -> Vec<(String, &str)> {
    let names = ["lines", "what", "tvaRate", "amount"].map(str::to_owned);
    let names = names.into_iter().chain(creditable.asked_lines().map(quantity_name));
    names.filter_map(|name| creditable.form.given(&name).map(|text| (name.clone(), text))).collect()
}

fn proposed(request: &PageRequest<'_>) -> Markup {
    html! { p { (request.pick(
        "A discount belongs to no line. Its proposed share is the one that the credited quantities have in the lines of its VAT \
         rate. Another one, or 0 for none, can be entered instead.",
        "Une remise n’appartient à aucune ligne. La part proposée est celle des quantités reprises dans les lignes de son taux de \
         TVA. Une autre part, ou 0 pour aucune, peut être saisie à la place.",
    )) } }
}

/// The quantities that stay sold although nothing is left of the invoice.
fn sold(request: &PageRequest<'_>, creditable: &CreditForm, stays: &[(usize, Quantity)]) -> Markup {
    let (figures, invoice) = (request.figures(), &creditable.invoice);
    notice(
        "info",
        &html! {
            p {
                (request.pick(
                    "The credit note takes all that is left of the invoice, but not these quantities, which stay sold:",
                    "L’avoir reprend tout ce qui reste de la facture, mais pas ces quantités, qui restent vendues :",
                ))
            }
            ul {
                @for (index, quantity) in stays.iter().take(LINES_PER_PART) {
                    @let line = &invoice.lines[*index];
                    li {
                        (figures.quantity(*quantity)) " " (request.pick("of", "sur")) " " (figures.quantity(line.quantity)) " × "
                        (index + 1) ". " (entered(&shortened(&line.description)))
                    }
                }
            }
            @if let Some(more @ 1..) = stays.len().checked_sub(LINES_PER_PART) {
                p { (request.pick("Further lines:", "Autres lignes :")) " " (more) }
            }
            @if invoice.summary.amount_paid.is_zero() {
                p { (request.pick("The invoice is then cancelled.", "La facture est alors annulée.")) }
            }
        },
    )
}

const PARTS: Table<4> = Table::new(
    ("As it was read", "Tel que lu"),
    [
        text("Description", "Désignation"),
        figure("Quantity", "Quantité"),
        figure("VAT", "TVA"),
        figure("Total excl. VAT", "Total HT"),
    ],
);

/// The quantities of lines, then the reduction.
fn parts(request: &PageRequest<'_>, creditable: &CreditForm, content: &CreditContent) -> Markup {
    let figures = request.figures();
    let figure = |text: String| html! { (text) };
    let quantities = content.parts.iter().zip(&content.lines).map(|(part, line)| {
        let name = creditable.invoice.lines.get(part.line).map_or("", |line| &*line.description);
        [
            html! {
                (part.line + 1) ". " (entered(&shortened(name)))
                @if creditable.proposed.contains(&part.line) {
                    " " span.soft { (request.pick("(proposed share)", "(part proposée)")) }
                }
            },
            figure(figures.quantity(part.quantity)),
            figure(figures.percent(line.tva_rate)),
            figure(figures.amount(part.total_ht.get())),
        ]
    });
    let reductions = content.lines.get(content.parts.len()..).unwrap_or_default().iter().map(|line| {
        [
            html! { (line.description) },
            Markup::default(),
            figure(figures.percent(line.tva_rate)),
            figure(figures.amount(line.total_ht.get())),
        ]
    });
    PARTS.show(request.language, quantities.chain(reductions))
}

fn description(request: &PageRequest<'_>, asked: &Asked<'_>) -> Markup {
    let description = Input {
        kind: InputKind::Text,
        name: "description",
        label: request.pick("Text of the reduction", "Libellé de la réduction"),
        value: value(request, "description", ""),
        hint: "",
    };
    description.show(request, asked.error)
}

fn reason(request: &PageRequest<'_>, asked: &Asked<'_>) -> Markup {
    let reason = Input {
        kind: InputKind::Long,
        name: "reason",
        label: request.pick("Reason", "Motif"),
        value: value(request, "reason", ""),
        hint: request.pick("The client reads it on the credit note.", "Le client le lit sur l’avoir."),
    };
    reason.show(request, asked.error)
}
