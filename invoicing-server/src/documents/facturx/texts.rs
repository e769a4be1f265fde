//! The texts of a bill that were entered, each with its field.

use invoicing_core::{Invalid, Line};

use super::bill::Bill;
use super::xml::is_forbidden;

/// A text with the field that it was entered in.
type Entered<'a> = (&'static str, Option<&'a str>);

/// Refuses a text with a character that XML cannot hold.
pub(super) fn check(bill: Bill<'_>) -> Result<(), Invalid> {
    forbidden(bill).next().map_or(Ok(()), Err)
}

/// The texts with a character that XML cannot hold, one error for each.
pub(super) fn forbidden(bill: Bill<'_>) -> impl Iterator<Item = Invalid> {
    let head = company(bill).into_iter().chain(client(bill)).chain(document(bill));
    let head = head.filter_map(|(field, text)| refused(text?, || field.to_owned()));
    let lines = bill.view.lines.iter().enumerate();
    head.chain(lines.flat_map(|(index, line)| {
        let field = move |name: &str| format!("lines[{index}].{name}");
        of_line(line).into_iter().filter_map(move |(name, text)| refused(text?, || field(name)))
    }))
}

fn refused(text: &str, field: impl FnOnce() -> String) -> Option<Invalid> {
    let (place, character) = text.chars().enumerate().find(|(_, c)| is_forbidden(*c))?;
    let code = u32::from(character);
    let rule = format!("must not contain U+{code:04X} (character {}), which XML cannot hold", place + 1);
    Some(Invalid::new(field(), rule))
}

fn company(bill: Bill<'_>) -> [Entered<'_>; 16] {
    let identity = bill.identity();
    [
        ("company.name", Some(&bill.view.company.name)),
        ("company.address", identity.address.as_deref()),
        ("company.zipCode", identity.zip_code.as_deref()),
        ("company.city", identity.city.as_deref()),
        ("company.siret", identity.siret.as_deref()),
        ("company.vatNumber", identity.vat_number.as_deref()),
        ("company.electronicAddress", identity.electronic_address.as_deref()),
        ("company.legalForm", identity.legal_form.as_deref()),
        ("company.shareCapital", identity.share_capital.as_deref()),
        ("company.registration", identity.registration.as_deref()),
        ("company.latePenalty", identity.late_penalty.as_deref()),
        ("company.earlyPayment", identity.early_payment.as_deref()),
        ("company.insurance", identity.insurance.as_deref()),
        ("company.mediator", identity.mediator.as_deref()),
        ("company.iban", identity.iban.as_deref()),
        ("company.bic", identity.bic.as_deref()),
    ]
}

fn client(bill: Bill<'_>) -> [Entered<'_>; 9] {
    let client = bill.billing.buyer;
    [
        ("clientName", Some(bill.view.client.name)),
        ("clientEmail", bill.view.client.email),
        ("client.address", client.address.as_deref()),
        ("client.zipCode", client.zip_code.as_deref()),
        ("client.city", client.city.as_deref()),
        ("client.country", client.country.as_deref()),
        ("client.siren", client.siren.as_deref()),
        ("client.vatNumber", client.vat_number.as_deref()),
        ("client.electronicAddress", client.electronic_address.as_deref()),
    ]
}

fn document(bill: Bill<'_>) -> [Entered<'_>; 5] {
    let credited = bill.billing.credited;
    [
        ("number", Some(bill.view.number)),
        ("quoteNumber", bill.billing.quote_number),
        ("invoiceNumber", credited.map(|credited| credited.number)),
        ("reason", credited.map(|credited| credited.reason)),
        ("workSite", bill.view.work_site),
    ]
}

fn of_line(line: &Line) -> [Entered<'_>; 4] {
    [
        ("description", Some(&line.description)),
        ("unit", line.unit.as_deref()),
        ("lot", line.lot.as_deref()),
        ("section", line.section.as_deref()),
    ]
}
