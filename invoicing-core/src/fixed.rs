//! Exact decimals with a fixed number of places: money, quantities, prices, percentages.
//!
//! At most 15 significant digits. The domain itself never computes with binary floats.

mod json;
mod literal;

use std::fmt;
use std::str::FromStr;

use rust_decimal::{Decimal, RoundingStrategy};
use serde::{Deserialize, Serialize};

use crate::{Invalid, Rule};
pub use json::exact_number;
pub(crate) use json::exact_number_or_null;

/// Significant digits that survive a binary float in every reader (IEEE 754 binary64: `DBL_DIG`).
const DIGITS: u32 = 15;

/// The start of an input, for the error about it.
fn shortened(text: &str) -> String {
    const CHARS: usize = 40;
    let start: String = text.chars().take(CHARS).collect();
    if start.len() < text.len() { start + "…" } else { start }
}

/// The value with at least `places` places, for printing.
fn with_places(mut value: Decimal, places: u32) -> Decimal {
    if value.scale() < places {
        value.rescale(places);
    }
    value
}

/// An exact number, or an integer that becomes one: `impl IntoExact<UnitPrice>` takes `22` or
/// [`unit_price!(22.50)`](crate::unit_price). Every type is `IntoExact<T>` that is [`Into<T>`].
#[diagnostic::on_unimplemented(
    message = "expected `{T}` or an integer, found `{Self}`",
    label = "neither `{T}` nor `i32` or `u32`",
    note = "with decimals, write a literal in a macro: `money!(9.99)`, `unit_price!(22.50)`, `quantity!(12.5)`, `percent!(5.5)`",
    note = "a text becomes a `{T}` with `parse`, a `Decimal` with `{T}::new`"
)]
pub trait IntoExact<T>: Into<T> {}

// Without this, the error of the compiler names `From`, which leads to no macro.
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
            /// Zero.
            pub const ZERO: Self = Self(Decimal::ZERO);
            /// The field in an error, unless the caller sets another one.
            const FIELD: &'static str = $field;

            /// Takes the value if it has no more places and digits than this type keeps.
            pub fn new(value: Decimal) -> Result<Self, Invalid> {
                let value = value.normalize();
                if value.scale() > Self::PLACES {
                    let rule = Rule::AtMostDecimals { max: Self::PLACES, given: value };
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
                    let rule = Rule::NumberSize { limit, given: value };
                    Err(Invalid::new(Self::FIELD, rule))
                }
            }

            /// The value.
            pub const fn get(self) -> Decimal {
                self.0
            }

            /// True if the value is below zero.
            pub fn is_negative(self) -> bool {
                self.0 < Decimal::ZERO
            }

            /// True if the value is exactly zero.
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
                // `Decimal` reads `1_000`, which is a number in source code only.
                let value = Decimal::from_str_exact(text).ok().filter(|_| !text.contains('_'));
                let value = value.ok_or_else(|| {
                    Invalid::new(Self::FIELD, Rule::DecimalNumber { given: shortened(text).into() })
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
                json::serialize(self.0, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = deserializer.deserialize_any(json::NumberVisitor)?;
                Self::new(value).map_err(|invalid| serde::de::Error::custom(invalid.rule))
            }
        }
    )*};
}

fixed! {
    /// An amount of money in the document's currency, such as [`money!(1_200.50)`](crate::money):
    /// at most 2 decimals, below 10^13. Printed with both (`1200.00`); in JSON it is the shortest
    /// number (`1200`).
    ///
    /// From a literal with the macro, from an `i32` or `u32` with `From`, from cents with
    /// [`from_cents`](Self::from_cents), from a text with `parse`, from a [`Decimal`] with
    /// [`new`](Self::new).
    ///
    /// ```
    /// use invoicing_core::{Money, money, percent};
    ///
    /// let price = money!(1_200.50);
    /// assert_eq!("1200.5".parse::<Money>()?, price);
    /// assert_eq!(price.plus(money!(99.50))?.percent(percent!(10))?, money!(130));
    /// assert_eq!((price.to_string(), price.cents()), ("1200.50".to_owned(), 120_050));
    /// assert!("0.005".parse::<Money>().is_err());
    /// # Ok::<(), invoicing_core::Invalid>(())
    /// ```
    Money, "amount", 2, printed with 2;
    /// A quantity, such as [`quantity!(12.5)`](crate::quantity): at most 4 decimals, below 10^11.
    /// Negative on a discount line.
    ///
    /// From a literal with the macro, from an `i32` or `u32` with `From`, from a text with `parse`.
    Quantity, "quantity", 4, printed with 0;
    /// A price for one unit, without VAT, such as [`unit_price!(22.50)`](crate::unit_price): at
    /// most 4 decimals, below 10^11.
    ///
    /// From a literal with the macro, from an `i32` or `u32` with `From`, from a text with `parse`.
    UnitPrice, "unitPrice", 4, printed with 0;
    /// A percentage, such as a VAT rate of [`percent!(5.5)`](crate::percent): at most 2 decimals
    /// (5.5 is 5.5 %).
    ///
    /// From a literal with the macro, from an `i32` or `u32` with `From`, from a text with `parse`.
    Percent, "percent", 2, printed with 0;
}

impl Money {
    /// The amount of `cents` cents, such as the integers of a payment provider.
    pub fn from_cents(cents: i64) -> Result<Self, Invalid> {
        Self::new(Decimal::new(cents, 2))
    }

    /// The amount in cents.
    pub fn cents(self) -> i64 {
        hundredths(self.0)
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Result<Self, Invalid> {
        self.0.checked_add(other.0).map_or_else(|| Err(overflow()), Self::new)
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Result<Self, Invalid> {
        self.0.checked_sub(other.0).map_or_else(|| Err(overflow()), Self::new)
    }

    /// This amount, or zero if it is below zero.
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

impl Percent {
    /// The percentage in basis points, hundredths of a percent.
    pub fn basis_points(self) -> i64 {
        hundredths(self.0)
    }
}

impl Quantity {
    /// The price of this quantity: quantity × unit price, rounded half away from zero.
    pub fn times(self, price: UnitPrice) -> Result<Money, Invalid> {
        self.0.checked_mul(price.0).map_or_else(|| Err(overflow()), Money::round)
    }
}

/// The number of hundredths in a value of at most 2 places, which has too few digits to overflow.
fn hundredths(mut value: Decimal) -> i64 {
    value.rescale(2);
    i64::try_from(value.mantissa()).unwrap_or(i64::MAX)
}

fn overflow() -> Invalid {
    Invalid::new(Money::FIELD, Rule::TooLargeToCompute)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn money(text: &str) -> Money {
        text.parse().unwrap()
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

    proptest! {
        #[test]
        fn cents_and_basis_points_are_exact(cents in -999_999_999_999_999_i64..=999_999_999_999_999) {
            prop_assert_eq!(Money::from_cents(cents).unwrap().cents(), cents);
            let rate = Percent::new(Decimal::new(cents, 2)).unwrap();
            prop_assert_eq!(rate.basis_points(), cents);
        }
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
        // Numbers in source code, but none that anybody enters.
        for grouped in ["1_000", "_1", "1_", "1.0_0"] {
            assert!(grouped.parse::<Quantity>().is_err(), "{grouped}");
            assert!(grouped.parse::<Money>().is_err(), "{grouped}");
        }
        let long = "x".repeat(1_000).parse::<Percent>().unwrap_err().to_string();
        assert!(long.starts_with("percent: ") && long.len() < 120, "{long}");
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

    proptest! {
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
