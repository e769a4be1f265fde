//! The table of the pages and forms of the console, and the lookup in it.

use std::future::ready;
use std::sync::LazyLock;

use futures_util::FutureExt;
use http::Method;
use invoicing_core::{CreditNote, Invoice};

use super::ConsoleAction::{
    EnterPayments, ManageClients, ManageCompany, ManageInvoices, ManageKeys, ManageSigningLinks,
    ManageWebhooks, ReplayDeliveries, SendQuotes, TestWebhooks,
};
use super::route::{Handler, Route, carried_out, change, form, page, public, question};
use super::{
    clients, company, credit_notes, events, history, invoices, keys, quotes, sign, stored, webhooks,
};
use crate::http::routing::{Found, RouteTable};

/// An asynchronous function as a handler.
macro_rules! handler {
    ($handler:expr) => {
        |request| Box::pin($handler(request).map(|made| Ok(made?.into())))
    };
}

/// A function that makes a page of the request alone, as a handler.
macro_rules! ready_page {
    ($page:expr) => {
        |request| Box::pin(ready(Ok($page(request).into())))
    };
}

/// Every page and form. The methods of a path follow each other.
pub(super) const ROUTES: &[Route] = &[
    page("/", handler!(webhooks::home)),
    carried_out("/carried-out"),
    public(Method::GET, "/assets/{name}", Handler::Asset),
    page("/webhooks", handler!(webhooks::list)),
    form("/webhooks", "/webhooks/{subject}", ManageWebhooks, handler!(webhooks::register))
        .on("/webhooks/new"),
    question("/webhooks/new", ManageWebhooks, ready_page!(webhooks::new)),
    page("/webhooks/{id}", handler!(webhooks::show)),
    change("/webhooks/{id}", "/webhooks/{id}", ManageWebhooks, handler!(webhooks::change)),
    form("/webhooks/{id}/test", "/webhooks/{id}/deliveries", TestWebhooks, handler!(webhooks::test))
        .on("/webhooks/{id}"),
    change("/webhooks/{id}/disable", "/webhooks/{id}", ManageWebhooks, handler!(webhooks::disable))
        .on("/webhooks/{id}"),
    change("/webhooks/{id}/enable", "/webhooks/{id}", ManageWebhooks, handler!(webhooks::enable))
        .on("/webhooks/{id}"),
    question("/webhooks/{id}/rotate", ManageWebhooks, handler!(webhooks::confirm_rotation)),
    change("/webhooks/{id}/rotate", "/webhooks/{id}", ManageWebhooks, handler!(webhooks::rotate)),
    change("/webhooks/{id}/end-overlap", "/webhooks/{id}", ManageWebhooks, handler!(webhooks::end_overlap))
        .on("/webhooks/{id}"),
    question("/webhooks/{id}/remove", ManageWebhooks, handler!(webhooks::confirm_removal)),
    change("/webhooks/{id}/remove", "/webhooks", ManageWebhooks, handler!(webhooks::remove)),
    page("/webhooks/{id}/deliveries", handler!(webhooks::deliveries)),
    page("/webhooks/{id}/deliveries/{event}", handler!(webhooks::delivery)),
    form(
        "/webhooks/{id}/deliveries/{event}/replay",
        "/webhooks/{id}/deliveries/{event}",
        ReplayDeliveries,
        handler!(webhooks::replay_delivery),
    )
    .on("/webhooks/{id}/deliveries/{event}"),
    question("/webhooks/{id}/replay", ReplayDeliveries, handler!(webhooks::confirm_replay)),
    form("/webhooks/{id}/replay", "/webhooks/{id}/deliveries", ReplayDeliveries, handler!(webhooks::replay)),
    page("/events", handler!(events::list)),
    page("/events/{id}", handler!(events::show)),
    page("/history", handler!(history::list)),
    public(Method::GET, "/sign/{token}", Handler::Signing(handler!(sign::show))),
    public(Method::POST, "/sign/{token}", Handler::Signing(handler!(sign::sign))),
    public(Method::GET, "/sign/{token}/confirm", Handler::Signing(handler!(sign::confirm_signature))),
    public(Method::GET, "/sign/{token}/decline", Handler::Signing(handler!(sign::confirm_refusal))),
    public(Method::POST, "/sign/{token}/decline", Handler::Signing(handler!(sign::decline))),
    public(Method::GET, "/sign/{token}/document.pdf", Handler::SigningDocument),
    page("/keys", handler!(keys::list)),
    form("/keys", "/keys", ManageKeys, handler!(keys::issue)).on("/keys/new"),
    question("/keys/new", ManageKeys, ready_page!(keys::new)),
    question("/keys/{id}/revoke", ManageKeys, handler!(keys::confirm_revocation)),
    change("/keys/{id}/revoke", "/keys", ManageKeys, handler!(keys::revoke)),
    page("/quotes", handler!(quotes::list)),
    page("/quotes/{id}", handler!(quotes::show)),
    page("/quotes/{id}/documents/{sha256}", handler!(quotes::document)).waits_for_documents(),
    question("/quotes/{id}/send", SendQuotes, handler!(quotes::confirm_sending)).waits_for_documents(),
    change("/quotes/{id}/send", "/quotes/{id}", SendQuotes, handler!(quotes::send)).waits_for_documents(),
    change("/quotes/{id}/links", "/quotes/{id}#links", ManageSigningLinks, handler!(quotes::make_link))
        .on("/quotes/{id}"),
    question(
        "/quotes/{id}/links/{link}/revoke",
        ManageSigningLinks,
        handler!(quotes::confirm_link_revocation),
    ),
    change(
        "/quotes/{id}/links/{link}/revoke",
        "/quotes/{id}#links",
        ManageSigningLinks,
        handler!(quotes::revoke_link),
    ),
    change("/quotes/{id}/convert", "/quotes/{id}", ManageInvoices, handler!(quotes::convert))
        .on("/quotes/{id}"),
    page("/invoices", handler!(invoices::list)),
    form("/invoices", "/quotes/{subject}", ManageInvoices, handler!(invoices::make))
        .on("/invoices/new")
        .waits_for_documents(),
    question("/invoices/new", ManageInvoices, handler!(invoices::new)),
    page("/invoices/{id}", handler!(invoices::show)),
    page("/invoices/{id}/document", handler!(stored::latest::<Invoice>)).waits_for_documents(),
    question("/invoices/{id}/issue", ManageInvoices, handler!(invoices::confirm_issue)).waits_for_documents(),
    change("/invoices/{id}/issue", "/invoices/{id}", ManageInvoices, handler!(invoices::issue))
        .waits_for_documents(),
    question("/invoices/{id}/pay", EnterPayments, handler!(invoices::new_payment)),
    change("/invoices/{id}/pay", "/invoices/{id}", EnterPayments, handler!(invoices::pay)),
    question("/invoices/{id}/paid", EnterPayments, handler!(invoices::confirm_paid)),
    change("/invoices/{id}/paid", "/invoices/{id}", EnterPayments, handler!(invoices::mark_paid))
        .waits_for_documents(),
    question("/invoices/{id}/credit", ManageInvoices, handler!(invoices::new_credit)),
    change("/invoices/{id}/credit", "/invoices/{id}", ManageInvoices, handler!(invoices::credit))
        .on("/invoices/{id}/credit/review")
        .waits_for_documents(),
    question("/invoices/{id}/credit/review", ManageInvoices, handler!(invoices::review_credit)),
    question("/invoices/{id}/refund", EnterPayments, handler!(invoices::new_refund)),
    change("/invoices/{id}/refund", "/invoices/{id}", EnterPayments, handler!(invoices::refund)),
    question("/invoices/{id}/cancel", ManageInvoices, handler!(invoices::confirm_cancellation)),
    change("/invoices/{id}/cancel", "/invoices/{id}", ManageInvoices, handler!(invoices::cancel))
        .waits_for_documents(),
    question(
        "/invoices/{id}/payments/{payment}/reverse",
        EnterPayments,
        handler!(invoices::confirm_reversal),
    ),
    change(
        "/invoices/{id}/payments/{payment}/reverse",
        "/invoices/{id}",
        EnterPayments,
        handler!(invoices::reverse),
    ),
    page("/clients", handler!(clients::list)),
    form("/clients", "/clients/{subject}", ManageClients, handler!(clients::make)).on("/clients/new"),
    question("/clients/new", ManageClients, ready_page!(clients::new)),
    page("/clients/{id}", handler!(clients::show)),
    change("/clients/{id}", "/clients/{id}", ManageClients, handler!(clients::change)),
    page("/company", handler!(company::show)),
    change("/company", "/company", ManageCompany, handler!(company::change)),
    page("/credit-notes", handler!(credit_notes::list)),
    page("/credit-notes/{id}", handler!(credit_notes::show)),
    page("/credit-notes/{id}/document", handler!(stored::latest::<CreditNote>)).waits_for_documents(),
];

/// The paths of the forms.
#[cfg(any(test, feature = "testing"))]
pub(super) fn forms() -> impl Iterator<Item = &'static str> {
    ROUTES.iter().filter(|route| route.method == Method::POST).map(|route| route.path)
}

static TABLE: LazyLock<RouteTable<Route>> = LazyLock::new(|| RouteTable::new(ROUTES));

/// The route of a method and a path, and the parameters of the path.
///
/// # Errors
/// `not_found` and `method_not_allowed`.
pub(super) fn find<'p>(method: &Method, path: &'p str) -> Found<'p, Route> {
    TABLE.find(method, path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::paths::is_public;
    use crate::console::route::Permission;
    use crate::http::error::ApiError;

    /// The route of a path as the table has it.
    fn route(method: &Method, path: &str) -> &'static Route {
        find(method, &path.replace(['{', '}'], "")).unwrap().0
    }

    #[test]
    fn every_route_is_found_by_its_method_and_path() {
        for expected in ROUTES {
            let found = route(&expected.method, expected.path);
            assert_eq!((&found.method, found.path), (&expected.method, expected.path));
        }
    }

    #[test]
    fn each_change_is_a_form_that_needs_an_action_or_a_signing_link() {
        for route in ROUTES {
            let is_permitted =
                matches!(route.needs, Permission::To(_)) || route.path.starts_with("/sign/{token}");
            let is_form = route.method == Method::POST && is_permitted;
            assert!(route.method == Method::GET || is_form, "{}", route.path);
            assert_eq!(route.needs == Permission::Nothing, is_public(route.path), "{}", route.path);
            let is_once = route.method == Method::POST && route.needs != Permission::Nothing;
            assert_eq!(route.form.is_some(), is_once, "{}", route.path);
        }
    }

    #[test]
    fn each_form_is_on_a_page_and_its_effect_is_shown_on_one() {
        for (path, form) in ROUTES.iter().filter_map(|route| Some((route.path, route.form?))) {
            let page = route(&Method::GET, form.page);
            assert_eq!(page.path, form.page, "{path}");
            let shown_at = form.shown_at.replace("{subject}", "{id}");
            let shown_at = shown_at.split('#').next().unwrap();
            assert_eq!(route(&Method::GET, shown_at).path, shown_at, "{path}");
        }
    }

    #[test]
    fn the_page_before_an_issue_waits_as_the_issue_does() {
        for method in [Method::GET, Method::POST] {
            assert!(route(&method, "/invoices/{id}/issue").waits_for_documents, "{method}");
        }
    }

    #[test]
    fn other_paths_and_methods_are_refused() {
        for path in ["/x", "/webhooks/", "//webhooks", "/webhooks/a/b", "/assets"] {
            assert!(matches!(find(&Method::GET, path), Err(ApiError::Operation(_))), "{path}");
        }
        let Err(ApiError::MethodNotAllowed { allow }) = find(&Method::PUT, "/webhooks") else { panic!() };
        assert_eq!(allow, "GET, HEAD, POST");
    }
}
