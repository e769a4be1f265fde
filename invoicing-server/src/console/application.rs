//! Serves a request: from its route, session, role and form to the handler of its endpoint.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response, StatusCode, header};
use matchit::Params;

use super::error::PageError;
use super::form::Form;
use super::request::{
    Again, Elsewhere, LANGUAGE, Outcome, PageRequest, PageResult, VERSION, page, see_other,
};
use super::route::{self, Handler, Permission, Route};
use super::sign::without_signs_behind;
use super::sign_in::{ConsoleSession, SignInDecision};
use super::{ConsoleContext, Language, carried_out, csrf, form_token, paths, routes};
use crate::http::HttpContext;
use crate::http::body::RequestBody;
use crate::http::byte_budget::{ByteReservation, Holder};
use crate::http::error::ApiError;
use crate::http::exchange::{Application, Exchange};
use crate::http::routing::Found;
use crate::operations::CompanyHandle;

const NOSNIFF: HeaderValue = HeaderValue::from_static("nosniff");
/// No path leaves with a referrer, as one may hold a token. With `no-referrer`, browsers would also
/// hide the `Origin` of forms.
const STRICT_ORIGIN: HeaderValue = HeaderValue::from_static("strict-origin");
const NO_INDEX: HeaderValue = HeaderValue::from_static("noindex");
const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");

/// The reader of the answer, as far as known when an error ends the request.
#[derive(Default)]
pub(crate) struct Reader {
    pub(super) session: OnceLock<ConsoleSession>,
    /// The name of the company.
    pub(super) company: OnceLock<String>,
}

pub(super) type PageExchange<'r> = Exchange<'r, Reader>;

impl Application for ConsoleContext {
    type Route = Route;
    type Error = PageError;
    type Caller = Reader;

    fn context(&self) -> &HttpContext {
        &self.http
    }

    fn find<'h>(&self, head: &'h Parts) -> Found<'h, Route> {
        let path = head.uri.path();
        if self.sign_in.is_none() && !paths::is_public(path) {
            return Err(ApiError::NOT_FOUND);
        }
        routes::find(&head.method, path)
    }

    fn serve<'r>(
        &'r self,
        exchange: &'r PageExchange<'r>,
        route: Found<'r, Route>,
        body: &'r mut RequestBody,
    ) -> BoxFuture<'r, PageResult> {
        Box::pin(async move {
            if matches!(exchange.head.method, Method::GET | Method::HEAD)
                && let Some(path) = without_signs_behind(exchange.head.uri.path())
            {
                return see_other(&format!("{}{path}", self.place.path));
            }
            let (route, params) = match route {
                Ok(found) => found,
                Err(error) => {
                    self.find_reader(exchange).await;
                    return Err(error.into());
                }
            };
            let head = exchange.head;
            if !matches!(head.method, Method::GET | Method::HEAD)
                && !csrf::is_own(head, &self.place, &self.settings.trusted_origins)
            {
                return Err(PageError::CrossSite);
            }
            if route.needs == Permission::Nothing {
                self.public(exchange, route.handler, &params, body).await
            } else {
                self.serve_signed_in(exchange, route, params, body).await
            }
        })
    }

    fn error_response(&self, error: &PageError, head: &Parts, reader: &Reader) -> Response<Bytes> {
        self.error_page(error, head, reader)
    }

    fn overloaded_response(&self, error: &PageError, head: &Parts) -> Response<Bytes> {
        self.plain_error_page(error, head)
    }

    /// Adds the headers that protect a page.
    fn finish(&self, response: &mut Response<Bytes>, _: &Reader) {
        let headers = response.headers_mut();
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert_with(|| self.policy.clone());
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        headers.insert(header::REFERRER_POLICY, STRICT_ORIGIN);
        headers.insert(X_ROBOTS_TAG, NO_INDEX);
    }
}

impl ConsoleContext {
    async fn serve_signed_in<'r>(
        &'r self,
        exchange: &'r PageExchange<'r>,
        route: &Route,
        params: Params<'static, 'r>,
        body: &mut RequestBody,
    ) -> PageResult {
        let head = exchange.head;
        let Some(sign_in) = &self.sign_in else { return Err(PageError::NOT_FOUND) };
        let session = match sign_in.decide(head).await {
            SignInDecision::Granted(session) => exchange.caller.session.get_or_init(|| session),
            SignInDecision::Redirect(address) if head.method == Method::POST => {
                return Err(PageError::SignedOut(address));
            }
            SignInDecision::Redirect(address) => return see_other(&address),
            SignInDecision::Answer(response) => return Ok(*response),
            SignInDecision::Forbidden => return Err(PageError::Forbidden),
        };
        exchange.is_of(session.company);
        if let Permission::To(action) = route.needs
            && !session.role.allows(action)
        {
            return Err(PageError::Forbidden);
        }
        let reservation = exchange.admit(Holder::Company(session.company))?;
        let form = form_of(exchange, body, reservation).await?;
        let capacity = &self.http.capacity;
        let slots = if route.waits_for_documents { &capacity.documents } else { &capacity.requests };
        let _slot = slots.try_acquire(session.company).ok_or(ApiError::Overloaded)?;
        let request = self.request(exchange, session, params, form, reservation).await?;
        exchange.caller.company.get_or_init(|| request.record.name.clone());
        match (route.handler, route.form) {
            (Handler::CarriedOut, _) => self.carried_out(request).await,
            (_, Some(form)) => self.once(route, form, request).await,
            _ => self.handle(route, &request).await,
        }
    }

    /// Carries out a form, unless it was carried out before.
    async fn once(&self, route: &Route, form: route::Form, mut request: PageRequest<'_>) -> PageResult {
        let token = request.form.text(form_token::FIELD);
        let Some(token) = form_token::read(token, request.now, request.record.id, request.path) else {
            return self.again(form, request, Again::Old).await;
        };
        let company = request.company.for_form(token);
        if company.carried_out().await?.is_some() {
            return carried_out::see(&request);
        }
        let filled_in = request.form.given(LANGUAGE);
        if filled_in.is_some_and(|language| language != request.language.tag()) {
            return self.again(form, request, Again::Translated).await;
        }
        request.company =
            if form.has_version { company.if_unchanged(request.form.text(VERSION)) } else { company.clone() };
        let answer = self.handle(route, &request).await;
        let status = answer.as_ref().map_or_else(PageError::status, Response::status);
        let is_refused = status.is_client_error() || answer.is_ok() && !company.end_form().await?;
        // Looks for a click at the same time that has carried it out.
        if is_refused && company.carried_out_meanwhile().await?.is_some() {
            return carried_out::see(&request);
        }
        if is_refused && request.company.is_stale() {
            let request = PageRequest { company, again: Some(Again::Changed), ..request };
            // The record of the page may be gone, such as a key that was revoked.
            return self.page_again(form, &request).await.or(answer);
        }
        answer
    }

    /// The page of a form that is not carried out, with the entered fields. No record is changed.
    async fn again(&self, form: route::Form, request: PageRequest<'_>, reason: Again) -> PageResult {
        self.page_again(form, &PageRequest { again: Some(reason), ..request }).await
    }

    /// The page of a form, with 409.
    async fn page_again(&self, form: route::Form, request: &PageRequest<'_>) -> PageResult {
        let (page, _) = routes::find(&Method::GET, form.page)?;
        let mut response = self.handle(page, request).await?;
        // A review whose parts are gone meanwhile refuses them, and leads back to its entries.
        if matches!(response.status(), StatusCode::OK | StatusCode::BAD_REQUEST) {
            *response.status_mut() = StatusCode::CONFLICT;
        }
        Ok(response)
    }

    /// The page of a form that was carried out before, to which a second answer leads.
    async fn carried_out(&self, mut request: PageRequest<'_>) -> PageResult {
        let path = request.form.text(carried_out::TARGET).to_owned();
        let (route, params) = routes::find(&Method::POST, &path).map_err(|_| PageError::NOT_FOUND)?;
        if let Permission::To(action) = route.needs
            && !request.allows(action)
        {
            return Err(PageError::Forbidden);
        }
        let token = request.form.text(form_token::FIELD);
        let token = form_token::read(token, request.now, request.record.id, &path);
        request.company = request.company.for_form(token.ok_or(PageError::NOT_FOUND)?);
        let before = request.company.carried_out().await?.ok_or(PageError::NOT_FOUND)?;
        let request = PageRequest { params, ..request };
        let content = carried_out::page(&request, route, &before);
        Ok(page(StatusCode::OK, &self.frame(&request).around(&content)))
    }

    /// Finds the reader of a request for a page that does not exist.
    async fn find_reader(&self, exchange: &PageExchange<'_>) {
        let head = exchange.head;
        let Some(sign_in) = self.sign_in.as_ref().filter(|_| !paths::is_public(head.uri.path())) else {
            return;
        };
        if let SignInDecision::Granted(session) = sign_in.decide(head).await {
            exchange.caller.session.get_or_init(|| session);
        }
    }

    async fn request<'r>(
        &'r self,
        exchange: &'r PageExchange<'r>,
        session: &'r ConsoleSession,
        params: Params<'static, 'r>,
        form: Form,
        reservation: &'r ByteReservation,
    ) -> Result<PageRequest<'r>, PageError> {
        let (head, services) = (exchange.head, &self.services);
        let company = CompanyHandle::new(Arc::clone(services), session.company);
        let company = company.acting_as(&session.name)?.for_request(exchange.request_id);
        let record = company.details().await?;
        Ok(PageRequest {
            company,
            record,
            session,
            now: services.env.now(),
            attempt_timeout_ms: self.attempt_timeout_ms,
            language: session.language.unwrap_or_else(|| Language::preferred(&head.headers)),
            prefix: &self.place.path,
            elsewhere: Elsewhere { service: &services.base_url, signing: &self.signing },
            reservation,
            params,
            form,
            path: head.uri.path(),
            is_form: head.method == Method::POST,
            again: None,
            env: &services.env,
        })
    }

    /// Answers a request with the handler of a page or a form.
    async fn handle(&self, route: &Route, request: &PageRequest<'_>) -> PageResult {
        let Handler::Page(handler) = route.handler else { return Err(PageError::NOT_FOUND) };
        match handler(request).await? {
            Outcome::Page(status, content) => Ok(page(status, &self.frame(request).around(&content))),
            Outcome::See(path) => request.see(path),
            Outcome::File(file) => Ok(file),
        }
    }
}

/// The fields of a form, or of the query of a page.
pub(super) async fn form_of(
    exchange: &PageExchange<'_>,
    body: &mut RequestBody,
    reservation: &ByteReservation,
) -> Result<Form, PageError> {
    let head = exchange.head;
    if head.method != Method::POST {
        return Ok(Form::query(head.uri.query().unwrap_or_default()));
    }
    let bytes = exchange.read(body, reservation).await?;
    Ok(Form::read(&head.headers, &bytes)?)
}
