//! The documents of invoices and credit notes: frozen with their numbers, and with e-invoicing as Factur-X.

use std::path::PathBuf;

use invoicing_core::{
    ClientType, CompanyIdentity, DocumentFormat, EInvoicing, NewClient, NewCompany, NewCreditNote, NewLine,
    NewQuote, Percent, Plan, QuoteImport, QuoteStatus, VatRegime, percent,
};
use invoicing_server::{Invoices, NewPayment, PaymentSource};
use invoicing_tests::{Database, World, business_client, legal_identity, on_each_database};
use serde_json::Value;

use super::golden::run;
use crate::support::{date, invalid, refusals};

/// The content of a quote for this client.
pub(super) async fn content(world: &World, client: &NewClient) -> NewQuote {
    let client = world.company.clients().create(client).await.unwrap().id;
    NewQuote::empty(client).line(NewLine::new("Peinture", 10, 25, 10).unit("m2")).retention_rate(5)
}

pub(super) async fn issued(world: &World, client: &NewClient) -> invoicing_core::Invoice {
    let invoices = world.company.invoices();
    let draft = invoices.create_direct(&content(world, client).await).await.unwrap();
    invoices.issue(draft.summary.id, None).await.unwrap()
}

/// A file that a document carries; `None` if qpdf is missing, or the document has no such file.
pub(super) fn attached(bytes: &[u8], name: &str) -> Option<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let path = file.path().to_str().unwrap();
    let listed = String::from_utf8(run("qpdf", &["--list-attachments", path])?).unwrap();
    if !listed.contains(name) {
        return None;
    }
    let xml = run("qpdf", &[&format!("--show-attachment={name}"), path])?;
    Some(String::from_utf8(xml).unwrap())
}

/// The XML in a Factur-X document; `None` if qpdf is missing, or the document has none.
///
/// With `FACTURX_SAMPLES=<folder>` both are written there, so that the official rules judge what the service makes. See
/// `tests/e_invoicing`. The files of one database are enough.
pub(super) fn xml_of(db: Database, name: &str, document: &[u8]) -> Option<String> {
    let xml = attached(document, "factur-x.xml")?;
    if let Some(folder) = std::env::var_os("FACTURX_SAMPLES").filter(|_| db == Database::Sqlite) {
        let file = PathBuf::from(folder).join(format!("service_{name}"));
        std::fs::write(file.with_extension("pdf"), document).unwrap();
        std::fs::write(file.with_extension("xml"), &xml).unwrap();
    }
    Some(xml)
}

/// Rules: DOCUMENT-22, DOCUMENT-23, DOCUMENT-25
#[on_each_database]
async fn an_invoice_has_a_document_from_its_issue_on(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let draft = invoices.create_direct(&content(&world, &NewClient::named("Claire")).await).await.unwrap();
    let id = draft.summary.id;
    let path = format!("/api/v1/invoices/{id}/document");
    assert_eq!(world.get(&path).await.code(), "document_unavailable");
    let detail = world.get(&format!("/api/v1/invoices/{id}")).await.json;
    assert_eq!(detail["documentFormat"], Value::Null);
    let issued = invoices.issue(id, None).await.unwrap().summary;
    let answer = world.get(&path).await;
    assert_eq!(answer.status, 200);
    let number = issued.number.unwrap();
    assert_eq!(answer.json["fileName"], format!("{number}.pdf"));
    let url = answer.json["url"].as_str().unwrap();
    let served = world.call("GET", &url[url.find("/api/").unwrap()..], None, &[], bytes::Bytes::new()).await;
    let opened = invoices.open_document(id).await.unwrap();
    assert_eq!((served.status.as_u16(), &served.bytes), (200, &opened.bytes));
    assert_eq!(answer.json["sha256"], opened.sha256);
    assert_eq!(issued.document_format.unwrap(), DocumentFormat::Pdf);
    assert_eq!(world.get(&format!("{path}?type=xml")).await.code(), "validation_error");
}

/// Rules: DOCUMENT-24, INVOICE-25, CREDIT-7
#[on_each_database]
async fn a_frozen_invoice_stays_as_it_is(db: Database) {
    let world = World::new(db).await;
    world.company.set_identity(&legal_identity()).await.unwrap();
    let (invoices, notes) = (world.company.invoices(), world.company.credit_notes());
    let invoice = issued(&world, &business_client()).await;
    let id = invoice.summary.id;
    let before = invoices.open_document(id).await.unwrap();
    let note = invoices.credit(id, &NewCreditNote::new("Deux m² de moins").quantity(0, 2)).await.unwrap();
    let credited = notes.open_document(note.summary.id).await.unwrap();
    let moved = CompanyIdentity { address: Some("1 rue Neuve".into()), ..legal_identity() };
    world.company.set_identity(&moved).await.unwrap();
    let renamed = NewClient { name: "Autre SARL".into(), ..business_client() };
    world.company.clients().change(invoice.summary.client_id, &renamed).await.unwrap();
    invoices.pay(id, &NewPayment::new(100, PaymentSource::Bank)).await.unwrap();
    invoices.mark_paid(id).await.unwrap();
    invoices.credit(id, &NewCreditNote::of_remaining("Erreur")).await.unwrap();
    assert_eq!(invoices.open_document(id).await.unwrap(), before);
    assert_eq!(notes.open_document(note.summary.id).await.unwrap(), credited);
    assert_eq!(notes.get(note.summary.id).await.unwrap(), note);
    let after = invoices.get(id).await.unwrap();
    assert_eq!((&after.lines, &after.summary.number), (&invoice.lines, &invoice.summary.number));
    assert_eq!(after.summary.total_ttc, invoice.summary.total_ttc);
}

/// Rules: DOCUMENT-25, DOCUMENT-26
#[on_each_database]
async fn with_e_invoicing_an_invoice_carries_its_xml(db: Database) {
    let world = World::new(db).await;
    world.company.set_identity(&legal_identity()).await.unwrap();
    let (invoices, notes) = (world.company.invoices(), world.company.credit_notes());
    let invoice = issued(&world, &business_client()).await.summary;
    assert_eq!(invoice.document_format.unwrap(), DocumentFormat::FacturX);
    let note = invoices.credit(invoice.id, &NewCreditNote::of_remaining("Travaux annulés")).await.unwrap();
    assert_eq!(note.summary.document_format.unwrap(), DocumentFormat::FacturX);
    let opened = invoices.open_document(invoice.id).await.unwrap();
    let number = invoice.number.unwrap();
    if let Some(xml) = attached(&opened.bytes, "factur-x.xml") {
        assert!(xml.contains(&number) && xml.contains("urn:cen.eu:en16931:2017"), "{xml}");
    }
    let credit = notes.open_document(note.summary.id).await.unwrap();
    if let Some(xml) = attached(&credit.bytes, "factur-x.xml") {
        assert!(xml.contains(">381<") && xml.contains(&number) && xml.contains("Travaux annulés"), "{xml}");
    }
    if let Some(text) = text_of(&credit.bytes) {
        assert!(text.contains(&number) && text.contains("Travaux annulés"), "{text}");
    }
}

pub(super) fn text_of(bytes: &[u8]) -> Option<String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let text = run("pdftotext", &["-layout", file.path().to_str().unwrap(), "-"])?;
    Some(String::from_utf8(text).unwrap())
}

/// A draft that cannot be issued, and the fields that are missing.
async fn gaps(invoices: Invoices<'_>, content: &NewQuote) -> Vec<String> {
    let draft = invoices.create_direct(content).await.unwrap().summary.id;
    let missing = refusals(invoices.readiness(draft).await.unwrap());
    let refused = invoices.issue(draft, None).await;
    assert_eq!(refused.is_err(), !missing.is_empty(), "{missing:?}");
    for gap in &missing {
        assert!(!gap.english.is_empty() && !gap.french.is_empty() && !gap.rule.is_empty());
    }
    missing.into_iter().map(|gap| gap.field).collect()
}

/// Rules: INVOICE-27, INVOICE-29
#[on_each_database]
async fn issuing_refuses_exactly_the_gaps_that_readiness_lists(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    world.company.set_identity(&legal_identity()).await.unwrap();
    let of_business = content(&world, &business_client()).await;
    assert_eq!(gaps(invoices, &of_business).await, [""; 0]);
    let unknown = NewClient { siren: None, ..business_client() };
    assert_eq!(gaps(invoices, &content(&world, &unknown).await).await, ["client.siren"]);
    let field = format!("lines[{}].tvaRate", of_business.lines.len());
    // Lines with a rate that no law has are refused before there is an invoice.
    for rate in [7, 19, 0] {
        let odd = of_business.clone().line(NewLine::new("Sable", 1, 10, rate));
        invalid(&world, &field, invoices.create_direct(&odd)).await;
    }
    // A private client without an address for electronic documents gets a plain PDF.
    let private =
        NewClient::named("Claire").r#type(ClientType::Particulier).address("1 rue B").city("Nantes");
    let plain = issued(&world, &private).await.summary;
    assert_eq!(plain.document_format.unwrap(), DocumentFormat::Pdf);
    let reachable = issued(&world, &private.clone().email("claire@exemple.fr")).await.summary;
    assert_eq!(reachable.document_format.unwrap(), DocumentFormat::FacturX);
    // Clients without electronic invoices get a plain PDF, for which no XML is asked.
    let abroad = NewClient::named("Claire").r#type(ClientType::Particulier).country("BE");
    let business = NewClient { siren: None, ..business_client() }.country("MC");
    for client in [abroad.clone(), abroad.email("claire@exemple.be"), business] {
        let plain = issued(&world, &client).await.summary;
        assert_eq!(plain.document_format.unwrap(), DocumentFormat::Pdf, "{client:?}");
    }
}

/// The law asks for the same of every invoice, also without e-invoicing.
///
/// Rules: INVOICE-27
#[on_each_database]
async fn a_company_without_legal_data_is_told_all_in_one_list(db: Database) {
    let world = World::new(db).await;
    let (invoices, quotes) = (world.company.invoices(), world.company.quotes());
    world.company.set_identity(&CompanyIdentity::default()).await.unwrap();
    let quote = world.draft().await.summary.id;
    assert_eq!(refusals(quotes.readiness(quote).await.unwrap()), [], "a quote is only advised");
    assert!(quotes.readiness(quote).await.unwrap().iter().any(|gap| gap.field == "company.siret"));
    quotes.accept(quote).await.unwrap();
    let draft = invoices.convert(quote).await.unwrap().summary.id;
    let missing: Vec<_> =
        refusals(invoices.readiness(draft).await.unwrap()).into_iter().map(|gap| gap.field).collect();
    assert_eq!(missing, ["company.address", "company.siret", "company.vatNumber"]);
    invalid(&world, "company.address", invoices.issue(draft, None)).await;
    invalid(&world, "company.address", invoices.mark_paid(draft)).await;
    world.company.set_identity(&legal_identity().e_invoicing(EInvoicing::Off)).await.unwrap();
    assert_eq!(refusals(invoices.readiness(draft).await.unwrap()), []);
    invoices.issue(draft, None).await.unwrap();
    // A credit note repeats what its invoice states.
    world.company.set_identity(&CompanyIdentity::default()).await.unwrap();
    let credit = NewCreditNote::of_remaining("Erreur");
    assert_eq!(refusals(invoices.credit_readiness(draft, &credit).await.unwrap()), []);
    invoices.credit(draft, &credit).await.unwrap();
}

/// Rules: INVOICE-28
#[on_each_database]
async fn vat_that_can_never_be_mended_is_refused_before_lines_are_locked(db: Database) {
    let world = World::new(db).await;
    let (quotes, client) = (world.company.quotes(), world.client("Claire").await);
    let at = |rate: Percent| NewQuote::empty(client).line(NewLine::new("Sable", 1, 10, rate));
    let sent = |at: &str| QuoteImport {
        status: QuoteStatus::Accepted,
        sent_at: Some(at.parse().unwrap()),
        accepted_at: Some(at.parse().unwrap()),
    };
    let field = "lines[0].tvaRate";
    for rate in [percent!(0), percent!(12.34), percent!(19.6)] {
        let draft = quotes.create(&at(rate)).await.unwrap().summary.id;
        invalid(&world, field, quotes.send(draft, None)).await;
        invalid(&world, field, quotes.accept(draft)).await;
        invalid(&world, field, world.company.invoices().create_direct(&at(rate))).await;
        let named = refusals(quotes.readiness(draft).await.unwrap());
        assert_eq!(named.into_iter().map(|gap| gap.field).collect::<Vec<_>>(), [field], "{rate}");
    }
    invalid(&world, field, quotes.import(&at(percent!(19.6)), &sent("2014-01-01T12:00:00.000Z"))).await;
    quotes.import(&at(percent!(19.6)), &sent("2013-12-31T12:00:00.000Z")).await.unwrap();
    // Reverse charge is a reason for 0 %, and so is franchise, in which nothing else can be charged.
    let known = quotes.send(quotes.create(&at(percent!(20))).await.unwrap().summary.id, None).await.unwrap();
    let reversed = quotes.create(&at(percent!(0)).reverse_charge(true)).await.unwrap().summary.id;
    quotes.send(reversed, None).await.unwrap();
    let franchise = legal_identity().e_invoicing(EInvoicing::Off).vat_regime(VatRegime::Franchise);
    world.company.set_identity(&franchise).await.unwrap();
    let free = quotes.create(&at(percent!(0))).await.unwrap().summary.id;
    quotes.send(free, None).await.unwrap();
    let charged = quotes.create(&at(percent!(20))).await.unwrap().summary.id;
    invalid(&world, field, quotes.send(charged, None)).await;
    // A signature, and the acceptance of a quote that was sent before, are refused for nothing.
    quotes.accept(known.summary.id).await.unwrap();
}

#[on_each_database]
async fn e_invoicing_is_on_only_with_the_legal_data_for_it(db: Database) {
    let world = World::new(db).await;
    let bare = CompanyIdentity::default().e_invoicing(EInvoicing::On);
    invalid(&world, "eInvoicing", world.company.set_identity(&bare)).await;
    let franchise = CompanyIdentity { vat_number: None, ..legal_identity() };
    invalid(&world, "eInvoicing", world.company.set_identity(&franchise)).await;
    world.company.set_identity(&franchise.vat_regime(VatRegime::Franchise)).await.unwrap();
    let spaced = legal_identity().vat_number("fr 44 732 829 320");
    world.company.set_identity(&spaced).await.unwrap();
    let new = NewCompany::named("Atelier Genève", Plan::Team).currency("CHF").identity(legal_identity());
    invalid(&world, "eInvoicing", world.invoicing.companies().create(&new)).await;
}

/// Rules: INVOICE-26
#[on_each_database]
async fn cancelling_is_never_refused_for_missing_legal_data(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let plain = issued(&world, &NewClient::named("Claire")).await.summary.id;
    world.company.set_identity(&legal_identity()).await.unwrap();
    let electronic = issued(&world, &business_client()).await.summary;
    world.company.set_identity(&CompanyIdentity::default()).await.unwrap();
    let bare = NewClient::named("Dupont SARL");
    world.company.clients().change(electronic.client_id, &bare).await.unwrap();
    for id in [plain, electronic.id] {
        let canceled = invoices.cancel(id).await.unwrap();
        let note = &canceled.detail.credit_notes[0];
        assert_eq!(note.total_ttc, canceled.summary.total_ttc);
        let format = world.company.credit_notes().get(note.id).await.unwrap().summary.document_format;
        assert_eq!(format, canceled.summary.document_format, "the format of the invoice");
    }
}

/// Rules: DOCUMENT-22
#[on_each_database]
async fn an_invoice_whose_document_cannot_be_stored_is_not_issued(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let draft =
        invoices.create_direct(&content(&world, &NewClient::named("Claire")).await).await.unwrap().summary.id;
    world.documents.fail(true);
    assert!(invoices.issue(draft, None).await.is_err());
    assert!(invoices.mark_paid(draft).await.is_err());
    assert_eq!(invoices.get(draft).await.unwrap().summary.number, None);
    world.documents.fail(false);
    let issued = invoices.issue(draft, Some(date("2030-01-01"))).await.unwrap().summary;
    assert!(issued.number.unwrap().ends_with("-0001"), "no number was used before");
    world.documents.fail(true);
    assert!(invoices.cancel(draft).await.is_err());
    world.documents.fail(false);
    let canceled = invoices.cancel(draft).await.unwrap();
    assert!(canceled.detail.credit_notes[0].number.ends_with("-0001"));
}
