//! The gaps of the document itself: number, dates, currency, lines.
//!
//! A credit note repeats the parties of its invoice and is issued without a look at its gaps. Its
//! own ones are named all the same, so that the tests compare records of every kind with the
//! official rules.

use chrono::{Datelike, NaiveDate};

use super::is_blank;
use crate::documents::facturx::einvoice::EInvoice;
use crate::records::ReadinessGap;

const EURO: &str = "EUR";
/// Maximum number of characters of a number.
const NUMBER: usize = 35;

pub(super) fn gaps(invoice: EInvoice<'_>) -> impl Iterator<Item = ReadinessGap> {
    let one = [
        number(invoice),
        credited_number(invoice),
        currency(invoice.view.currency),
        reason(invoice),
        no_lines(invoice),
    ];
    let order = [due_date(invoice), period(invoice)];
    one.into_iter().chain(order).flatten().chain(years(invoice)).chain(lines(invoice))
}

fn number(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    not_a_number("number", invoice.view.number)
}

fn credited_number(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    not_a_number("invoiceNumber", invoice.issued.credited?.number)
}

/// The gap of a number that is too long, or has other characters than platforms take.
fn not_a_number(field: &str, number: &str) -> Option<ReadinessGap> {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"+-_/".contains(&byte);
    let rule = match number {
        _ if number.len() > NUMBER => "BR-FR-01",
        _ if number.is_empty() || !number.bytes().all(is_known) => "BR-FR-02",
        _ => return None,
    };
    let english = format!("The number {number:?} must have 1 to 35 letters, digits, `+`, `-`, `_` and `/`.");
    let french = format!("Le numéro « {number} » doit avoir 1 à 35 lettres, chiffres, `+`, `-`, `_` et `/`.");
    Some(ReadinessGap::new(field, rule, english, french))
}

pub(super) fn currency(currency: &str) -> Option<ReadinessGap> {
    (currency != EURO).then(|| {
        let english = format!("An electronic invoice is in EUR, not in {currency}.");
        let french = format!("Une facture électronique est en EUR, et non en {currency}.");
        ReadinessGap::new("currency", "BR-FR-CO-12", english, french)
    })
}

fn reason(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    let reason = invoice.issued.credited?.reason;
    is_blank(reason)
        .then(|| ReadinessGap::new("reason", "BG-1", "The reason is empty.", "Le motif de l’avoir est vide."))
}

fn no_lines(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    invoice.view.lines.is_empty().then(|| {
        ReadinessGap::new("lines", "BR-16", "The invoice has no line.", "La facture n’a pas de ligne.")
    })
}

fn due_date(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    let gap = |rule, english, french| Some(ReadinessGap::new("dueDate", rule, english, french));
    match invoice.issued.due_date {
        None if !invoice.is_credit_note() => {
            gap("BR-CO-25", "The invoice has no due date.", "La facture n’a pas d’échéance.")
        }
        Some(due) if due < invoice.view.issued_on => {
            let french = "L’échéance précède la date de la facture.";
            gap("BR-FR-CO-07", "The due date is before the date of issue.", french)
        }
        _ => None,
    }
}

fn period(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    let (first, last) = invoice.issued.period?;
    (last < first).then(|| {
        let french = "La période se termine avant son début.";
        ReadinessGap::new("periodEnd", "BR-29", "The period ends before it begins.", french)
    })
}

fn years(invoice: EInvoice<'_>) -> impl Iterator<Item = ReadinessGap> {
    let period = invoice.issued.period;
    let days = [
        ("issueDate", Some(invoice.view.issued_on)),
        ("dueDate", invoice.issued.due_date),
        ("suppliedOn", invoice.issued.supplied_on),
        ("periodStart", period.map(|(first, _)| first)),
        ("periodEnd", period.map(|(_, last)| last)),
        ("invoiceDate", invoice.issued.credited.map(|credited| credited.issue_date)),
    ];
    days.into_iter().filter_map(|(field, day)| day.and_then(|day| year(field, day)))
}

fn year(field: &str, day: NaiveDate) -> Option<ReadinessGap> {
    (!(2000..=2099).contains(&day.year())).then(|| {
        let english = format!("The date {day} is not between 2000 and 2099.");
        let french = format!("La date {day} n’est pas comprise entre 2000 et 2099.");
        ReadinessGap::new(field, "BR-FR-03", english, french)
    })
}

fn lines(invoice: EInvoice<'_>) -> impl Iterator<Item = ReadinessGap> {
    invoice.view.lines.iter().enumerate().flat_map(|(index, line)| {
        let field = |name| format!("lines[{index}].{name}");
        let text = is_blank(&line.description).then(|| {
            let french = "La ligne n’a pas de désignation.";
            ReadinessGap::new(field("description"), "BR-25", "The line has no description.", french)
        });
        let price = line.unit_price.is_negative().then(|| {
            let french = "Un prix unitaire ne peut pas être négatif.";
            ReadinessGap::new(field("unitPrice"), "BR-27", "A unit price cannot be negative.", french)
        });
        text.into_iter().chain(price)
    })
}
