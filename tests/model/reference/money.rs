//! Exact money in whole numbers: cents, ten-thousandths of units, hundredths of percent.

use serde_json::Value;

/// `n / d`, rounded half away from zero.
pub(crate) fn divide(n: i128, d: i128) -> i128 {
    let half_up = (2 * n.abs() + d) / (2 * d);
    if n < 0 { -half_up } else { half_up }
}

/// The shortest JSON number of `value / 10^places`.
pub(crate) fn number(value: i128, places: usize) -> Value {
    let digits = format!("{:0width$}", value.unsigned_abs(), width = places + 1);
    let (whole, part) = digits.split_at(digits.len() - places);
    let part = part.trim_end_matches('0');
    let sign = if value < 0 { "-" } else { "" };
    let text = if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") };
    serde_json::from_str(&text).expect("a number")
}

/// Cents as a JSON number.
pub(crate) fn money(cents: i128) -> Value {
    number(cents, 2)
}

/// Cents in the form of a request.
pub(crate) fn amount(cents: i128) -> invoicing_core::Money {
    serde_json::from_value(money(cents)).expect("an amount")
}

#[test]
fn halves_go_away_from_zero_and_numbers_are_short() {
    assert_eq!([divide(5, 10), divide(-5, 10), divide(4, 10), divide(14, 10)], [1, -1, 0, 1]);
    assert_eq!(number(120_050, 2).to_string(), "1200.5");
    assert_eq!(number(-5, 4).to_string(), "-0.0005");
    assert_eq!(number(120_000, 2).to_string(), "1200");
}
