//! The settings console and the signing page: pages of HTML, rendered on the server, that work
//! without a script.
//!
//! [`application`] serves a request: [`routes`] finds the [`route`] of the page, [`sign_in`] calls
//! the host, [`csrf`] refuses forms of other sites, and the file of a subject has the handler,
//! which calls operations. [`layout`] has the head, the bar and the components of all pages,
//! [`assets`] their style and script. [`sign`] is the page behind a signing link, which needs no
//! session. A GET changes nothing; a form is answered with a redirect to a page that shows its
//! effect, or with a secret that is shown this once. A form is carried out once, by its
//! [`form_token`]; the second time [`carried_out`] leads to the record that the first made. No page
//! sets a cookie.

mod application;
mod assets;
mod carried_out;
mod client_address;
mod clients;
mod company;
mod credit_notes;
mod csrf;
mod error;
mod error_pages;
mod event_cells;
mod events;
mod figures;
mod fixed_pages;
mod form;
mod form_token;
mod history;
mod inputs;
mod invoices;
mod keys;
mod language;
mod layout;
mod lines;
mod paging;
mod paths;
mod public;
mod quotes;
mod readiness;
mod refusals;
mod request;
mod route;
mod routes;
mod settings;
mod sign;
mod sign_in;
mod stored;
mod table;
mod text_fields;
mod time;
mod totals;
mod way_back;
mod webhooks;

use std::fmt;
use std::sync::Arc;

use bytes::Buf;
use http::{HeaderValue, Request, Response};
#[cfg(any(test, feature = "testing"))]
use invoicing_core::CompanyId;

use self::assets::Assets;
use self::client_address::TrustedProxies;
use self::fixed_pages::FixedPages;
pub use self::language::Language;
use self::settings::MountPoint;
pub use self::settings::{ConsoleSettings, Theme, ThemeLogo};
pub use self::sign_in::{ConsoleAction, ConsoleRole, ConsoleSession, SignIn, SignInDecision, SignInFuture};
use crate::config::{DispatchSettings, SettingError};
use crate::http::HttpContext;
use crate::http::body::{BoxError, RequestBody};
use crate::http::exchange::answer;
use crate::http::response_body::Body;
use crate::http::service::impl_service;
use crate::operations::Services;

/// The parts that the console works with.
pub(crate) struct ConsoleContext {
    http: Arc<HttpContext>,
    services: Arc<Services>,
    /// Time limit of an attempt to deliver.
    attempt_timeout_ms: u64,
    settings: ConsoleSettings,
    place: MountPoint,
    /// `None` if no header is trusted.
    proxies: Option<TrustedProxies>,
    /// The beginning of links to the signing page.
    signing: String,
    assets: Assets,
    fixed_pages: FixedPages,
    /// The value of `Content-Security-Policy`.
    policy: HeaderValue,
    /// `None` if only the signing page is served.
    sign_in: Option<Box<dyn SignIn>>,
}

/// The settings console as a service, for the people of a company: see
/// [`Invoicing::console`](crate::Invoicing::console); or its signing page alone: see
/// [`Invoicing::signing_page`](crate::Invoicing::signing_page).
///
/// The page behind a signing link is `/sign/{token}` below the base URL. The address of the peer is
/// kept as evidence of a signature: [`serve`](crate::serve()) puts it into the extensions of a
/// request, as a [`std::net::IpAddr`], and a host with another server may do the same. Behind a
/// proxy, [`ConsoleSettings::client_address`] sets the header that is believed.
///
/// Cheap to clone, always ready, and never fails: every error is a page. The host mounts it below a
/// prefix and strips that, as axum's `nest_service` does. Its pages work without a script, load
/// nothing from elsewhere, and set no cookie. They change nothing on `GET`; forms of other sites
/// are refused. The limits on requests ([`RequestLimits`](crate::RequestLimits)), and each
/// company's share of them, are the same as for the API.
#[derive(Clone)]
pub struct Console(Arc<ConsoleContext>);

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Console").field(&self.0.settings).finish()
    }
}

impl Console {
    pub(crate) fn new(
        http: Arc<HttpContext>,
        services: Arc<Services>,
        dispatch: &DispatchSettings,
        settings: ConsoleSettings,
        sign_in: Option<Box<dyn SignIn>>,
    ) -> Result<Self, SettingError> {
        let (place, signing) = (settings.place()?, settings.signing_address()?);
        let proxies = settings.proxies()?;
        settings.check()?;
        let (assets, policy) = (Assets::new(&settings.theme), policy(&settings.frame_ancestors));
        Ok(Self(Arc::new(ConsoleContext {
            http,
            services,
            attempt_timeout_ms: dispatch.attempt_timeout_ms,
            settings,
            place,
            proxies,
            signing,
            assets,
            fixed_pages: FixedPages::default(),
            policy,
            sign_in,
        })))
    }

    pub(crate) fn context(&self) -> &Arc<ConsoleContext> {
        &self.0
    }

    /// The path of its base URL, without a slash at the end.
    pub(crate) fn prefix(&self) -> &str {
        &self.0.place.path
    }

    /// The paths of all forms, with the names of their parameters in braces.
    #[cfg(any(test, feature = "testing"))]
    pub fn forms() -> impl Iterator<Item = &'static str> {
        routes::forms()
    }

    /// A token that a page would hold now for a form of a company. `path`: the target of the form,
    /// below the base URL.
    #[cfg(any(test, feature = "testing"))]
    pub fn form_token(&self, company: CompanyId, path: &str) -> String {
        form_token::new(&self.0.http.env, company, path)
    }

    /// Answers one request. Needs a tokio runtime with time enabled.
    pub async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data: Buf, Error: Into<BoxError>> + Send + 'static,
    {
        answer(&*self.0, None, request.map(RequestBody::new), Ok(())).await
    }
}

impl_service!(Console);

/// The policy of the pages: only the console's style, script and pictures, and forms to the console
/// alone.
fn policy(frame_ancestors: &[String]) -> HeaderValue {
    let ancestors = if frame_ancestors.is_empty() { "'none'".to_owned() } else { frame_ancestors.join(" ") };
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors {ancestors}"
    );
    HeaderValue::try_from(policy).expect("sources are checked when the console is made")
}
