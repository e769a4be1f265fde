//! Signs in to the console with a link of one use, and keeps the session in a cookie of the sandbox's own.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Response, StatusCode, header};
use invoicing_core::CompanyId;
use invoicing_server::{ConsoleRole, ConsoleSession, Env, SignInDecision};

/// The field of the query with the token of a link.
const FIELD: &str = "signIn";

/// The door of the console. Cheap to clone; all clones are one.
#[derive(Clone)]
pub(crate) struct Door {
    env: Env,
    base_url: String,
    company: CompanyId,
    /// Browsers send the cookies of one port to all others, so the name holds the address.
    cookie: String,
    state: Arc<Mutex<State>>,
}

struct State {
    /// The token of the link that has not been used.
    link: String,
    sessions: HashSet<String>,
}

impl Door {
    pub(crate) fn new(env: &Env, base_url: &str, company: CompanyId) -> Self {
        let address: String = base_url.chars().filter(char::is_ascii_alphanumeric).collect();
        let state = State { link: token(env), sessions: HashSet::new() };
        Self {
            env: env.clone(),
            base_url: base_url.to_owned(),
            company,
            cookie: format!("sandbox-{address}"),
            state: Arc::new(Mutex::new(state)),
        }
    }

    /// The address that signs in once.
    pub(crate) fn link(&self) -> String {
        self.address(&self.lock().link)
    }

    /// Whether a request has a session, or the token of the link.
    pub(crate) fn decide(&self, request: &Parts) -> SignInDecision {
        let mut state = self.lock();
        let session = self.cookies(request).any(|cookie| state.sessions.contains(cookie));
        if session {
            return SignInDecision::Granted(ConsoleSession::new(self.company, "Sandbox", ConsoleRole::Full));
        }
        if request.method != Method::GET || given(request) != Some(&state.link) {
            return SignInDecision::Answer(Box::new(closed()));
        }
        let session = token(&self.env);
        state.sessions.insert(session.clone());
        state.link = token(&self.env);
        // For a second browser, such as that of a phone.
        tracing::info!(console = self.address(&state.link), "signed in; the next link");
        SignInDecision::Answer(Box::new(self.opened(&session)))
    }

    fn address(&self, link: &str) -> String {
        format!("{}/?{FIELD}={link}", self.base_url)
    }

    fn cookies<'r>(&self, request: &'r Parts) -> impl Iterator<Item = &'r str> {
        let prefix = format!("{}=", self.cookie);
        let fields =
            request.headers.get_all(header::COOKIE).into_iter().filter_map(|field| field.to_str().ok());
        let cookies = fields.flat_map(|field| field.split(';'));
        cookies.filter_map(move |cookie| cookie.trim().strip_prefix(&*prefix))
    }

    /// To the first page, without the token in the address.
    fn opened(&self, session: &str) -> Response<Bytes> {
        let cookie = format!("{}={session}; Path=/; HttpOnly; SameSite=Lax", self.cookie);
        answer(
            Response::builder()
                .status(StatusCode::SEE_OTHER)
                .header(header::LOCATION, "/")
                .header(header::SET_COOKIE, cookie),
            "",
        )
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn token(env: &Env) -> String {
    format!("{:032x}", u128::from_le_bytes(env.bytes()))
}

/// The token in the query.
fn given(request: &Parts) -> Option<&str> {
    let fields = request.uri.query().unwrap_or_default().split('&');
    fields.filter_map(|field| field.split_once('=')).find(|(name, _)| *name == FIELD).map(|(_, token)| token)
}

fn closed() -> Response<Bytes> {
    const PAGE: &str = "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\">\
        <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Sandbox</title></head>\
        <body><main><h1>Signed out</h1><p>Open the link to the console that the sandbox has printed. It can be \
        used once; the log has the next one.</p></main></body></html>";
    answer(Response::builder().status(StatusCode::UNAUTHORIZED), PAGE)
}

fn answer(response: http::response::Builder, page: &'static str) -> Response<Bytes> {
    let response = response.header(header::CONTENT_TYPE, "text/html; charset=utf-8");
    response.body(Bytes::from_static(page.as_bytes())).expect("headers of plain characters")
}
