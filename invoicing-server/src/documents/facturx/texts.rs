//! The texts of an e-invoice that were entered, each with its field.

use invoicing_core::{Invalid, Line, Rule};

use super::einvoice::EInvoice;
use super::xml::is_forbidden;

/// A text with the field that it was entered in.
type Entered<'a> = (&'static str, Option<&'a str>);

/// Refuses a text with a character that XML cannot hold.
pub(super) fn check(invoice: EInvoice<'_>) -> Result<(), Invalid> {
    forbidden(invoice).next().map_or(Ok(()), Err)
}

/// The texts with a character that XML cannot hold, one error for each.
pub(super) fn forbidden(invoice: EInvoice<'_>) -> impl Iterator<Item = Invalid> {
    let head = company(invoice).into_iter().chain(client(invoice)).chain(document(invoice));
    let head = head.filter_map(|(field, text)| refused(text?, || field.to_owned()));
    let lines = invoice.view.lines.iter().enumerate();
    head.chain(lines.flat_map(|(index, line)| {
        let field = move |name: &str| format!("lines[{index}].{name}");
        of_line(line).into_iter().filter_map(move |(name, text)| refused(text?, || field(name)))
    }))
}

fn refused(text: &str, field: impl FnOnce() -> String) -> Option<Invalid> {
    let (before, character) = text.chars().enumerate().find(|(_, c)| is_forbidden(*c))?;
    let rule = Rule::CharacterOfXml { code_point: character.into(), position: Some(before + 1) };
    Some(Invalid::new(field(), rule))
}

fn company(invoice: EInvoice<'_>) -> [Entered<'_>; 16] {
    let identity = invoice.identity();
    [
        ("company.name", Some(&invoice.view.company.name)),
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

fn client(invoice: EInvoice<'_>) -> [Entered<'_>; 13] {
    let client = invoice.view.buyer;
    let billing = client.billing_address.as_ref();
    [
        ("clientName", Some(invoice.view.client.name)),
        ("clientEmail", invoice.view.client.email),
        ("client.address", client.address.as_deref()),
        ("client.zipCode", client.zip_code.as_deref()),
        ("client.city", client.city.as_deref()),
        ("client.country", client.country.as_deref()),
        ("client.billingAddress.address", billing.and_then(|billing| billing.address.as_deref())),
        ("client.billingAddress.zipCode", billing.and_then(|billing| billing.zip_code.as_deref())),
        ("client.billingAddress.city", billing.and_then(|billing| billing.city.as_deref())),
        ("client.billingAddress.country", billing.and_then(|billing| billing.country.as_deref())),
        ("client.siren", client.siren.as_deref()),
        ("client.vatNumber", client.vat_number.as_deref()),
        ("client.electronicAddress", client.electronic_address.as_deref()),
    ]
}

fn document(invoice: EInvoice<'_>) -> [Entered<'_>; 6] {
    let credited = invoice.issued.credited;
    [
        ("number", Some(invoice.view.number)),
        ("quoteNumber", invoice.issued.quote_number),
        ("orderNumber", invoice.view.order_number),
        ("invoiceNumber", credited.map(|credited| credited.number)),
        ("reason", credited.map(|credited| credited.reason)),
        ("workSite", invoice.view.work_site),
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
