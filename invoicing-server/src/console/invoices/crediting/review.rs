//! The second page of a credit note: its parts as they were read, its total, and the form that
//! issues it. The texts are entered here, so that no address holds them.

use invoicing_core::CreditContent;
use maud::{Markup, html};

use super::{CreditForm, quantity_name};
use crate::console::event_cells::shortened;
use crate::console::inputs::{Input, InputKind, value};
use crate::console::invoices::change::{Asked, Change, question};
use crate::console::layout::{PageContent, entered};
use crate::console::request::PageRequest;
use crate::console::table::{Table, figure, text};
use crate::console::totals::{RecordTotals, totals};

/// The page. `content`: that of the credit note, but for its texts.
pub(super) fn page(
    request: &PageRequest<'_>,
    creditable: &CreditForm,
    content: &CreditContent,
    asked: &Asked<'_>,
) -> PageContent {
    let given = given(request, creditable);
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(given.iter().map(|(name, text)| (&**name, *text)));
    let entries = format!("/invoices/{}/credit?{}", asked.invoice.id, query.finish());
    let sums = RecordTotals {
        currency: &asked.invoice.currency,
        vat_breakdown: &content.vat_breakdown,
        total_ht: content.total_ht,
        total_ttc: content.total_ttc,
        retention: None,
    };
    let is_rest = request.form.text("what") == "rest";
    let text = html! {
        h2 { (request.pick("Credited", "Repris")) }
        @if is_rest {
            p { (request.pick("All that is left of the invoice", "Tout ce qui reste de la facture")) }
        } @else {
            (parts(request, creditable, content))
        }
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
fn given<'r>(request: &'r PageRequest<'_>, creditable: &CreditForm) -> Vec<(String, &'r str)> {
    let names = ["lines", "what", "tvaRate", "amount"].map(str::to_owned);
    let names = names.into_iter().chain(creditable.shown.clone().map(quantity_name));
    names.filter_map(|name| request.form.given(&name).map(|text| (name.clone(), text))).collect()
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
            html! { (part.line + 1) ". " (entered(&shortened(name))) },
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
