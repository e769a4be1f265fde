//! Postal addresses in the XML.

use invoicing_core::internal::PostalAddress;

use super::einvoice::FRANCE;
use super::xml::Xml;

/// Maximum number of lines besides postal code and town (BT-35, BT-36, BT-162).
const LINES: usize = 3;

/// Writes an address.
pub(super) fn write_address(xml: &mut Xml, address: &PostalAddress<'_>) {
    let lines = fitted(&address.lines);
    let line = |index: usize| lines.get(index).map(String::as_str);
    xml.group("ram:PostalTradeAddress", |xml| {
        xml.optional("ram:PostcodeCode", address.zip_code);
        xml.optional("ram:LineOne", line(0));
        xml.optional("ram:LineTwo", line(1));
        xml.optional("ram:LineThree", line(2));
        xml.optional("ram:CityName", address.city);
        xml.text("ram:CountryID", address.country.unwrap_or(FRANCE));
    });
}

/// At most three lines; the third holds what is more.
fn fitted(lines: &[&str]) -> Vec<String> {
    let (own, rest) = lines.split_at(lines.len().min(LINES - 1));
    let rest = (!rest.is_empty()).then(|| rest.join(", "));
    own.iter().map(|line| (*line).to_owned()).chain(rest).collect()
}
