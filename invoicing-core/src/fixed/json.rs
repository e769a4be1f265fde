//! Exact decimals as JSON numbers.
//!
//! Within 15 significant digits every value has exactly one shortest decimal text, and a JSON
//! number goes through any reader without changing, even a reader that uses binary floats.

use std::fmt;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::shortened;
use crate::Invalid;

/// Writes the shortest JSON number. It is exact, as a value has at most 15 significant digits.
pub(super) fn serialize<S: serde::Serializer>(value: Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    match value.to_i64().filter(|_| value.scale() == 0) {
        Some(whole) => serializer.serialize_i64(whole),
        None => serializer.serialize_f64(value.to_f64().unwrap_or(f64::NAN)),
    }
}

/// Reads a number that a caller enters, without rounding: for `#[serde(deserialize_with)]` on a
/// [`Money`](crate::Money), [`Quantity`](crate::Quantity), [`UnitPrice`](crate::UnitPrice) or
/// [`Percent`](crate::Percent). The types themselves read numbers that the service has written,
/// from any format. Their reader gets a float for a number with decimals, and would take
/// `0.10000000000000000001` for 0.1.
///
/// Reads from JSON text only, and no field of a type that serde buffers (`flatten`, `untagged`).
/// `serde_json::from_value` works too, but its tree holds a float that is rounded already.
pub fn exact_number<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: TryFrom<Decimal, Error = Invalid>,
{
    from_raw(&Box::<RawValue>::deserialize(deserializer)?)
}

/// As [`exact_number`]; `null` is `None`.
pub(crate) fn exact_number_or_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: TryFrom<Decimal, Error = Invalid>,
{
    Option::<Box<RawValue>>::deserialize(deserializer)?.map(|raw| from_raw(&raw)).transpose()
}

fn from_raw<T, E>(raw: &RawValue) -> Result<T, E>
where
    T: TryFrom<Decimal, Error = Invalid>,
    E: serde::de::Error,
{
    let text = raw.get();
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return Err(E::custom("expected a number"));
    }
    let value = exact(text).ok_or_else(|| E::custom(format!("{} has too many digits", shortened(text))))?;
    T::try_from(value).map_err(|invalid| E::custom(invalid.rule))
}

/// The value of a JSON number, if a decimal can hold it without rounding.
fn exact(text: &str) -> Option<Decimal> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let value = Decimal::from_str_exact(mantissa).ok()?.normalize();
    let scale = i64::from(value.scale()).checked_sub(exponent.parse().ok()?)?;
    let zeros = u32::try_from(scale.saturating_neg().max(0)).ok()?;
    let digits = value.mantissa().checked_mul(10_i128.checked_pow(zeros)?)?;
    Decimal::try_from_i128_with_scale(digits, u32::try_from(scale.max(0)).ok()?).ok()
}

/// Reads a number that [`serialize`] has written, from any format.
pub(super) struct NumberVisitor;

impl serde::de::Visitor<'_> for NumberVisitor {
    type Value = Decimal;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E>(self, value: i64) -> Result<Decimal, E> {
        Ok(Decimal::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Decimal, E> {
        Ok(Decimal::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Decimal, E> {
        // The shortest text that reads back as this float is the decimal that was written, up to 15
        // digits. It is read exactly: rounding would make a 0 of 1e-30 instead of refusing its
        // decimals.
        Decimal::from_str_exact(&value.to_string()).map_err(|_| E::custom("the number has too many digits"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Money, Quantity, UnitPrice};
    use super::*;

    fn money(text: &str) -> Money {
        text.parse().unwrap()
    }

    /// Rules: WIRE-6
    #[test]
    fn money_is_written_in_its_shortest_form() {
        for (text, json) in [("1200.00", "1200"), ("1200.50", "1200.5"), ("-0.00", "0"), ("0.01", "0.01")] {
            assert_eq!(serde_json::to_string(&money(text)).unwrap(), json);
        }
        let rounded = Money::round(Decimal::new(-4, 3)).unwrap();
        assert_eq!((rounded, rounded.to_string()), (Money::ZERO, "0.00".to_owned()));
        for units in (1..=9_999).chain([999_999_999_999_999]) {
            let quantity = Quantity::new(Decimal::new(units, 4)).unwrap();
            assert_eq!(serde_json::to_string(&quantity).unwrap(), quantity.to_string());
        }
    }

    #[test]
    fn hostile_numbers_are_errors() {
        for bad in [
            "1e400",
            "-1e400",
            "1e-30",
            "-1e-300",
            "1234567890123456789012345678901234567890",
            "0.1234567",
            "\"1\"",
            "null",
            "[]",
        ] {
            assert!(serde_json::from_str::<Money>(bad).is_err(), "{bad}");
        }
        assert_eq!(serde_json::from_str::<Money>("-0").unwrap(), Money::ZERO);
        assert_eq!(serde_json::from_str::<Money>("1.20e1").unwrap(), money("12"));
    }

    #[derive(Debug, Deserialize)]
    struct Entered {
        #[serde(deserialize_with = "exact_number")]
        amount: Money,
        #[serde(default, deserialize_with = "exact_number_or_null")]
        cost: Option<UnitPrice>,
    }

    /// Rules: WIRE-7, WIRE-8
    #[test]
    fn entered_numbers_refuse_digits_that_a_float_would_round_away() {
        for bad in [
            "0.10000000000000000001",
            "0.30000000000000004",
            "1200.0000000000000000000000001",
            "9007199254740993.1",
            "1e-30",
            "1e400",
            "1e99999999999999999999",
            "\"1\"",
            "null",
            "[]",
        ] {
            let entered = format!(r#"{{"amount": {bad}}}"#);
            assert!(serde_json::from_str::<Entered>(&entered).is_err(), "{bad}");
            if bad != "null" {
                let entered = format!(r#"{{"amount": 1, "cost": {bad}}}"#);
                assert!(serde_json::from_str::<Entered>(&entered).is_err(), "{bad}");
            }
        }
        for (good, value) in
            [("-0", "0"), ("1.20e1", "12"), ("12E+2", "1200"), ("1200.50", "1200.5"), ("120e-1", "12")]
        {
            let text = format!(r#"{{"amount": {good}, "cost": null}}"#);
            let Entered { amount, cost } = serde_json::from_str(&text).unwrap();
            assert_eq!((amount, cost), (money(value), None), "{good}");
            let tree: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::from_value::<Entered>(tree).unwrap().amount, money(value), "{good}");
        }
    }

    #[test]
    fn a_number_that_is_refused_is_named_as_it_was_entered() {
        let entered = serde_json::from_str::<Entered>(r#"{"amount": 0.10000000000000000000000000000001}"#);
        let error = entered.unwrap_err().to_string();
        assert!(error.starts_with("0.10000000000000000000000000000001 has too many digits"), "{error}");
    }

    proptest! {
        /// Rules: WIRE-6
        #[test]
        fn money_survives_json_exactly(cents in -999_999_999_999_999_i64..=999_999_999_999_999) {
            let amount = Money::new(Decimal::new(cents, 2)).unwrap();
            let json = serde_json::to_string(&amount).unwrap();
            prop_assert_eq!(&json, &amount.get().to_string());
            prop_assert_eq!(amount.to_string().parse::<Money>().unwrap(), amount);
            prop_assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), amount);
            // Survives a reader that makes a tree first, too.
            let tree: serde_json::Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(serde_json::from_value::<Money>(tree).unwrap(), amount);
        }

        /// Rules: WIRE-8
        #[test]
        fn quantities_survive_json_exactly(units in -999_999_999_999_999_i64..=999_999_999_999_999) {
            let quantity = Quantity::new(Decimal::new(units, 4)).unwrap();
            let json = serde_json::to_string(&quantity).unwrap();
            prop_assert_eq!(&json, &quantity.to_string());
            prop_assert_eq!(serde_json::from_str::<Quantity>(&json).unwrap(), quantity);
        }
    }
}
