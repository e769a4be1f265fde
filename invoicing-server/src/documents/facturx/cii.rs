//! The writer of the Cross Industry Invoice (UN/CEFACT), in the order of its schema.
//!
//! Comments name the terms of EN 16931 that an element holds.

use invoicing_core::internal::PostalAddress;
use invoicing_core::{Invalid, OperationNature, Rule, VatShare};

use super::address::write_address;
use super::einvoice::EInvoice;
use super::vat::Category;
use super::xml::{Xml, shortest};
use super::{lines, notes, parties, texts};
use crate::documents::content::french;
use crate::documents::content::header::credited_invoice;
use crate::documents::content::payment::PAID;
use crate::documents::content::view::DocumentView;

/// The profile (BT-24).
const EN_16931: &str = "urn:cen.eu:en16931:2017";
/// Bytes of a document without lines, and of a line with short texts.
const HEAD: usize = 6 * 1024;
const LINE: usize = 1024;

const NAMESPACES: &[(&str, &str)] = &[
    ("xmlns:rsm", "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"),
    ("xmlns:qdt", "urn:un:unece:uncefact:data:standard:QualifiedDataType:100"),
    ("xmlns:ram", "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"),
    ("xmlns:udt", "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100"),
];

/// The XML of an invoice or a credit note.
///
/// # Errors
/// [`Invalid`] for a text that XML cannot hold, and for a rate of 0 without a reason in law.
pub(crate) fn cross_industry_invoice(view: &DocumentView<'_>) -> Result<Vec<u8>, Invalid> {
    let Some(invoice) = EInvoice::of(view) else {
        return Err(Invalid::new("document", Rule::NoEInvoice));
    };
    texts::check(invoice)?;
    let mut xml = Xml::with_capacity(HEAD + LINE * view.lines.len());
    xml.open("rsm:CrossIndustryInvoice", NAMESPACES);
    xml.group("rsm:ExchangedDocumentContext", |xml| context(xml, invoice));
    xml.group("rsm:ExchangedDocument", |xml| document(xml, invoice));
    xml.try_group("rsm:SupplyChainTradeTransaction", |xml| transaction(xml, invoice))?;
    xml.close("rsm:CrossIndustryInvoice");
    let forbidden = |c: char| Rule::CharacterOfXml { code_point: c.into(), position: None };
    xml.finish().map_err(|c| Invalid::new("document", forbidden(c)))
}

/// BT-23 and BT-24.
fn context(xml: &mut Xml, invoice: EInvoice<'_>) {
    xml.group("ram:BusinessProcessSpecifiedDocumentContextParameter", |xml| {
        xml.text("ram:ID", business_process(invoice));
    });
    xml.group("ram:GuidelineSpecifiedDocumentContextParameter", |xml| xml.text("ram:ID", EN_16931));
}

/// The business process at issue (BT-23, BR-FR-08). It is no state: an invoice that is paid later
/// keeps it.
const fn business_process(invoice: EInvoice<'_>) -> &'static str {
    match (invoice.view.operations, invoice.issued.paid_on) {
        (OperationNature::Goods, None) => "B1",
        (OperationNature::Goods, Some(_)) => "B2",
        (OperationNature::Mixed, None) => "M1",
        (OperationNature::Mixed, Some(_)) => "M2",
        (_, None) => "S1",
        (_, Some(_)) => "S2",
    }
}

/// BT-1, BT-3, BT-2 and the notes.
fn document(xml: &mut Xml, invoice: EInvoice<'_>) {
    xml.text("ram:ID", invoice.view.number);
    xml.text("ram:TypeCode", if invoice.is_credit_note() { "381" } else { "380" });
    xml.day("ram:IssueDateTime", invoice.view.issued_on);
    notes::write(xml, invoice);
}

fn transaction(xml: &mut Xml, invoice: EInvoice<'_>) -> Result<(), Invalid> {
    for (index, line) in invoice.view.lines.iter().enumerate() {
        lines::write(xml, invoice, index, line)?;
    }
    xml.group("ram:ApplicableHeaderTradeAgreement", |xml| agreement(xml, invoice));
    xml.group("ram:ApplicableHeaderTradeDelivery", |xml| delivery(xml, invoice));
    xml.try_group("ram:ApplicableHeaderTradeSettlement", |xml| settlement(xml, invoice))
}

/// The parties, the client's order (BT-13), and the quote as the contract (BT-12).
fn agreement(xml: &mut Xml, invoice: EInvoice<'_>) {
    parties::seller(xml, invoice);
    parties::buyer(xml, invoice);
    if let Some(order) = invoice.view.order_number {
        xml.group("ram:BuyerOrderReferencedDocument", |xml| xml.text("ram:IssuerAssignedID", order));
    }
    if let Some(quote) = invoice.issued.quote_number {
        xml.group("ram:ContractReferencedDocument", |xml| xml.text("ram:IssuerAssignedID", quote));
    }
}

/// The work site (BG-15), and the day of the supply (BT-72). The day is always written: without it
/// the group could be empty, which platforms report.
fn delivery(xml: &mut Xml, invoice: EInvoice<'_>) {
    if let Some(site) = invoice.view.work_site {
        let address = PostalAddress::read(Some(site), None, None, None);
        xml.group("ram:ShipToTradeParty", |xml| write_address(xml, &address));
    }
    let day = invoice.issued.supplied_on.unwrap_or(invoice.view.issued_on);
    xml.group("ram:ActualDeliverySupplyChainEvent", |xml| xml.day("ram:OccurrenceDateTime", day));
}

fn settlement(xml: &mut Xml, invoice: EInvoice<'_>) -> Result<(), Invalid> {
    payment(xml, invoice);
    for share in invoice.view.vat_breakdown {
        let category = invoice.category(share.tva_rate, || "vatBreakdown".to_owned())?;
        xml.group("ram:ApplicableTradeTax", |xml| tax(xml, invoice, share, category));
    }
    period(xml, invoice);
    payment_terms(xml, invoice);
    xml.group("ram:SpecifiedTradeSettlementHeaderMonetarySummation", |xml| totals(xml, invoice));
    credited(xml, invoice);
    Ok(())
}

/// BT-83, BT-5, and the account to pay to (BG-16), if a payment is asked for.
fn payment(xml: &mut Xml, invoice: EInvoice<'_>) {
    let iban = invoice.identity().iban.as_deref().filter(|_| invoice.view.asking().is_some());
    xml.optional("ram:PaymentReference", iban.map(|_| invoice.view.number));
    xml.text("ram:InvoiceCurrencyCode", invoice.view.currency);
    if let Some(iban) = iban {
        xml.group("ram:SpecifiedTradeSettlementPaymentMeans", |xml| transfer(xml, invoice, iban));
    }
}

/// A credit transfer (UNTDID 4461: 30).
fn transfer(xml: &mut Xml, invoice: EInvoice<'_>, iban: &str) {
    xml.text("ram:TypeCode", "30");
    xml.group("ram:PayeePartyCreditorFinancialAccount", |xml| xml.text("ram:IBANID", iban));
    if let Some(bic) = invoice.identity().bic.as_deref() {
        xml.group("ram:PayeeSpecifiedCreditorFinancialInstitution", |xml| xml.text("ram:BICID", bic));
    }
}

/// The VAT of a rate (BG-23).
fn tax(xml: &mut Xml, invoice: EInvoice<'_>, share: &VatShare, category: Category) {
    let exemption = category.exemption();
    xml.number("ram:CalculatedAmount", share.amount_tva.get());
    xml.text("ram:TypeCode", "VAT");
    xml.optional("ram:ExemptionReason", exemption.map(|(text, _)| text));
    xml.number("ram:BasisAmount", share.base_ht.get());
    xml.text("ram:CategoryCode", category.code());
    xml.optional("ram:ExemptionReasonCode", exemption.map(|(_, code)| code));
    if category == Category::Standard {
        xml.optional("ram:DueDateTypeCode", tax_point(invoice));
    }
    xml.number("ram:RateApplicablePercent", share.tva_rate.get());
}

/// The event that makes VAT due (BT-8): the invoice if the company has opted for it, the payment of
/// a service; the delivery of goods needs no code.
fn tax_point(invoice: EInvoice<'_>) -> Option<&'static str> {
    match invoice.view.operations {
        _ if invoice.identity().vat_on_debits => Some("5"),
        OperationNature::Goods => None,
        _ => Some("72"),
    }
}

/// BG-14.
fn period(xml: &mut Xml, invoice: EInvoice<'_>) {
    if let Some((first, last)) = invoice.issued.period {
        xml.group("ram:BillingSpecifiedPeriod", |xml| {
            xml.day("ram:StartDateTime", first);
            xml.day("ram:EndDateTime", last);
        });
    }
}

/// BT-20 and BT-9. An invoice of 0 has no BT-9, and `Rien à payer.` as BT-20.
fn payment_terms(xml: &mut Xml, invoice: EInvoice<'_>) {
    let asked = invoice.view.asking().and_then(|issued| issued.due_date);
    let paid_on = invoice.issued.paid_on;
    let due_date = asked.or(paid_on);
    let due = asked.map(|day| format!("À payer au plus tard le {}.", french::date(day)));
    let paid = paid_on.map(|day| format!("{PAID} {}.", french::date(day)));
    // A document with an amount has to state how it is settled (BR-CO-25). A credit note is
    // deducted from what is due of its invoice, or paid back.
    let credited = invoice.issued.credited.as_ref().map(credited_invoice);
    let nothing = invoice.view.total_ttc.is_zero() && !invoice.is_credit_note();
    let nothing = nothing.then(|| "Rien à payer.".to_owned());
    let texts: Vec<_> = [due, paid, nothing, retention(invoice), credited].into_iter().flatten().collect();
    xml.group("ram:SpecifiedTradePaymentTerms", |xml| {
        xml.text("ram:Description", &texts.join("\n"));
        if let Some(day) = due_date {
            xml.day("ram:DueDateDateTime", day);
        }
    });
}

/// The part that the client holds back. The amount due stays the whole total, as its VAT does.
fn retention(invoice: EInvoice<'_>) -> Option<String> {
    let (rate, amount) = (invoice.view.retention_rate, invoice.view.retention_amount);
    (!amount.is_zero()).then(|| {
        let (rate, amount) = (french::percent(rate), french::amount(amount.get(), invoice.view.currency));
        format!(
            "Retenue de garantie {rate} : {amount} (loi n° 71-584), libérable un an après la réception des \
             travaux"
        )
    })
}

/// BG-22: as the record has them. A payment at the issue is prepaid (BT-113).
fn totals(xml: &mut Xml, invoice: EInvoice<'_>) {
    let (ht, ttc) = (invoice.view.total_ht.get(), invoice.view.total_ttc.get());
    xml.number("ram:LineTotalAmount", ht);
    xml.number("ram:TaxBasisTotalAmount", ht);
    let currency = [("currencyID", invoice.view.currency)];
    xml.attributed("ram:TaxTotalAmount", &currency, &shortest(ttc - ht));
    xml.number("ram:GrandTotalAmount", ttc);
    let prepaid = invoice.issued.paid_on.map(|_| ttc);
    if let Some(prepaid) = prepaid {
        xml.number("ram:TotalPrepaidAmount", prepaid);
    }
    xml.number("ram:DuePayableAmount", ttc - prepaid.unwrap_or_default());
}

/// The credited invoice (BG-3). A reference without a date does not count (BR-FR-CO-05).
fn credited(xml: &mut Xml, invoice: EInvoice<'_>) {
    if let Some(credited) = invoice.issued.credited {
        xml.group("ram:InvoiceReferencedDocument", |xml| {
            xml.text("ram:IssuerAssignedID", credited.number);
            xml.group("ram:FormattedIssueDateTime", |xml| {
                xml.day_text("qdt:DateTimeString", credited.issue_date);
            });
        });
    }
}
