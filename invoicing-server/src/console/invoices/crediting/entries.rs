//! The first page of a credit note: the parts of the invoice that it takes back.

use invoicing_core::VatShare;
use maud::{Markup, html};

use super::{CreditForm, is_discount, quantity_name};
use crate::console::event_cells::shortened;
use crate::console::inputs::{Input, InputKind, id, problem_of, written};
use crate::console::invoices::change::{Change, facts};
use crate::console::layout::{Chapter, PageContent, entered, is_about, wrong};
use crate::console::lines::parts_of;
use crate::console::request::PageRequest;
use crate::error::Error;

/// Maximum number of rates of which the form shows what is left.
const RATES: usize = 10;

/// The page, with the error of its entries.
pub(super) fn page(request: &PageRequest<'_>, creditable: &CreditForm, error: Option<&Error>) -> PageContent {
    let invoice = &creditable.invoice.summary;
    let names: Vec<_> = creditable.asked_lines().map(quantity_name).collect();
    let mut names: Vec<_> = names.iter().map(String::as_str).collect();
    names.extend(["items", "tvaRate", "amount"]);
    let (title, path) = (Change::Credit.title(request), format!("/invoices/{}/credit", invoice.id));
    let body = html! {
        h1 { (title) }
        (problem_of(request, error, &names))
        (facts(request, invoice))
        p { (request.pick(
            "Enter what the credit note takes back. The next page shows it as it was read, with its total. Nothing is issued before.",
            "Saisissez ce que l’avoir reprend. La page suivante le montre tel qu’il a été lu, avec son total. Rien n’est émis avant.",
        )) }
        (parts_of(request, &path, creditable.part.clone(), creditable.invoice.lines.len()))
        form method="get" action=(request.link(format!("{path}/review"))) {
            input type="hidden" name="lines" value=(creditable.part.start) autocomplete="off";
            (choice(request, creditable, error))
            (quantities(request, creditable, error))
            (reduction(request, creditable, error))
            p.actions {
                button { (request.pick("Check the credit note", "Vérifier l’avoir")) }
                a href=(request.link(format!("/invoices/{}", invoice.id))) { (request.pick("Back", "Retour")) }
            }
        }
    };
    PageContent::new(title, Chapter::Invoices, body)
}

/// The value of an input: the entered or proposed one, also on the way back from the review, else
/// `shown`.
fn value<'r>(creditable: &'r CreditForm, name: &str, shown: &'r str) -> &'r str {
    creditable.form.values(name).next().unwrap_or(shown)
}

/// No choice is made beforehand, as one of them takes back the whole invoice.
fn choice(request: &PageRequest<'_>, creditable: &CreditForm, error: Option<&Error>) -> Markup {
    let chosen = value(creditable, "what", "");
    let choices = [
        ("rest", request.pick("All that is left of the invoice", "Tout ce qui reste de la facture")),
        ("part", request.pick("The parts that are entered below", "Les parties saisies ci-dessous")),
    ];
    html! {
        fieldset #items tabindex="-1" aria-describedby=[is_about(error, "items").then_some("items-wrong")] {
            legend { (request.pick("Credit", "Avoir")) }
            (wrong(request.language, error, "items", "items"))
            @for (name, text) in choices {
                label.choice {
                    input type="radio" name="what" value=(name) required checked[chosen == name];
                    span { (text) }
                }
            }
        }
    }
}

fn quantities(request: &PageRequest<'_>, creditable: &CreditForm, error: Option<&Error>) -> Markup {
    let figures = request.figures();
    html! {
        fieldset {
            legend { (request.pick("Quantities of lines", "Quantités de lignes")) }
            @for index in creditable.asked_lines() {
                @let line = &creditable.invoice.lines[index];
                @let (left, amount) = creditable.balance.line(index).unwrap_or_default();
                @if !left.is_zero() {
                    @let name = quantity_name(index);
                    @let input = id(&name);
                    label for=(input) { (index + 1) ". " (entered(&shortened(&line.description))) }
                    input id=(input) name=(name) type="text" inputmode="decimal" value=(value(creditable, &name, "")) autocomplete="off"
                        aria-invalid=[is_about(error, &name).then_some("true")] aria-describedby={ (input) "-hint" };
                    (wrong(request.language, error, &name, &input))
                    p.hint id={ (input) "-hint" } {
                        (request.pick("Left:", "Reste :")) " " (figures.quantity(left)) " · " (figures.amount(amount.get()))
                        " " (request.pick("excl. VAT", "HT"))
                        @if is_discount(line) {
                            ". " (request.pick(
                                "If this is empty, the next page proposes a share; with 0 there is none.",
                                "Si ce champ est vide, la page suivante propose une part ; avec 0, il n’y en a pas.",
                            ))
                        }
                    }
                }
            }
        }
    }
}

fn reduction(request: &PageRequest<'_>, creditable: &CreditForm, error: Option<&Error>) -> Markup {
    let rates = creditable.rates();
    let only = if let [only] = &*rates { written(request, &only.tva_rate) } else { String::new() };
    let left = left(request, &rates);
    let rate = Input {
        kind: InputKind::Number,
        name: "tvaRate",
        label: request.pick("VAT rate in %", "Taux de TVA en %"),
        value: value(creditable, "tvaRate", &only),
        hint: &left,
    };
    let amount = Input {
        name: "amount",
        label: request.pick("Amount excl. VAT", "Montant HT"),
        value: value(creditable, "amount", ""),
        hint: "",
        ..rate
    };
    html! {
        fieldset {
            legend { (request.pick("Reduction of the price", "Réduction du prix")) }
            (rate.show(request, error))
            (amount.show(request, error))
        }
    }
}

/// The base left of each rate, for the hint of the reduction.
fn left(request: &PageRequest<'_>, rates: &[VatShare]) -> String {
    let figures = request.figures();
    let parts = rates.iter().take(RATES).map(|share| {
        format!("{} ({})", figures.percent(share.tva_rate), figures.amount(share.base_ht.get()))
    });
    let parts: Vec<_> = parts.collect();
    let more = if rates.len() > RATES { ", …" } else { "" };
    format!("{} {}{more}", request.pick("Left excl. VAT:", "Reste HT :"), parts.join(", "))
}
