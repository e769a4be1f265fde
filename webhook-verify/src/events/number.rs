//! JSON numbers as exact decimals, from and to the digits in the text. Nothing passes through a binary float.

use rust_decimal::Decimal;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let text = raw.get();
    if !text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return Err(D::Error::custom("expected a number"));
    }
    exact(text).ok_or_else(|| D::Error::custom("a number with more digits than can be kept exactly"))
}

pub(super) fn serialize<S: Serializer>(value: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    RawValue::from_string(value.to_string()).map_err(S::Error::custom)?.serialize(serializer)
}

/// The value of a JSON number, if a decimal can hold it without rounding.
fn exact(text: &str) -> Option<Decimal> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let short = || mantissa.contains('.').then(|| mantissa.trim_end_matches('0').trim_end_matches('.'));
    let value = Decimal::from_str_exact(mantissa)
        .or_else(|error| Decimal::from_str_exact(short().ok_or(error)?))
        .ok()?;
    if value.is_zero() {
        return Some(Decimal::ZERO);
    }
    let mut digits = value.mantissa();
    let mut scale = i64::from(value.scale()).checked_sub(exponent.parse().ok()?)?;
    while scale > i64::from(Decimal::MAX_SCALE) && digits % 10 == 0 {
        digits /= 10;
        scale -= 1;
    }
    if scale < 0 {
        digits = digits.checked_mul(10_i128.checked_pow(u32::try_from(-scale).ok()?)?)?;
        scale = 0;
    }
    Decimal::try_from_i128_with_scale(digits, u32::try_from(scale).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::exact;

    #[test]
    fn digits_are_kept_as_they_are() {
        for (text, value) in [
            ("0", "0"),
            ("-0", "0"),
            ("0e999999999999999999999", "0"),
            ("1200", "1200"),
            ("1200.50", "1200.50"),
            ("-0.07", "-0.07"),
            ("90071992547409.93", "90071992547409.93"),
            ("12345678901234567890.12", "12345678901234567890.12"),
            ("1e3", "1000"),
            ("1.5E+2", "150"),
            ("1.25e1", "12.5"),
            ("10000000000e-30", "0.0000000000000000000100000000"),
            ("0.0000000000000000000000000001", "0.0000000000000000000000000001"),
        ] {
            assert_eq!(exact(text).unwrap().to_string(), value, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused_and_not_rounded() {
        for text in [
            "1e400",
            "1e-400",
            "1e99999999999999999999",
            "0.00000000000000000000000000001",
            "100000000000000000000000000000.01",
            "79228162514264337593543950336",
        ] {
            assert_eq!(exact(text), None, "{text}");
        }
    }
}
