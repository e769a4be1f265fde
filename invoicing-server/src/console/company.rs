//! The company's legal data, as its documents state them.

use invoicing_core::{
    Company, CompanyIdentity, DocumentFormat, EInvoicing, Invalid, OperationNature, VatRegime,
};
use maud::{Markup, html};

use super::ConsoleAction;
use super::error::PageError;
use super::form::Form;
use super::inputs::{Choice, problem_of, value};
use super::layout::{Chapter, PageContent, entered, is_about};
use super::readiness::checklist;
use super::request::{Outcome, PageRequest};
use super::text_fields::{TextField, fieldset, saved};
use crate::documents::gaps_of_company;
use crate::error::Error;

type Field = TextField<CompanyIdentity>;

const ADDRESS: [Field; 5] = [
    Field::new("address", ("Street address", "Adresse"), |company| &mut company.address).long(),
    Field::new("zipCode", ("Postal code", "Code postal"), |company| &mut company.zip_code),
    Field::new("city", ("Town", "Ville"), |company| &mut company.city),
    Field::new("email", ("E-mail", "E-mail"), |company| &mut company.email),
    Field::new("phone", ("Telephone", "Téléphone"), |company| &mut company.phone),
];
const NUMBERS: [Field; 5] = [
    Field::new("siret", ("SIRET", "SIRET"), |company| &mut company.siret).hint("14 digits", "14 chiffres"),
    Field::new("vatNumber", ("VAT number", "Numéro de TVA"), |company| &mut company.vat_number)
        .hint("Optional in franchise", "Facultatif en franchise"),
    Field::new("legalForm", ("Legal form", "Forme juridique"), |company| &mut company.legal_form)
        .hint("“EI” for a sole trader", "« EI » pour un entrepreneur individuel"),
    Field::new("shareCapital", ("Share capital", "Capital social"), |company| &mut company.share_capital)
        .hint("Such as “10 000 €”", "Par exemple « 10 000 € »"),
    Field::new("registration", ("Register", "Immatriculation"), |company| &mut company.registration)
        .hint("Such as “RCS Lyon 732 829 320”", "Par exemple « RCS Lyon 732 829 320 »"),
];
const NOTICES: [Field; 6] = [
    Field::new("insurance", ("Ten-year insurance", "Assurance décennale"), |company| &mut company.insurance)
        .long()
        .hint("Insurer, policy, cover", "Assureur, police, couverture"),
    Field::new("mediator", ("Mediator for private clients", "Médiateur de la consommation"), |company| {
        &mut company.mediator
    })
    .long()
    .hint("Name, address, site", "Nom, adresse, site"),
    Field::new("wasteTerms", ("Handling of waste", "Gestion des déchets"), |company| {
        &mut company.waste_terms
    })
    .long(),
    Field::new("terms", ("Conditions", "Conditions"), |company| &mut company.terms).long(),
    Field::new("latePenalty", ("Late payment", "Retard de paiement"), |company| &mut company.late_penalty)
        .long()
        .hint("By default the rate of the law", "Par défaut le taux légal"),
    Field::new("earlyPayment", ("Early payment", "Paiement anticipé"), |company| &mut company.early_payment)
        .long()
        .hint("By default no discount", "Par défaut sans escompte"),
];
const PAYMENT: [Field; 3] = [
    Field::new("iban", ("IBAN", "IBAN"), |company| &mut company.iban),
    Field::new("bic", ("BIC", "BIC"), |company| &mut company.bic),
    Field::new("electronicAddress", ("Electronic address", "Adresse électronique"), |company| {
        &mut company.electronic_address
    })
    .hint("By default the SIREN", "Par défaut le SIREN"),
];
/// The choices, by the names that operations use.
const VAT_REGIME: &str = "vatRegime";
const VAT_ON_DEBITS: &str = "vatOnDebits";
const OPERATIONS: &str = "operations";
const E_INVOICING: &str = "eInvoicing";

fn fields() -> impl Iterator<Item = &'static Field> {
    ADDRESS.iter().chain(&NUMBERS).chain(&NOTICES).chain(&PAYMENT)
}

/// `GET /company`.
pub(super) async fn show(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    // Read anew: a form that comes again has changed it.
    let company = request.company.details().await?;
    Ok(page(request, &company, None))
}

/// `POST /company`: the fields of [`CompanyIdentity`].
pub(super) async fn change(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let changed = match read(&request.form, &request.record.identity) {
        Ok(identity) => request.company.set_identity(&identity).await,
        Err(invalid) => Err(invalid.into()),
    };
    match changed {
        Ok(_) => Ok(Outcome::See("/company?done=saved".to_owned())),
        Err(error) => Outcome::refused(error, |error| page(request, &request.record, Some(error))),
    }
}

/// The company with the entered data.
fn entered_company(request: &PageRequest<'_>, company: &Company) -> Company {
    let identity = read(&request.form, &company.identity).unwrap_or_else(|_| company.identity.clone());
    Company { identity, ..company.clone() }
}

/// The entered data; the colour, which the form has not, stays.
fn read(form: &Form, stored: &CompanyIdentity) -> Result<CompanyIdentity, Invalid> {
    let mut identity = stored.clone();
    for field in fields() {
        field.read(form, &mut identity);
    }
    let named = |name: &'static str| move |invalid: Invalid| invalid.in_field(name);
    identity.vat_regime = form.text(VAT_REGIME).parse().map_err(named(VAT_REGIME))?;
    identity.operations = form.text(OPERATIONS).parse().map_err(named(OPERATIONS))?;
    identity.e_invoicing = form.text(E_INVOICING).parse().map_err(named(E_INVOICING))?;
    identity.vat_on_debits = form.text(VAT_ON_DEBITS) == ON;
    Ok(identity)
}

/// The values of a choice between two.
const ON: &str = "ON";
const OFF: &str = "OFF";

fn page(request: &PageRequest<'_>, company: &Company, error: Option<&Error>) -> PageContent {
    let names: Vec<_> =
        fields().map(|field| field.name).chain([VAT_REGIME, OPERATIONS, E_INVOICING]).collect();
    let is_electronic = company.identity.e_invoicing == EInvoicing::On;
    let format = if is_electronic { DocumentFormat::FacturX } else { DocumentFormat::Pdf };
    let title = request.pick("Company", "Entreprise");
    let body = html! {
        h1 { (title) }
        (saved(request))
        (problem_of(request, error, &names))
        p { (entered(&company.name)) }
        @if error.is_none() {
            (checklist(request, &gaps_of_company(company, format), None))
        } @else if is_about(error, E_INVOICING) {
            (checklist(request, &gaps_of_company(&entered_company(request, company), DocumentFormat::FacturX), None))
        }
        @if request.allows(ConsoleAction::ManageCompany) {
            (request.form_about("/company", company, &inputs(request, &mut company.identity.clone(), error)))
        }
    };
    PageContent::new(title, Chapter::Company, body)
}

fn inputs(request: &PageRequest<'_>, identity: &mut CompanyIdentity, error: Option<&Error>) -> Markup {
    let choices = choices(request, identity, error);
    let mut group = |legend: &str, fields: &[Field]| fieldset(request, legend, fields, identity, error);
    html! {
        (group(request.pick("Address", "Adresse"), &ADDRESS))
        (group(request.pick("Legal data", "Mentions légales"), &NUMBERS))
        fieldset { legend { (request.pick("VAT and e-invoicing", "TVA et facturation électronique")) } (choices) }
        (group(request.pick("On documents", "Sur les documents"), &NOTICES))
        (group(request.pick("Payment", "Paiement"), &PAYMENT))
        p.actions { button { (request.pick("Save", "Enregistrer")) } }
    }
}

fn choices(request: &PageRequest<'_>, identity: &CompanyIdentity, error: Option<&Error>) -> Markup {
    let regimes = [
        (VatRegime::Standard.into(), request.pick("VAT is charged", "TVA facturée")),
        (
            VatRegime::Franchise.into(),
            request.pick("Franchise (CGI, art. 293 B)", "Franchise en base (CGI, art. 293 B)"),
        ),
    ];
    let natures = [
        (OperationNature::Services.into(), request.pick("Services", "Prestations de services")),
        (OperationNature::Goods.into(), request.pick("Goods", "Livraisons de biens")),
        (OperationNature::Mixed.into(), request.pick("Both", "Les deux")),
    ];
    let debits = [
        (OFF, request.pick("When services are paid", "À l’encaissement des services")),
        (ON, request.pick("When they are invoiced (option)", "À la facturation (option pour les débits)")),
    ];
    let electronic = [
        (EInvoicing::Off.into(), request.pick("Plain PDF", "Simple PDF")),
        (
            EInvoicing::On.into(),
            request.pick("Electronic invoices (Factur-X)", "Factures électroniques (Factur-X)"),
        ),
    ];
    let on_debits = if identity.vat_on_debits { ON } else { OFF };
    let choice = |name, label, options: &[(&str, &str)], stored| {
        let chosen = value(request, name, stored);
        html! { div { (Choice { name, label, options, chosen }.show(request, error)) } }
    };
    html! {
        div.fields {
            (choice(VAT_REGIME, request.pick("VAT regime", "Régime de TVA"), &regimes, identity.vat_regime.into()))
            (choice(VAT_ON_DEBITS, request.pick("VAT is due", "TVA exigible"), &debits, on_debits))
            (choice(OPERATIONS, request.pick("Operations", "Opérations"), &natures, identity.operations.into()))
            (choice(E_INVOICING, request.pick("Invoices", "Factures"), &electronic, identity.e_invoicing.into()))
        }
    }
}
