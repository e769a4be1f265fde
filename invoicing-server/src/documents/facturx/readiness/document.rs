//! The gaps of the document itself: number, dates, currency, lines.
//!
//! A credit note repeats the parties of its invoice and is issued without a look at its gaps. Its
//! own ones are named all the same, so that the tests compare records of every kind with the
//! official rules.

use chrono::{Datelike, NaiveDate};

use super::is_blank;
use crate::documents::facturx::bill::Bill;
use crate::records::Missing;

const EURO: &str = "EUR";
/// The most characters of a number.
const NUMBER: usize = 35;

pub(super) fn gaps(bill: Bill<'_>) -> impl Iterator<Item = Missing> {
    let one =
        [number(bill), credited_number(bill), currency(bill.view.currency), reason(bill), no_lines(bill)];
    let order = [due_date(bill), period(bill)];
    one.into_iter().chain(order).flatten().chain(years(bill)).chain(lines(bill))
}

fn number(bill: Bill<'_>) -> Option<Missing> {
    not_a_number("number", bill.view.number)
}

fn credited_number(bill: Bill<'_>) -> Option<Missing> {
    not_a_number("invoiceNumber", bill.billing.credited?.number)
}

/// The gap of a number that is too long, or has other characters than platforms take.
fn not_a_number(field: &str, number: &str) -> Option<Missing> {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"+-_/".contains(&byte);
    let rule = match number {
        _ if number.len() > NUMBER => "BR-FR-01",
        _ if number.is_empty() || !number.bytes().all(is_known) => "BR-FR-02",
        _ => return None,
    };
    let english = format!("The number {number:?} must have 1 to 35 letters, digits, `+`, `-`, `_` and `/`.");
    let french = format!("Le numéro « {number} » doit avoir 1 à 35 lettres, chiffres, `+`, `-`, `_` et `/`.");
    Some(Missing::new(field, rule, english, french))
}

pub(super) fn currency(currency: &str) -> Option<Missing> {
    (currency != EURO).then(|| {
        let english = format!("An electronic invoice is in EUR, not in {currency}.");
        let french = format!("Une facture électronique est en EUR, et non en {currency}.");
        Missing::new("currency", "BR-FR-CO-12", english, french)
    })
}

fn reason(bill: Bill<'_>) -> Option<Missing> {
    let reason = bill.billing.credited?.reason;
    is_blank(reason)
        .then(|| Missing::new("reason", "BG-1", "The reason is empty.", "Le motif de l’avoir est vide."))
}

fn no_lines(bill: Bill<'_>) -> Option<Missing> {
    bill.view
        .lines
        .is_empty()
        .then(|| Missing::new("lines", "BR-16", "The invoice has no line.", "La facture n’a pas de ligne."))
}

fn due_date(bill: Bill<'_>) -> Option<Missing> {
    let gap = |rule, english, french| Some(Missing::new("dueDate", rule, english, french));
    match bill.billing.due_date {
        None if !bill.is_credit_note() => {
            gap("BR-CO-25", "The invoice has no due date.", "La facture n’a pas d’échéance.")
        }
        Some(due) if due < bill.view.issued_on => {
            let french = "L’échéance précède la date de la facture.";
            gap("BR-FR-CO-07", "The due date is before the date of issue.", french)
        }
        _ => None,
    }
}

fn period(bill: Bill<'_>) -> Option<Missing> {
    let (first, last) = bill.billing.period?;
    (last < first).then(|| {
        let french = "La période se termine avant son début.";
        Missing::new("periodEnd", "BR-29", "The period ends before it begins.", french)
    })
}

fn years(bill: Bill<'_>) -> impl Iterator<Item = Missing> {
    let period = bill.billing.period;
    let days = [
        ("issueDate", Some(bill.view.issued_on)),
        ("dueDate", bill.billing.due_date),
        ("suppliedOn", bill.billing.supplied_on),
        ("periodStart", period.map(|(first, _)| first)),
        ("periodEnd", period.map(|(_, last)| last)),
        ("invoiceDate", bill.billing.credited.map(|credited| credited.issue_date)),
    ];
    days.into_iter().filter_map(|(field, day)| day.and_then(|day| year(field, day)))
}

fn year(field: &str, day: NaiveDate) -> Option<Missing> {
    (!(2000..=2099).contains(&day.year())).then(|| {
        let english = format!("The date {day} is not between 2000 and 2099.");
        let french = format!("La date {day} n’est pas comprise entre 2000 et 2099.");
        Missing::new(field, "BR-FR-03", english, french)
    })
}

fn lines(bill: Bill<'_>) -> impl Iterator<Item = Missing> {
    bill.view.lines.iter().enumerate().flat_map(|(index, line)| {
        let field = |name| format!("lines[{index}].{name}");
        let text = is_blank(&line.description).then(|| {
            let french = "La ligne n’a pas de désignation.";
            Missing::new(field("description"), "BR-25", "The line has no description.", french)
        });
        let price = line.unit_price.is_negative().then(|| {
            let french = "Un prix unitaire ne peut pas être négatif.";
            Missing::new(field("unitPrice"), "BR-27", "A unit price cannot be negative.", french)
        });
        text.into_iter().chain(price)
    })
}
