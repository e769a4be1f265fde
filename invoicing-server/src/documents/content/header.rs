//! The head of a document: company, title, dates, references, work site and client.

use chrono::NaiveDate;
use invoicing_core::{Company, CompanyIdentity, Deduction, OperationNature};

use super::view::{Credited, DocumentView, Issued};
use super::{Text, french, payment};
use crate::documents::DocumentKind;

/// The label of the client.
pub(crate) const CLIENT: &str = "Client";
/// The label of the address that invoices are made out to.
pub(crate) const BILLING_ADDRESS: &str = "Adresse de facturation";

/// The title before the number.
pub(crate) const fn word(kind: DocumentKind) -> &'static str {
    match kind {
        DocumentKind::Quote => "Devis",
        DocumentKind::Invoice => "Facture",
        DocumentKind::CreditNote => "Avoir",
    }
}

/// `Facture FAC-2026-0042`: the title under which a reader lists the document.
pub(crate) fn title(view: &DocumentView<'_>) -> String {
    format!("{} {}", word(view.kind), view.number)
}

/// The company's name. A sole trader's has `EI` beside it (Code de commerce, art. R526-27).
pub(crate) fn issuer_name(company: &Company) -> Text<'_> {
    let name = company.name.as_str();
    let has_it = name.split(|c: char| !c.is_alphanumeric()).any(|word| word == "EI");
    if is_sole_trader(&company.identity) && !has_it {
        return Text::of("company.name", format!("{name}, EI"));
    }
    Text::of("company.name", name)
}

fn is_sole_trader(identity: &CompanyIdentity) -> bool {
    let is = |form: &str| ["ei", "entrepreneur individuel"].contains(&form.to_lowercase().as_str());
    identity.legal_form.as_deref().is_some_and(is)
}

/// The texts that identify the company, below its name.
pub(crate) fn issuer(company: &Company) -> Vec<Text<'_>> {
    let identity = &company.identity;
    // A sole trader's form stands beside the name.
    let form = identity.legal_form.as_deref().filter(|_| !is_sole_trader(identity));
    labelled([
        ("company.address", "", identity.postal_address()),
        ("company.phone", "Tél. : ", identity.phone.clone()),
        ("company.email", "E-mail : ", identity.email.clone()),
        ("company.siret", "SIRET : ", identity.siret.as_deref().map(french::siret)),
        ("company.vatNumber", "N° TVA : ", identity.vat_number.clone()),
        ("company.registration", "", legal_particulars(identity, form, " — ")),
    ])
}

/// `SARL au capital de 10 000 € — RCS Lyon 732 829 320` (Code de commerce, art. R123-237 and
/// R123-238), with this form and this separator. `None` if nothing of it is entered.
pub(crate) fn legal_particulars(
    identity: &CompanyIdentity,
    form: Option<&str>,
    separator: &str,
) -> Option<String> {
    let form = match (form, &identity.share_capital) {
        (Some(form), Some(capital)) => Some(format!("{form} au capital de {capital}")),
        (None, Some(capital)) => Some(format!("Capital de {capital}")),
        (form, None) => form.map(str::to_owned),
    };
    let registration = identity.registration.as_deref().map(french::with_siren);
    let parts: Vec<_> = form.into_iter().chain(registration).collect();
    (!parts.is_empty()).then(|| parts.join(separator))
}

/// The dates, the amount to pay and the numbers of the quote and of the order, each with its label.
pub(crate) fn facts<'a>(view: &DocumentView<'a>) -> Vec<(&'static str, Text<'a>)> {
    let mut facts = vec![("Date", day(view.issued_on))];
    if let Some(offer) = &view.offer {
        facts.extend(offer.valid_until.map(|until| ("Valable jusqu’au", day(until))));
    }
    if let Some(issued) = &view.issued {
        if view.asking().is_some() {
            facts.extend(issued.due_date.map(|until| ("Échéance", day(until))));
        }
        match issued.paid_on {
            Some(on) => facts.push((payment::PAID, day(on))),
            None => facts.extend((view.kind == DocumentKind::Invoice).then(|| payment::net(view))),
        }
        facts.extend(supply(view, issued));
        facts.extend(issued.quote_number.map(reference));
    }
    facts.extend(view.order_number.map(|number| ("Votre commande", Text::of("orderNumber", number))));
    facts
}

/// The day of the supply, if it is not the date of the document, and its period.
fn supply<'a>(
    view: &DocumentView<'a>,
    issued: &Issued<'a>,
) -> impl Iterator<Item = (&'static str, Text<'a>)> {
    let supplied_on = issued.supplied_on.filter(|on| *on != view.issued_on);
    let supplied = supplied_on.map(|on| (supplied_label(view.operations), day(on)));
    let period = issued.period.map(|(first, last)| {
        ("Période", Text::own(format!("du {} au {}", french::date(first), french::date(last))))
    });
    supplied.into_iter().chain(period)
}

fn reference(quote_number: &str) -> (&'static str, Text<'_>) {
    ("Référence", Text::labelled("quoteNumber", "Devis ", quote_number))
}

const fn supplied_label(operations: OperationNature) -> &'static str {
    match operations {
        OperationNature::Goods => "Date de livraison",
        _ => "Date de réalisation",
    }
}

fn day<'a>(day: NaiveDate) -> Text<'a> {
    Text::own(french::date(day))
}

/// The credited invoice with the reason, and the deducted invoices: lines across the page.
pub(crate) fn references<'a>(view: &DocumentView<'a>) -> Vec<Text<'a>> {
    let Some(issued) = &view.issued else { return Vec::new() };
    let credited = issued.credited.iter().flat_map(credited);
    credited.chain(issued.deductions.iter().map(deducted)).collect()
}

fn credited<'a>(credited: &Credited<'a>) -> [Text<'a>; 2] {
    let invoice = Text::of("invoiceNumber", credited_invoice(credited));
    [invoice, Text::labelled("reason", "Motif : ", credited.reason)]
}

/// The invoice that is credited.
pub(crate) fn credited_invoice(Credited { number, issue_date, .. }: &Credited<'_>) -> String {
    format!("Avoir sur la facture {number} du {}", french::date(*issue_date))
}

fn deducted<'a>(Deduction { number, issue_date, .. }: &Deduction) -> Text<'a> {
    let text = format!("Déduction de la facture {number} du {}", french::date(*issue_date));
    Text::of("deductions", text)
}

/// The label of the work site.
pub(crate) const fn site_label(view: &DocumentView<'_>) -> &'static str {
    match view.operations {
        OperationNature::Goods => "Livraison",
        _ => "Chantier",
    }
}

/// The work site, if it is not the client's address.
pub(crate) fn work_site<'a>(view: &DocumentView<'a>) -> Option<Text<'a>> {
    view.work_site.map(|address| Text::of("workSite", address))
}

/// The client's name.
pub(crate) fn client_name<'a>(view: &DocumentView<'a>) -> Text<'a> {
    Text::of("clientName", view.client.name)
}

/// The client's postal address.
pub(crate) fn client_address<'a>(view: &DocumentView<'a>) -> Option<Text<'a>> {
    view.client.address.clone().map(|address| Text::of("client.address", address))
}

/// The address that invoices are made out to, if it is not the client's.
pub(crate) fn billing_address<'a>(view: &DocumentView<'a>) -> Option<Text<'a>> {
    view.client.billing_address.clone().map(|address| Text::of("client.billingAddress.address", address))
}

/// The client's telephone and e-mail below the address, and on an invoice to a business the SIREN
/// and the VAT number.
pub(crate) fn client_details<'a>(view: &DocumentView<'a>) -> Vec<Text<'a>> {
    let client = &view.client;
    let has_numbers = view.issued.is_some() && client.is_business();
    let of_business = |number: Option<&str>| number.filter(|_| has_numbers).map(str::to_owned);
    labelled([
        ("client.phone", "Tél. : ", client.phone.map(str::to_owned)),
        ("clientEmail", "E-mail : ", client.email.map(str::to_owned)),
        ("client.siren", "SIREN : ", of_business(client.siren).as_deref().map(french::siren)),
        ("client.vatNumber", "N° TVA : ", of_business(client.vat_number)),
    ])
}

fn labelled<'a, const N: usize>(fields: [(&'static str, &'static str, Option<String>); N]) -> Vec<Text<'a>> {
    let text = |(field, label, value): (_, _, Option<String>)| Some(Text::labelled(field, label, &value?));
    fields.into_iter().filter_map(text).collect()
}
