//! The head of a quote: company, title, dates, work site and client.

use invoicing_core::Company;

use super::{Text, french};
use crate::documents::DocumentInput;

/// The title before the number.
pub(crate) const TITLE: &str = "Devis";
/// The label of the work site.
pub(crate) const SITE: &str = "Chantier";
/// The label of the client.
pub(crate) const CLIENT: &str = "Client";

/// The texts that identify the company, below its name.
pub(crate) fn issuer(company: &Company) -> Vec<Text<'_>> {
    let identity = &company.identity;
    labelled([
        ("company.address", "", identity.postal_address()),
        ("company.phone", "Tél. : ", identity.phone.clone()),
        ("company.email", "E-mail : ", identity.email.clone()),
        ("company.siret", "SIRET : ", identity.siret.as_deref().map(french::siret)),
        ("company.vatNumber", "N° TVA : ", identity.vat_number.clone()),
    ])
}

/// The dates, each with its label.
pub(crate) fn dates(input: &DocumentInput<'_>) -> Vec<(&'static str, String)> {
    let facts = [("Date", Some(input.issued_on)), ("Valable jusqu’au", input.quote.summary.valid_until)];
    facts.into_iter().filter_map(|(label, day)| Some((label, french::date(day?)))).collect()
}

/// The work site, if it is not the client's address.
pub(crate) fn work_site<'a>(input: &DocumentInput<'a>) -> Option<Text<'a>> {
    input.work_site.map(|address| Text::of("workSite", address))
}

/// The client's name.
pub(crate) fn client_name<'a>(input: &DocumentInput<'a>) -> Text<'a> {
    Text::of("clientName", &input.quote.summary.client_name)
}

/// The client's postal address.
pub(crate) fn client_address<'a>(input: &DocumentInput<'a>) -> Option<Text<'a>> {
    input.client_address.map(|address| Text::of("client.address", address))
}

/// The client's telephone and e-mail, below the address.
pub(crate) fn client_details<'a>(input: &DocumentInput<'a>) -> Vec<Text<'a>> {
    labelled([
        ("client.phone", "Tél. : ", input.client_phone.map(str::to_owned)),
        ("clientEmail", "E-mail : ", input.quote.summary.client_email.clone()),
    ])
}

fn labelled<'a, const N: usize>(fields: [(&'static str, &'static str, Option<String>); N]) -> Vec<Text<'a>> {
    let text = |(field, label, value): (_, _, Option<String>)| Some(Text::labelled(field, label, &value?));
    fields.into_iter().filter_map(text).collect()
}
