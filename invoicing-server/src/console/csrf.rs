//! Refuses forms of other sites (cross-site request forgery). That needs no secret token, as the
//! console sets no cookie.

use http::request::Parts;
use http::{HeaderName, header};

use super::settings::MountPoint;
use crate::http::headers::only_value;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// True if a request that changes something comes from a page of the console.
///
/// Browsers send the relation of the two sites in `Sec-Fetch-Site`, which no page can set. They
/// leave it out on a site without TLS: then `Origin` must be the console's or a trusted one. A
/// request with neither is refused.
pub(super) fn is_own(head: &Parts, place: &MountPoint, trusted: &[String]) -> bool {
    if head.headers.contains_key(SEC_FETCH_SITE) {
        return only_value(&head.headers, SEC_FETCH_SITE) == Some("same-origin");
    }
    only_value(&head.headers, header::ORIGIN)
        .is_some_and(|origin| origin == place.origin || trusted.iter().any(|it| it == origin))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn is_own<const N: usize>(headers: [(&str, &str); N]) -> bool {
        let mut request = Request::post("/webhooks");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        let place = MountPoint { origin: "https://a.example".to_owned(), path: "/x".to_owned() };
        super::is_own(&head, &place, &["https://b.example".to_owned()])
    }

    #[test]
    fn a_form_of_the_console_is_its_own() {
        assert!(is_own([("sec-fetch-site", "same-origin"), ("origin", "https://a.example")]));
        // `Sec-Fetch-Site` comes from the browser, but a proxy may have changed the host.
        assert!(is_own([("sec-fetch-site", "same-origin"), ("origin", "null")]));
        assert!(is_own([("origin", "https://a.example")]));
        assert!(is_own([("origin", "https://b.example")]));
    }

    #[test]
    fn what_another_site_sends_is_refused() {
        for site in ["cross-site", "same-site", "none", "", "Same-Origin"] {
            assert!(!is_own([("sec-fetch-site", site), ("origin", "https://a.example")]), "{site}");
        }
        for origin in [
            "null",
            "https://evil.example",
            "http://a.example",
            "https://a.example:444",
            "https://a.example.evil",
        ] {
            assert!(!is_own([("origin", origin)]), "{origin}");
        }
        assert!(!is_own([]));
        assert!(!is_own([("referer", "https://a.example/x")]));
        assert!(!is_own([("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")]));
        assert!(!is_own([("origin", "https://a.example"), ("origin", "https://evil.example")]));
    }
}
