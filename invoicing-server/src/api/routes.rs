//! The route table and the lookup in it.

use std::sync::LazyLock;

use http::Method;

use crate::http::routing::{self, Found, RouteTable};

/// An endpoint of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// A page of quotes.
    ListQuotes,
    /// One quote in full.
    GetQuote,
    /// Sets a quote's external id.
    LinkQuote,
    /// A signed URL to a quote's frozen document.
    QuoteDocument,
    /// A page of invoices.
    ListInvoices,
    /// One invoice in full.
    GetInvoice,
    /// A signed URL to an invoice's frozen document.
    InvoiceDocument,
    /// A page of credit notes.
    ListCreditNotes,
    /// One credit note in full.
    GetCreditNote,
    /// A signed URL to a credit note's frozen document.
    CreditNoteDocument,
    /// A page of clients.
    ListClients,
    /// Creates a client.
    CreateClient,
    /// The frozen document behind a signed URL.
    FrozenDocument,
    /// The description of the API in `OpenAPI`.
    OpenApi,
    /// The reference page.
    Docs,
}

impl Endpoint {
    /// True if the endpoint needs an API key and counts in the quota. A signed URL is its own
    /// permission, and a description is public.
    pub const fn needs_key(self) -> bool {
        !matches!(self, Self::FrozenDocument | Self::OpenApi | Self::Docs)
    }

    /// True if its handler may wait for the document store.
    pub(super) const fn waits_for_documents(self) -> bool {
        matches!(self, Self::QuoteDocument | Self::InvoiceDocument | Self::CreditNoteDocument)
    }

    /// True if the endpoint reads a request body.
    pub const fn reads_body(self) -> bool {
        matches!(self, Self::LinkQuote | Self::CreateClient)
    }
}

/// One row of the route table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Route {
    /// The method. `HEAD` is routed like `GET`.
    pub method: Method,
    /// The path, with the version prefix and with parameters in braces.
    pub path: &'static str,
    /// The endpoint.
    pub endpoint: Endpoint,
}

/// Every route of the API, as data for tests and documentation.
pub const ROUTES: &[Route] = &[
    route(Method::GET, "/api/v1/quotes", Endpoint::ListQuotes),
    route(Method::GET, "/api/v1/quotes/{id}", Endpoint::GetQuote),
    route(Method::PATCH, "/api/v1/quotes/{id}", Endpoint::LinkQuote),
    route(Method::GET, "/api/v1/quotes/{id}/document", Endpoint::QuoteDocument),
    route(Method::GET, "/api/v1/invoices", Endpoint::ListInvoices),
    route(Method::GET, "/api/v1/invoices/{id}", Endpoint::GetInvoice),
    route(Method::GET, "/api/v1/invoices/{id}/document", Endpoint::InvoiceDocument),
    route(Method::GET, "/api/v1/credit-notes", Endpoint::ListCreditNotes),
    route(Method::GET, "/api/v1/credit-notes/{id}", Endpoint::GetCreditNote),
    route(Method::GET, "/api/v1/credit-notes/{id}/document", Endpoint::CreditNoteDocument),
    route(Method::GET, "/api/v1/clients", Endpoint::ListClients),
    route(Method::POST, "/api/v1/clients", Endpoint::CreateClient),
    route(Method::GET, "/api/v1/documents/{company}/{upload}", Endpoint::FrozenDocument),
    route(Method::GET, "/api/v1/openapi.json", Endpoint::OpenApi),
    route(Method::GET, "/api/v1/docs", Endpoint::Docs),
];

const fn route(method: Method, path: &'static str, endpoint: Endpoint) -> Route {
    Route { method, path, endpoint }
}

impl routing::Route for Route {
    const ON_EVERY_PATH: &'static [&'static str] = &["OPTIONS"];

    fn method(&self) -> &Method {
        &self.method
    }

    fn path(&self) -> &'static str {
        self.path
    }
}

static TABLE: LazyLock<RouteTable<Route>> = LazyLock::new(|| RouteTable::new(ROUTES));

/// The route of a method and a path, and the path's parameters.
///
/// # Errors
/// `not_found` and `method_not_allowed`.
pub(super) fn find<'path>(method: &Method, path: &'path str) -> Found<'path, Route> {
    TABLE.find(method, path)
}

/// True for a path that needs no key, whatever the method.
pub(super) fn is_public(path: &str) -> bool {
    let routes = TABLE.of_path(path);
    !routes.is_empty() && routes.iter().all(|route| !route.endpoint.needs_key())
}

#[cfg(test)]
mod tests {
    use crate::http::error::ApiError;
    use invoicing_core::ErrorCode;
    use proptest::prelude::*;

    use super::*;

    fn endpoint(method: &Method, path: &str) -> Option<Endpoint> {
        find(method, path).ok().map(|(route, _)| route.endpoint)
    }

    #[test]
    fn every_route_has_an_endpoint_of_its_own() {
        for (index, route) in ROUTES.iter().enumerate() {
            let path = route.path.replace(['{', '}'], "");
            assert_eq!(endpoint(&route.method, &path), Some(route.endpoint), "{path}");
            assert!(ROUTES[..index].iter().all(|earlier| earlier.endpoint != route.endpoint), "{path}");
        }
    }

    #[test]
    fn head_is_routed_like_get() {
        for route in ROUTES.iter().filter(|route| route.method == Method::GET) {
            assert_eq!(endpoint(&Method::HEAD, route.path), Some(route.endpoint));
        }
    }

    #[test]
    fn a_wrong_method_gets_the_allowed_ones() {
        for (path, expected) in [
            ("/api/v1/quotes", "GET, HEAD, OPTIONS"),
            ("/api/v1/quotes/x", "GET, HEAD, PATCH, OPTIONS"),
            ("/api/v1/clients", "GET, HEAD, POST, OPTIONS"),
        ] {
            let Err(ApiError::MethodNotAllowed { allow }) = find(&Method::DELETE, path) else {
                panic!("{path}")
            };
            assert_eq!(allow, expected);
        }
    }

    #[test]
    fn other_paths_are_not_found() {
        for path in [
            "",
            "*",
            "/",
            "/api/v1",
            "/api/v1/",
            "/api/v1/quotes/",
            "/api/v1/quotes/x/",
            "/api/v1//quotes",
            "/api/v1/quotes/x/document/",
            "/api/v1/quotes/x/y",
            "/api/v1/Quotes",
            "/api/v2/quotes",
            "/quotes",
            "/api/v1/documents/x",
            "/api/v1/documents/x/",
        ] {
            assert_eq!(find(&Method::GET, path).unwrap_err().code(), ErrorCode::NotFound, "{path}");
        }
    }

    proptest! {
        #[test]
        fn any_path_is_looked_up_without_panic(path in "(/api/v1)?(/(quotes|clients|[^?#]{0,8})){0,5}") {
            for method in [Method::GET, Method::POST, Method::TRACE] {
                let _ = find(&method, &path);
            }
        }
    }
}
