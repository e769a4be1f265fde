//! The console as a service of hyper and of tower.

mod public;

use std::convert::Infallible;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
#[cfg(any(test, feature = "testing"))]
use invoicing_core::CompanyId;
use matchit::Params;
use tracing::Span;

use super::assets::Assets;
use super::client_address::TrustedProxies;
use super::error::PageError;
use super::fixed_pages::FixedPages;
use super::form::Form;
use super::layout::{Frame, SignedIn};
use super::request::{Elsewhere, FormOutcome, PageRequest, PageResult, page, page_bytes, page_of, see_other};
use super::routes::{self, Endpoint, Needs};
use super::settings::{ConsoleSettings, Place};
use super::sign_in::{Session, SignIn, SignInDecision};
use super::{Language, carried_out, events, form_token, history, keys, origin, quotes, way_back, webhooks};
use crate::api::ApiContext;
use crate::api::body::{self, BoxError, ReadableBody, RequestBody};
use crate::api::byte_budget::{ByteReservation, ConnectionHandle, Holder, Owner};
use crate::api::error::ApiError;
use crate::api::fixed_response::{Shared, shared};
use crate::api::request_id::request_id;
use crate::api::response::ResponseContext;
use crate::api::response_body::Body;
use crate::api::service::{Answer, ResponseFuture, head_size};
use crate::config::{DispatchSettings, SettingError};
use crate::operations::{CarriedOut, CompanyHandle};
use crate::telemetry::spans;

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// No path leaves with a referrer, as one may hold a token. With `no-referrer`, browsers would also hide the `Origin` of forms.
const STRICT_ORIGIN: HeaderValue = HeaderValue::from_static("strict-origin");
const NO_INDEX: HeaderValue = HeaderValue::from_static("noindex");
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// What the console works with.
struct ConsoleContext {
    api: Arc<ApiContext>,
    /// How long an attempt to deliver may take.
    attempt_timeout_ms: u64,
    settings: ConsoleSettings,
    place: Place,
    /// `None` where no header is believed.
    proxies: Option<TrustedProxies>,
    /// What links to the signing page begin with.
    signing: String,
    assets: Assets,
    fixed_pages: FixedPages,
    /// The value of `Content-Security-Policy`.
    policy: HeaderValue,
    /// `None` where the signing page is all there is.
    sign_in: Option<Box<dyn SignIn>>,
}

/// The settings console as a service, for the people of a company: see [`Invoicing::console`](crate::Invoicing::console); or
/// its signing page alone: see [`Invoicing::signing_page`](crate::Invoicing::signing_page).
///
/// The page behind a signing link is `/sign/{token}` below the base URL. The address of the peer is kept as evidence of a
/// signature: [`serve`](crate::serve()) puts it into the extensions of a request, as a [`std::net::IpAddr`], and a host with
/// a server of its own may do the same. Behind a proxy, [`ConsoleSettings::client_address`] says which header is believed.
///
/// Cheap to clone, always ready, and never fails: every error is a page. The host mounts it below a prefix of its own and
/// strips that, as axum's `nest_service` does. Its pages work without a script, load nothing from elsewhere, and set no
/// cookie. They change nothing on `GET`; forms of other sites are refused. What holds for the API holds here: limits on
/// requests ([`RequestLimits`](crate::RequestLimits)), and a share of them for each company.
#[derive(Clone)]
pub struct Console(Arc<ConsoleContext>);

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Console").field(&self.0.settings).finish()
    }
}

impl Console {
    pub(crate) fn new(
        api: Arc<ApiContext>,
        dispatch: &DispatchSettings,
        settings: ConsoleSettings,
        sign_in: Option<Box<dyn SignIn>>,
    ) -> Result<Self, SettingError> {
        let (place, signing) = (settings.place()?, settings.signing_address()?);
        let proxies = settings.proxies()?;
        settings.check()?;
        let (assets, policy) = (Assets::new(&settings.theme), policy(&settings.frame_ancestors));
        Ok(Self(Arc::new(ConsoleContext {
            api,
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

    /// The path that is left of one below the base URL; `None` for any other path.
    pub(crate) fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        let below = path.strip_prefix(&*self.0.place.path)?;
        match below {
            "" => Some("/"),
            below => below.starts_with('/').then_some(below),
        }
    }

    /// The paths of all forms that are carried out once, with the names of their parameters in braces.
    #[cfg(any(test, feature = "testing"))]
    pub fn forms() -> impl Iterator<Item = &'static str> {
        routes::forms()
    }

    /// A token that a page would hold now for a form of a company. `path`: where the form goes, below the base URL.
    #[cfg(any(test, feature = "testing"))]
    pub fn form_token(&self, company: CompanyId, path: &str) -> String {
        form_token::new(&self.0.api.services.env, company, path)
    }

    /// Answers one request. Needs a tokio runtime with time enabled.
    pub async fn answer<B>(self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data: Buf, Error: Into<BoxError>>,
    {
        self.answer_on(None, request, Ok(())).await
    }

    /// Answers one request that has arrived on a connection, with the error of a check that the caller has made if it
    /// failed.
    pub(crate) fn answer_on(
        &self,
        connection: Option<&ConnectionHandle>,
        request: Request<impl ReadableBody>,
        checked: Result<(), ApiError>,
    ) -> impl Future<Output = Response<Body>> {
        let request_id = request_id(request.headers(), || self.0.api.services.env.uuid());
        let span = spans::request(request.method(), &request_id, || {
            routes::find(request.method(), request.uri().path()).ok().map(|(route, _)| route.path)
        });
        spans::within(span.clone(), self.answer_in(span, connection, request, request_id, checked))
    }

    async fn answer_in(
        &self,
        span: Span,
        connection: Option<&ConnectionHandle>,
        request: Request<impl ReadableBody>,
        request_id: HeaderValue,
        checked: Result<(), ApiError>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        let body = pin!(body);
        let mut body = RequestBody::new(body);
        let context = ResponseContext { request_id, rate_limit: None };
        let (mut reservation, mut reader) = (None, Reader::default());
        let request_id = context.request_id.to_str().unwrap_or_default();
        let arrived = Arrived { connection, head: &head, span: &span, request_id };
        let serving = async {
            checked?;
            self.0.serve(arrived, &mut body, &mut reservation, &mut reader).await
        };
        // Unwind safety does not matter: what a panic leaves behind is not used again.
        let result = AssertUnwindSafe(serving).catch_unwind().await;
        let result = result.unwrap_or(Err(PageError::Api(ApiError::Panicked)));
        let reads_rest =
            !matches!(result, Err(PageError::Api(ApiError::RequestTimeout | ApiError::Panicked)));
        let mut response = result.unwrap_or_else(|error| {
            error.log(&head, &context.request_id);
            self.0.error_page(&error, &head, &reader)
        });
        if reservation.is_none() {
            reservation = self.0.reserve_unknown(connection, &head, &mut response);
        }
        self.0.protect(response.headers_mut());
        spans::answered(&span, response.status());
        Answer { response, reservation, reads_rest }.send(&context, head, body).await
    }
}

/// A request as it has arrived.
#[derive(Clone, Copy)]
struct Arrived<'r> {
    connection: Option<&'r ConnectionHandle>,
    head: &'r Parts,
    span: &'r Span,
    request_id: &'r str,
}

/// Who reads the answer, as far as it is known when an error ends the request.
#[derive(Default)]
struct Reader {
    session: Option<Session>,
    /// The name of the company.
    company: Option<String>,
}

impl ConsoleContext {
    async fn serve(
        &self,
        arrived: Arrived<'_>,
        body: &mut RequestBody<impl ReadableBody + Unpin>,
        reservation: &mut Option<ByteReservation>,
        reader: &mut Reader,
    ) -> PageResult {
        let Arrived { connection, head, span, .. } = arrived;
        let path = head.uri.path();
        if self.sign_in.is_none() && !routes::is_public(path) {
            return Err(PageError::NOT_FOUND);
        }
        let (route, params) = match routes::find(&head.method, path) {
            Ok(found) => found,
            Err(error) => {
                self.find_reader(head, reader).await;
                return Err(error.into());
            }
        };
        if !matches!(head.method, Method::GET | Method::HEAD)
            && !origin::is_own(head, &self.place, &self.settings.trusted_origins)
        {
            return Err(PageError::CrossSite);
        }
        let Some(sign_in) = self.sign_in.as_ref().filter(|_| route.needs != Needs::Nothing) else {
            return self.public(arrived, route.endpoint, &params, body, reservation).await;
        };
        let session = match sign_in.decide(head).await {
            SignInDecision::Granted(session) => &*reader.session.insert(session),
            SignInDecision::Redirect(address) if head.method == Method::POST => {
                return Err(PageError::SignedOut(address));
            }
            SignInDecision::Redirect(address) => return see_other(&address),
            SignInDecision::Answer(response) => return Ok(*response),
            SignInDecision::Forbidden => return Err(PageError::Forbidden),
        };
        spans::of_company(span, session.company);
        if let Needs::To(action) = route.needs
            && !session.role.allows(action)
        {
            return Err(PageError::Forbidden);
        }
        let capacity = &self.api.capacity;
        let owner = Owner { connection: connection.cloned(), holder: Holder::Company(session.company) };
        let reservation = &*reservation.insert(capacity.bytes.admit(owner)?);
        let form = self.form(head, body, reservation).await?;
        let slots =
            if route.endpoint.waits_for_documents() { &capacity.documents } else { &capacity.requests };
        let _slot = slots.try_acquire(session.company).ok_or(ApiError::Overloaded)?;
        let request = self.request(session, arrived, params, form, reservation).await?;
        reader.company = Some(request.record.name.clone());
        if route.is_once() {
            self.once(route.endpoint, request).await
        } else {
            self.handle(route.endpoint, &request).await
        }
    }

    /// Carries out a form, unless it was carried out before.
    async fn once(&self, endpoint: Endpoint, mut request: PageRequest<'_>) -> PageResult {
        let token = request.form.text(form_token::FIELD);
        let Some(token) = form_token::read(token, request.now, request.record.id, request.path) else {
            return self.again(endpoint, request).await;
        };
        request.company = request.company.for_form(token);
        if let Some(before) = request.company.carried_out().await? {
            return Ok(self.before(endpoint, &request, &before));
        }
        let answer = self.handle(endpoint, &request).await;
        let status = answer.as_ref().map_or_else(PageError::status, Response::status);
        let is_refused = status.is_client_error() || answer.is_ok() && !request.company.end_form().await?;
        // By a click at the same time, if any.
        if is_refused && let Some(before) = request.company.carried_out_meanwhile().await? {
            return Ok(self.before(endpoint, &request, &before));
        }
        answer
    }

    /// The page of a form that is too old, or of another company, with what was entered. Nothing is changed.
    async fn again(&self, endpoint: Endpoint, request: PageRequest<'_>) -> PageResult {
        let page = endpoint.page_of_form().ok_or(PageError::NOT_FOUND)?;
        let request = PageRequest { is_stale: true, ..request };
        let mut response = self.handle(page, &request).await?;
        if response.status() == StatusCode::OK {
            *response.status_mut() = StatusCode::CONFLICT;
        }
        Ok(response)
    }

    /// The answer to a form that was carried out before.
    fn before(&self, endpoint: Endpoint, request: &PageRequest<'_>, before: &CarriedOut) -> Response<Bytes> {
        let content = carried_out::page(request, endpoint, before);
        page(StatusCode::OK, &self.frame(request).around(&content))
    }

    /// Who asks for a page that there is not.
    async fn find_reader(&self, head: &Parts, reader: &mut Reader) {
        let Some(sign_in) = self.sign_in.as_ref().filter(|_| !routes::is_public(head.uri.path())) else {
            return;
        };
        if let SignInDecision::Granted(session) = sign_in.decide(head).await {
            reader.session = Some(session);
        }
    }

    /// The fields of a form, or of the query of a page.
    async fn form(
        &self,
        head: &Parts,
        body: &mut RequestBody<impl ReadableBody + Unpin>,
        reservation: &ByteReservation,
    ) -> Result<Form, PageError> {
        if head.method != Method::POST {
            return Ok(Form::query(head.uri.query().unwrap_or_default()));
        }
        reservation.grow(head_size(head))?;
        let bytes = body::read(body, &head.headers, self.api.body_time, reservation).await?;
        Ok(Form::read(&head.headers, &bytes)?)
    }

    async fn request<'r>(
        &'r self,
        session: &'r Session,
        arrived: Arrived<'r>,
        params: Params<'static, 'r>,
        form: Form,
        reservation: &'r ByteReservation,
    ) -> Result<PageRequest<'r>, PageError> {
        let company = CompanyHandle::new(Arc::clone(&self.api.services), session.company);
        let company = company.acting_as(&session.name)?.for_request(arrived.request_id);
        let record = company.details().await?;
        let language = session.language.unwrap_or_else(|| Language::preferred(&arrived.head.headers));
        let services = &self.api.services;
        Ok(PageRequest {
            company,
            record,
            session,
            now: services.env.now(),
            attempt_timeout_ms: self.attempt_timeout_ms,
            language,
            prefix: &self.place.path,
            elsewhere: Elsewhere { service: &services.base_url, signing: &self.signing },
            reservation,
            params,
            form,
            path: arrived.head.uri.path(),
            is_form: arrived.head.method == Method::POST,
            is_stale: false,
            env: &services.env,
        })
    }

    /// Calls the handler of an endpoint. Boxed, so that it is compiled once, and not by each host for its kind of body.
    fn handle<'r>(&'r self, endpoint: Endpoint, request: &'r PageRequest<'_>) -> BoxFuture<'r, PageResult> {
        Box::pin(async move {
            let content = match endpoint {
                Endpoint::Home => webhooks::home(request).await?,
                Endpoint::Webhooks => webhooks::list(request).await?,
                Endpoint::NewWebhook => webhooks::new(request),
                Endpoint::Webhook => webhooks::show(request).await?,
                Endpoint::ConfirmRotation => webhooks::confirm_rotation(request).await?,
                Endpoint::ConfirmRemoval => webhooks::confirm_removal(request).await?,
                Endpoint::Deliveries => webhooks::deliveries(request).await?,
                Endpoint::Delivery => webhooks::delivery(request).await?,
                Endpoint::ConfirmReplay => webhooks::confirm_replay(request).await?,
                Endpoint::Events => events::list(request).await?,
                Endpoint::Event => events::show(request).await?,
                Endpoint::History => history::list(request).await?,
                Endpoint::Keys => keys::list(request).await?,
                Endpoint::NewKey => keys::new(request),
                Endpoint::ConfirmRevocation => keys::confirm_revocation(request).await?,
                Endpoint::Quotes => quotes::list(request).await?,
                Endpoint::Quote => quotes::show(request).await?,
                Endpoint::ConfirmSending => quotes::confirm_sending(request).await?,
                Endpoint::ConfirmLinkRevocation => quotes::confirm_link_revocation(request).await?,
                // What they show once cannot be shown again, so they are pages and no redirect.
                Endpoint::RegisterWebhook => return self.shown(request, webhooks::register(request).await?),
                Endpoint::RotateWebhook => return self.shown(request, webhooks::rotate(request).await?),
                Endpoint::ChangeWebhook => return self.shown(request, webhooks::change(request).await?),
                Endpoint::TestWebhook => return webhooks::test(request).await,
                Endpoint::DisableWebhook => return webhooks::disable(request).await,
                Endpoint::EnableWebhook => return webhooks::enable(request).await,
                Endpoint::EndOverlap => return webhooks::end_overlap(request).await,
                Endpoint::RemoveWebhook => return webhooks::remove(request).await,
                Endpoint::ReplayDelivery => return webhooks::replay_delivery(request).await,
                Endpoint::Replay => return webhooks::replay(request).await,
                Endpoint::IssueKey => return self.shown(request, keys::issue(request).await?),
                Endpoint::RevokeKey => return keys::revoke(request).await,
                Endpoint::SendQuote => return self.shown(request, quotes::send(request).await?),
                Endpoint::MakeSigningLink => return self.shown(request, quotes::make_link(request).await?),
                Endpoint::RevokeSigningLink => return quotes::revoke_link(request).await,
                Endpoint::QuoteDocument => return quotes::document(request).await,
                // They need no session.
                Endpoint::Asset
                | Endpoint::SigningPage
                | Endpoint::Sign
                | Endpoint::ConfirmRefusal
                | Endpoint::Decline
                | Endpoint::SigningDocument => return Err(PageError::NOT_FOUND),
            };
            Ok(page(StatusCode::OK, &self.frame(request).around(&content)))
        })
    }

    /// The outcome of a form: a page with a status, or an address.
    fn shown(&self, request: &PageRequest<'_>, outcome: FormOutcome) -> PageResult {
        match outcome {
            FormOutcome::Page(status, content) => Ok(page(status, &self.frame(request).around(&content))),
            FormOutcome::See(path) => request.see(path),
        }
    }

    fn frame<'f>(&'f self, request: &'f PageRequest<'_>) -> Frame<'f> {
        Frame {
            signed_in: Some(SignedIn { company: Some(&request.record.name), person: &request.session.name }),
            notice: request.is_stale.then(|| carried_out::stale(request)),
            ..self.bare_frame(request.language)
        }
    }

    /// The frame of a page without a session.
    fn bare_frame(&self, language: Language) -> Frame<'_> {
        Frame {
            language,
            prefix: &self.place.path,
            theme: &self.settings.theme,
            assets: &self.assets,
            has_home: true,
            signed_in: None,
            notice: None,
        }
    }

    fn error_page(&self, error: &PageError, head: &Parts, reader: &Reader) -> Response<Bytes> {
        let session = reader.session.as_ref();
        // Without a session, the host's own pages lead on.
        let leads_on =
            session.is_some() || matches!(error, PageError::CrossSite) || routes::is_public(head.uri.path());
        let way_back = way_back::path(error, head).filter(|_| leads_on);
        if session.is_none() && way_back.is_none() {
            return self.plain_error_page(error, head);
        }
        let language = session.and_then(|session| session.language);
        let language = language.unwrap_or_else(|| Language::preferred(&head.headers));
        let signed_in =
            session.map(|session| SignedIn { company: reader.company.as_deref(), person: &session.name });
        let has_home = self.has_home(head);
        let way_back = way_back.map(|path| format!("{}{path}", self.place.path));
        let content = error.content(language, way_back.as_deref());
        let frame = Frame { has_home, signed_in, ..self.bare_frame(language) };
        with_header_of(error, page(error.status(), &frame.around(&content)))
    }

    /// The page of an error for someone who is not signed in, and for whom nothing leads on.
    fn plain_error_page(&self, error: &PageError, head: &Parts) -> Response<Bytes> {
        let (language, has_home) = (Language::preferred(&head.headers), self.has_home(head));
        let make = || {
            let frame = Frame { has_home, ..self.bare_frame(language) };
            page_bytes(&frame.around(&error.content(language, None)))
        };
        let response = match self.fixed_pages.get(error, language, has_home, make) {
            Some(fixed) => shared(page_of(error.status(), fixed)),
            None => page_of(error.status(), make()),
        };
        with_header_of(error, response)
    }

    fn has_home(&self, head: &Parts) -> bool {
        self.sign_in.is_some() && !routes::is_public(head.uri.path())
    }

    /// A reservation for an answer without a session, unless it takes no memory. Where there is no room, the answer is
    /// another one that takes none.
    fn reserve_unknown(
        &self,
        connection: Option<&ConnectionHandle>,
        head: &Parts,
        response: &mut Response<Bytes>,
    ) -> Option<ByteReservation> {
        if response.body().is_empty() || response.extensions().get::<Shared>().is_some() {
            return None;
        }
        let owner = Owner { connection: connection.cloned(), holder: Holder::Unknown };
        match self.api.capacity.bytes.admit(owner) {
            Ok(reservation) => Some(reservation),
            Err(overloaded) => {
                *response = self.plain_error_page(&PageError::Api(overloaded), head);
                None
            }
        }
    }

    /// Adds the headers that protect a page.
    fn protect(&self, headers: &mut HeaderMap) {
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert_with(|| self.policy.clone());
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        headers.insert(header::REFERRER_POLICY, STRICT_ORIGIN);
        headers.insert(X_ROBOTS_TAG, NO_INDEX);
    }
}

/// The response with the header that belongs to the error.
fn with_header_of(error: &PageError, mut response: Response<Bytes>) -> Response<Bytes> {
    if let PageError::Api(error) = error {
        response.headers_mut().extend(error.header());
    }
    response
}

/// Nothing but the console's own style, script and pictures, and forms to the console alone.
fn policy(frame_ancestors: &[String]) -> HeaderValue {
    let ancestors = if frame_ancestors.is_empty() { "'none'".to_owned() } else { frame_ancestors.join(" ") };
    let policy = format!(
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors {ancestors}"
    );
    HeaderValue::try_from(policy).expect("sources are checked when the console is made")
}

impl<B> hyper::service::Service<Request<B>> for Console
where
    B: http_body::Body<Data: Buf + Send, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn call(&self, request: Request<B>) -> ResponseFuture {
        let console = self.clone();
        Box::pin(async move { Ok(console.answer(request).await) })
    }
}

impl<B> tower_service::Service<Request<B>> for Console
where
    B: http_body::Body<Data: Buf + Send, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        hyper::service::Service::call(self, request)
    }
}
