//! Reads the `Retry-After` header of a response.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// The wait that the response requests. `None` without a valid header.
///
/// A date is relative to the response's `Date` if there is one, so that an incorrect local clock has no effect.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let date = headers.get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    invoicing_core::internal::retry_after::parse(value, date.unwrap_or(now))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn headers(retry: &str, date: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(retry).unwrap());
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_str(date).unwrap());
        }
        headers
    }

    #[test]
    fn seconds_and_dates_are_parsed_and_dates_are_relative_to_the_response() {
        let now = httpdate::parse_http_date("Mon, 14 Sep 2026 09:41:00 GMT").unwrap();
        let read = |retry, date| retry_after(&headers(retry, date), now).map(|wait| wait.as_secs());
        assert_eq!(read("7", None), Some(7));
        assert_eq!(read("Mon, 14 Sep 2026 09:41:30 GMT", None), Some(30));
        assert_eq!(read("Mon, 14 Sep 2026 09:40:00 GMT", None), Some(0));
        let server = Some("Mon, 14 Sep 2026 09:41:20 GMT");
        assert_eq!(read("Mon, 14 Sep 2026 09:41:30 GMT", server), Some(10));
        assert_eq!(read("soon", None), None);
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    proptest! {
        #[test]
        fn no_header_value_causes_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let mut headers = HeaderMap::new();
                headers.insert(RETRY_AFTER, value);
                let _ = retry_after(&headers, SystemTime::UNIX_EPOCH);
            }
        }
    }
}
