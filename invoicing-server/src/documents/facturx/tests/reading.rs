//! The XML as `en16931-formats` reads it: each term is the record's value.

use chrono::{Datelike, NaiveDate};
use en16931::invoice::{Code, Party};
use en16931::{Date, DocumentReference, En16931, Identifier, Invoice, InvoiceLine, Validated};
use invoicing_core::{Line, OperationNature};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::fixtures::{Sample, day};
use super::samples::{folder, samples, write};
use crate::documents::DocumentKind;
use crate::documents::content::view::DocumentView;
use crate::documents::legal_gate::{can_be_electronic, refusals};
use crate::documents::vat_exemption::VatExemption;

/// Cases without `PROPTEST_CASES`, and for validators in other languages.
const CASES: u32 = 64;
const FILES: u32 = 400;

/// `PROPTEST_CASES` raises the number of cases.
#[test]
fn another_implementation_reads_what_the_record_holds() {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let least = if folder().is_some() { FILES } else { CASES };
    let cases = asked.map_or(least, |asked: u32| asked.max(least));
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let count = std::cell::Cell::new(0);
    // The files are the same each time, as their cases are counted.
    let mut runner = match folder() {
        Some(_) => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
        None => TestRunner::new(config),
    };
    let tried = runner.run(&samples(), |sample| {
        check(&sample);
        if let Some(folder) = folder() {
            write(&folder, count.replace(count.get() + 1), &sample);
        }
        Ok(())
    });
    tried.unwrap_or_else(|error| panic!("{error}"));
}

fn check(sample: &Sample) {
    let read = en16931_formats::read(sample.xml().as_bytes()).unwrap();
    assert!(read.entries.is_empty(), "{:?}", read.entries);
    let validated = Validated::<En16931>::new(read.invoice).unwrap_or_else(|refused| panic!("{refused:?}"));
    sample.with_view(|view| {
        assert_eq!(refusals(view), []);
        assert!(can_be_electronic(view));
        compare(validated.invoice(), view);
    });
}

fn compare(read: &Invoice, view: &DocumentView<'_>) {
    head(read, view);
    notes(read, view);
    seller(&read.seller, view);
    buyer(&read.buyer, view);
    delivery(read, view);
    payment(read, view);
    amounts(read, view);
    assert_eq!(read.lines.len(), view.lines.len());
    for (index, (read, line)) in read.lines.iter().zip(view.lines).enumerate() {
        self::line(read, line, index, view);
    }
}

fn is_credit(view: &DocumentView<'_>) -> bool {
    view.kind == DocumentKind::CreditNote
}

fn head(read: &Invoice, view: &DocumentView<'_>) {
    let issued = view.issued.unwrap();
    assert_eq!(read.number.as_deref(), Some(view.number));
    assert_eq!(read.issue_date.map(of_date), Some(view.issued_on));
    assert_eq!(read.type_code.as_ref().unwrap().as_str(), if is_credit(view) { "381" } else { "380" });
    assert_eq!(read.currency.as_ref().unwrap().as_str(), view.currency);
    assert_eq!(read.specification_id.as_deref(), Some("urn:cen.eu:en16931:2017"));
    let nature = match view.operations {
        OperationNature::Goods => "B",
        OperationNature::Mixed => "M",
        _ => "S",
    };
    let frame = format!("{nature}{}", if issued.paid_on.is_some() { "2" } else { "1" });
    assert_eq!(read.business_process, Some(frame));
    assert_eq!(read.contract_reference.as_ref().map(DocumentReference::as_str), issued.quote_number);
    let order = read.purchase_order_reference.as_ref().map(DocumentReference::as_str);
    assert_eq!(order, view.order_number);
    let preceding: Vec<_> = read.preceding_invoices.iter().collect();
    assert_eq!(preceding.len(), usize::from(is_credit(view)));
    for preceding in preceding {
        assert_eq!(preceding.reference.as_str(), "FAC-2026-0041");
        assert_eq!(preceding.issue_date.map(of_date), Some(day(2026, 8, 31)));
    }
}

fn notes(read: &Invoice, view: &DocumentView<'_>) {
    let of = |subject: &str| {
        let is_of = |code: &&en16931::InvoiceNote| {
            code.subject_code.as_ref().is_some_and(|code| code.as_str() == subject)
        };
        let notes: Vec<_> = read.notes.iter().filter(is_of).collect();
        assert_eq!(notes.len(), 1, "{subject}");
        notes[0].note.clone().unwrap()
    };
    let identity = &view.company.identity;
    assert!(of("PMT").contains("40 €"));
    assert!(identity.late_penalty.as_ref().map_or(of("PMD").contains("retard"), |own| of("PMD") == *own));
    assert!(identity.early_payment.as_ref().map_or(of("AAB").contains("escompte"), |own| of("AAB") == *own));
    assert_eq!(of("BAR"), if view.buyer.is_business() { "B2B" } else { "B2C" });
    let has = |text: &str| read.notes.iter().any(|note| note.note.as_deref().unwrap().starts_with(text));
    assert_eq!(has("Assurance décennale : "), identity.insurance.is_some());
    let is_private = !view.buyer.is_business();
    assert_eq!(has("Médiateur de la consommation : "), is_private && identity.mediator.is_some());
    assert_eq!(has("Motif : "), is_credit(view));
}

fn id(identifier: Option<&Identifier>) -> Option<(&str, Option<&str>)> {
    identifier.map(|identifier| (identifier.content(), identifier.scheme()))
}

fn seller(read: &Party, view: &DocumentView<'_>) {
    let identity = &view.company.identity;
    let siren = identity.siren().unwrap();
    assert_eq!(read.name.as_deref(), Some(&*view.company.name));
    assert_eq!(id(read.identifiers.first()), Some((identity.siret.as_deref().unwrap(), Some("0009"))));
    assert_eq!(id(read.legal_registration.as_ref()), Some((siren, Some("0002"))));
    assert_eq!(read.vat_identifier, identity.vat_number);
    let fiscal = identity.vat_number.is_none().then_some(siren);
    assert_eq!(read.tax_registration.as_deref(), fiscal);
    let is_company = identity.share_capital.is_some();
    let form = if is_company { "SARL au capital de 10 000 €" } else { "EI" };
    let legal = format!("{form}, RCS Nantes 732 829 320");
    assert_eq!(read.additional_legal_information.as_ref(), Some(&legal));
    let own = identity.electronic_address.as_deref();
    assert_eq!(id(read.electronic_address.as_ref()), Some((own.unwrap_or(siren), Some("0225"))));
    let address = &read.address;
    assert_eq!(address.line1.as_deref(), Some("12 rue des Métiers"));
    assert_eq!(address.line2.as_deref(), Some("Bâtiment B"));
    assert_eq!((address.post_code.as_deref(), address.city.as_deref()), (Some("44000"), Some("Nantes")));
    assert_eq!(address.country.as_ref().unwrap().as_str(), "FR");
}

fn buyer(read: &Party, view: &DocumentView<'_>) {
    let client = view.buyer;
    assert_eq!(read.name.as_deref(), Some(view.client.name));
    let siren = client.siren.as_deref().filter(|_| client.is_business());
    assert_eq!(id(read.legal_registration.as_ref()), siren.map(|siren| (siren, Some("0002"))));
    assert_eq!(read.vat_identifier, client.vat_number.clone().filter(|_| client.is_business()));
    let own = client.electronic_address.as_deref().or(siren);
    let address = own.map_or((view.client.email.unwrap(), Some("EM")), |own| (own, Some("0225")));
    assert_eq!(id(read.electronic_address.as_ref()), Some(address));
    let read = &read.address;
    let lines = [&read.line1, &read.line2, &read.post_code, &read.city].map(Option::as_deref);
    let country = read.country.as_ref().unwrap().as_str();
    if client.billing_address.is_some() {
        let billing = ["Service comptable", "CS 40102", "69401", "Lyon Cedex 03"];
        assert_eq!((lines, country), (billing.map(Some), "FR"));
    } else {
        let (zip_code, city) = (client.zip_code.as_deref(), client.city.as_deref());
        assert_eq!(lines, [client.address.as_deref(), None, zip_code, city]);
        assert_eq!(country, client.country.as_deref().unwrap_or("FR"));
    }
}

fn delivery(read: &Invoice, view: &DocumentView<'_>) {
    let delivery = read.delivery.as_ref().unwrap();
    let supplied_on = view.issued.unwrap().supplied_on;
    assert_eq!(delivery.date.map(of_date), Some(supplied_on.unwrap_or(view.issued_on)));
    let site = delivery.address.as_ref().map(|address| (address.line1.as_deref(), address.city.as_deref()));
    let expected = view.work_site.map(|_| (Some("4 quai de la Fosse"), Some("Nantes")));
    assert_eq!(site, expected);
    let period =
        read.invoicing_period.as_ref().map(|period| (period.start.map(of_date), period.end.map(of_date)));
    let expected = view.issued.unwrap().period.map(|(first, last)| (Some(first), Some(last)));
    assert_eq!(period, expected);
}

fn payment(read: &Invoice, view: &DocumentView<'_>) {
    let issued = view.issued.unwrap();
    let (is_asked, is_paid) = (view.asking().is_some(), issued.paid_on.is_some());
    let iban = view.company.identity.iban.as_deref().filter(|_| is_asked);
    assert_eq!(read.payment.as_ref().and_then(|payment| payment.account_identifier()), iban);
    let reference = read.payment.as_ref().and_then(|payment| payment.remittance_information.as_deref());
    assert_eq!(reference, iban.map(|_| view.number));
    assert_eq!(read.due_date.map(of_date), issued.due_date.filter(|_| is_asked || is_paid));
    let terms = read.payment_terms.as_deref().unwrap_or_default();
    assert_eq!(terms.starts_with("À payer au plus tard le "), is_asked);
    assert_eq!(terms.starts_with("Acquittée le "), is_paid);
    assert_eq!(terms.starts_with("Avoir sur la facture "), is_credit(view));
    assert_eq!(terms.contains("71-584"), !view.retention_amount.is_zero());
}

fn amounts(read: &Invoice, view: &DocumentView<'_>) {
    let (ht, ttc, totals) = (view.total_ht.get(), view.total_ttc.get(), &read.totals);
    assert_eq!((totals.line_total.into_decimal(), totals.taxable_total.into_decimal()), (ht, ht));
    let paid = view.issued.unwrap().paid_on.map(|_| ttc);
    let due = ttc - paid.unwrap_or_default();
    assert_eq!((totals.gross_total.into_decimal(), totals.due.into_decimal()), (ttc, due));
    assert_eq!(totals.vat_total.unwrap().into_decimal(), ttc - ht);
    assert_eq!((totals.paid.map(en16931::InvoiceAmount::into_decimal), totals.rounding), (paid, None));
    assert_eq!(read.vat_breakdown.len(), view.vat_breakdown.len());
    for (read_share, share) in read.vat_breakdown.iter().zip(view.vat_breakdown) {
        assert_eq!(read_share.taxable_amount.into_decimal(), share.base_ht.get());
        assert_eq!(read_share.tax_amount.into_decimal(), share.amount_tva.get());
        assert_eq!(read_share.rate.unwrap().into_decimal(), share.tva_rate.get());
        let (category, exemption) = category(view);
        assert_eq!(read_share.category.as_str(), category);
        assert_eq!(read_share.exemption_reason_code.as_ref().map(Code::as_str), exemption);
    }
    assert_eq!(read.vat_point_date_code.as_ref().map(Code::as_str), tax_point(view));
}

fn category(view: &DocumentView<'_>) -> (&'static str, Option<&'static str>) {
    match view.vat_breakdown[0].tva_rate.is_zero() {
        true if view.exemption == Some(VatExemption::ReverseCharge) => ("AE", Some("VATEX-FR-AE")),
        true => ("E", Some("VATEX-FR-FRANCHISE")),
        false => ("S", None),
    }
}

/// The codes of the model (UNTDID 2005); the XML has those of CII (UNTDID 2475), 5 and 72.
fn tax_point(view: &DocumentView<'_>) -> Option<&'static str> {
    let on_debits = view.company.identity.vat_on_debits;
    match category(view).0 {
        "S" if on_debits => Some("3"),
        "S" if view.operations != OperationNature::Goods => Some("432"),
        _ => None,
    }
}

fn line(read: &InvoiceLine, line: &Line, index: usize, view: &DocumentView<'_>) {
    assert_eq!(read.id, (index + 1).to_string());
    assert_eq!(read.quantity.into_decimal(), line.quantity.get());
    assert_eq!(read.net_amount.into_decimal(), line.total_ht.get());
    assert_eq!(read.price.net_price.into_decimal(), line.unit_price.get());
    assert_eq!(read.vat.rate.unwrap().into_decimal(), line.tva_rate.get());
    assert_eq!(read.vat.category.as_str(), category(view).0);
    let (code, unit) = match line.unit.as_deref() {
        Some("m2") => ("MTK", ""),
        Some("ml") => ("MTR", ""),
        Some("h") => ("HUR", ""),
        Some("Forfait") => ("LS", ""),
        Some(_) => ("C62", "Unité : rouleau & demi"),
        None => ("C62", ""),
    };
    assert_eq!(read.unit_code.as_str(), code);
    let text = format!("{} {unit}", line.description);
    let written = [read.item.name.as_deref(), read.item.description.as_deref()];
    let written = written.map(Option::unwrap_or_default).join(" ");
    assert!(written.split_whitespace().eq(text.split_whitespace()), "{written:?} {text:?}");
    let attributes: Vec<_> =
        read.item.attributes.iter().map(|attribute| attribute.value.as_deref()).collect();
    let expected: Vec<_> =
        [&line.lot, &line.section].into_iter().flatten().map(|place| Some(&**place)).collect();
    assert_eq!(attributes, expected);
}

fn of_date(date: Date) -> NaiveDate {
    let read = day(date.year(), date.month().into(), date.day().into());
    assert_eq!(read.day(), u32::from(date.day()));
    read
}
