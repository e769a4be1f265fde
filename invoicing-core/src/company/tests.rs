use super::*;
use crate::fixtures::{at, uuid};

fn create(new: &NewCompany) -> Result<Company, DomainError> {
    new.create(CompanyId(uuid(8)), at(0))
}

fn refused(edit: impl FnOnce(&mut NewCompany)) -> DomainError {
    let mut new = NewCompany::named("Dupont SARL", Plan::Team);
    edit(&mut new);
    create(&new).unwrap_err()
}

fn field(refusal: &DomainError) -> &str {
    match refusal {
        DomainError::Invalid(invalid) => &invalid.field,
        DomainError::Conflict(conflict) => panic!("a conflict: {conflict}"),
    }
}

#[test]
fn a_company_is_french_and_invoices_in_euros_unless_it_says_otherwise() {
    let new: NewCompany = serde_json::from_str(r#"{"name": " Dupont SARL ", "plan": "Team"}"#).unwrap();
    let company = create(&new).unwrap();
    assert_eq!(company.name, "Dupont SARL");
    assert_eq!((company.time_zone.as_str(), company.currency.as_str()), ("Europe/Paris", "EUR"));
    assert!(!company.automatic_invoicing);
    assert!(serde_json::from_str::<NewCompany>(r#"{"name": "a", "plan": "Gold"}"#).is_err());
    assert!(serde_json::from_str::<NewCompany>(r#"{"name": "a", "plan": "Pro", "extra": 1}"#).is_err());
}

/// Rules: PLAN-1, INVOICE-9
#[test]
fn only_team_has_the_api_and_only_higher_plans_convert_by_themselves() {
    let rights: Vec<_> =
        Plan::ALL.iter().map(|plan| (plan.has_api(), plan.has_automatic_invoicing())).collect();
    assert_eq!(rights, [(false, false), (false, true), (true, true)]);
    for &plan in Plan::ALL {
        let new = NewCompany { automatic_invoicing: true, ..NewCompany::named("a", plan) };
        match create(&new) {
            Ok(company) => assert!(company.automatic_invoicing && plan != Plan::Starter),
            Err(refusal) => assert!(matches!(refusal, DomainError::Conflict(_)) && plan == Plan::Starter),
        }
    }
}

#[test]
fn each_field_is_checked_and_named() {
    assert_eq!(field(&refused(|new| new.name = " ".into())), "name");
    assert_eq!(field(&refused(|new| new.name = "x".repeat(256))), "name");
    for bad in ["", "eur", "EURO", "€UR", "E R", "ZZZ", "JPY", "XPF"] {
        assert_eq!(field(&refused(|new| new.currency = bad.into())), "currency", "{bad}");
    }
    assert_eq!(field(&refused(|new| new.identity.email = Some("no-at-sign".into()))), "email");
    assert_eq!(field(&refused(|new| new.identity.phone = Some("x".repeat(256)))), "phone");
    assert_eq!(field(&refused(|new| new.identity.zip_code = Some("x".repeat(256)))), "zipCode");
    assert_eq!(field(&refused(|new| new.identity.city = Some("x".repeat(256)))), "city");
    assert_eq!(field(&refused(|new| new.identity.vat_number = Some("a\nb".into()))), "vatNumber");
    assert_eq!(field(&refused(|new| new.identity.address = Some("x".repeat(2_001)))), "address");
    assert_eq!(field(&refused(|new| new.identity.insurance = Some("x".repeat(2_001)))), "insurance");
    assert_eq!(field(&refused(|new| new.identity.terms = Some("a\0b".into()))), "terms");
}

#[test]
fn each_legal_field_is_checked_and_named() {
    type Set = fn(CompanyIdentity, String) -> CompanyIdentity;
    let short: [(&str, Set); 3] = [
        ("legalForm", CompanyIdentity::legal_form),
        ("shareCapital", CompanyIdentity::share_capital),
        ("registration", CompanyIdentity::registration),
    ];
    let long: [(&str, Set); 4] = [
        ("latePenalty", CompanyIdentity::late_penalty),
        ("earlyPayment", CompanyIdentity::early_payment),
        ("mediator", CompanyIdentity::mediator),
        ("wasteTerms", CompanyIdentity::waste_terms),
    ];
    for (name, set) in short.into_iter().chain(long) {
        let max = if short.iter().any(|(known, _)| *known == name) { 255 } else { 2_000 };
        let with = |text: &str| set(CompanyIdentity::default(), text.to_owned()).check();
        assert!(with(&"é".repeat(max)).is_ok(), "{name}");
        assert_eq!(with(&"é".repeat(max + 1)).unwrap_err().field, name);
        assert_eq!(with("a\0b").unwrap_err().field, name);
        assert_eq!(with(" ").unwrap(), CompanyIdentity::default(), "{name}");
    }
}

#[test]
fn bank_address_and_colour_are_checked_and_stored_without_spaces() {
    type Set = fn(CompanyIdentity, &'static str) -> CompanyIdentity;
    let fields: [(&str, Set, &str, &str, &str); 4] = [
        (
            "iban",
            CompanyIdentity::iban,
            "fr76 3000 6000 0112 3456 7890 189",
            "FR7630006000011234567890189",
            "FR76",
        ),
        ("bic", CompanyIdentity::bic, " agrifrpp ", "AGRIFRPP", "AGRIFRP"),
        ("electronicAddress", CompanyIdentity::electronic_address, " 732829320 ", "732829320", "7328 29320"),
        ("color", CompanyIdentity::color, " #16486E ", "#16486e", "#16486"),
    ];
    for (name, set, entered, stored, bad) in fields {
        let with = |text| set(CompanyIdentity::default(), text).check();
        assert_eq!(with(entered).unwrap(), set(CompanyIdentity::default(), stored), "{name}");
        assert_eq!(with(bad).unwrap_err().field, name);
        assert_eq!(with(" ").unwrap(), CompanyIdentity::default(), "{name}");
    }
    for bad in ["16486e", "#16486g", "#16486ee", "red", "#é648"] {
        let refused = CompanyIdentity::default().color(bad).check().unwrap_err();
        assert_eq!(refused.to_string(), "color: must be a colour such as #16486e", "{bad}");
    }
}

#[test]
fn a_vat_number_is_stored_without_spaces() {
    let number = CompanyIdentity::default().vat_number(" fr 44 732 829 320 ").check().unwrap().vat_number;
    assert_eq!(number.unwrap(), "FR44732829320");
    assert!(CompanyIdentity::default().vat_number("F".repeat(300)).check().is_err());
}

#[test]
fn the_legal_choices_are_stored_as_words_and_kept_by_a_check() {
    let identity = CompanyIdentity::default()
        .siret("73282932000074")
        .vat_regime(VatRegime::Franchise)
        .vat_on_debits(true)
        .operations(OperationNature::Mixed)
        .e_invoicing(EInvoicing::On);
    assert_eq!(identity.check().unwrap(), identity);
    assert!(identity.is_franchise() && !CompanyIdentity::default().is_franchise());
    assert_eq!(identity.siren(), Some("732829320"));
    let stored = serde_json::to_value(&identity).unwrap();
    let words = ["vatRegime", "operations", "eInvoicing"].map(|name| stored[name].as_str().unwrap());
    assert_eq!(words, ["FRANCHISE", "MIXED", "ON"]);
    assert_eq!(serde_json::from_value::<CompanyIdentity>(stored).unwrap(), identity);
}

#[test]
fn a_siret_has_14_digits_however_it_is_spaced() {
    let identity = |siret: &str| CompanyIdentity { siret: Some(siret.into()), ..CompanyIdentity::default() };
    for good in ["73282932000074", " 732 829 320 00074 ", "732\u{202f}829\u{a0}320 00074"] {
        assert_eq!(identity(good).check().unwrap().siret.unwrap(), "73282932000074");
    }
    for bad in ["7328293200007", "732829320000745", "7328293200007A", "７３２８２９３２００００７４"]
    {
        assert_eq!(identity(bad).check().unwrap_err().field, "siret", "{bad}");
    }
    assert_eq!(identity(" ").check().unwrap(), CompanyIdentity::default());
}

/// Rules: STORED-3
#[test]
fn an_identity_of_a_newer_version_is_read() {
    let stored = r#"{"city": "Nantes", "country": "FR"}"#;
    let identity: CompanyIdentity = serde_json::from_str(stored).unwrap();
    assert_eq!(identity, CompanyIdentity { city: Some("Nantes".into()), ..CompanyIdentity::default() });
}

/// Rules: DOCUMENT-18
#[test]
fn an_address_may_hold_the_town() {
    let stored = r#"{"address": "12 rue des Métiers\n44000 Nantes", "phone": null}"#;
    let identity: CompanyIdentity = serde_json::from_str(stored).unwrap();
    assert_eq!(identity.postal_address().as_deref(), Some("12 rue des Métiers\n44000 Nantes"));
}
