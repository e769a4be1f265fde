//! Numbers and dates as they are written in French.

use chrono::NaiveDate;
use invoicing_core::{Money, Percent, Quantity, UnitPrice};
use rust_decimal::Decimal;

/// Groups of three digits, and a number and its unit, stay on one line.
const NO_BREAK_SPACE: char = '\u{a0}';

/// `1 234,50 €`; a currency other than the euro keeps its code.
pub(super) fn money(amount: Money, currency: &str) -> String {
    amount_of(amount.get(), currency)
}

/// As [`money`], for an amount that was computed here.
pub(super) fn amount_of(amount: Decimal, currency: &str) -> String {
    let sign = if currency == "EUR" { "€" } else { currency };
    format!("{}{NO_BREAK_SPACE}{sign}", decimal(amount, 2))
}

/// At least two decimals, more where the price has more.
pub(super) fn unit_price(price: UnitPrice, currency: &str) -> String {
    amount_of(price.get(), currency)
}

/// As many decimals as needed.
pub(super) fn quantity(quantity: Quantity) -> String {
    decimal(quantity.get(), 0)
}

/// `5,5 %`.
pub(super) fn percent(rate: Percent) -> String {
    format!("{}{NO_BREAK_SPACE}%", decimal(rate.get(), 0))
}

/// `14/09/2026`.
pub(super) fn date(date: NaiveDate) -> String {
    date.format("%d/%m/%Y").to_string()
}

fn decimal(value: Decimal, least_places: usize) -> String {
    let value = value.normalize();
    let text = value.abs().to_string();
    let (whole, places) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::from(if value.is_sign_negative() && !value.is_zero() { "-" } else { "" });
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(NO_BREAK_SPACE);
        }
        out.push(digit);
    }
    if !places.is_empty() || least_places > 0 {
        out.push(',');
        out.push_str(places);
        out.extend(std::iter::repeat_n('0', least_places.saturating_sub(places.len())));
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
            ("-1234567.89", "-1 234 567,89 €"),
            ("999", "999,00 €"),
            ("9999999999999.99", "9 999 999 999 999,99 €"),
        ];
        for (amount, expected) in cases {
            assert_eq!(money(amount.parse().unwrap(), "EUR").replace(NO_BREAK_SPACE, " "), expected);
        }
        assert_eq!(money(Money::from(5), "CHF"), "5,00\u{a0}CHF");
        assert_eq!(amount_of(Decimal::new(-0, 2), "EUR"), "0,00\u{a0}€");
    }

    #[test]
    fn prices_quantities_and_rates_have_what_they_need() {
        assert_eq!(unit_price("12".parse().unwrap(), "EUR"), "12,00\u{a0}€");
        assert_eq!(unit_price("0.1234".parse().unwrap(), "EUR"), "0,1234\u{a0}€");
        assert_eq!(quantity("-1500.25".parse().unwrap()), "-1\u{a0}500,25");
        assert_eq!(quantity("3".parse().unwrap()), "3");
        assert_eq!(percent("5.5".parse().unwrap()), "5,5\u{a0}%");
        assert_eq!(date(NaiveDate::from_ymd_opt(2026, 9, 4).unwrap()), "04/09/2026");
    }

    proptest! {
        #[test]
        fn a_written_amount_reads_back(cents in -999_999_999_999_999_i64..=999_999_999_999_999) {
            let amount = Money::new(Decimal::new(cents, 2)).unwrap();
            let written = money(amount, "EUR").replace(['\u{a0}', '€'], "").replace(',', ".");
            prop_assert_eq!(written.parse::<Money>().unwrap(), amount);
        }
    }
}
