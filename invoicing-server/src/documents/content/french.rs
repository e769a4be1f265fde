//! Numbers, units and dates in French notation.

use chrono::{Datelike, NaiveDate};
use invoicing_core::Percent;
use invoicing_core::Quantity;
use rust_decimal::Decimal;

/// The space between a number and its unit, without a line break.
const NO_BREAK_SPACE: char = '\u{a0}';
/// The space between groups of three digits.
const NARROW_NO_BREAK_SPACE: char = '\u{202f}';
/// The minus sign, as wide as a figure (unlike a hyphen).
const MINUS: &str = "\u{2212}";

const MONTHS: [&str; 12] = [
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
];

/// `1 234,50 €`: at least two decimals, more if a price has more. Currencies other than the euro
/// are shown by their code.
pub(crate) fn amount(amount: Decimal, currency: &str) -> String {
    format!("{}{NO_BREAK_SPACE}{}", decimal(amount, 2), sign(currency))
}

/// The sign of a currency beside an amount.
pub(crate) fn sign(currency: &str) -> &str {
    if currency == "EUR" { "€" } else { currency }
}

/// A quantity with as many decimals as it needs.
pub(crate) fn quantity(quantity: Quantity) -> String {
    decimal(quantity.get(), 0)
}

/// A unit as the trade writes it: `m²` for `m2`. Any other is printed as entered.
pub(crate) fn unit(entered: &str) -> &str {
    match entered.to_lowercase().as_str() {
        "m2" | "m^2" => "m²",
        "m3" | "m^3" => "m³",
        // Running metres, not millilitres.
        "ml" => "ml",
        "kg" => "kg",
        "h" | "hr" | "hrs" | "hour" | "hours" | "heure" | "heures" => "h",
        _ => entered,
    }
}

/// `5,5 %`.
pub(crate) fn percent(rate: Percent) -> String {
    format!("{}{NO_BREAK_SPACE}%", decimal(rate.get(), 0))
}

/// `14 septembre 2026`, `1er mars 2026`.
pub(crate) fn date(date: NaiveDate) -> String {
    let month = MONTHS[date.month0() as usize];
    let day = if date.day() == 1 { "1er".to_owned() } else { date.day().to_string() };
    format!("{day}{NO_BREAK_SPACE}{month} {}", date.year())
}

/// `732 829 320 00074`: company and establishment. A text that has not 14 digits stays unchanged.
pub(crate) fn siret(siret: &str) -> String {
    if siret.len() != 14 || !siret.bytes().all(|byte| byte.is_ascii_digit()) {
        return siret.to_owned();
    }
    [&siret[..3], &siret[3..6], &siret[6..9], &siret[9..]].join("\u{a0}")
}

/// `732 829 320`. A text that has not 9 digits stays unchanged.
pub(crate) fn siren(siren: &str) -> String {
    if siren.len() != 9 || !siren.bytes().all(|byte| byte.is_ascii_digit()) {
        return siren.to_owned();
    }
    [&siren[..3], &siren[3..6], &siren[6..]].join("\u{a0}")
}

/// `RCS Lyon 732 829 320`: a SIREN at the end of a text is written in groups.
pub(crate) fn with_siren(text: &str) -> String {
    match text.rsplit_once([' ', '\u{a0}']) {
        Some((before, number)) => format!("{before} {}", siren(number)),
        None => siren(text),
    }
}

/// `FR76 3000 6000 0112 3456 7890 189`: in groups of four.
pub(crate) fn iban(iban: &str) -> String {
    let characters: Vec<_> = iban.chars().filter(|c| !c.is_whitespace()).collect();
    let groups: Vec<String> = characters.chunks(4).map(|group| group.iter().collect()).collect();
    groups.join("\u{a0}")
}

fn decimal(value: Decimal, least_places: u32) -> String {
    let mut value = value.normalize();
    value.rescale(value.scale().max(least_places));
    let text = value.abs().to_string().replace('.', ",");
    let whole = text.find(',').unwrap_or(text.len());
    let mut out = String::from(if value.is_sign_negative() && !value.is_zero() { MINUS } else { "" });
    for (index, c) in text.char_indices() {
        if index > 0 && index < whole && (whole - index).is_multiple_of(3) {
            out.push(NARROW_NO_BREAK_SPACE);
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_are_grouped_and_have_cents() {
        let cases = [
            ("0", "0,00 €"),
            ("1234.5", "1 234,50 €"),
            ("-1234567.89", "−1 234 567,89 €"),
            ("999", "999,00 €"),
            ("9999999999999.99", "9 999 999 999 999,99 €"),
        ];
        for (value, expected) in cases {
            let written =
                amount(value.parse().unwrap(), "EUR").replace([NO_BREAK_SPACE, NARROW_NO_BREAK_SPACE], " ");
            assert_eq!(written, expected);
        }
        assert_eq!(amount(Decimal::from(5), "CHF"), "5,00\u{a0}CHF");
        assert_eq!(amount(Decimal::new(-0, 2), "EUR"), "0,00\u{a0}€");
    }

    #[test]
    fn prices_quantities_and_rates_have_as_many_decimals_as_needed() {
        assert_eq!(amount("12".parse().unwrap(), "EUR"), "12,00\u{a0}€");
        assert_eq!(amount("0.1234".parse().unwrap(), "EUR"), "0,1234\u{a0}€");
        assert_eq!(quantity("-1500.25".parse().unwrap()), "−1\u{202f}500,25");
        assert_eq!(quantity("3".parse().unwrap()), "3");
        assert_eq!(percent("5.5".parse().unwrap()), "5,5\u{a0}%");
        assert_eq!(date(NaiveDate::from_ymd_opt(2026, 9, 4).unwrap()), "4\u{a0}septembre 2026");
        assert_eq!(date(NaiveDate::from_ymd_opt(2026, 3, 1).unwrap()), "1er\u{a0}mars 2026");
        assert_eq!(siret("73282932000074"), "732\u{a0}829\u{a0}320\u{a0}00074");
        assert_eq!(siret("1234567890123é"), "1234567890123é");
        assert_eq!(siren("732829320"), "732\u{a0}829\u{a0}320");
        assert_eq!(siren("73282932"), "73282932");
        assert_eq!(
            iban("FR1420041010050500013M02606").replace('\u{a0}', " "),
            "FR14 2004 1010 0505 0001 3M02 606"
        );
    }

    #[test]
    fn units_are_written_as_the_trade_does() {
        let written = [
            ("m2", "m²"),
            ("M2", "m²"),
            ("m^3", "m³"),
            ("m3", "m³"),
            ("heures", "h"),
            ("Hours", "h"),
            ("ML", "ml"),
            ("Kg", "kg"),
        ];
        for (entered, expected) in written {
            assert_eq!(unit(entered), expected);
        }
        for kept in ["", "m²", "m", "u", "forfait", "Ens.", "m2 habitables", "יח׳"] {
            assert_eq!(unit(kept), kept);
        }
    }

    proptest! {
        #[test]
        fn a_written_amount_reads_back(cents in -999_999_999_999_999_i64..=999_999_999_999_999) {
            let written = amount(Decimal::new(cents, 2), "EUR").replace(['\u{a0}', '\u{202f}', '€'], "").replace(',', ".").replace('−', "-");
            prop_assert_eq!(written.parse::<Decimal>().unwrap(), Decimal::new(cents, 2));
        }
    }
}
