//! The lines (BG-25).

use std::borrow::Cow;

use invoicing_core::{Invalid, Line};

use super::einvoice::EInvoice;
use super::units::unit_code;
use super::vat::Category;
use super::xml::{Xml, shortest};

/// Writes a line; `index` counts from 0.
pub(super) fn write(xml: &mut Xml, invoice: EInvoice<'_>, index: usize, line: &Line) -> Result<(), Invalid> {
    let category = invoice.category(line.tva_rate, || format!("lines[{index}].tvaRate"))?;
    let (unit, unit_text) = unit_code(line.unit.as_deref());
    xml.group("ram:IncludedSupplyChainTradeLineItem", |xml| {
        xml.group("ram:AssociatedDocumentLineDocument", |xml| {
            xml.text("ram:LineID", &(index + 1).to_string());
        });
        xml.group("ram:SpecifiedTradeProduct", |xml| product(xml, line, unit_text));
        xml.group("ram:SpecifiedLineTradeAgreement", |xml| price(xml, line));
        xml.group("ram:SpecifiedLineTradeDelivery", |xml| {
            let quantity = shortest(line.quantity.get());
            xml.attributed("ram:BilledQuantity", &[("unitCode", unit)], &quantity);
        });
        xml.group("ram:SpecifiedLineTradeSettlement", |xml| settlement(xml, line, category));
    });
    Ok(())
}

/// The item, with its lot and its section as attributes.
fn product(xml: &mut Xml, line: &Line, unit: Option<&str>) {
    let (name, rest) = name_and_rest(&line.description);
    xml.text("ram:Name", name);
    xml.optional("ram:Description", description(rest, unit).as_deref());
    for (attribute, value) in [("Lot", &line.lot), ("Section", &line.section)] {
        if let Some(value) = value {
            xml.group("ram:ApplicableProductCharacteristic", |xml| {
                xml.text("ram:Description", attribute);
                xml.text("ram:Value", value);
            });
        }
    }
}

fn price(xml: &mut Xml, line: &Line) {
    xml.group("ram:NetPriceProductTradePrice", |xml| {
        xml.number("ram:ChargeAmount", line.unit_price.get());
    });
}

fn settlement(xml: &mut Xml, line: &Line, category: Category) {
    xml.group("ram:ApplicableTradeTax", |xml| {
        xml.text("ram:TypeCode", "VAT");
        xml.text("ram:CategoryCode", category.code());
        xml.number("ram:RateApplicablePercent", line.tva_rate.get());
    });
    xml.group("ram:SpecifiedTradeSettlementLineMonetarySummation", |xml| {
        xml.number("ram:LineTotalAmount", line.total_ht.get());
    });
}

/// The first line of a description that is not blank, and the lines below it.
fn name_and_rest(description: &str) -> (&str, &str) {
    let text = description.trim();
    let (name, rest) = text.split_once(['\n', '\r']).unwrap_or((text, ""));
    (name.trim_end(), rest.trim())
}

/// The rest of a description, and the unit that no code expresses.
fn description<'a>(rest: &'a str, unit: Option<&str>) -> Option<Cow<'a, str>> {
    let unit = unit.map(|unit| format!("Unité : {unit}"));
    match (rest, unit) {
        ("", None) => None,
        ("", Some(unit)) => Some(unit.into()),
        (rest, None) => Some(rest.into()),
        (rest, Some(unit)) => Some(format!("{rest}\n{unit}").into()),
    }
}
