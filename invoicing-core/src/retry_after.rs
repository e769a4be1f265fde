//! Parses the value of the HTTP header `Retry-After` (RFC 9110, section 10.2.3).

use std::time::{Duration, SystemTime};

/// The wait that `Retry-After` requests: a number of seconds, or an HTTP date relative to `now`.
///
/// A date in the past requests no wait. A number that exceeds 64 bits is a very long wait. `None`
/// for any other text.
///
/// ```
/// use std::time::{Duration, UNIX_EPOCH};
///
/// use invoicing_core::internal::retry_after;
///
/// assert_eq!(retry_after::parse("120", UNIX_EPOCH), Some(Duration::from_secs(120)));
/// let date = "Thu, 01 Jan 1970 00:00:30 GMT";
/// assert_eq!(retry_after::parse(date, UNIX_EPOCH), Some(Duration::from_secs(30)));
/// assert_eq!(retry_after::parse("soon", UNIX_EPOCH), None);
/// ```
pub fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::*;

    /// 1994-11-06T08:49:37Z, the date of the examples in RFC 9110.
    const EXAMPLE: u64 = 784_111_777;

    fn seconds(value: &str, now: u64) -> Option<u64> {
        parse(value, UNIX_EPOCH + Duration::from_secs(now)).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_are_parsed_with_any_number_of_digits() {
        for (value, expected) in
            [("0", 0), ("7", 7), (" 120 ", 120), ("007", 7), ("18446744073709551616", u64::MAX)]
        {
            assert_eq!(seconds(value, EXAMPLE), Some(expected), "{value}");
        }
    }

    #[test]
    fn all_three_date_formats_are_relative_to_now() {
        for date in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(seconds(date, EXAMPLE - 30), Some(30), "{date}");
            assert_eq!(seconds(date, EXAMPLE + 30), Some(0), "{date}");
        }
    }

    #[test]
    fn an_invalid_value_requests_no_wait() {
        for value in [
            "",
            " ",
            "soon",
            "-1",
            "+1",
            "1.5",
            "1e3",
            "0x10",
            "7, 8",
            "1 s",
            "Sun, 99 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(seconds(value, EXAMPLE), None, "{value}");
        }
    }

    proptest! {
        #[test]
        fn no_value_causes_a_panic(value in ".{0,40}", now in 0..=u64::from(u32::MAX)) {
            let _ = seconds(&value, now);
        }
    }
}
