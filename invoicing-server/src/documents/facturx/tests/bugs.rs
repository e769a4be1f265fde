//! Faults that users of other programs have reported: each test names its reports.
//!
//! Others are named where a test has covered them: the reference of a credit note in `traps`, the
//! metadata in `xmp`, and the attachment in the tests of the PDF.

use invoicing_core::{
    InvoiceStatus, NewLine, Percent, Quantity, UnitPrice, VatRegime, money, percent, quantity, unit_price,
};

use super::fixtures::{Sample, invoice, invoice_of, new_line, texts};

fn line(quantity: Quantity, price: UnitPrice) -> NewLine {
    NewLine::new("Peinture", quantity, price, percent!(20))
}

/// The totals: of the lines, of the VAT, and with VAT.
fn totals(xml: &str) -> [String; 3] {
    let last = |name: &str| texts(xml, name).pop().unwrap();
    let (_, vat) = xml.split_once("<ram:TaxTotalAmount currencyID=\"EUR\">").unwrap();
    [last("LineTotalAmount"), vat.split('<').next().unwrap().to_owned(), last("GrandTotalAmount")]
}

fn exempt() -> Sample {
    invoice_of(&[new_line("Peinture", Percent::ZERO)], Percent::ZERO)
}

/// dolibarr-community-modules#378, #504: VAT that was rounded per line gave 36.03.
#[test]
fn vat_is_rounded_once_for_each_rate() {
    let lines = [(); 3].map(|()| line(quantity!(1), unit_price!(10.01)));
    let xml = invoice_of(&lines, Percent::ZERO).xml();
    assert_eq!(texts(&xml, "CalculatedAmount"), ["6.01"]);
    assert_eq!(totals(&xml), ["30.03", "6.01", "36.04"]);
}

/// dolibarr-community-modules#505: a discount of 33.333 % was computed again, and the XML was 15
/// cents below the invoice.
#[test]
fn a_discount_has_the_amount_of_the_record() {
    let lines = [line(quantity!(2_000), unit_price!(9.99)), line(quantity!(-1), unit_price!(6659.934))];
    let mut sample = invoice_of(&lines, Percent::ZERO);
    let xml = sample.xml();
    assert_eq!(texts(&xml, "LineTotalAmount"), ["19980", "-6659.93", "13320.07"]);
    assert_eq!(totals(&xml), ["13320.07", "2664.01", "15984.08"]);
    assert_eq!(sample.invoice().summary.total_ttc, money!(15984.08));
}

/// dolibarr-community-modules#560: a company in franchise had no tax number at all, and was
/// refused.
#[test]
fn a_company_in_franchise_has_its_siren_as_tax_number() {
    let mut sample = exempt();
    (sample.identity().vat_regime, sample.identity().vat_number) = (VatRegime::Franchise, None);
    let xml = sample.xml();
    let registered = &texts(&xml, "SellerTradeParty")[0];
    assert!(registered.contains("<ram:ID schemeID=\"FC\">732829320<") && !registered.contains("\"VA\""));
    assert_eq!(texts(&xml, "CategoryCode"), ["E", "E"]);
    assert_eq!(texts(&xml, "ExemptionReasonCode"), ["VATEX-FR-FRANCHISE"]);
}

/// dolibarr-community-modules#722, #946: reverse charge was written as a standard rate of 0 %.
#[test]
fn a_reverse_charge_has_its_category_and_its_reason() {
    let mut sample = exempt();
    sample.facts.reverse_charge = true;
    let xml = sample.xml();
    assert_eq!(texts(&xml, "CategoryCode"), ["AE", "AE"]);
    assert_eq!(texts(&xml, "ExemptionReasonCode"), ["VATEX-FR-AE"]);
    assert_eq!(texts(&xml, "ExemptionReason"), ["Autoliquidation"]);
    assert_eq!(texts(&xml, "RateApplicablePercent"), ["0", "0"]);
}

/// dolibarr-community-modules#536, #542: a corrected invoice (384) named no invoice. None is
/// written: a credit note and a new invoice correct another.
#[test]
fn an_invoice_is_of_type_380_and_a_credit_note_381() {
    let kind = |sample: Sample| {
        let xml = sample.xml();
        texts(xml.split_once("<ram:IssueDateTime>").unwrap().0, "TypeCode")
    };
    assert_eq!(kind(invoice()), ["380"]);
    assert_eq!(kind(invoice().credited()), ["381"]);
}

/// dolibarr-community-modules#487, #493: a paid invoice was declared as paid in advance (B2), with
/// a prepaid amount of 0.
#[test]
fn a_paid_invoice_has_the_xml_of_an_unpaid_one() {
    let (unpaid, mut paid) = (invoice().xml(), invoice());
    let head = &mut paid.invoice().summary;
    (head.status, head.amount_paid, head.paid_at) =
        (InvoiceStatus::Paid, head.total_ttc, Some(head.created_at));
    head.update_amounts().unwrap();
    assert_eq!(paid.xml(), unpaid);
    assert!(unpaid.contains("<ram:ID>S1</ram:ID>") && !unpaid.contains("TotalPrepaidAmount"));
}

/// odoo#203298: the price of a discount was negative, which BR-27 refuses.
#[test]
fn a_discount_has_a_negative_quantity_and_no_negative_price() {
    let xml = invoice().xml();
    assert_eq!(texts(&xml, "ChargeAmount"), ["1024.4", "1024.4", "1024.4", "100"]);
    assert!(xml.contains("<ram:BilledQuantity unitCode=\"C62\">-1<"));
}

/// wpovernight/woocommerce-pdf-invoices-packing-slips#1431: the sum of unrounded lines was a cent
/// off (BR-CO-10).
#[test]
fn the_total_is_the_sum_of_rounded_lines() {
    let lines = [(); 3].map(|()| line(quantity!(1), unit_price!(1.005)));
    let xml = invoice_of(&lines, Percent::ZERO).xml();
    assert_eq!(texts(&xml, "LineTotalAmount"), ["1.01", "1.01", "1.01", "3.03"]);
}

/// Dolibarr#38849: the last progress invoice held back the retention of all of them.
/// Dolibarr#26831: the base of the retention is the total with VAT.
#[test]
fn the_retention_is_of_the_total_with_vat() {
    let mut sample = invoice_of(&[line(quantity!(1), unit_price!(6668.29))], percent!(5));
    let terms =
        texts(&sample.xml(), "SpecifiedTradePaymentTerms").remove(0).replace(['\u{a0}', '\u{202f}'], " ");
    assert!(terms.contains("Retenue de garantie 5 % : 400,10 € (loi n° 71-584)"), "{terms}");
    let head = &mut sample.invoice().summary;
    head.update_amounts().unwrap();
    assert_eq!((head.total_ttc, head.amount_due), (money!(8001.95), money!(7601.85)));
}

/// Dolibarr#40378: the third of three invoices showed the retention of all three, 180.
#[test]
fn each_invoice_holds_its_own_retention() {
    for number in ["FAC-2026-0042", "FAC-2026-0043", "FAC-2026-0044"] {
        let mut sample = invoice_of(&[line(quantity!(1), unit_price!(1000))], percent!(5));
        sample.invoice().summary.number = Some(number.into());
        let terms = texts(&sample.xml(), "SpecifiedTradePaymentTerms").remove(0);
        assert!(terms.contains(" : 60,00\u{a0}€ "), "{terms}");
    }
}
