//! Each rule of the gate, kept and broken.

use chrono::NaiveDate;
use invoicing_core::{
    BillingAddress, ClientType, CreditNoteSummary, DocumentFormat, InvoiceSummary, OperationNature, Percent,
    VatRegime, percent,
};

use super::*;
use crate::documents::Buyer;
use crate::documents::facturx::tests::fixtures::{
    Record, Sample, accounting, business, day, invoice, invoice_of, new_line, person,
};

/// A lawful invoice, and one to a private person; a credit note; an invoice without VAT.
fn lawful() -> Sample {
    with_notices(invoice())
}

fn with_notices(mut sample: Sample) -> Sample {
    let identity = sample.identity();
    identity.mediator = Some("Médiateur du bâtiment, 1 rue de la Paix, Paris".into());
    identity.waste_terms = Some("Déchets triés et portés en déchèterie".into());
    sample
}

fn private() -> Sample {
    let mut sample = lawful();
    sample.facts.parties.buyer = person();
    sample
}

fn credit_note() -> Sample {
    lawful().credited()
}

fn at(rate: Percent) -> Sample {
    with_notices(invoice_of(&[new_line("Peinture", rate)], Percent::ZERO))
}

fn exempt() -> Sample {
    at(Percent::ZERO)
}

fn reversed() -> Sample {
    let mut sample = exempt();
    sample.facts.reverse_charge = true;
    sample
}

fn identity(sample: &mut Sample, change: impl FnOnce(&mut invoicing_core::CompanyIdentity)) {
    change(sample.identity());
}

fn client(sample: &mut Sample, change: impl FnOnce(&mut Buyer)) {
    change(&mut sample.facts.parties.buyer);
}

fn head(sample: &mut Sample, change: impl FnOnce(&mut InvoiceSummary)) {
    change(&mut sample.invoice().summary);
}

fn note(sample: &mut Sample, change: impl FnOnce(&mut CreditNoteSummary)) {
    let Record::CreditNote(note) = &mut sample.record else { panic!("an invoice") };
    change(&mut note.summary);
}

fn without_address(client: &mut Buyer) {
    (client.address, client.zip_code, client.city) = (None, None, None);
}

/// A rule by its field and the beginning of its words, a document that keeps it, and the change
/// that breaks it.
type Broken = (&'static str, &'static str, fn() -> Sample, fn(&mut Sample));

fn of_company() -> [Broken; 16] {
    [
        ("company.name", "", lawful, |s| s.facts.parties.seller.name = "\u{a0} ".into()),
        ("company.address", "", lawful, |s| {
            identity(s, |company| (company.address, company.zip_code, company.city) = (None, None, None));
        }),
        ("company.siret", "The company has no", lawful, |s| identity(s, |company| company.siret = None)),
        ("company.siret", "The SIRET cannot", lawful, |s| {
            identity(s, |company| company.siret = Some("73282932100074".into()));
        }),
        ("company.vatNumber", "The company has no", lawful, |s| {
            identity(s, |company| company.vat_number = None);
        }),
        ("company.vatNumber", "The VAT number is not", lawful, |s| {
            identity(s, |company| company.vat_number = Some("FR39356000000".into()));
        }),
        ("company.legalForm", "", lawful, |s| identity(s, |company| company.legal_form = None)),
        ("company.registration", "", lawful, |s| identity(s, |company| company.registration = None)),
        ("company.shareCapital", "", lawful, |s| identity(s, |company| company.share_capital = None)),
        ("company.insurance", "", lawful, |s| identity(s, |company| company.insurance = None)),
        ("company.mediator", "", private, |s| identity(s, |company| company.mediator = None)),
        ("company.wasteTerms", "", lawful, |s| identity(s, |company| company.waste_terms = None)),
        ("company.latePenalty", "", lawful, |s| {
            identity(s, |company| company.late_penalty = Some("\u{a0}".into()));
        }),
        ("company.earlyPayment", "", lawful, |s| {
            identity(s, |company| company.early_payment = Some(" ".into()));
        }),
        ("company.electronicAddress", "", lawful, |s| {
            identity(s, |company| company.electronic_address = Some("732 829".into()));
        }),
        ("currency", "", lawful, |s| s.facts.parties.seller.currency = "CHF".into()),
    ]
}

fn of_client() -> [Broken; 22] {
    [
        ("clientName", "", lawful, |s| head(s, |head| head.client_name = "\u{200b}".into())),
        ("client.address", "The client, a business", lawful, |s| client(s, without_address)),
        ("client.address", "The client has no address, which", private, |s| client(s, without_address)),
        ("client.address", "The client has no address.", private, |s| client(s, without_address)),
        ("client.billingAddress.address", "", lawful, |s| {
            client(s, |client| client.billing_address = Some(BillingAddress::default().zip_code("69401")));
        }),
        ("client.billingAddress.city", "", lawful, |s| {
            client(s, |client| client.billing_address = Some(BillingAddress::default().address("CS 40102")));
        }),
        ("client.billingAddress.country", "", lawful, |s| {
            client(s, |client| {
                let zurich =
                    BillingAddress::default().address("Bahnhofstr. 1").zip_code("8001").city("Zürich");
                client.billing_address = Some(zurich);
            });
        }),
        ("client.siren", "The client is a business without a SIREN. An", lawful, |s| {
            client(s, |client| client.siren = None);
        }),
        ("client.siren", "The client is a business without a SIREN, which", lawful, |s| {
            client(s, |client| client.siren = None);
        }),
        ("client.siren", "The client’s SIREN cannot", lawful, |s| {
            client(s, |client| client.siren = Some("356000001".into()));
        }),
        ("client.siren", "The SIREN is one of a public", lawful, |s| {
            client(s, |client| client.siren = Some("130025265".into()));
        }),
        ("client.vatNumber", "The client’s VAT number “", lawful, |s| {
            client(s, |client| client.vat_number = Some("QQ39356000000".into()));
        }),
        ("client.vatNumber", "The client’s VAT number is", lawful, |s| {
            client(s, |client| client.vat_number = Some("FR40356000000".into()));
        }),
        ("client.vatNumber", "Under reverse charge", reversed, |s| {
            client(s, |client| client.vat_number = None);
        }),
        ("client.country", "The country", lawful, |s| {
            client(s, |client| client.zip_code = Some("8001".into()));
        }),
        ("client.country", "Reverse charge abroad", reversed, |s| {
            client(s, |client| client.country = Some("CH".into()));
        }),
        ("client.country", "Goods that leave", lawful, |s| {
            client(s, |client| client.country = Some("DE".into()));
            s.facts.operations = OperationNature::Goods;
        }),
        ("client.electronicAddress", "“", lawful, |s| {
            client(s, |client| client.electronic_address = Some("356000000 F".into()));
        }),
        ("clientEmail", "No electronic invoice", private, |s| {
            head(s, |head| head.client_email = Some("é".repeat(116) + "@b.example"));
        }),
        ("clientEmail", "No electronic invoice", private, |s| {
            head(s, |head| head.client_email = Some("a@localhost".into()));
        }),
        ("client.electronicAddress", "The client’s electronic", lawful, |s| {
            client(s, |client| client.electronic_address = Some("404833048".into()));
        }),
        ("client.country", "Reverse charge abroad", reversed, |s| {
            client(s, |client| client.country = Some("DE".into()));
            s.facts.operations = OperationNature::Goods;
        }),
    ]
}

fn of_document() -> [Broken; 17] {
    [
        ("lines", "", lawful, |s| s.invoice().lines.clear()),
        ("lines[].description", "", lawful, |s| s.invoice().lines[1].description = "\u{200b} ".into()),
        ("lines[].unitPrice", "", lawful, |s| s.invoice().lines[1].unit_price = (-1).into()),
        ("reason", "", credit_note, |s| note(s, |note| note.reason = " ".into())),
        ("dueDate", "The invoice has no", lawful, |s| head(s, |head| head.due_date = None)),
        ("dueDate", "The due date is", lawful, |s| head(s, |head| head.due_date = Some(day(2026, 9, 13)))),
        ("dueDate", "A business pays", lawful, |s| head(s, |head| head.due_date = Some(day(2026, 11, 14)))),
        ("suppliedOn", "The supply is", lawful, |s| {
            head(s, |head| head.supplied_on = Some(day(2026, 9, 15)));
        }),
        ("periodEnd", "The period ends", lawful, |s| {
            head(s, |head| {
                (head.period_start, head.period_end) = (Some(day(2026, 9, 2)), Some(day(2026, 9, 1)));
            });
        }),
        ("number", "", lawful, |s| head(s, |head| head.number = Some("FAC 42".into()))),
        ("invoiceNumber", "", credit_note, |s| note(s, |note| note.invoice_number = "№ 41".into())),
        ("issueDate", "", lawful, |s| head(s, |head| head.issue_date = Some(day(1999, 12, 31)))),
        ("dueDate", "The date", lawful, |s| head(s, |head| head.due_date = Some(day(2100, 1, 1)))),
        ("suppliedOn", "The date", lawful, |s| head(s, |head| head.supplied_on = Some(day(1999, 1, 1)))),
        ("periodStart", "", lawful, |s| {
            head(s, |head| {
                (head.period_start, head.period_end) = (Some(day(1999, 9, 2)), Some(day(2026, 9, 1)));
            });
        }),
        ("periodEnd", "The date", lawful, |s| {
            head(s, |head| {
                (head.period_start, head.period_end) = (Some(day(2026, 9, 2)), Some(day(2100, 9, 1)));
            });
        }),
        ("invoiceDate", "", credit_note, |s| s.credited_on = day(1999, 8, 31)),
    ]
}

fn of_vat() -> [Broken; 7] {
    [
        (
            "lines[].tvaRate",
            "A company in franchise",
            || at(percent!(20)),
            |s| {
                identity(s, |company| company.vat_regime = VatRegime::Franchise);
            },
        ),
        ("lines[].tvaRate", "Under reverse", || at(percent!(20)), |s| s.facts.reverse_charge = true),
        ("lines[].tvaRate", "A rate of 0", reversed, |s| s.facts.reverse_charge = false),
        ("lines[].tvaRate", "{} % is no rate", || at(percent!(20)), |s| *s = at(percent!(12.34))),
        ("lines[].tvaRate", "{} % is in force only", || at(percent!(20)), |s| *s = at(percent!(8.5))),
        (
            "lines[].tvaRate",
            "No VAT applies",
            || at(percent!(20)),
            |s| {
                client(s, |client| client.country = Some("YT".into()));
            },
        ),
        (
            "lines[].tvaRate",
            "{} % is no rate",
            || at(percent!(20)),
            |s| {
                head(s, |head| head.supplied_on = Some(day(2013, 12, 31)));
            },
        ),
    ]
}

/// The rules, each with the places that it objects to in a document.
fn objections(sample: &Sample) -> Vec<(&'static str, &'static str, usize)> {
    sample.with_view(|view| {
        let case = Case::new(view);
        let rules = RULES.into_iter().flatten();
        rules.map(|rule| (rule.field, rule.english, (rule.finds)(&case).len())).collect()
    })
}

#[test]
fn each_rule_objects_to_the_document_that_breaks_it_alone() {
    let mut unbroken: Vec<_> = RULES.into_iter().flatten().map(|rule| (rule.field, rule.english)).collect();
    for (field, english, kept, change) in
        [&of_company()[..], &of_client(), &of_document(), &of_vat()].concat()
    {
        let is_this = |rule: &(&str, &str, usize)| rule.0 == field && rule.1.starts_with(english);
        let mut sample = kept();
        let before = objections(&sample).into_iter().find(is_this).expect("a rule");
        assert_eq!(before.2, 0, "{field}: {}", before.1);
        change(&mut sample);
        let after = objections(&sample).into_iter().find(is_this).expect("a rule");
        assert!(after.2 > 0, "{field}: {}", after.1);
        unbroken.retain(|rule| *rule != (after.0, after.1));
    }
    assert_eq!(unbroken, [], "rules that no document breaks");
}

/// Rules: INVOICE-33
#[test]
fn a_billing_address_stands_for_the_seat_in_xml_alone() {
    let fields = |mut sample: Sample| {
        sample.facts.parties.buyer.billing_address = Some(accounting());
        without_address(&mut sample.facts.parties.buyer);
        refusals(&sample, DocumentFormat::FacturX)
    };
    assert_eq!(fields(private()), [""; 0], "BG-8 is there");
    assert_eq!(fields(lawful()), ["client.address"], "the page states the seat of a business");
}

#[test]
fn lawful_documents_of_each_kind_have_no_gap() {
    let mut franchise = exempt();
    identity(&mut franchise, |company| {
        (company.vat_regime, company.vat_number) = (VatRegime::Franchise, None);
    });
    let mut guiana = exempt();
    client(&mut guiana, |client| client.country = Some("GF".into()));
    let mut sole_trader = lawful();
    identity(&mut sole_trader, |company| {
        (company.legal_form, company.share_capital) = (Some("EI".into()), None);
    });
    for sample in [lawful(), private(), credit_note(), reversed(), franchise, guiana, sole_trader] {
        let gaps = sample.with_view(|view| gaps(view, DocumentFormat::FacturX));
        assert_eq!(gaps, [], "{sample:?}");
    }
}

#[test]
fn words_are_sentences_and_name_what_was_found() {
    for rule in RULES.into_iter().flatten() {
        assert!(rule.english.ends_with('.') && rule.french.ends_with('.'), "{}", rule.english);
        assert_eq!(rule.english.contains("{}"), rule.french.contains("{}"), "{}", rule.english);
        assert!(!rule.source.is_empty() && !rule.about.is_empty());
        assert!(rule.refused.iter().all(|kind| rule.about.contains(kind)), "{}", rule.english);
        assert_eq!(rule.place, GapPlace::of(&rule.field.replace("currency", "company.")), "{}", rule.field);
    }
    let gaps = at(percent!(12.34)).with_view(|view| gaps(view, DocumentFormat::Pdf));
    let [gap] = &gaps[..] else { panic!("{gaps:?}") };
    assert_eq!((gap.field.as_str(), gap.level), ("lines[0].tvaRate", GapLevel::Refused));
    assert!(gap.french.starts_with("12,34 % n’est pas"), "{}", gap.french);
}

/// The fields of what refuses a document in a format.
fn refusals(sample: &Sample, format: DocumentFormat) -> Vec<String> {
    let gaps = sample.with_view(|view| gaps(view, format));
    gaps.into_iter().filter(|gap| gap.level == GapLevel::Refused).map(|gap| gap.field).collect()
}

#[test]
fn the_law_refuses_a_plain_invoice_of_nobody_at_once() {
    let mut empty = lawful();
    *empty.identity() = invoicing_core::CompanyIdentity::default();
    let all = ["company.address", "company.siret", "company.vatNumber"];
    assert_eq!(refusals(&empty, DocumentFormat::Pdf), all);
    let advised: Vec<_> = empty
        .with_view(|view| gaps(view, DocumentFormat::Pdf))
        .into_iter()
        .filter(|gap| gap.level == GapLevel::Advised)
        .map(|gap| gap.field)
        .collect();
    assert_eq!(advised, ["company.legalForm", "company.registration", "company.insurance"]);
}

#[test]
fn a_plain_document_is_not_asked_for_what_only_xml_needs() {
    let mut sample = lawful();
    client(&mut sample, |client| client.siren = None);
    head(&mut sample, |head| head.number = Some("FAC 42".into()));
    assert_eq!(refusals(&sample, DocumentFormat::Pdf), [""; 0]);
    assert_eq!(refusals(&sample, DocumentFormat::FacturX), ["client.siren", "number"]);
}

#[test]
fn a_credit_note_is_refused_for_its_own_reason_and_dates_alone() {
    let mut sample = credit_note();
    *sample.identity() = invoicing_core::CompanyIdentity::default();
    client(&mut sample, |client| client.siren = None);
    assert_eq!(refusals(&sample, DocumentFormat::FacturX), [""; 0]);
    note(&mut sample, |note| note.reason = " ".into());
    assert_eq!(refusals(&sample, DocumentFormat::FacturX), ["reason"]);
}

#[test]
fn a_rate_is_refused_where_it_is_in_force_nowhere() {
    let on = |rate: &str, date: NaiveDate| {
        let mut sample = at(rate.parse().unwrap());
        head(&mut sample, |head| head.supplied_on = Some(date));
        refusals(&sample, DocumentFormat::Pdf).contains(&"lines[0].tvaRate".to_owned())
    };
    let today = day(2026, 9, 14);
    for rate in ["20", "10", "5.5", "2.1", "8.5", "13", "1.75", "1.05", "0.9"] {
        assert!(!on(rate, today), "{rate}");
    }
    for rate in ["19.6", "7", "20.6", "9.2", "9.6", "5", "100", "12.34"] {
        assert!(on(rate, today), "{rate}");
    }
    assert!(!on("19.6", day(2013, 12, 31)) && on("19.6", day(2014, 1, 1)));
    assert!(!on("7", day(2012, 1, 1)) && on("7", day(2011, 12, 31)));
    assert!(on("20", day(2013, 12, 31)) && !on("20", day(2014, 1, 1)));
}

#[test]
fn rates_of_overseas_are_advised_elsewhere_alone() {
    let of = |rate: &str, country: Option<&str>| {
        let mut sample = at(rate.parse().unwrap());
        client(&mut sample, |client| client.country = country.map(str::to_owned));
        let gaps = sample.with_view(|view| gaps(view, DocumentFormat::Pdf));
        gaps.iter().any(|gap| gap.english.contains("only in another part"))
    };
    assert!(of("8.5", None) && of("8.5", Some("FR")) && !of("8.5", Some("RE")));
    assert!(of("13", None) && of("13", Some("RE")));
    assert!(!of("20", None) && !of("20", Some("RE")) && !of("2.1", None));
}

#[test]
fn the_number_of_a_french_client_is_proposed() {
    let mut sample = reversed();
    client(&mut sample, |client| client.vat_number = None);
    let gaps = sample.with_view(|view| gaps(view, DocumentFormat::Pdf));
    assert!(gaps[0].english.ends_with("with a VAT number (FR39356000000)."), "{}", gaps[0].english);
    let mut private = reversed();
    private.facts.parties.buyer = person();
    assert_eq!(refusals(&private, DocumentFormat::Pdf), ["client.vatNumber"]);
}

#[test]
fn the_numbers_of_a_private_client_are_not_looked_at() {
    let mut sample = private();
    sample.facts.parties.buyer = Buyer { r#type: person().r#type, ..business() };
    client(&mut sample, |client| client.siren = Some("356000001".into()));
    assert_eq!(refusals(&sample, DocumentFormat::FacturX), [""; 0]);
}

#[test]
fn a_client_without_a_type_is_a_business_by_its_siren() {
    let mut sample = lawful();
    client(&mut sample, |client| client.r#type = None);
    assert!(sample.with_view(|view| view.buyer.is_business()));
    client(&mut sample, |client| (client.siren, client.vat_number) = (None, None));
    assert!(!sample.with_view(|view| view.buyer.is_business()));
}

/// Rules: INVOICE-29
#[test]
fn an_invoice_that_cannot_be_electronic_is_a_plain_pdf() {
    let electronic = |kind, country: Option<&str>, email: Option<&str>, address: Option<&str>| {
        let mut sample = if kind == Some(ClientType::Professionnel) { lawful() } else { private() };
        client(&mut sample, |client| {
            client.r#type = kind;
            client.country = country.map(str::to_owned);
            client.electronic_address = address.map(str::to_owned);
        });
        head(&mut sample, |head| head.client_email = email.map(str::to_owned));
        sample.with_view(can_be_electronic)
    };
    let (private, business) = (Some(ClientType::Particulier), Some(ClientType::Professionnel));
    assert!(!electronic(private, None, None, None) && !electronic(None, None, None, None));
    assert!(electronic(private, None, Some("a@b.example"), None));
    assert!(electronic(private, None, None, Some("356000000")));
    // Refused instead, as a business has to have a SIREN.
    assert!(electronic(business, None, None, None));
    for country in ["FR", "RE", "GP", "MQ"] {
        assert!(electronic(business, Some(country), None, None), "{country}");
    }
    for country in ["GF", "YT", "MC", "BE", "GB"] {
        assert!(!electronic(business, Some(country), None, None), "{country}");
        assert!(!electronic(private, Some(country), Some("a@b.example"), None), "{country}");
    }
    // The country follows from the address, or is unknown.
    for (address, expected) in
        [("44000 Nantes", true), ("8001 Zürich", false), ("44000 Nantes\nBelgique", false)]
    {
        let mut sample = lawful();
        client(&mut sample, |client| {
            without_address(client);
            client.address = Some(format!("3 place Royale\n{address}"));
        });
        assert_eq!(sample.with_view(can_be_electronic), expected, "{address}");
    }
    assert!(!electronic(private, None, Some("a@localhost"), None));
    assert!(!electronic(private, None, Some(&("é".repeat(116) + "@b.example")), None));
    let mut francs = lawful();
    head(&mut francs, |head| head.currency = "CHF".into());
    assert!(!francs.with_view(can_be_electronic));
}
