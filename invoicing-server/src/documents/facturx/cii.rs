//! The writer of the Cross Industry Invoice (UN/CEFACT), in the order of its schema.
//!
//! Comments name the terms of EN 16931 that an element holds.

use invoicing_core::{Invalid, OperationNature, VatShare};

use super::address::Address;
use super::bill::Bill;
use super::vat::Category;
use super::xml::{Xml, shortest};
use super::{lines, notes, parties, texts};
use crate::documents::content::french;
use crate::documents::content::header::credited_invoice;
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
    let Some(bill) = Bill::of(view) else {
        return Err(Invalid::new("document", "must be an invoice or a credit note"));
    };
    texts::check(bill)?;
    let mut xml = Xml::with_capacity(HEAD + LINE * view.lines.len());
    xml.open("rsm:CrossIndustryInvoice", NAMESPACES);
    xml.group("rsm:ExchangedDocumentContext", |xml| context(xml, bill));
    xml.group("rsm:ExchangedDocument", |xml| document(xml, bill));
    xml.try_group("rsm:SupplyChainTradeTransaction", |xml| transaction(xml, bill))?;
    xml.close("rsm:CrossIndustryInvoice");
    let forbidden = |c: char| format!("must not contain U+{:04X}, which XML cannot hold", u32::from(c));
    xml.finish().map_err(|c| Invalid::new("document", forbidden(c)))
}

/// BT-23 and BT-24.
fn context(xml: &mut Xml, bill: Bill<'_>) {
    xml.group("ram:BusinessProcessSpecifiedDocumentContextParameter", |xml| {
        xml.text("ram:ID", business_process(bill.view.operations));
    });
    xml.group("ram:GuidelineSpecifiedDocumentContextParameter", |xml| xml.text("ram:ID", EN_16931));
}

/// The business process at issue (BT-23, BR-FR-08). It is no state: a paid invoice keeps it.
const fn business_process(operations: OperationNature) -> &'static str {
    match operations {
        OperationNature::Goods => "B1",
        OperationNature::Mixed => "M1",
        _ => "S1",
    }
}

/// BT-1, BT-3, BT-2 and the notes.
fn document(xml: &mut Xml, bill: Bill<'_>) {
    xml.text("ram:ID", bill.view.number);
    xml.text("ram:TypeCode", if bill.is_credit_note() { "381" } else { "380" });
    xml.day("ram:IssueDateTime", bill.view.issued_on);
    notes::write(xml, bill);
}

fn transaction(xml: &mut Xml, bill: Bill<'_>) -> Result<(), Invalid> {
    for (index, line) in bill.view.lines.iter().enumerate() {
        lines::write(xml, bill, index, line)?;
    }
    xml.group("ram:ApplicableHeaderTradeAgreement", |xml| agreement(xml, bill));
    xml.group("ram:ApplicableHeaderTradeDelivery", |xml| delivery(xml, bill));
    xml.try_group("ram:ApplicableHeaderTradeSettlement", |xml| settlement(xml, bill))
}

/// The parties, and the quote as the contract (BT-12).
fn agreement(xml: &mut Xml, bill: Bill<'_>) {
    parties::seller(xml, bill);
    parties::buyer(xml, bill);
    if let Some(quote) = bill.billing.quote_number {
        xml.group("ram:ContractReferencedDocument", |xml| xml.text("ram:IssuerAssignedID", quote));
    }
}

/// The work site (BG-15), and the day of the supply (BT-72). The day is always written: without it
/// the group could be empty, which platforms report.
fn delivery(xml: &mut Xml, bill: Bill<'_>) {
    if let Some(site) = bill.view.work_site {
        xml.group("ram:ShipToTradeParty", |xml| Address::of_text(site).write(xml));
    }
    let day = bill.billing.supplied_on.unwrap_or(bill.view.issued_on);
    xml.group("ram:ActualDeliverySupplyChainEvent", |xml| xml.day("ram:OccurrenceDateTime", day));
}

fn settlement(xml: &mut Xml, bill: Bill<'_>) -> Result<(), Invalid> {
    payment(xml, bill);
    for share in bill.view.vat_breakdown {
        let category = bill.category(share.tva_rate, || "vatBreakdown".to_owned())?;
        xml.group("ram:ApplicableTradeTax", |xml| tax(xml, bill, share, category));
    }
    period(xml, bill);
    payment_terms(xml, bill);
    xml.group("ram:SpecifiedTradeSettlementHeaderMonetarySummation", |xml| totals(xml, bill));
    credited(xml, bill);
    Ok(())
}

/// BT-83, BT-5, and the account to pay to (BG-16). A credit note asks for no payment.
fn payment(xml: &mut Xml, bill: Bill<'_>) {
    let iban = bill.identity().iban.as_deref().filter(|_| !bill.is_credit_note());
    xml.optional("ram:PaymentReference", iban.map(|_| bill.view.number));
    xml.text("ram:InvoiceCurrencyCode", bill.view.currency);
    if let Some(iban) = iban {
        xml.group("ram:SpecifiedTradeSettlementPaymentMeans", |xml| transfer(xml, bill, iban));
    }
}

/// A credit transfer (UNTDID 4461: 30).
fn transfer(xml: &mut Xml, bill: Bill<'_>, iban: &str) {
    xml.text("ram:TypeCode", "30");
    xml.group("ram:PayeePartyCreditorFinancialAccount", |xml| xml.text("ram:IBANID", iban));
    if let Some(bic) = bill.identity().bic.as_deref() {
        xml.group("ram:PayeeSpecifiedCreditorFinancialInstitution", |xml| xml.text("ram:BICID", bic));
    }
}

/// The VAT of a rate (BG-23).
fn tax(xml: &mut Xml, bill: Bill<'_>, share: &VatShare, category: Category) {
    let exemption = category.exemption();
    xml.number("ram:CalculatedAmount", share.amount_tva.get());
    xml.text("ram:TypeCode", "VAT");
    xml.optional("ram:ExemptionReason", exemption.map(|(text, _)| text));
    xml.number("ram:BasisAmount", share.base_ht.get());
    xml.text("ram:CategoryCode", category.code());
    xml.optional("ram:ExemptionReasonCode", exemption.map(|(_, code)| code));
    if category == Category::Standard {
        xml.optional("ram:DueDateTypeCode", tax_point(bill));
    }
    xml.number("ram:RateApplicablePercent", share.tva_rate.get());
}

/// The event that makes VAT due (BT-8): the invoice if the company has opted for it, the payment of
/// a service; the delivery of goods needs no code.
fn tax_point(bill: Bill<'_>) -> Option<&'static str> {
    match bill.view.operations {
        _ if bill.identity().vat_on_debits => Some("5"),
        OperationNature::Goods => None,
        _ => Some("72"),
    }
}

/// BG-14.
fn period(xml: &mut Xml, bill: Bill<'_>) {
    if let Some((first, last)) = bill.billing.period {
        xml.group("ram:BillingSpecifiedPeriod", |xml| {
            xml.day("ram:StartDateTime", first);
            xml.day("ram:EndDateTime", last);
        });
    }
}

/// BT-20 and BT-9.
fn payment_terms(xml: &mut Xml, bill: Bill<'_>) {
    let due_date = bill.billing.due_date.filter(|_| !bill.is_credit_note());
    let due = due_date.map(|day| format!("À payer au plus tard le {}.", french::date(day)));
    // A document with an amount has to state how it is settled (BR-CO-25). A credit note is deducted from what is due
    // of its invoice, or paid back.
    let credited = bill.billing.credited.as_ref().map(credited_invoice);
    let texts: Vec<_> = due.into_iter().chain(retention(bill)).chain(credited).collect();
    xml.group("ram:SpecifiedTradePaymentTerms", |xml| {
        xml.text("ram:Description", &texts.join("\n"));
        if let Some(day) = due_date {
            xml.day("ram:DueDateDateTime", day);
        }
    });
}

/// The part that the client holds back. The amount due stays the whole total, as its VAT does.
fn retention(bill: Bill<'_>) -> Option<String> {
    let (rate, amount) = (bill.view.retention_rate, bill.view.retention_amount);
    (!amount.is_zero()).then(|| {
        let (rate, amount) = (french::percent(rate), french::amount(amount.get(), bill.view.currency));
        format!(
            "Retenue de garantie {rate} : {amount} (loi n° 71-584), libérable un an après la réception des \
             travaux"
        )
    })
}

/// BG-22: as the record has them.
fn totals(xml: &mut Xml, bill: Bill<'_>) {
    let (ht, ttc) = (bill.view.total_ht.get(), bill.view.total_ttc.get());
    xml.number("ram:LineTotalAmount", ht);
    xml.number("ram:TaxBasisTotalAmount", ht);
    let currency = [("currencyID", bill.view.currency)];
    xml.attributed("ram:TaxTotalAmount", &currency, &shortest(ttc - ht));
    xml.number("ram:GrandTotalAmount", ttc);
    xml.number("ram:DuePayableAmount", ttc);
}

/// The credited invoice (BG-3). A reference without a date does not count (BR-FR-CO-05).
fn credited(xml: &mut Xml, bill: Bill<'_>) {
    if let Some(credited) = bill.billing.credited {
        xml.group("ram:InvoiceReferencedDocument", |xml| {
            xml.text("ram:IssuerAssignedID", credited.number);
            xml.group("ram:FormattedIssueDateTime", |xml| {
                xml.day_text("qdt:DateTimeString", credited.issue_date);
            });
        });
    }
}
