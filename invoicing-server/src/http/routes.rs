//! The routes, as a table, and the lookup in it. Serving them is not done here.

use std::sync::LazyLock;

use http::{HeaderValue, Method};
use matchit::{Params, Router};

/// What a route leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Endpoint {
    /// A page of quotes.
    ListQuotes,
    /// One quote with everything about it.
    GetQuote,
    /// Linking a quote to the caller's own identifier.
    LinkQuote,
    /// A signed URL to a quote's frozen document.
    QuoteDocument,
    /// A page of invoices.
    ListInvoices,
    /// One invoice with everything about it.
    GetInvoice,
    /// A page of clients.
    ListClients,
    /// Creating a client.
    CreateClient,
    /// The frozen document behind a signed URL.
    FrozenDocument,
}

impl Endpoint {
    /// Whether it takes an API key and counts in its quota. A signed URL carries its own proof.
    pub const fn needs_key(self) -> bool {
        !matches!(self, Self::FrozenDocument)
    }

    /// Whether it may wait for the document store.
    pub(crate) const fn asks_the_document_store(self) -> bool {
        matches!(self, Self::QuoteDocument | Self::FrozenDocument)
    }

    /// Whether it reads a request body.
    pub const fn reads_body(self) -> bool {
        matches!(self, Self::LinkQuote | Self::CreateClient)
    }
}

/// One row of the route table.
#[derive(Debug)]
#[non_exhaustive]
pub struct Route {
    /// The method. `HEAD` goes wherever `GET` does.
    pub method: Method,
    /// The path with its parameters in braces, version prefix included.
    pub path: &'static str,
    /// What it leads to.
    pub endpoint: Endpoint,
}

/// Every route of the API. A table, so that tests and documentation can walk it.
pub const ROUTES: &[Route] = &[
    route(Method::GET, "/api/v1/quotes", Endpoint::ListQuotes),
    route(Method::GET, "/api/v1/quotes/{id}", Endpoint::GetQuote),
    route(Method::PATCH, "/api/v1/quotes/{id}", Endpoint::LinkQuote),
    route(Method::GET, "/api/v1/quotes/{id}/document", Endpoint::QuoteDocument),
    route(Method::GET, "/api/v1/invoices", Endpoint::ListInvoices),
    route(Method::GET, "/api/v1/invoices/{id}", Endpoint::GetInvoice),
    route(Method::GET, "/api/v1/clients", Endpoint::ListClients),
    route(Method::POST, "/api/v1/clients", Endpoint::CreateClient),
    route(Method::GET, "/api/v1/documents/{company}/{upload}", Endpoint::FrozenDocument),
];

const fn route(method: Method, path: &'static str, endpoint: Endpoint) -> Route {
    Route { method, path, endpoint }
}

/// What a request's method and path lead to.
#[derive(Debug)]
pub(crate) enum Found<'path> {
    /// An endpoint, and the path's parameters as they were sent.
    Endpoint(Endpoint, Params<'static, 'path>),
    /// A known path that does not have this method.
    WrongMethod {
        /// The methods that it has, as `Allow` lists them.
        allow: &'static HeaderValue,
    },
    /// No such path.
    Nothing,
}

/// Looks a request up in the table.
pub(crate) fn find<'path>(method: &Method, path: &'path str) -> Found<'path> {
    let Ok(found) = ROUTER.at(path) else { return Found::Nothing };
    let method = if method == Method::HEAD { &Method::GET } else { method };
    match found.value.methods.iter().find(|(known, _)| known == method) {
        Some((_, endpoint)) => Found::Endpoint(*endpoint, found.params),
        None => Found::WrongMethod { allow: &found.value.allow },
    }
}

/// What one path has.
struct Entry {
    methods: Vec<(Method, Endpoint)>,
    allow: HeaderValue,
}

static ROUTER: LazyLock<Router<Entry>> = LazyLock::new(|| {
    let mut router = Router::new();
    for (index, route) in ROUTES.iter().enumerate() {
        let is_new = ROUTES[..index].iter().all(|earlier| earlier.path != route.path);
        if is_new && let Err(error) = router.insert(route.path, entry(route.path)) {
            unreachable!("the constant route table contradicts itself: {error}");
        }
    }
    router
});

fn entry(path: &str) -> Entry {
    let routes = || ROUTES.iter().filter(|route| route.path == path);
    let names = routes().flat_map(|route| match route.method {
        Method::GET => vec!["GET", "HEAD"],
        ref other => vec![other.as_str()],
    });
    let allow = names.collect::<Vec<_>>().join(", ");
    let Ok(allow) = HeaderValue::try_from(allow) else {
        unreachable!("names of methods are header values");
    };
    Entry { methods: routes().map(|route| (route.method.clone(), route.endpoint)).collect(), allow }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn endpoint(method: &Method, path: &str) -> Option<Endpoint> {
        match find(method, path) {
            Found::Endpoint(endpoint, _) => Some(endpoint),
            _ => None,
        }
    }

    #[test]
    fn every_row_leads_to_its_endpoint_and_no_other_row_has_it() {
        for (index, route) in ROUTES.iter().enumerate() {
            let path = route.path.replace(['{', '}'], "");
            assert_eq!(endpoint(&route.method, &path), Some(route.endpoint), "{path}");
            assert!(ROUTES[..index].iter().all(|earlier| earlier.endpoint != route.endpoint), "{path}");
        }
    }

    #[test]
    fn head_goes_where_get_does() {
        for route in ROUTES.iter().filter(|route| route.method == Method::GET) {
            assert_eq!(endpoint(&Method::HEAD, route.path), Some(route.endpoint));
        }
    }

    #[test]
    fn a_wrong_method_is_told_the_right_ones() {
        for (path, expected) in [
            ("/api/v1/quotes", "GET, HEAD"),
            ("/api/v1/quotes/x", "GET, HEAD, PATCH"),
            ("/api/v1/clients", "GET, HEAD, POST"),
        ] {
            let Found::WrongMethod { allow } = find(&Method::DELETE, path) else { panic!("{path}") };
            assert_eq!(allow, expected);
        }
    }

    #[test]
    fn other_paths_lead_nowhere() {
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
            assert!(matches!(find(&Method::GET, path), Found::Nothing), "{path}");
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
