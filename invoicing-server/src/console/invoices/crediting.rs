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
use crate::console::inputs::{number, written};
use crate::console::layout::PageContent;
use crate::console::lines::{self, LINES_PER_PART};
use crate::console::request::{Outcome, PageRequest};
use crate::error::Error;

/// Maximum number of discounts beside a part of the lines: with it they stay below the maximum of
/// fields of a form.
const DISCOUNTS: usize = 30;

/// An invoice, the part of it that can be credited, and what is entered about it.
struct CreditForm {
    invoice: Invoice,
    balance: CreditableBalance,
    /// The part of the lines that the form shows.
    part: Range<usize>,
    /// The entered fields, with the proposed ones.
    form: Form,
    /// The discounts whose share is proposed, as indexes of lines.
    proposed: Vec<usize>,
}

/// A credit note as it would be issued.
struct Outlook {
    content: CreditContent,
    /// The lines, with quantities that stay sold although nothing is left of the invoice.
    stays_sold: Vec<(usize, Quantity)>,
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
        let balance = request.company.invoices().creditable_balance(&invoice).await?;
        let part = part_of(&invoice.lines, lines::from(request, &invoice.lines)?);
        Ok(Self { invoice, balance, part, form: request.form.clone(), proposed: Vec::new() })
    }

    /// The lines whose quantities the form asks for.
    fn asked_lines(&self) -> impl Iterator<Item = usize> {
        asked_lines(&self.invoice.lines, self.part.clone())
    }

    /// Enters the share of each discount that was left empty, in the quantities that are entered.
    fn propose_shares(&mut self, request: &PageRequest<'_>) -> Result<(), Error> {
        let new = self.new_note(request)?;
        if new.remaining {
            return Ok(());
        }
        let shares = self.balance.discount_shares(&self.invoice, &new.items);
        for (line, share) in shares.map_err(|invalid| at_input(invalid.into(), &new.items))? {
            let name = quantity_name(line);
            if self.form.given(&name).is_none() && self.asked_lines().any(|asked| asked == line) {
                self.form = std::mem::take(&mut self.form).with(name, written(request, &share));
                self.proposed.push(line);
            }
        }
        Ok(())
    }

    /// The VAT rates at which a part of the base can still be credited.
    fn rates(&self) -> Vec<VatShare> {
        self.balance.rates().filter(|share| !share.base_ht.is_zero()).collect()
    }

    /// The credit note of the entered parts. Its texts come later.
    fn new_note(&self, request: &PageRequest<'_>) -> Result<NewCreditNote, Invalid> {
        let texts = Texts {
            reason: request.pick("Reason", "Motif"),
            description: request.pick("Reduction of the price", "Réduction du prix"),
        };
        new_note(request.figures(), &self.form, &self.invoice.lines, texts)
    }

    /// The credit note as it would be issued.
    fn outlook(&self, request: &PageRequest<'_>) -> Result<Outlook, Error> {
        let new = self.new_note(request)?;
        let content = self.balance.clone().credit(&self.invoice, &new);
        let content = content.map_err(|invalid| at_input(invalid.into(), &new.items))?;
        Ok(Outlook { stays_sold: self.stays_sold(&content)?, content })
    }

    /// The lines, with the quantities that stay sold, if this content takes all that is left of the
    /// invoice but not of its quantities.
    fn stays_sold(&self, content: &CreditContent) -> Result<Vec<(usize, Quantity)>, Invalid> {
        let mut left = self.balance.clone();
        left.take(&content.parts, &content.vat_breakdown)?;
        if left.rates().any(|share| !share.base_ht.is_zero() || !share.amount_tva.is_zero()) {
            return Ok(Vec::new());
        }
        let lines = (0..self.invoice.lines.len()).filter_map(|line| Some((line, left.line(line)?.0)));
        Ok(lines.filter(|(_, quantity)| *quantity > Quantity::ZERO).collect())
    }
}

/// The lines of a part, and the first discounts of the others: they belong to no part.
fn asked_lines(lines: &[Line], part: Range<usize>) -> impl Iterator<Item = usize> {
    let others = (0..part.start).chain(part.end..lines.len());
    part.chain(others.filter(move |line| is_discount(&lines[*line])).take(DISCOUNTS))
}

/// The part of the lines behind the first `from`.
fn part_of(lines: &[Line], from: usize) -> Range<usize> {
    let from = from.min(lines.len());
    from..lines.len().min(from + LINES_PER_PART)
}

fn is_discount(line: &Line) -> bool {
    line.quantity.is_negative()
}

/// `GET /invoices/{id}/credit`. `lines`: the number of lines before the shown part. The fields of
/// the review fill the form in.
pub(in crate::console) async fn new_credit(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    Ok(entries::page(request, &CreditForm::read(request).await?, None))
}

/// `GET /invoices/{id}/credit/review`. `what`: `rest` for all that is left, else the quantities of
/// lines (`lines[0].quantity`) and a reduction (`tvaRate`, `amount`).
pub(in crate::console) async fn review_credit(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let mut creditable = CreditForm::read(request).await?;
    let outlook = creditable.propose_shares(request).and_then(|()| creditable.outlook(request));
    let asked = Asked::of(&creditable.invoice.summary);
    match outlook {
        Ok(outlook) => {
            Ok(Outcome::Page(StatusCode::OK, review::page(request, &creditable, &outlook, &asked)))
        }
        Err(error) => {
            creditable.form = request.form.clone();
            Outcome::refused(error, |error| entries::page(request, &creditable, Some(error)))
        }
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
        Ok(outlook) => review::page(request, creditable, &outlook, asked),
        Err(error) => {
            let conflict = asked.error.filter(|error| matches!(error, Error::Conflict(_)));
            entries::page(request, creditable, Some(conflict.unwrap_or(&error)))
        }
    }
}

/// The credit note that the form names. A quantity has the sign of its line, as the keyboards of
/// phones have none, and a discount of which 0 is entered is left out.
fn new_note(
    figures: Figures<'_>,
    form: &Form,
    lines: &[Line],
    texts: Texts<'_>,
) -> Result<NewCreditNote, Invalid> {
    let mut new = NewCreditNote::new(texts.reason);
    new.remaining = form.text("what") == "rest";
    let from = form.text("lines").parse().unwrap_or_default();
    for index in asked_lines(lines, part_of(lines, from)) {
        let name = quantity_name(index);
        if form.given(&name).is_none() {
            continue;
        }
        let entered: Quantity = number(figures, form, &name)?;
        new = match &lines[index] {
            line if is_discount(line) && entered.is_zero() => new,
            line if is_discount(line) && !entered.is_negative() => {
                new.quantity(index, Quantity::new(-entered.get())?)
            }
            _ => new.quantity(index, entered),
        };
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
    use crate::console::form::MAX_FIELDS;

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

    /// The discounts are asked for with each part of the lines.
    #[test]
    fn a_part_of_the_lines_has_the_discounts_of_the_others() {
        let line = |quantity: i32| NewLine::new("Pose", quantity, 5, 20);
        let lines: Vec<_> = (0..120).map(|n| line(if n == 7 || n >= 70 { -1 } else { 90 })).collect();
        let lines = price_lines(&lines).unwrap().lines;
        let asked = |from| asked_lines(&lines, part_of(&lines, from)).collect::<Vec<_>>();
        assert_eq!(asked(0), (0..50).chain(70..100).collect::<Vec<_>>());
        assert_eq!(asked(50), (50..100).chain([7]).chain(100..120).collect::<Vec<_>>());
        assert_eq!(asked(usize::MAX), [7].into_iter().chain(70..99).collect::<Vec<_>>());
        // With the other fields of the form, all are read.
        const { assert!(LINES_PER_PART + DISCOUNTS + 15 <= MAX_FIELDS) };
    }

    #[test]
    fn a_discount_of_which_0_is_entered_is_left_out() {
        let new = read("lines[0].quantity=2&lines[1].quantity=0").unwrap();
        assert_eq!(new, NewCreditNote::new("x").quantity(0, 2));
        assert_eq!(read("lines[0].quantity=0").unwrap(), NewCreditNote::new("x").quantity(0, 0));
    }

    #[test]
    fn a_form_without_a_choice_credits_nothing() {
        let new = read("").unwrap();
        assert!(!new.remaining && new.items.is_empty());
        assert_eq!(read("what=rest").unwrap(), NewCreditNote::of_remaining("x"));
    }

    #[test]
    fn the_quantities_and_the_reduction_are_the_items() {
        let query = "what=part&lines[0].quantity=2,5&lines[9].quantity=1&tvaRate=20&amount=10";
        let new = NewCreditNote::new("x").quantity(0, quantity!(2.5)).reduction("y", 20, money!(10));
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
