//! Amounts, quantities and rates as people read and enter them: in the language of the page, and in
//! the currency of the record.

mod reading;

use invoicing_core::{Percent, Quantity};
use rust_decimal::Decimal;

pub(super) use self::reading::FormNumber;
use super::Language;
use crate::documents::content::french;

/// Writes the numbers of a record for one reader, and reads the entries of this reader. In French
/// they look as in its document.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figures<'c> {
    language: Language,
    currency: &'c str,
}

impl<'c> Figures<'c> {
    pub(super) const fn new(language: Language, currency: &'c str) -> Self {
        Self { language, currency }
    }

    /// `1 234,50 €` or `€1,234.50`: at least two decimals. Currencies other than the euro are shown
    /// by their code.
    pub(super) fn amount(self, amount: Decimal) -> String {
        let french = french::amount(amount, self.currency);
        let (Language::English, Some((number, sign))) = (self.language, french.rsplit_once('\u{a0}')) else {
            return french;
        };
        let number = english(number);
        let (minus, digits) = number.split_at(number.find(|c: char| c.is_ascii_digit()).unwrap_or(0));
        let space = if sign == "€" { "" } else { "\u{a0}" };
        format!("{minus}{sign}{space}{digits}")
    }

    /// A quantity with as many decimals as it needs.
    pub(super) fn quantity(self, quantity: Quantity) -> String {
        let french = french::quantity(quantity);
        if self.language == Language::French { french } else { english(&french) }
    }

    /// A number as the input of a form holds it: without groups and sign.
    pub(super) fn written(self, number: &impl ToString) -> String {
        number.to_string().replace('.', self.language.pick(".", ","))
    }

    /// `5,5 %` or `5.5%`.
    pub(super) fn percent(self, rate: Percent) -> String {
        let french = french::percent(rate);
        if self.language == Language::French { french } else { english(&french).replace('\u{a0}', "") }
    }
}

/// A number with a point and commas, from one with a comma and spaces.
fn english(french: &str) -> String {
    let swap = |c| match c {
        ',' => '.',
        '\u{202f}' => ',',
        other => other,
    };
    french.chars().map(swap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_both_languages() {
        let english = Figures::new(Language::English, "EUR");
        let french = Figures::new(Language::French, "EUR");
        let amount = |figures: Figures<'_>, text: &str| figures.amount(text.parse().unwrap());
        for (text, in_english, in_french) in [
            ("0", "€0.00", "0,00\u{a0}€"),
            ("1234567.5", "€1,234,567.50", "1\u{202f}234\u{202f}567,50\u{a0}€"),
            ("-50", "\u{2212}€50.00", "\u{2212}50,00\u{a0}€"),
            ("0.1234", "€0.1234", "0,1234\u{a0}€"),
        ] {
            assert_eq!(amount(english, text), in_english);
            assert_eq!(amount(french, text), in_french);
        }
        assert_eq!(amount(Figures::new(Language::English, "CHF"), "-1200"), "\u{2212}CHF\u{a0}1,200.00");
        assert_eq!(english.quantity("-1500.25".parse().unwrap()), "\u{2212}1,500.25");
        assert_eq!(french.quantity("12.5".parse().unwrap()), "12,5");
        assert_eq!(english.percent("5.5".parse().unwrap()), "5.5%");
        assert_eq!(french.percent("5.5".parse().unwrap()), "5,5\u{a0}%");
    }
}
