//! The numbers of businesses, bank accounts and addresses, with their check digits.
//!
//! Numbers of clients and accounts are refused when they are entered. A company's SIRET and VAT
//! number are checked when an invoice is issued as Factur-X.

use crate::text::{SHORT_TEXT, optional_text};
use crate::{IdentifierKind, Invalid, Rule};

/// True if the nine digits of a SIREN have the right check digit (Luhn).
pub fn is_siren(text: &str) -> bool {
    is_digits(text, 9) && luhn(text)
}

/// The SIREN of a SIRET: its first nine digits. `None` if it has not 14 digits.
pub(crate) fn siren_of(siret: &str) -> Option<&str> {
    is_digits(siret, 14).then(|| &siret[..9])
}

/// The French VAT number of a business: `FR`, the key and the SIREN.
pub fn french_vat_number(siren: &str) -> String {
    let key = siren.parse::<u64>().map_or(0, |siren| (12 + 3 * (siren % 97)) % 97);
    format!("FR{key:02}{siren}")
}

/// True if a VAT number is French with a valid key, or has the form of another country's.
///
/// A key of two digits follows from the SIREN. A key with letters is used for businesses abroad,
/// and has no public rule.
pub fn is_vat_number(text: &str) -> bool {
    let Some((country, number)) = text.split_at_checked(2) else { return false };
    if !country.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return false;
    }
    if country != "FR" {
        return (2..=13).contains(&number.len()) && number.bytes().all(is_digit_or_capital);
    }
    match number.split_at_checked(2) {
        Some((key, siren)) if is_siren(siren) => {
            let has_letter = key.bytes().any(|byte| byte.is_ascii_uppercase());
            key.bytes().all(is_digit_or_capital) && (has_letter || text == french_vat_number(siren))
        }
        _ => false,
    }
}

/// True if a text has the length and the characters of an address in the French directory. The
/// SIREN that it begins with is not checked.
pub fn is_electronic_address(text: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'_' | b'.');
    (1..=125).contains(&text.len()) && text.bytes().all(is_known)
}

fn is_digit_or_capital(byte: u8) -> bool {
    byte.is_ascii_digit() || byte.is_ascii_uppercase()
}

fn is_digits(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn luhn(digits: &str) -> bool {
    let sum: u32 = digits
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| {
            let digit = u32::from(digit - b'0');
            let doubled = digit * 2;
            if place % 2 == 0 { digit } else { doubled / 10 + doubled % 10 }
        })
        .sum();
    sum.is_multiple_of(10)
}

/// True if the check digits of an IBAN are right (ISO 13616): its remainder by 97 is 1.
fn is_iban(text: &str) -> bool {
    if !(15..=34).contains(&text.len()) || !text.bytes().all(is_digit_or_capital) {
        return false;
    }
    let (head, account) = text.split_at(4);
    let letters = head[..2].bytes().all(|byte| byte.is_ascii_uppercase());
    let remainder = account.bytes().chain(head.bytes()).fold(0_u32, |remainder, byte| match byte {
        b'0'..=b'9' => (remainder * 10 + u32::from(byte - b'0')) % 97,
        _ => (remainder * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    letters && remainder == 1
}

/// True if a text has the form of a BIC (ISO 9362).
fn is_bic(text: &str) -> bool {
    matches!(text.len(), 8 | 11)
        && text.bytes().all(is_digit_or_capital)
        && text[..6].bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A number without the spaces that it was written with, in capitals.
pub(crate) fn compact(number: &str) -> String {
    number.replace(char::is_whitespace, "").to_ascii_uppercase()
}

fn checked(
    field: &'static str,
    text: Option<&str>,
    is_valid: fn(&str) -> bool,
    kind: IdentifierKind,
) -> Result<Option<String>, Invalid> {
    let number = optional_text(field, text, SHORT_TEXT)?.map(|number| compact(&number));
    match number {
        Some(number) if !is_valid(&number) => Err(Invalid::new(field, Rule::Identifier(kind))),
        number => Ok(number),
    }
}

/// A SIREN as entered: nine digits, spaces left out.
pub(crate) fn optional_siren(field: &'static str, text: Option<&str>) -> Result<Option<String>, Invalid> {
    checked(field, text, is_siren, IdentifierKind::Siren)
}

/// A VAT number as entered, spaces left out.
pub(crate) fn optional_vat_number(
    field: &'static str,
    text: Option<&str>,
) -> Result<Option<String>, Invalid> {
    checked(field, text, is_vat_number, IdentifierKind::VatNumber)
}

/// An IBAN as entered, spaces left out.
pub(crate) fn optional_iban(field: &'static str, text: Option<&str>) -> Result<Option<String>, Invalid> {
    checked(field, text, is_iban, IdentifierKind::Iban)
}

/// A BIC as entered, spaces left out.
pub(crate) fn optional_bic(field: &'static str, text: Option<&str>) -> Result<Option<String>, Invalid> {
    checked(field, text, is_bic, IdentifierKind::Bic)
}

/// An address of the directory of e-invoicing, as entered.
pub(crate) fn optional_electronic_address(
    field: &'static str,
    text: Option<&str>,
) -> Result<Option<String>, Invalid> {
    let address = optional_text(field, text, SHORT_TEXT)?;
    match address {
        Some(address) if !is_electronic_address(&address) => {
            Err(Invalid::new(field, Rule::ElectronicAddress))
        }
        address => Ok(address),
    }
}

/// A country as entered: two letters (ISO 3166-1).
pub(crate) fn optional_country(field: &'static str, text: Option<&str>) -> Result<Option<String>, Invalid> {
    let is_code = |code: &str| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    checked(field, text, is_code, IdentifierKind::Country)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_siren_has_a_check_digit() {
        for good in ["732829320", "356000000", "404833048"] {
            assert!(is_siren(good), "{good}");
        }
        for bad in ["732829321", "73282932", "7328293200", "73282932A", "", "７３２８２９３２０"] {
            assert!(!is_siren(bad), "{bad}");
        }
        assert_eq!(optional_siren("siren", Some(" 732 829 320 ")).unwrap().unwrap(), "732829320");
        assert_eq!(optional_siren("siren", Some("732829321")).unwrap_err().field, "siren");
    }

    #[test]
    fn a_vat_number_has_the_key_of_its_siren() {
        assert_eq!(french_vat_number("732829320"), "FR44732829320");
        // A key with a letter has no rule; the SIREN behind it has one.
        for good in ["FR44732829320", "FRK7732829320", "FR0A732829320", "DE123456789", "ATU12345678"] {
            assert!(is_vat_number(good), "{good}");
        }
        for bad in ["FRK7732829321", "FRk7732829320", "FR-7732829320", "DE1", "DE12345678901234", "DE12-3"] {
            assert!(!is_vat_number(bad), "{bad}");
        }
        for bad in
            ["FR45732829320", "FR44732829321", "FR4473282932", "fr44732829320", "44732829320", "F", "FR"]
        {
            assert!(!is_vat_number(bad), "{bad}");
        }
        let entered = optional_vat_number("vatNumber", Some("fr 44 732 829 320"));
        assert_eq!(entered.unwrap().unwrap(), "FR44732829320");
    }

    #[test]
    fn an_iban_has_check_digits() {
        let entered = optional_iban("iban", Some("FR76 3000 6000 0112 3456 7890 189"));
        assert_eq!(entered.unwrap().unwrap(), "FR7630006000011234567890189");
        for bad in ["FR7630006000011234567890188", "FR76", "7630006000011234567890189FR", "é"] {
            assert!(!is_iban(bad), "{bad}");
        }
        assert!(is_bic("AGRIFRPP") && is_bic("AGRIFRPP882") && !is_bic("AGRIFRP") && !is_bic("AGRI1RPP"));
    }

    #[test]
    fn an_electronic_address_has_no_spaces_and_at_most_125_characters() {
        for good in ["732829320", "732829320_COMPTA", "732829320_732.829+320-A", &"9".repeat(125)] {
            assert!(is_electronic_address(good), "{good}");
        }
        for bad in ["", "732 829 320", "lea@exemple.fr", "é", &"9".repeat(126)] {
            assert!(!is_electronic_address(bad), "{bad}");
        }
    }

    #[test]
    fn a_siret_begins_with_the_siren() {
        assert_eq!(siren_of("73282932000074"), Some("732829320"));
        for bad in ["", "732829320", "7328293200007A", "732829320000745"] {
            assert_eq!(siren_of(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_other_digit_is_the_check_digit(siren in 0_u32..100_000_000, other in 1_u32..10) {
            let valid = (0..10).map(|digit| format!("{siren:08}{digit}")).find(|text| is_siren(text)).unwrap();
            let last = valid[8..].parse::<u32>().unwrap();
            let changed = format!("{}{}", &valid[..8], (last + other) % 10);
            prop_assert!(!is_siren(&changed));
            prop_assert!(is_vat_number(&french_vat_number(&valid)));
        }

        #[test]
        fn any_text_is_judged_without_a_panic(text in any::<String>()) {
            let _ = (is_siren(&text), is_vat_number(&text), is_iban(&text), is_bic(&text), siren_of(&text));
        }
    }
}
