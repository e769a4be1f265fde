//! Postal addresses in the parts that the XML has.

use super::einvoice::FRANCE;
use super::xml::Xml;

/// Maximum number of lines besides postal code and town (BT-35, BT-36, BT-162).
const LINES: usize = 3;

/// A postal address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address<'a> {
    pub(super) lines: Vec<String>,
    pub(super) zip_code: Option<&'a str>,
    pub(super) city: Option<&'a str>,
    pub(super) country: &'a str,
}

impl<'a> Address<'a> {
    /// The address of a record. Postal code and town may stand in its text.
    pub(super) fn of(
        text: Option<&'a str>,
        zip_code: Option<&'a str>,
        city: Option<&'a str>,
        country: Option<&'a str>,
    ) -> Self {
        let mut lines: Vec<&str> = text.map_or_else(Vec::new, written_lines);
        let (mut zip_code, mut city) = (zip_code, city);
        match lines.last().and_then(|last| town(last)) {
            Some(found) if zip_code.is_none() && city.is_none() => {
                (zip_code, city) = (Some(found.0), Some(found.1));
                lines.pop();
            }
            Some(found) if (Some(found.0), Some(found.1)) == (zip_code, city) => {
                lines.pop();
            }
            _ => {}
        }
        Self { lines: fitted(&lines), zip_code, city, country: country.unwrap_or(FRANCE) }
    }

    /// The address that was entered as one text.
    pub(super) fn of_text(text: &'a str) -> Self {
        Self::of(Some(text), None, None, None)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.city.is_none()
    }

    /// Writes the address.
    pub(super) fn write(&self, xml: &mut Xml) {
        let line = |index: usize| self.lines.get(index).map(String::as_str);
        xml.group("ram:PostalTradeAddress", |xml| {
            xml.optional("ram:PostcodeCode", self.zip_code);
            xml.optional("ram:LineOne", line(0));
            xml.optional("ram:LineTwo", line(1));
            xml.optional("ram:LineThree", line(2));
            xml.optional("ram:CityName", self.city);
            xml.text("ram:CountryID", self.country);
        });
    }
}

fn written_lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// At most three lines; the third holds what is more.
fn fitted(lines: &[&str]) -> Vec<String> {
    let (own, rest) = lines.split_at(lines.len().min(LINES - 1));
    let rest = (!rest.is_empty()).then(|| rest.join(", "));
    own.iter().map(|line| (*line).to_owned()).chain(rest).collect()
}

/// Postal code and town, from a line such as `44000 Nantes`.
fn town(line: &str) -> Option<(&str, &str)> {
    let (code, town) = line.split_once(' ')?;
    let is_code = code.len() == 5 && code.bytes().all(|byte| byte.is_ascii_digit());
    is_code.then_some((code, town.trim()))
}
