//! `Retry-After` of a response: seconds, or a date (RFC 9110, section 10.2.3).

use std::time::{Duration, UNIX_EPOCH};

use http::HeaderMap;
use http::header::RETRY_AFTER;
use invoicing_core::Timestamp;

/// Longest wait that is reported, in seconds: a day. The retry policy waits far less anyway.
const LONGEST: u64 = 86_400;

/// The receiver's wait in seconds, at most a day. A date that has passed is a wait of 0; a value of
/// neither form is ignored.
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<u64> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    // In whole seconds, as dates are.
    let now = UNIX_EPOCH + Duration::from_secs(now.as_seconds().try_into().unwrap_or(0));
    Some(invoicing_core::internal::retry_after::parse(value, now)?.as_secs().min(LONGEST))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    /// 1994-11-06T08:49:37Z, the date of the examples in RFC 9110.
    const EXAMPLE: i64 = 784_111_777;

    fn asked(value: &[u8], now: i64) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_bytes(value).unwrap());
        retry_after(&headers, Timestamp::from_millis(now * 1_000))
    }

    #[test]
    fn seconds_are_read_and_capped() {
        for (value, expected) in [
            ("0", Some(0)),
            ("7", Some(7)),
            (" 120 ", Some(120)),
            ("007", Some(7)),
            ("86401", Some(LONGEST)),
            ("18446744073709551616", Some(LONGEST)),
            ("99999999999999999999999999999999999999", Some(LONGEST)),
        ] {
            assert_eq!(asked(value.as_bytes(), EXAMPLE), expected, "{value}");
        }
    }

    #[test]
    fn dates_of_all_three_forms_count_from_now() {
        for date in
            ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        {
            assert_eq!(asked(date.as_bytes(), EXAMPLE - 30), Some(30), "{date}");
            assert_eq!(asked(date.as_bytes(), EXAMPLE + 30), Some(0), "{date}");
            assert_eq!(asked(date.as_bytes(), -5), Some(LONGEST), "{date}");
        }
        assert_eq!(asked(b"Fri, 31 Dec 9999 23:59:59 GMT", EXAMPLE), Some(LONGEST));
    }

    #[test]
    fn garbage_asks_for_nothing() {
        let garbage: [&[u8]; 11] = [
            b"",
            b" ",
            b"soon",
            b"-1",
            b"+1",
            b"1.5",
            b"1e3",
            b"0x10",
            b"7, 8",
            b"caf\xe9",
            b"Sun, 99 Nov 1994 08:49:37 GMT",
        ];
        for value in garbage {
            assert_eq!(asked(value, EXAMPLE), None, "{value:?}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), Timestamp::from_millis(0)), None);
    }

    proptest! {
        #[test]
        fn no_value_panics_or_exceeds_a_day(value in proptest::collection::vec(0x20_u8..=0xff, 0..40), now: i64) {
            let Ok(value) = HeaderValue::from_bytes(&value) else { return Ok(()) };
            let headers = HeaderMap::from_iter([(RETRY_AFTER, value)]);
            prop_assert!(retry_after(&headers, Timestamp::from_millis(now)).unwrap_or(0) <= LONGEST);
        }
    }
}
