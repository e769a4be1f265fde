//! The request id, which a response and its log lines share.

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::Uuid;

use crate::cause::is_request_id;

/// Header of the request id, in requests and responses.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The incoming id if it is valid, otherwise a new one. Of several headers the first counts.
pub(crate) fn request_id(headers: &HeaderMap, new_id: impl FnOnce() -> Uuid) -> HeaderValue {
    match headers.get(X_REQUEST_ID) {
        Some(id) if is_request_id(id.as_bytes()) => id.clone(),
        // Hexadecimal digits and hyphens are always a valid header value.
        _ => HeaderValue::try_from(new_id().to_string()).unwrap_or(HeaderValue::from_static("unknown")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::env::Env;
    use crate::secret::{API_KEY, SIGNING_LINK, Secret, WEBHOOK};

    const NEW: Uuid = Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0001);

    fn response_id(incoming: &[u8]) -> HeaderValue {
        let incoming = HeaderValue::from_bytes(incoming).unwrap();
        request_id(&HeaderMap::from_iter([(X_REQUEST_ID, incoming)]), || NEW)
    }

    /// Rules: WIRE-20
    #[test]
    fn a_valid_id_is_echoed() {
        let longest = "x".repeat(128);
        for id in ["a", "01920000-0000-7000-8000-000000000001", "req_1.2-A", &longest] {
            assert_eq!(response_id(id.as_bytes()), id);
        }
    }

    #[test]
    fn a_missing_or_invalid_id_is_replaced() {
        let expected = "01920000-0000-7000-8000-000000000001";
        assert_eq!(request_id(&HeaderMap::new(), || NEW), expected);
        let too_long = [b'x'; 129];
        for id in [
            "".as_bytes(),
            b"a b",
            b"a\tb",
            b"\"a\"",
            "é".as_bytes(),
            b"a;b",
            b"isk_x",
            b"whsec_x",
            b"sgn_x",
            b"aisk_x",
            b"req-1.whsec_x",
            b"a-SGN_x",
            &too_long,
        ] {
            assert_eq!(response_id(id), expected);
        }
    }

    proptest! {
        /// Rules: WIRE-20
        #[test]
        fn no_response_id_has_a_secret_in_it(
            before in "[A-Za-z0-9._-]{0,35}",
            prefix in 0..3_usize,
            after in "[A-Za-z0-9._-]{0,35}",
        ) {
            let secret = Secret::generate([API_KEY, WEBHOOK, SIGNING_LINK][prefix], &Env::system());
            let secret = secret.reveal();
            for id in [format!("{before}{secret}{after}"), format!("{before}{}", &secret[..20])] {
                for id in [id.to_uppercase(), id.to_lowercase(), id] {
                    prop_assert_eq!(response_id(id.as_bytes()), NEW.to_string());
                }
            }
        }

        #[test]
        fn every_response_has_a_valid_id(incoming in proptest::collection::vec(0x20..=0xff_u8, 0..200)) {
            prop_assume!(!incoming.contains(&0x7f));
            prop_assert!(is_request_id(response_id(&incoming).as_bytes()));
        }
    }
}
