//! A credit note on an invoice.

use std::ops::Range;

use invoicing_core::{
    CreditItem, CreditRest, Invalid, Invoice, InvoiceId, Money, NewCreditNote, Percent, Quantity, VatShare,
};
use maud::{Markup, html};

use super::change::{Asked, Change, question, refused};
use crate::Error;
use crate::console::error::PageError;
use crate::console::event_cells::shortened;
use crate::console::figures::Figures;
use crate::console::form::Form;
use crate::console::inputs::{Input, InputKind, id, number, value, written};
use crate::console::layout::{PageContent, entered, is_about, wrong};
use crate::console::lines::{self, MOST_LINES, parts_of};
use crate::console::request::{FormOutcome, PageRequest};

/// Most rates of which the form shows what is left.
const RATES: usize = 10;

/// An invoice, and the part of it that can be credited.
struct CreditForm {
    invoice: Invoice,
    rest: CreditRest,
    /// The lines that the form shows.
    shown: Range<usize>,
}

impl CreditForm {
    async fn read(request: &PageRequest<'_>) -> Result<Self, PageError> {
        let id: InvoiceId = request.id()?;
        let invoice = super::read(request, id).await?;
        let rest = request.company.invoices().credit_rest(id).await?;
        let from = lines::from(request, &invoice.lines)?;
        let shown = from..invoice.lines.len().min(from + MOST_LINES);
        Ok(Self { invoice, rest, shown })
    }

    /// The rates with a base that is left.
    fn rates(&self) -> Vec<VatShare> {
        self.rest.rates().filter(|share| !share.base_ht.is_zero()).collect()
    }
}

/// `GET /invoices/{id}/credit`. `lines`: the number of lines before the shown part.
pub(in crate::console) async fn new_credit(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let creditable = CreditForm::read(request).await?;
    Ok(page(request, &creditable, &Asked::of(&creditable.invoice.summary)))
}

/// `POST /invoices/{id}/credit`. `what`: `rest` for all that is left, else the quantities of lines
/// (`lines[0].quantity`) and a reduction (`description`, `tvaRate`, `amount`).
pub(in crate::console) async fn credit(request: &PageRequest<'_>) -> Result<FormOutcome, PageError> {
    let credited = match new_note(&request.form) {
        Ok(new) => {
            let credited = request.company.invoices().credit(request.id()?, &new).await;
            credited.map_err(|error| at_input(error, &new.items))
        }
        Err(invalid) => Err(invalid.into()),
    };
    match credited {
        Ok(note) => Ok(FormOutcome::See(format!("/credit-notes/{}?done=issued", note.summary.id))),
        Err(error) => {
            let creditable = CreditForm::read(request).await?;
            let invoice = &creditable.invoice.summary;
            refused(error, invoice, |asked| page(request, &creditable, asked))
        }
    }
}

/// The credit note that the form names.
fn new_note(form: &Form) -> Result<NewCreditNote, Invalid> {
    let mut new = NewCreditNote::new(form.text("reason"));
    new.rest = form.text("what") == "rest";
    let from = form.text("lines").parse().unwrap_or(0_usize);
    for line in from..from.saturating_add(MOST_LINES) {
        let name = quantity_name(line);
        if form.given(&name).is_some() {
            new = new.quantity(line, number::<Quantity>(form, &name)?);
        }
    }
    if form.given("description").is_some() || form.given("amount").is_some() {
        let (rate, amount): (Percent, Money) = (number(form, "tvaRate")?, number(form, "amount")?);
        new = new.reduction(form.text("description"), rate, amount);
    }
    Ok(new)
}

fn quantity_name(line: usize) -> String {
    format!("lines[{line}].quantity")
}

/// An error of an item, as the error of its input.
fn at_input(error: Error, items: &[CreditItem]) -> Error {
    let Error::Invalid(invalid) = &error else { return error };
    let part = invalid.field.strip_prefix("items[").and_then(|rest| rest.split_once("]."));
    let named = part.and_then(|(index, part)| Some((items.get(index.parse::<usize>().ok()?)?, part)));
    let input = match named {
        Some((CreditItem::Quantity { line, .. }, _)) => quantity_name(*line),
        Some((_, part)) => part.to_owned(),
        None => return error,
    };
    invalid.clone().in_field(input).into()
}

fn page(request: &PageRequest<'_>, creditable: &CreditForm, asked: &Asked<'_>) -> PageContent {
    let text = html! {
        p { (request.pick(
            "The credit note gets its own number and document, and cannot be changed. A payment beyond the rest of the invoice can \
             then be refunded.",
            "L’avoir reçoit son propre numéro et son document, et ne peut plus être modifié. Ce qui a été payé au-delà du reste de la \
             facture peut ensuite être remboursé.",
        )) }
        (parts_of(
            request,
            &format!("/invoices/{}/credit", asked.invoice.id),
            creditable.shown.clone(),
            creditable.invoice.lines.len(),
        ))
    };
    let names: Vec<_> = creditable.shown.clone().map(quantity_name).collect();
    let mut names: Vec<_> = names.iter().map(String::as_str).collect();
    names.extend(["items", "reason", "description", "tvaRate", "amount"]);
    let fields = html! {
        input type="hidden" name="lines" value=(creditable.shown.start) autocomplete="off";
        (reason(request, asked.error))
        (choice(request, asked.error))
        (quantities(request, creditable, asked.error))
        (reduction(request, creditable, asked.error))
    };
    question(request, Change::Credit, asked, &names, &text, &fields)
}

fn reason(request: &PageRequest<'_>, error: Option<&Error>) -> Markup {
    let reason = Input {
        kind: InputKind::Long,
        name: "reason",
        label: request.pick("Reason", "Motif"),
        value: value(request, "reason", ""),
        hint: request.pick("The client reads it on the credit note.", "Le client le lit sur l’avoir."),
    };
    reason.show(request, error)
}

/// No choice is made beforehand, as one of them takes back the whole invoice.
fn choice(request: &PageRequest<'_>, error: Option<&Error>) -> Markup {
    let chosen = value(request, "what", "");
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
    let figures = Figures::new(request.language, &creditable.invoice.summary.currency);
    html! {
        fieldset {
            legend { (request.pick("Quantities of lines", "Quantités de lignes")) }
            @for (index, line) in creditable.invoice.lines.iter().enumerate().take(creditable.shown.end).skip(creditable.shown.start) {
                @let (left, amount) = creditable.rest.line(index).unwrap_or_default();
                @if !left.is_zero() {
                    @let name = quantity_name(index);
                    @let input = id(&name);
                    label for=(input) { (index + 1) ". " (entered(&shortened(&line.description))) }
                    input id=(input) name=(name) type="text" inputmode="decimal" value=(value(request, &name, "")) autocomplete="off"
                        aria-invalid=[is_about(error, &name).then_some("true")] aria-describedby={ (input) "-hint" };
                    (wrong(request.language, error, &name, &input))
                    p.hint id={ (input) "-hint" } {
                        (request.pick("Left:", "Reste :")) " " (figures.quantity(left)) " · " (figures.amount(amount.get()))
                        " " (request.pick("excl. VAT", "HT"))
                    }
                }
            }
        }
    }
}

fn reduction(request: &PageRequest<'_>, creditable: &CreditForm, error: Option<&Error>) -> Markup {
    let rates = creditable.rates();
    let only = if let [only] = &*rates { written(request, &only.tva_rate) } else { String::new() };
    let left = left(request, creditable, &rates);
    let input = |kind, name, label, shown, hint| Input {
        kind,
        name,
        label,
        value: value(request, name, shown),
        hint,
    };
    html! {
        fieldset {
            legend { (request.pick("Reduction of the price", "Réduction du prix")) }
            (input(InputKind::Text, "description", request.pick("Text of the reduction", "Libellé de la réduction"), "", "")
                .show(request, error))
            (input(InputKind::Number, "tvaRate", request.pick("VAT rate in %", "Taux de TVA en %"), &only, &left).show(request, error))
            (input(InputKind::Number, "amount", request.pick("Amount excl. VAT", "Montant HT"), "", "").show(request, error))
        }
    }
}

/// The rest of the rates, for the hint of the reduction.
fn left(request: &PageRequest<'_>, creditable: &CreditForm, rates: &[VatShare]) -> String {
    let figures = Figures::new(request.language, &creditable.invoice.summary.currency);
    let parts = rates.iter().take(RATES).map(|share| {
        format!("{} ({})", figures.percent(share.tva_rate), figures.amount(share.base_ht.get()))
    });
    let parts: Vec<_> = parts.collect();
    let more = if rates.len() > RATES { ", …" } else { "" };
    format!("{} {}{more}", request.pick("Left excl. VAT:", "Reste HT :"), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use invoicing_core::{money, quantity};

    use super::*;

    fn read(query: &str) -> Result<NewCreditNote, Invalid> {
        new_note(&Form::query(query))
    }

    #[test]
    fn a_form_without_a_choice_credits_nothing() {
        let new = read("reason=x").unwrap();
        assert!(!new.rest && new.items.is_empty());
        assert_eq!(read("reason=x&what=rest").unwrap(), NewCreditNote::of_the_rest("x"));
    }

    #[test]
    fn the_quantities_and_the_reduction_are_the_items() {
        let query = "reason=x&what=part&lines=50&lines[51].quantity=2,5&lines[3].quantity=1&description=y&tvaRate=20&amount=10";
        let new = NewCreditNote::new("x").quantity(51, quantity!(2.5)).reduction("y", 20, money!(10));
        assert_eq!(read(query), Ok(new));
        assert_eq!(read("lines[0].quantity=x").unwrap_err().field, "lines[0].quantity");
        assert_eq!(read("amount=3").unwrap_err().field, "tvaRate");
    }

    #[test]
    fn an_error_of_an_item_is_that_of_its_input() {
        let new = NewCreditNote::new("x").quantity(7, 1).reduction("y", 20, 10);
        for (field, input) in [
            ("items[0].quantity", "lines[7].quantity"),
            ("items[1].tvaRate", "tvaRate"),
            ("items[9].amount", "items[9].amount"),
            ("items", "items"),
        ] {
            let Error::Invalid(invalid) = at_input(Invalid::new(field, "must").into(), &new.items) else {
                panic!()
            };
            assert_eq!(invalid.field, input);
        }
    }
}
