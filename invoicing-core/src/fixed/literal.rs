//! Exact numbers from literals in the source, checked when they are compiled.

use rust_decimal::Decimal;

use super::{DIGITS, Money, Percent, Quantity, UnitPrice};

/// A [`Money`](crate::Money) from a literal. It is checked when it is compiled.
///
/// ```
/// use invoicing_core::{Money, money};
///
/// const DEPOSIT: Money = money!(1_200.50);
/// assert_eq!(Ok(DEPOSIT), "1200.5".parse());
/// ```
///
/// ```compile_fail
/// let too_fine = invoicing_core::money!(0.005);
/// ```
#[macro_export]
macro_rules! money {
    ($($number:tt)+) => { const { $crate::Money::from_literal(stringify!($($number)+)) } };
}

/// A [`Quantity`](crate::Quantity) from a literal, such as `quantity!(12.5)`. It is checked when it
/// is compiled.
#[macro_export]
macro_rules! quantity {
    ($($number:tt)+) => { const { $crate::Quantity::from_literal(stringify!($($number)+)) } };
}

/// A [`UnitPrice`](crate::UnitPrice) from a literal, such as `unit_price!(24.50)`. It is checked
/// when it is compiled.
#[macro_export]
macro_rules! unit_price {
    ($($number:tt)+) => { const { $crate::UnitPrice::from_literal(stringify!($($number)+)) } };
}

/// A [`Percent`](crate::Percent) from a literal, such as `percent!(5.5)`. It is checked when it is
/// compiled.
#[macro_export]
macro_rules! percent {
    ($($number:tt)+) => { const { $crate::Percent::from_literal(stringify!($($number)+)) } };
}

macro_rules! from_literal {
    ($($name:ident)*) => {$(
        impl $name {
            /// A value for the macro of this type. In a constant its panic is an error of the
            /// compiler.
            #[doc(hidden)]
            pub const fn from_literal(text: &str) -> Self {
                Self(decimal(text, Self::PLACES))
            }
        }
    )*};
}

from_literal! { Money Quantity UnitPrice Percent }

/// The value of a literal such as `-1_200.50`, without zeros behind the last decimal.
const fn decimal(text: &str, places: u32) -> Decimal {
    let (mut digits, mut scale) = (0_u64, 0);
    let (mut is_negative, mut is_fraction, mut has_digits) = (false, false, false);
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        match *first {
            digit @ b'0'..=b'9' => {
                // Checked, as a release build may wrap otherwise.
                digits = match digits.checked_mul(10) {
                    Some(shifted) if shifted <= u64::MAX - 9 => shifted + (digit - b'0') as u64,
                    _ => panic!("the number is too large"),
                };
                scale += is_fraction as u32;
                has_digits = true;
            }
            b'.' if !is_fraction => is_fraction = true,
            b'-' if rest.len() == text.len() => is_negative = true,
            b'_' => {}
            // `stringify!` may put a space behind the sign.
            b' ' if is_negative && rest.len() + 1 == text.len() => {}
            _ => panic!("expected a decimal number such as 12.5"),
        }
        rest = behind;
    }
    assert!(has_digits, "expected a decimal number such as 12.5");
    while scale > 0 && digits.is_multiple_of(10) {
        digits /= 10;
        scale -= 1;
    }
    assert!(scale <= places, "the number has too many decimals");
    assert!(digits < 10_u64.pow(DIGITS - places + scale), "the number is too large");
    Decimal::from_parts((digits & 0xffff_ffff) as u32, (digits >> 32) as u32, 0, is_negative, scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_the_number_that_its_text_is() {
        assert_eq!(Ok(money!(1_200.50)), "1200.5".parse());
        assert_eq!(Ok(money!(-0.01)), "-0.01".parse());
        assert_eq!(Ok(money!(9_999_999_999_999.99)), "9999999999999.99".parse());
        assert_eq!(Ok(quantity!(-12.3450)), "-12.345".parse());
        assert_eq!(Ok(unit_price!(99_999_999_999.9999)), "99999999999.9999".parse());
        assert_eq!((percent!(20), percent!(5.50).to_string()), (Percent::from(20), "5.5".to_owned()));
        assert_eq!((money!(0), money!(-0.00)), (Money::ZERO, Money::ZERO));
    }

    #[test]
    fn a_literal_is_written_like_the_same_number_from_a_text() {
        for (literal, text) in [(money!(12.00), "12.00"), (money!(-0), "-0"), (money!(0.10), "0.10")] {
            let parsed: Money = text.parse().unwrap();
            assert_eq!(serde_json::to_string(&literal).unwrap(), serde_json::to_string(&parsed).unwrap());
        }
    }

    #[test]
    fn what_no_number_of_the_type_can_be_is_refused() {
        let bad = [
            "0.005",
            "1e3",
            "12.5.0",
            "0x10",
            "12f64",
            "10_000_000_000_000",
            "1-2",
            "a",
            "",
            "_",
            ".",
            "-",
            "1 2",
            // Numbers that exceed 64 bits by one and by five.
            "184467440737095516.17",
            "18446744073709551621",
            "99999999999999999999999",
        ];
        for bad in bad {
            assert!(std::panic::catch_unwind(|| Money::from_literal(bad)).is_err(), "{bad}");
        }
    }
}
