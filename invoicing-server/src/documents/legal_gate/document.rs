//! The document itself: number, dates, reason, lines.

use chrono::{Datelike, Days, NaiveDate};

use super::case::{Case, found_about, found_if, is_blank};
use super::{Asked, BLANK, CREDIT_NOTES, EVERY, INVOICES, ISSUED, LegalRule, NONE, OFFERED};

/// Maximum number of characters of a number.
const NUMBER: usize = 35;
/// Maximum number of days that a business may have for paying.
const DAYS: Days = Days::new(60);

pub(super) const RULES: &[LegalRule] = &[
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 8°",
        about: EVERY,
        field: "lines",
        english: "There is no line.",
        french: "Il n’y a pas de ligne.",
        finds: |case| found_if(case.lines.is_empty()),
        ..OF_DOCUMENT
    },
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 8°",
        about: EVERY,
        field: "lines[].description",
        english: "The line has no description.",
        french: "La ligne n’a pas de désignation.",
        finds: |case| case.lines_with(|line| is_blank(&line.description)),
        ..OF_DOCUMENT
    },
    LegalRule {
        source: "BR-27",
        field: "lines[].unitPrice",
        english: "A unit price cannot be negative; a negative quantity makes a discount.",
        french: "Un prix unitaire ne peut pas être négatif ; une quantité négative fait une remise.",
        finds: |case| case.lines_with(|line| line.unit_price.is_negative()),
        ..OF_XML
    },
    LegalRule {
        source: "CGI, art. 289, I, 5",
        about: CREDIT_NOTES,
        refused: CREDIT_NOTES,
        field: "reason",
        english: "The reason is empty.",
        french: "Le motif de l’avoir est vide.",
        finds: |case| found_if(case.credited.is_some_and(|credited| is_blank(credited.reason))),
        ..OF_DOCUMENT
    },
    LegalRule {
        source: "C. com., art. L441-9",
        about: INVOICES,
        field: "dueDate",
        english: "The invoice has no due date.",
        french: "La facture n’a pas d’échéance.",
        finds: |case| found_if(case.due_date.is_none()),
        ..OF_DOCUMENT
    },
    LegalRule {
        source: "C. com., art. L441-9",
        about: INVOICES,
        field: "dueDate",
        english: "The due date is before the date of issue.",
        french: "L’échéance précède la date de la facture.",
        finds: |case| found_if(case.due_date.is_some_and(|due| due < case.issued_on)),
        ..OF_DOCUMENT
    },
    LegalRule {
        source: "C. com., art. L441-10",
        about: INVOICES,
        refused: NONE,
        field: "dueDate",
        english: "A business pays within 60 days of the date of the invoice.",
        french: "Un professionnel paie au plus tard 60 jours après la date de la facture.",
        finds: |case| found_if(case.business().is_some() && is_late(case)),
        ..OF_DOCUMENT
    },
    LegalRule {
        source: "CGI, art. 289, I, 3",
        about: INVOICES,
        refused: NONE,
        field: "suppliedOn",
        english: "The supply is in the future; an invoice is made when it is done.",
        french: "La prestation est à venir ; la facture se fait quand elle est réalisée.",
        finds: |case| found_if(case.day_of_supply() > case.issued_on),
        ..OF_DOCUMENT
    },
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 10°",
        about: ISSUED,
        refused: ISSUED,
        field: "periodEnd",
        english: "The period ends before it begins.",
        french: "La période se termine avant son début.",
        finds: |case| found_if(case.period.is_some_and(|(first, last)| last < first)),
        ..OF_DOCUMENT
    },
    LegalRule {
        source: "BR-FR-01, BR-FR-02",
        field: "number",
        english: "The number “{}” must have 1 to 35 letters, digits, “+”, “-”, “_” and “/”.",
        french: "Le numéro « {} » doit avoir 1 à 35 lettres, chiffres, « + », « - », « _ » et « / ».",
        finds: |case| found_about(Some(case.number).filter(|number| is_odd(number)).map(str::to_owned)),
        ..OF_XML
    },
    LegalRule {
        source: "BR-FR-01, BR-FR-02",
        field: "invoiceNumber",
        english: "The number “{}” must have 1 to 35 letters, digits, “+”, “-”, “_” and “/”.",
        french: "Le numéro « {} » doit avoir 1 à 35 lettres, chiffres, « + », « - », « _ » et « / ».",
        finds: |case| {
            let number = case.credited.map(|credited| credited.number);
            found_about(number.filter(|number| is_odd(number)).map(str::to_owned))
        },
        ..OF_XML
    },
    year("issueDate", |case| outside(Some(case.issued_on))),
    year("dueDate", |case| outside(case.due_date)),
    year("suppliedOn", |case| outside(case.supplied_on)),
    year("periodStart", |case| outside(case.period.map(|(first, _)| first))),
    year("periodEnd", |case| outside(case.period.map(|(_, last)| last))),
    year("invoiceDate", |case| outside(case.credited.map(|credited| credited.issue_date))),
];

/// The common part of the rules about every document.
const OF_DOCUMENT: LegalRule = LegalRule { about: OFFERED, ..BLANK };

/// The common part of the rules of the XML. A credit note is refused for its own dates and number.
const OF_XML: LegalRule = LegalRule { asked: Asked::InXml, about: ISSUED, refused: ISSUED, ..OF_DOCUMENT };

const fn year(field: &'static str, finds: fn(&Case<'_>) -> Vec<super::Found>) -> LegalRule {
    LegalRule {
        source: "BR-FR-03",
        field,
        english: "The date {} is not between 2000 and 2099.",
        french: "La date {} n’est pas comprise entre 2000 et 2099.",
        finds,
        ..OF_XML
    }
}

fn outside(day: Option<NaiveDate>) -> Vec<super::Found> {
    found_about(day.filter(|day| !(2000..=2099).contains(&day.year())).map(|day| day.to_string()))
}

/// True for a number that is too long, or has other characters than platforms take.
fn is_odd(number: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"+-_/".contains(&byte);
    number.is_empty() || number.len() > NUMBER || !number.bytes().all(is_known)
}

fn is_late(case: &Case<'_>) -> bool {
    let last = case.issued_on.checked_add_days(DAYS);
    case.due_date.zip(last).is_some_and(|(due, last)| due > last)
}
