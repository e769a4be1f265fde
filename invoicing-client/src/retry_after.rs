//! Reading `Retry-After`: seconds or an HTTP date (RFC 9110, section 10.2.3).

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// How long the answer asks to wait; `None` where it does not, or not readably.
///
/// A date is measured from the answer's own `Date`, where there is one, so that a wrong clock on this side does no
/// harm. A date that has passed asks for no wait.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than 64 bits hold are still a number of seconds.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let date = headers.get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    Some(until.duration_since(date.unwrap_or(now)).unwrap_or_default())
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
    fn seconds_and_dates_are_read() {
        let now = httpdate::parse_http_date("Mon, 14 Sep 2026 09:41:00 GMT").unwrap();
        let read = |retry, date| retry_after(&headers(retry, date), now).map(|wait| wait.as_secs());
        assert_eq!(read("7", None), Some(7));
        assert_eq!(read(" 7 ", None), Some(7));
        assert_eq!(read("99999999999999999999999", None), Some(u64::MAX));
        assert_eq!(read("Mon, 14 Sep 2026 09:41:30 GMT", None), Some(30));
        assert_eq!(read("Mon, 14 Sep 2026 09:40:00 GMT", None), Some(0));
        let server = Some("Mon, 14 Sep 2026 09:41:20 GMT");
        assert_eq!(read("Mon, 14 Sep 2026 09:41:30 GMT", server), Some(10));
        for bad in ["", "-1", "1.5", "soon", "1 s"] {
            assert_eq!(read(bad, None), None, "{bad}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    proptest! {
        #[test]
        fn any_value_is_read_or_ignored(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(value) = HeaderValue::from_bytes(&bytes) {
                let mut headers = HeaderMap::new();
                headers.insert(RETRY_AFTER, value);
                let _ = retry_after(&headers, SystemTime::UNIX_EPOCH);
            }
        }
    }
}
