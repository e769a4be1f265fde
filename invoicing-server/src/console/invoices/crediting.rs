//! A credit note on an invoice. It is frozen once it is issued, so it has two pages: its parts are
//! entered on the first one, and the second one shows how they were read, with their total.

mod entries;
mod review;

use std::ops::Range;

use http::StatusCode;
use invoicing_core::{
    CreditContent, CreditItem, CreditableBalance, Invalid, Invoice, InvoiceId, Line, Money, NewCreditNote,
    Percent, Quantity, VatShare,
};

use super::change::{Asked, refused};
use crate::console::error::PageError;
use crate::console::figures::Figures;
use crate::console::form::Form;
use crate::console::inputs::number;
use crate::console::layout::PageContent;
use crate::console::lines::{self, LINES_PER_PART};
use crate::console::request::{Outcome, PageRequest};
use crate::error::Error;

/// An invoice, and the part of it that can be credited.
struct CreditForm {
    invoice: Invoice,
    balance: CreditableBalance,
    /// The lines that the form shows.
    shown: Range<usize>,
}

/// The texts of a credit note.
#[derive(Clone, Copy)]
struct Texts<'t> {
    reason: &'t str,
    /// The text of the reduction.
    description: &'t str,
}

impl CreditForm {
    async fn read(request: &PageRequest<'_>) -> Result<Self, PageError> {
        let id: InvoiceId = request.id()?;
        let invoice = super::read(request, id).await?;
        let balance = request.company.invoices().creditable_balance(id).await?;
        let from = lines::from(request, &invoice.lines)?;
        let shown = from..invoice.lines.len().min(from + LINES_PER_PART);
        Ok(Self { invoice, balance, shown })
    }

    /// The VAT rates at which a part of the base can still be credited.
    fn rates(&self) -> Vec<VatShare> {
        self.balance.rates().filter(|share| !share.base_ht.is_zero()).collect()
    }

    /// The content that a credit note of the entered parts would have. Its texts come later.
    fn outlook(&self, request: &PageRequest<'_>) -> Result<CreditContent, Error> {
        let texts = Texts {
            reason: request.pick("Reason", "Motif"),
            description: request.pick("Reduction of the price", "Réduction du prix"),
        };
        let new = new_note(request.figures(), &request.form, &self.invoice.lines, texts)?;
        let content = self.balance.clone().credit(&self.invoice, &new);
        content.map_err(|invalid| at_input(invalid.into(), &new.items))
    }
}

/// `GET /invoices/{id}/credit`. `lines`: the number of lines before the shown part. The fields of
/// the review fill the form in.
pub(in crate::console) async fn new_credit(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    Ok(entries::page(request, &CreditForm::read(request).await?, None))
}

/// `GET /invoices/{id}/credit/review`. `what`: `rest` for all that is left, else the quantities of
/// lines (`lines[0].quantity`) and a reduction (`tvaRate`, `amount`).
pub(in crate::console) async fn review_credit(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let creditable = CreditForm::read(request).await?;
    let asked = Asked::of(&creditable.invoice.summary);
    match creditable.outlook(request) {
        Ok(content) => {
            Ok(Outcome::Page(StatusCode::OK, review::page(request, &creditable, &content, &asked)))
        }
        Err(error) => Outcome::refused(error, |error| entries::page(request, &creditable, Some(error))),
    }
}

/// `POST /invoices/{id}/credit`, with the fields of the review, and `reason` and `description`.
pub(in crate::console) async fn credit(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let form = &request.form;
    let texts = Texts { reason: form.text("reason"), description: form.text("description") };
    let issued = super::read(request, request.id()?).await?;
    let credited = match new_note(request.figures(), form, &issued.lines, texts) {
        Ok(new) => {
            let credited = request.company.invoices().credit(issued.summary.id, &new).await;
            credited.map_err(|error| at_input(error, &new.items))
        }
        Err(invalid) => Err(invalid.into()),
    };
    match credited {
        Ok(note) => Ok(Outcome::See(format!("/credit-notes/{}?done=issued", note.summary.id))),
        Err(error) => {
            let creditable = CreditForm::read(request).await?;
            let invoice = &creditable.invoice.summary;
            refused(error, invoice, |asked| again(request, &creditable, asked))
        }
    }
}

/// The review again, or the entries if they can no longer be credited.
fn again(request: &PageRequest<'_>, creditable: &CreditForm, asked: &Asked<'_>) -> PageContent {
    match creditable.outlook(request) {
        Ok(content) => review::page(request, creditable, &content, asked),
        Err(error) => {
            let conflict = asked.error.filter(|error| matches!(error, Error::Conflict(_)));
            entries::page(request, creditable, Some(conflict.unwrap_or(&error)))
        }
    }
}

/// The credit note that the form names. A quantity has the sign of its line, as the keyboards of
/// phones have none.
fn new_note(
    figures: Figures<'_>,
    form: &Form,
    lines: &[Line],
    texts: Texts<'_>,
) -> Result<NewCreditNote, Invalid> {
    let mut new = NewCreditNote::new(texts.reason);
    new.remaining = form.text("what") == "rest";
    let from = form.text("lines").parse().unwrap_or(0_usize);
    for line in from..from.saturating_add(LINES_PER_PART) {
        let name = quantity_name(line);
        if form.given(&name).is_some() {
            let entered: Quantity = number(figures, form, &name)?;
            let is_discount = lines.get(line).is_some_and(|line| line.quantity.is_negative());
            let is_turned = is_discount && !entered.is_negative();
            new = new.quantity(line, if is_turned { Quantity::new(-entered.get())? } else { entered });
        }
    }
    if form.given("amount").is_some() {
        let rate: Percent = number(figures, form, "tvaRate")?;
        new = new.reduction(texts.description, rate, number::<Money>(figures, form, "amount")?);
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

#[cfg(test)]
mod tests {
    use invoicing_core::{NewLine, Rule, money, price_lines, quantity};

    use super::*;
    use crate::console::Language;

    fn read(query: &str) -> Result<NewCreditNote, Invalid> {
        let texts = Texts { reason: "x", description: "y" };
        let lines = [NewLine::new("Pose", 10, 5, 20), NewLine::new("Remise", -1, 100, 20)];
        let lines = price_lines(&lines).unwrap().lines;
        new_note(Figures::new(Language::French, "EUR"), &Form::query(query), &lines, texts)
    }

    #[test]
    fn a_discount_is_credited_with_the_sign_of_its_line() {
        let new = NewCreditNote::new("x").quantity(1, quantity!(-0.5));
        for query in ["lines[1].quantity=0,5", "lines[1].quantity=-0,5"] {
            assert_eq!(read(query).unwrap(), new, "{query}");
        }
        assert_eq!(read("lines[0].quantity=2").unwrap(), NewCreditNote::new("x").quantity(0, 2));
    }

    #[test]
    fn a_form_without_a_choice_credits_nothing() {
        let new = read("").unwrap();
        assert!(!new.remaining && new.items.is_empty());
        assert_eq!(read("what=rest").unwrap(), NewCreditNote::of_remaining("x"));
    }

    #[test]
    fn the_quantities_and_the_reduction_are_the_items() {
        let query = "what=part&lines=50&lines[51].quantity=2,5&lines[3].quantity=1&tvaRate=20&amount=10";
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
            let Error::Invalid(invalid) = at_input(Invalid::new(field, Rule::Above0).into(), &new.items)
            else {
                panic!()
            };
            assert_eq!(invalid.field, input);
        }
    }
}
