//! Exact decimals with a fixed number of places: money, quantities, prices, percentages.
//!
//! At most 15 significant digits. Within that bound every value has exactly one shortest decimal text, and a JSON
//! number goes through any reader, also one that uses binary floats, without changing. The domain itself never
//! computes with binary floats.

mod literal;

use std::fmt;
use std::str::FromStr;

use rust_decimal::prelude::ToPrimitive;
use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::Invalid;

/// Significant digits that survive a binary float in every reader (IEEE 754 binary64: `DBL_DIG`).
const DIGITS: u32 = 15;

/// Writes the shortest JSON number. Exact: see the module's text.
fn serialize<S: serde::Serializer>(value: Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    match value.to_i64().filter(|_| value.scale() == 0) {
        Some(whole) => serializer.serialize_i64(whole),
        None => serializer.serialize_f64(value.to_f64().unwrap_or(f64::NAN)),
    }
}

/// Reads a number that a caller enters, exactly as it is written: for `#[serde(deserialize_with)]` on a [`Money`],
/// [`Quantity`], [`UnitPrice`] or [`Percent`]. The types themselves read what the service has written, from any format. Their
/// reader gets a float for a number with decimals, and would take `0.10000000000000000001` for 0.1.
///
/// Reads from JSON text only, and no field of a type that serde buffers (`flatten`, `untagged`). `serde_json::from_value`
/// works too, but its tree holds a float that is rounded already.
pub fn exact_number<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: TryFrom<Decimal, Error = Invalid>,
{
    from_raw(&Box::<RawValue>::deserialize(deserializer)?)
}

/// As [`exact_number`]; `null` is `None`.
pub fn exact_number_or_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
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

/// The start of an input, for the error about it.
fn shortened(text: &str) -> String {
    const CHARS: usize = 40;
    let start: String = text.chars().take(CHARS).collect();
    if start.len() < text.len() { start + "…" } else { start }
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

struct NumberVisitor;

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
        // The shortest text that reads back as this float is the decimal that was written, up to 15 digits. Read
        // exactly: rounding would make a 0 of 1e-30 instead of refusing its decimals.
        Decimal::from_str_exact(&value.to_string()).map_err(|_| E::custom("the number has too many digits"))
    }
}

/// The value with at least so many places, as it is printed.
fn with_places(mut value: Decimal, places: u32) -> Decimal {
    if value.scale() < places {
        value.rescale(places);
    }
    value
}

/// An exact number, or an integer that becomes one: what `impl IntoExact<UnitPrice>` takes is `22` or
/// [`unit_price!(22.50)`](crate::unit_price). Everything is `IntoExact<T>` that is [`Into<T>`].
#[diagnostic::on_unimplemented(
    message = "expected `{T}` or an integer, found `{Self}`",
    label = "neither `{T}` nor `i32` or `u32`",
    note = "with decimals, write a literal in a macro: `money!(9.99)`, `unit_price!(22.50)`, `quantity!(12.5)`, `percent!(5.5)`",
    note = "a text becomes a `{T}` with `parse`, a `Decimal` with `{T}::new`"
)]
pub trait IntoExact<T>: Into<T> {}

// Otherwise the compiler speaks of `From`, which leads to no macro.
#[diagnostic::do_not_recommend]
impl<T, N: Into<T>> IntoExact<T> for N {}

macro_rules! fixed {
    ($($(#[$doc:meta])* $name:ident, $field:literal, $places:literal, printed with $printed:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(Decimal);

        impl $name {
            /// Decimal places.
            pub const PLACES: u32 = $places;
            /// Nothing.
            pub const ZERO: Self = Self(Decimal::ZERO);
            /// The field that an error names, unless the caller knows better.
            const FIELD: &'static str = $field;

            /// Takes the value if it has no more places and digits than this type keeps.
            pub fn new(value: Decimal) -> Result<Self, Invalid> {
                let value = value.normalize();
                if value.scale() > Self::PLACES {
                    let rule = format!("must have at most {} decimals, not as in {value}", Self::PLACES);
                    return Err(Invalid::new(Self::FIELD, rule));
                }
                Self::in_range(value)
            }

            /// Rounds to this type's places, half away from zero (EN 16931).
            pub fn round(value: Decimal) -> Result<Self, Invalid> {
                let rounded = value.round_dp_with_strategy($places, RoundingStrategy::MidpointAwayFromZero);
                Self::in_range(rounded.normalize())
            }

            fn in_range(value: Decimal) -> Result<Self, Invalid> {
                let limit = Decimal::from(10_i64.pow(DIGITS - $places));
                if value.abs() < limit {
                    Ok(Self(value))
                } else {
                    let rule = format!("must be below {limit} in size, which {value} is not");
                    Err(Invalid::new(Self::FIELD, rule))
                }
            }

            /// The value.
            pub const fn get(self) -> Decimal {
                self.0
            }

            /// Below zero.
            pub fn is_negative(self) -> bool {
                self.0 < Decimal::ZERO
            }

            /// Exactly zero.
            pub fn is_zero(self) -> bool {
                self.0.is_zero()
            }
        }

        impl TryFrom<Decimal> for $name {
            type Error = Invalid;

            fn try_from(value: Decimal) -> Result<Self, Invalid> {
                Self::new(value)
            }
        }

        impl From<i32> for $name {
            fn from(value: i32) -> Self {
                Self(Decimal::from(value))
            }
        }

        impl From<u32> for $name {
            fn from(value: u32) -> Self {
                Self(Decimal::from(value))
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                let value = Decimal::from_str_exact(text).map_err(|_| {
                    let rule = format!("must be a decimal number such as 12.5, not {:?}", shortened(text));
                    Invalid::new(Self::FIELD, rule)
                })?;
                Self::new(value)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                with_places(self.0, $printed).fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serialize(self.0, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = deserializer.deserialize_any(NumberVisitor)?;
                Self::new(value).map_err(|invalid| serde::de::Error::custom(invalid.rule))
            }
        }
    )*};
}

fixed! {
    /// An amount of money in the document's currency, such as [`money!(1_200.50)`](crate::money): at most 2 decimals, below
    /// 10^13. Printed with both (`1200.00`); in JSON it is the shortest number (`1200`).
    ///
    /// From a literal with the macro, from an `i32` or `u32` with `From`, from cents with
    /// [`from_cents`](Self::from_cents), from a text with `parse`, from a [`Decimal`] with [`new`](Self::new).
    Money, "amount", 2, printed with 2;
    /// A quantity, such as [`quantity!(12.5)`](crate::quantity): at most 4 decimals, below 10^11. Negative on a discount line.
    ///
    /// From a literal with the macro, from an `i32` or `u32` with `From`, from a text with `parse`.
    Quantity, "quantity", 4, printed with 0;
    /// A price for one unit, without VAT, such as [`unit_price!(22.50)`](crate::unit_price): at most 4 decimals, below 10^11.
    ///
    /// From a literal with the macro, from an `i32` or `u32` with `From`, from a text with `parse`.
    UnitPrice, "unitPrice", 4, printed with 0;
    /// A percentage, such as a VAT rate of [`percent!(5.5)`](crate::percent): at most 2 decimals (5.5 is 5.5 %).
    ///
    /// From a literal with the macro, from an `i32` or `u32` with `From`, from a text with `parse`.
    Percent, "percent", 2, printed with 0;
}

impl Money {
    /// The amount of so many cents, such as a payment provider counts them.
    pub fn from_cents(cents: i64) -> Result<Self, Invalid> {
        Self::new(Decimal::new(cents, 2))
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Result<Self, Invalid> {
        self.0.checked_add(other.0).map_or_else(|| Err(overflow()), Self::new)
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Result<Self, Invalid> {
        self.0.checked_sub(other.0).map_or_else(|| Err(overflow()), Self::new)
    }

    /// This amount, or zero where it is below zero.
    #[must_use]
    pub fn at_least_zero(self) -> Self {
        self.max(Self::ZERO)
    }

    /// `rate` percent of this amount, rounded half away from zero.
    pub fn percent(self, rate: Percent) -> Result<Self, Invalid> {
        let share = self.0.checked_mul(rate.0).and_then(|product| product.checked_div(Decimal::ONE_HUNDRED));
        share.map_or_else(|| Err(overflow()), Self::round)
    }
}

impl Quantity {
    /// What this quantity costs: quantity × unit price, rounded half away from zero.
    pub fn times(self, price: UnitPrice) -> Result<Money, Invalid> {
        self.0.checked_mul(price.0).map_or_else(|| Err(overflow()), Money::round)
    }
}

fn overflow() -> Invalid {
    Invalid::new(Money::FIELD, "is too large to compute")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn money_is_printed_with_two_decimals() {
        for (text, printed) in [("1200", "1200.00"), ("1200.5", "1200.50"), ("-0.07", "-0.07"), ("0", "0.00")]
        {
            assert_eq!(money(text).to_string(), printed);
            assert_eq!(format!("{:?}", money(text)), format!("Money({printed})"));
        }
        assert_eq!(money("9999999999999").to_string(), "9999999999999.00");
        assert_eq!(format!("{:>9}|{:.0}", money("12.5"), money("12")), "    12.50|12");
        assert_eq!("5.5".parse::<Percent>().unwrap().to_string(), "5.5");
        assert_eq!("12".parse::<Quantity>().unwrap().to_string(), "12");
    }

    /// Rules: WIRE-7
    #[test]
    fn more_than_two_decimals_are_refused() {
        for bad in ["1.005", "0.001", "1e-3", "10000000000000", "x", ""] {
            assert!(bad.parse::<Money>().is_err(), "{bad}");
        }
        assert!("9999999999999.99".parse::<Money>().is_ok());
    }

    #[test]
    fn a_number_that_is_refused_names_its_field_and_the_input() {
        let refused = |invalid: Invalid| invalid.to_string();
        assert_eq!(
            refused("12,5".parse::<Quantity>().unwrap_err()),
            r#"quantity: must be a decimal number such as 12.5, not "12,5""#
        );
        assert_eq!(
            refused("1.00001".parse::<UnitPrice>().unwrap_err()),
            "unitPrice: must have at most 4 decimals, not as in 1.00001"
        );
        assert_eq!(
            refused(Money::from_cents(i64::MAX).unwrap_err().in_field("deposit")),
            "deposit: must be below 10000000000000 in size, which 92233720368547758.07 is not"
        );
        let long = "x".repeat(1_000).parse::<Percent>().unwrap_err().to_string();
        assert!(long.starts_with("percent: ") && long.len() < 120, "{long}");
        let entered = serde_json::from_str::<Entered>(r#"{"amount": 0.10000000000000000000000000000001}"#);
        assert!(
            entered
                .unwrap_err()
                .to_string()
                .starts_with("0.10000000000000000000000000000001 has too many digits")
        );
    }

    #[test]
    fn integers_and_cents_are_numbers_without_parsing() {
        assert_eq!((Money::from(12), Money::from(12_u32)), (money("12"), money("12")));
        assert_eq!(Money::from_cents(-120_050).unwrap(), money("-1200.5"));
        assert_eq!(Money::from_cents(1_200).unwrap().to_string(), Money::from(12).to_string());
    }

    /// Rules: MONEY-2
    #[test]
    fn halves_round_away_from_zero() {
        assert_eq!(money("0.05").percent(Percent::from(10)).unwrap(), money("0.01"));
        assert_eq!(money("-0.05").percent(Percent::from(10)).unwrap(), money("-0.01"));
        assert_eq!(money("0.25").percent(Percent::from(10)).unwrap(), money("0.03"));
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
    fn digits_that_a_float_would_round_away_are_refused_where_numbers_are_entered() {
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

    proptest! {
        /// Rules: WIRE-6
        #[test]
        fn money_survives_json_exactly(cents in -999_999_999_999_999_i64..=999_999_999_999_999) {
            let amount = Money::new(Decimal::new(cents, 2)).unwrap();
            let json = serde_json::to_string(&amount).unwrap();
            prop_assert_eq!(&json, &amount.get().to_string());
            prop_assert_eq!(amount.to_string().parse::<Money>().unwrap(), amount);
            prop_assert_eq!(serde_json::from_str::<Money>(&json).unwrap(), amount);
            // Also through a reader that makes a tree first.
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

        /// Rules: MONEY-1
        #[test]
        fn a_line_total_is_within_half_a_cent(q in -10_000_000_i64..10_000_000, p in 0_i64..10_000_000) {
            let (quantity, price) = (Decimal::new(q, 4), Decimal::new(p, 4));
            let total = Quantity::new(quantity).unwrap().times(UnitPrice::new(price).unwrap()).unwrap();
            let off = (total.get() - quantity * price).abs();
            prop_assert!(off <= Decimal::new(5, 3));
            if off == Decimal::new(5, 3) {
                prop_assert!(total.get().abs() > (quantity * price).abs());
            }
        }

        /// Rules: MONEY-7
        #[test]
        fn overflow_is_an_error_and_never_a_wrap(q in any::<i64>(), p in any::<i64>()) {
            let quantity = Quantity::new(Decimal::new(q, 4));
            let price = UnitPrice::new(Decimal::new(p, 4));
            if let (Ok(quantity), Ok(price)) = (quantity, price) {
                match quantity.times(price) {
                    Ok(total) => prop_assert!((total.get() - quantity.get() * price.get()).abs() <= Decimal::new(5, 3)),
                    Err(_) => prop_assert!((quantity.get() * price.get()).abs() >= Decimal::from(9_999_999_999_999_i64)),
                }
            }
        }
    }
}
