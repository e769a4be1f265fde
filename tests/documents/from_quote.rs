//! From the quote to the XML of its invoice: what a quote says of VAT, operations and work site reaches the platform.

use invoicing_core::{
    BillingAddress, CompanyIdentity, DocumentFormat, NewCreditNote, NewLine, NewQuote, OperationNature,
    Percent, VatRegime, percent,
};
use invoicing_server::IssueOptions;
use invoicing_tests::{Database, World, business_client, legal_identity, new_quote, on_each_database};

use super::invoices::{issued, text_of, xml_of};
use crate::support::{date, invalid};

/// The content of the first element of a name.
fn inside<'a>(xml: &'a str, element: &str) -> &'a str {
    let (_, rest) = xml.split_once(&format!("<{element}>")).unwrap_or_else(|| panic!("no {element}: {xml}"));
    rest.split_once(&format!("</{element}>")).expect("its end").0
}

/// Subcontracted works on a site of their own, whose VAT the client owes.
async fn subcontracted(world: &World, rate: u32) -> NewQuote {
    let client =
        world.company.clients().create(&business_client().vat_number("FR83404833048")).await.unwrap().id;
    let quote = NewQuote::empty(client)
        .line(NewLine::new("Pose de cloisons", 10, 25, rate).unit("m2"))
        .operations(OperationNature::Mixed)
        .reverse_charge(true);
    NewQuote { work_site: Some("3 quai Bas\n75001 Paris".into()), ..quote }.order_number("PO-1")
}

/// Reverse charge is category AE with its reason, and not S1 with S.
///
/// See Dolibarr/dolibarr-community-modules#722 and #946.
#[on_each_database]
async fn the_xml_of_an_invoice_says_what_its_quote_said(db: Database) {
    let world = World::new(db).await;
    world.company.set_identity(&legal_identity()).await.unwrap();
    let (quotes, invoices) = (world.company.quotes(), world.company.invoices());
    let quote = quotes.create(&subcontracted(&world, 0).await).await.unwrap();
    quotes.send(quote.summary.id, None).await.unwrap();
    quotes.accept(quote.summary.id).await.unwrap();
    let draft = invoices.convert(quote.summary.id).await.unwrap().summary.id;
    let options = IssueOptions::default()
        .supplied_on(date("2026-09-11"))
        .period(date("2026-09-01"), date("2026-09-10"))
        .order_number("PO-2");
    let invoice = invoices.issue_with(draft, &options).await.unwrap().summary;
    assert_eq!(invoice.document_format.unwrap(), DocumentFormat::FacturX);
    let document = invoices.open_document(draft).await.unwrap();
    let note = invoices.credit(draft, &NewCreditNote::new("Moins").quantity(0, 2)).await.unwrap();
    let credit = world.company.credit_notes().open_document(note.summary.id).await.unwrap();
    let Some(invoice) = xml_of(db, "reverse_charge", &document.bytes) else { return };
    let Some(credit) = xml_of(db, "reverse_charge_credit", &credit.bytes) else { return };
    for xml in [&invoice, &credit] {
        let process = inside(xml, "ram:BusinessProcessSpecifiedDocumentContextParameter");
        assert_eq!(process, "<ram:ID>M1</ram:ID>", "BT-23");
        let tax = inside(inside(xml, "ram:ApplicableHeaderTradeSettlement"), "ram:ApplicableTradeTax");
        assert_eq!(inside(tax, "ram:CategoryCode"), "AE");
        assert_eq!(inside(tax, "ram:ExemptionReasonCode"), "VATEX-FR-AE");
        assert_eq!(inside(tax, "ram:RateApplicablePercent"), "0");
        let site = inside(xml, "ram:ShipToTradeParty");
        for (element, text) in
            [("ram:PostcodeCode", "75001"), ("ram:LineOne", "3 quai Bas"), ("ram:CityName", "Paris")]
        {
            assert_eq!(inside(site, element), text);
        }
        let contract = inside(xml, "ram:ContractReferencedDocument");
        assert_eq!(inside(contract, "ram:IssuerAssignedID"), quote.summary.number, "BT-12");
        let order = inside(xml, "ram:BuyerOrderReferencedDocument");
        assert_eq!(inside(order, "ram:IssuerAssignedID"), "PO-2", "BT-13");
    }
    let supplied = inside(&invoice, "ram:ActualDeliverySupplyChainEvent");
    assert!(supplied.contains(">20260911<"), "BT-72: {supplied}");
    let period = inside(&invoice, "ram:BillingSpecifiedPeriod");
    assert!(inside(period, "ram:StartDateTime").contains(">20260901<"), "BT-73: {period}");
    assert!(inside(period, "ram:EndDateTime").contains(">20260910<"), "BT-74: {period}");
}

/// Rules: INVOICE-32, INVOICE-33, DOCUMENT-32
#[on_each_database]
async fn order_number_and_billing_address_reach_invoice_and_credit_note(db: Database) {
    let world = World::new(db).await;
    world.company.set_identity(&legal_identity()).await.unwrap();
    let (clients, quotes, invoices) =
        (world.company.clients(), world.company.quotes(), world.company.invoices());
    let accounting = BillingAddress::default().address("CS 40102").zip_code("69401").city("Lyon Cedex 03");
    let billed = business_client().billing_address(accounting);
    let client = clients.create(&billed).await.unwrap().id;
    let content = NewQuote::empty(client).line(NewLine::new("Peinture", 10, 25, 10)).order_number("PO-0");
    let quote = quotes.create(&content).await.unwrap();
    assert_eq!(quote.detail.order_number.as_deref(), Some("PO-0"));
    let edited = quotes.edit(quote.summary.id, &content.order_number(" PO-1 ")).await.unwrap();
    assert!(edited.summary.updated_at > quote.summary.updated_at);
    assert_eq!(quotes.get(quote.summary.id).await.unwrap().detail.order_number.as_deref(), Some("PO-1"));
    quotes.accept(quote.summary.id).await.unwrap();
    let draft = invoices.convert(quote.summary.id).await.unwrap();
    assert_eq!(draft.detail.order_number.as_deref(), Some("PO-1"));
    let id = draft.summary.id;
    let long = IssueOptions::default().order_number("x".repeat(51));
    invalid(&world, "orderNumber", invoices.issue_with(id, &long)).await;
    invoices.issue(id, None).await.unwrap();
    assert_eq!(invoices.get(id).await.unwrap().detail.order_number.as_deref(), Some("PO-1"));
    // The credit note repeats its invoice, whatever has become of the client.
    clients.change(client, &business_client()).await.unwrap();
    let note = invoices.credit(id, &NewCreditNote::new("Moins").quantity(0, 2)).await.unwrap().summary.id;
    let files = [
        ("order", invoices.open_document(id).await.unwrap()),
        ("order_credit", world.company.credit_notes().open_document(note).await.unwrap()),
    ];
    for (name, document) in files {
        let Some(xml) = xml_of(db, name, &document.bytes) else { return };
        let order = inside(&xml, "ram:BuyerOrderReferencedDocument");
        assert_eq!(inside(order, "ram:IssuerAssignedID"), "PO-1", "BT-13");
        let address = inside(inside(&xml, "ram:BuyerTradeParty"), "ram:PostalTradeAddress");
        for (element, text) in
            [("ram:PostcodeCode", "69401"), ("ram:LineOne", "CS 40102"), ("ram:CityName", "Lyon Cedex 03")]
        {
            assert_eq!(inside(address, element), text, "BG-8");
        }
        let Some(text) = text_of(&document.bytes) else { return };
        let seat = billed.address.as_deref().unwrap();
        for shown in [seat, "Votre commande", "PO-1", "Adresse de facturation", "CS 40102"] {
            assert!(text.contains(shown), "{shown} in {text}");
        }
    }
}

/// An order number that is emptied at the issue is none.
///
/// Rules: INVOICE-32
#[on_each_database]
async fn an_issue_can_remove_the_order_number(db: Database) {
    let world = World::new(db).await;
    let invoices = world.company.invoices();
    let content = new_quote(world.client("Durand").await).order_number("PO-1");
    let draft = invoices.create_direct(&content).await.unwrap();
    assert_eq!(draft.detail.order_number.as_deref(), Some("PO-1"));
    let none = IssueOptions::default().order_number(" ");
    invoices.issue_with(draft.summary.id, &none).await.unwrap();
    assert_eq!(invoices.get(draft.summary.id).await.unwrap().detail.order_number, None);
}

/// The client never saw its quote.
#[on_each_database]
async fn an_invoice_without_an_offer_names_no_quote(db: Database) {
    let world = World::new(db).await;
    world.company.set_identity(&legal_identity()).await.unwrap();
    let invoices = world.company.invoices();
    let draft = invoices.create_direct(&subcontracted(&world, 0).await).await.unwrap().summary.id;
    invoices.issue(draft, None).await.unwrap();
    let document = invoices.open_document(draft).await.unwrap();
    let Some(xml) = xml_of(db, "direct", &document.bytes) else { return };
    assert!(!xml.contains("ram:ContractReferencedDocument"), "{xml}");
    let Some(text) = text_of(&document.bytes) else { return };
    assert!(!text.contains("Devis"), "{text}");
}

#[on_each_database]
async fn a_quote_under_reverse_charge_with_vat_is_refused_by_name(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let with_vat = subcontracted(&world, 10).await;
    invalid(&world, "lines[0].tvaRate", quotes.create(&with_vat)).await;
    let draft = quotes.create(&subcontracted(&world, 0).await).await.unwrap().summary.id;
    invalid(&world, "lines[0].tvaRate", quotes.edit(draft, &with_vat)).await;
}

/// `B2`, `S2` and `M2` are for invoices that are paid as a whole with their issue; payments afterwards change no document.
///
/// See Dolibarr/dolibarr-community-modules#487 and #493.
///
/// Rules: INVOICE-31
#[on_each_database]
async fn a_draft_that_is_marked_paid_says_so_unless_a_part_is_held_back(db: Database) {
    let world = World::new(db).await;
    world.company.set_identity(&legal_identity()).await.unwrap();
    let invoices = world.company.invoices();
    let client =
        world.company.clients().create(&business_client().vat_number("FR83404833048")).await.unwrap().id;
    let content = NewQuote::empty(client).line(NewLine::new("Peinture", 10, 25, 10));
    for (name, retention, frame, due) in [("marked_paid", 0, "S2", "0"), ("held_back", 5, "S1", "275")] {
        let content = content.clone().retention_rate(retention);
        let draft = invoices.create_direct(&content).await.unwrap().summary.id;
        let paid = invoices.mark_paid(draft).await.unwrap().summary;
        assert_eq!((paid.status.as_str(), paid.amount_due.is_zero()), ("PAID", true));
        let document = invoices.open_document(draft).await.unwrap();
        let Some(xml) = xml_of(db, name, &document.bytes) else { return };
        let process = inside(&xml, "ram:BusinessProcessSpecifiedDocumentContextParameter");
        assert_eq!(process, format!("<ram:ID>{frame}</ram:ID>"), "BT-23");
        assert_eq!(inside(&xml, "ram:DuePayableAmount"), due, "BT-115");
        assert_eq!(xml.contains("<ram:TotalPrepaidAmount>275<"), frame == "S2", "BT-113: {xml}");
        let Some(text) = text_of(&document.bytes) else { return };
        assert_eq!(text.contains("Acquittée le"), frame == "S2", "{text}");
        assert_eq!(text.contains("Règlement"), frame == "S1", "{text}");
    }
    let draft = invoices.create_direct(&content).await.unwrap().summary.id;
    invoices.issue(draft, None).await.unwrap();
    let issued = invoices.open_document(draft).await.unwrap();
    invoices.mark_paid(draft).await.unwrap();
    assert_eq!(invoices.open_document(draft).await.unwrap(), issued, "paid later");
}

/// The documents without VAT, overseas, and of 0, as files for the official rules and for the eye.
#[on_each_database]
async fn documents_of_every_treatment_are_made(db: Database) {
    let world = World::new(db).await;
    let (clients, invoices) = (world.company.clients(), world.company.invoices());
    let franchise = legal_identity().vat_regime(VatRegime::Franchise);
    let overseas = business_client().country("RE");
    let works = |rate: Percent| vec![NewLine::new("Isolation des combles", 10, 25, rate).unit("m2")];
    let nothing = [1, -1].map(|quantity| NewLine::new("Peinture", quantity, 25, 20)).to_vec();
    for (name, identity, client, lines, shown) in [
        (
            "franchise",
            franchise,
            business_client(),
            works(percent!(0)),
            "TVA non applicable, art. 293 B du CGI",
        ),
        ("overseas", legal_identity(), overseas, works(percent!(2.1)), "La Réunion"),
        ("nothing", legal_identity(), business_client(), nothing, "0,00"),
    ] {
        world.company.set_identity(&identity).await.unwrap();
        let client = clients.create(&client).await.unwrap().id;
        let content = NewQuote::empty(client).lines(lines).housing_works(true);
        let draft = invoices.create_direct(&content).await.unwrap().summary.id;
        invoices.issue(draft, None).await.unwrap();
        let document = invoices.open_document(draft).await.unwrap();
        if xml_of(db, name, &document.bytes).is_none() {
            return;
        }
        let Some(text) = text_of(&document.bytes) else { return };
        assert!(text.contains(shown), "{name}: {text}");
        assert_eq!(text.contains("selon les indications"), name == "overseas", "{name}: {text}");
    }
}

/// The retention and the identity of a plain invoice and of what is credited of it, as files for the official rules.
#[on_each_database]
async fn what_was_due_stays_in_the_xml_beside_the_retention(db: Database) {
    let world = World::new(db).await;
    let on_debits = CompanyIdentity { vat_on_debits: true, ..legal_identity() };
    world.company.set_identity(&on_debits).await.unwrap();
    let invoice = issued(&world, &business_client()).await.summary;
    let document = world.company.invoices().open_document(invoice.id).await.unwrap();
    let Some(xml) = xml_of(db, "retention", &document.bytes) else { return };
    assert_eq!(inside(&xml, "ram:DuePayableAmount"), "275", "the retention is not deducted");
    let tax = inside(inside(&xml, "ram:ApplicableHeaderTradeSettlement"), "ram:ApplicableTradeTax");
    assert_eq!(inside(tax, "ram:DueDateTypeCode"), "5", "BT-8: VAT is due with the invoice");
}
