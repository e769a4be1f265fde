//! The answers to forms: a page that people stay on is one that can be loaded again.
//!
//! Browsers keep no answer to a form. A person who comes back to one is asked to send the form again, or sees an error.

use http::{Method, StatusCode};
use invoicing_server::Console;

use super::Shown;

/// The answer to a form that is carried out. A refusal is 4xx or 5xx, and may be a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// 303, to a page.
    Elsewhere,
    /// A page with a secret, which is shown this once.
    Secret,
}

use Answer::{Elsewhere, Secret};

/// Every form of the console and of the signing page.
const ANSWERS: [(&str, Answer); 29] = [
    ("/webhooks", Secret),
    ("/webhooks/{id}", Elsewhere),
    ("/webhooks/{id}/test", Elsewhere),
    ("/webhooks/{id}/disable", Elsewhere),
    ("/webhooks/{id}/enable", Elsewhere),
    ("/webhooks/{id}/rotate", Secret),
    ("/webhooks/{id}/end-overlap", Elsewhere),
    ("/webhooks/{id}/remove", Elsewhere),
    ("/webhooks/{id}/deliveries/{event}/replay", Elsewhere),
    ("/webhooks/{id}/replay", Elsewhere),
    ("/sign/{token}", Elsewhere),
    ("/sign/{token}/decline", Elsewhere),
    ("/keys", Secret),
    ("/keys/{id}/revoke", Elsewhere),
    ("/quotes/{id}/send", Elsewhere),
    ("/quotes/{id}/links", Secret),
    ("/quotes/{id}/links/{link}/revoke", Elsewhere),
    ("/quotes/{id}/convert", Elsewhere),
    ("/invoices", Elsewhere),
    ("/invoices/{id}/issue", Elsewhere),
    ("/invoices/{id}/pay", Elsewhere),
    ("/invoices/{id}/paid", Elsewhere),
    ("/invoices/{id}/credit", Elsewhere),
    ("/invoices/{id}/refund", Elsewhere),
    ("/invoices/{id}/cancel", Elsewhere),
    ("/invoices/{id}/payments/{payment}/reverse", Elsewhere),
    ("/clients", Elsewhere),
    ("/clients/{id}", Elsewhere),
    ("/company", Elsewhere),
];

/// How secrets begin.
pub(super) const SECRETS: [&str; 3] = ["isk_", "whsec_", "/sign/sgn_"];

/// Each form of each test of the console comes through here.
pub(super) fn assert_one_of_its_kind(method: &Method, path: &str, shown: &Shown) {
    let status = shown.status;
    if method != Method::POST || status.is_client_error() || status.is_server_error() {
        return;
    }
    let answer = ANSWERS.iter().find(|(route, _)| is_of(route, path)).map(|(_, answer)| *answer);
    if status == StatusCode::SEE_OTHER {
        assert!(answer.is_some() && !shown.location().is_empty(), "{path}");
        return;
    }
    assert_eq!((status, answer), (StatusCode::OK, Some(Secret)), "{path}: {}", shown.html);
    assert!(SECRETS.iter().any(|secret| shown.html.contains(secret)), "{path}: {}", shown.html);
}

fn is_of(route: &str, path: &str) -> bool {
    let parts = |text: &'_ str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
    let (route, path) = (parts(route), parts(path));
    route.len() == path.len()
        && route.iter().zip(&path).all(|(wanted, part)| wanted.starts_with('{') || wanted == part)
}

/// Rules: FORM-7
#[test]
fn every_form_has_a_kind_of_answer() {
    let mut routes: Vec<_> = ANSWERS.iter().map(|(route, _)| *route).collect();
    let mut forms: Vec<_> = Console::forms().collect();
    routes.sort_unstable();
    forms.sort_unstable();
    assert_eq!(routes, forms);
}
