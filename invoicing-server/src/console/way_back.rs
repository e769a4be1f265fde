//! The way on from an error page.

use http::request::Parts;
use http::{Method, StatusCode};

use super::error::PageError;
use super::paths::{SIGN, is_public};
use super::routes;

/// The path of a page that leads on, if there is one. For an unknown record that is the list of its
/// kind, for a refused filter the list without it, and otherwise the page with the form or the
/// link.
pub(super) fn path<'p>(error: &PageError, head: &'p Parts) -> Option<&'p str> {
    let path = head.uri.path();
    let status = error.status();
    if is_public(path) {
        return behind_link(path).filter(|_| status != StatusCode::NOT_FOUND);
    }
    if status == StatusCode::NOT_FOUND {
        let chapter = path.get(1..)?.find('/').map_or("/", |end| &path[..=end]);
        return Some(if is_page(chapter) { chapter } else { "/" });
    }
    let is_lasting =
        matches!(status, StatusCode::FORBIDDEN | StatusCode::CONFLICT | StatusCode::METHOD_NOT_ALLOWED);
    let own = Some(path).filter(|path| !is_lasting && is_page(path));
    own.or_else(|| Some(above(path)))
}

/// The next page above a path.
fn above(path: &str) -> &str {
    let mut path = path;
    while let Some((above, _)) = path.rsplit_once('/') {
        path = above;
        if is_page(path) {
            return path;
        }
    }
    "/"
}

fn is_page(path: &str) -> bool {
    routes::find(&Method::GET, path).is_ok()
}

/// The signing page of a path below it.
fn behind_link(path: &str) -> Option<&str> {
    let token = path.strip_prefix(SIGN)?;
    let end = token.find('/').unwrap_or(token.len());
    Some(&path[..SIGN.len() + end])
}

#[cfg(test)]
mod tests {
    use http::Request;
    use invoicing_core::{ConflictReason, Invalid, Rule};

    use super::*;
    use crate::error::Error;
    use crate::http::error::ApiError;

    fn way_back(method: Method, uri: &str, error: impl Into<PageError>) -> Option<String> {
        let (head, ()) = Request::builder().method(method).uri(uri).body(()).unwrap().into_parts();
        path(&error.into(), &head).map(str::to_owned)
    }

    #[test]
    fn every_error_page_leads_to_a_page_that_is_there() {
        let (get, post) = (Method::GET, Method::POST);
        let invalid = || Error::from(Invalid::new("status", Rule::Choice));
        let conflict = || Error::from(ConflictReason::KeepsChanging);
        let missing = || PageError::NOT_FOUND;
        for (method, uri, error, expected) in [
            (&get, "/webhooks/x/deliveries?status=x", invalid().into(), "/webhooks/x/deliveries"),
            (&get, "/quotes?status=x", invalid().into(), "/quotes"),
            (&get, "/webhooks/x/deliveries/y", missing(), "/webhooks"),
            (&get, "/quotes/x", missing(), "/quotes"),
            (&get, "/nothing/at/all", missing(), "/"),
            (&get, "/nothing", missing(), "/"),
            (&post, "/webhooks/x/rotate", invalid().into(), "/webhooks/x/rotate"),
            (&post, "/webhooks/x/rotate", conflict().into(), "/webhooks/x"),
            (&post, "/webhooks/x/deliveries/y/replay", conflict().into(), "/webhooks/x/deliveries/y"),
            (&post, "/quotes/x/links", conflict().into(), "/quotes/x"),
            (&post, "/keys/x/revoke", conflict().into(), "/keys"),
            (&get, "/keys/new", PageError::Forbidden, "/keys"),
            (
                &get,
                "/webhooks/x/disable",
                ApiError::MethodNotAllowed { allow: "POST".into() }.into(),
                "/webhooks/x",
            ),
            (&post, "/keys", ApiError::PayloadTooLarge.into(), "/keys"),
            (&get, "/quotes/x", Error::Overloaded.into(), "/quotes/x"),
            (&post, "/sign/t/decline", ApiError::PayloadTooLarge.into(), "/sign/t"),
        ] {
            assert_eq!(way_back(method.clone(), uri, error).as_deref(), Some(expected), "{method} {uri}");
        }
        assert_eq!(way_back(get.clone(), "/sign/t", missing()), None);
        assert_eq!(way_back(get, "/assets/x", missing()), None);
    }
}
