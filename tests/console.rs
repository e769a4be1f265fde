//! The settings console: who may see and change what, the journey of a first webhook, and the signing page.

mod access;
mod amounts;
mod answers;
mod deliveries;
mod doubts;
mod errors;
mod events;
mod failures;
mod history;
mod invoices;
mod keys;
mod legal_data;
mod lists;
mod meanwhile;
mod numbers;
mod once;
mod quotes;
mod sign;
mod texts;
mod webhooks;

use std::fmt::Debug;
use std::str::FromStr;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use invoicing_server::{
    CompanyId, Console, ConsoleRole, ConsoleSession, ConsoleSettings, Invoicing, SignInDecision,
};

use crate::support::page::Page;

const ORIGIN: &str = "https://app.example";
/// The headers of a form that a page of the console sends.
const OWN: [(&str, &str); 2] = [("sec-fetch-site", "same-origin"), ("origin", ORIGIN)];
/// Where the host has mounted it.
const PREFIX: &str = "/x/y";

/// A browser on the console, as someone whom the host has signed in.
struct Browser {
    console: Console,
    /// Whose pages it has open.
    company: CompanyId,
}

/// An answer of the console.
struct Shown {
    status: StatusCode,
    headers: HeaderMap,
    /// As it came.
    bytes: Bytes,
    html: String,
}

impl Shown {
    /// Where the browser is sent, without the prefix.
    fn location(&self) -> &str {
        let location = self.headers.get(header::LOCATION).unwrap().to_str().unwrap();
        location.strip_prefix(PREFIX).unwrap()
    }

    fn page(&self) -> Page {
        Page::read(&self.html)
    }

    /// The address of the next page, as the browser requests it.
    fn next_page(&self) -> Option<String> {
        let address = self.page().attrs("[rel=next]", "href").pop()?;
        Some(address.strip_prefix(PREFIX).unwrap().to_owned())
    }

    /// The ids in the links that begin with a path, in the order of the page.
    fn linked<T: FromStr<Err: Debug>>(&self, path: &str) -> Vec<T> {
        let start = format!("{PREFIX}{path}");
        let links = self.page().attrs(&format!("[href^='{start}']"), "href");
        links.iter().map(|link| link[start.len()..].parse().unwrap()).collect()
    }

    /// The hidden fields of the form that goes to a path.
    fn hidden(&self, path: &str) -> Vec<(String, String)> {
        let (page, form) = (self.page(), format!("form[method=post][action='{PREFIX}{path}']"));
        assert!(page.has(&form), "no {form} in {}", self.html);
        let fields = format!("{form} input[type=hidden]");
        page.attrs(&fields, "name").into_iter().zip(page.attrs(&fields, "value")).collect()
    }
}

impl Browser {
    /// Someone of a company.
    fn of(invoicing: &Invoicing, company: CompanyId, role: ConsoleRole) -> Self {
        let session = ConsoleSession::new(company, "Anna", role);
        Self::with(invoicing, company, move |_: &Parts| SignInDecision::Granted(session.clone()))
    }

    fn with(
        invoicing: &Invoicing,
        company: CompanyId,
        sign_in: impl Fn(&Parts) -> SignInDecision + Send + Sync + 'static,
    ) -> Self {
        let settings = ConsoleSettings::at(format!("{ORIGIN}{PREFIX}"));
        Self { console: invoicing.console(settings, sign_in).unwrap(), company }
    }

    /// A list with all its pages.
    async fn pages(&self, path: &str) -> Vec<Shown> {
        let mut pages = vec![self.get(path).await];
        while let Some(next) = pages.last().and_then(Shown::next_page) {
            pages.push(self.get(&next).await);
        }
        pages
    }

    async fn get(&self, path: &str) -> Shown {
        self.ask(Request::get(path).body(String::new()).unwrap()).await
    }

    /// Sends a form as a page of the console does that was just opened.
    async fn post(&self, path: &str, form: &[(&str, &str)]) -> Shown {
        self.post_from(path, form, &OWN).await
    }

    /// Opens a page, fills in the form on it that goes to a path, and sends it.
    async fn fill(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> Shown {
        let hidden = self.get(page).await.hidden(path);
        let hidden = hidden.iter().map(|(name, value)| (&**name, &**value));
        self.post_bare(path, &hidden.chain(fields.iter().copied()).collect::<Vec<_>>()).await
    }

    /// Sends a form that holds these fields and no other.
    async fn post_bare<K: AsRef<str>, V: AsRef<str>>(&self, path: &str, form: &[(K, V)]) -> Shown {
        self.send(path, form, &OWN).await
    }

    async fn post_from(&self, path: &str, form: &[(&str, &str)], headers: &[(&str, &str)]) -> Shown {
        let (token, version) = (self.console.form_token(self.company, path), self.version(path).await);
        let version = version.as_deref().map(|version| ("version", version));
        let form: Vec<_> = form.iter().copied().chain(version).chain([("form", &*token)]).collect();
        self.send(path, &form, headers).await
    }

    /// The version that the page of a form has shown, if it shows one: the form is on a page of its own or on that of
    /// the record.
    async fn version(&self, path: &str) -> Option<String> {
        let record = path.rsplit_once('/').map_or("", |(record, _)| record);
        for page in [path, record].into_iter().filter(|page| page.len() > 1 && !page.starts_with("/sign/")) {
            let input = format!("form[action='{PREFIX}{path}'] input[name=version]");
            if let Some(version) = self.get(page).await.page().attrs(&input, "value").pop() {
                return Some(version);
            }
        }
        None
    }

    async fn send<K: AsRef<str>, V: AsRef<str>>(
        &self,
        path: &str,
        form: &[(K, V)],
        headers: &[(&str, &str)],
    ) -> Shown {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let mut request =
            Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.ask(request.body(body).unwrap()).await
    }

    async fn ask(&self, request: Request<String>) -> Shown {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let response = self.console.clone().answer(request.map(Full::<Bytes>::from)).await;
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let html = String::from_utf8_lossy(&bytes).into_owned();
        assert_protected(&head.headers);
        let shown = Shown { status: head.status, headers: head.headers, bytes, html };
        answers::assert_one_of_its_kind(&method, &path, &shown);
        shown
    }
}

/// The headers that every answer has.
fn assert_protected(headers: &HeaderMap) {
    let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    assert_eq!(headers[header::REFERRER_POLICY], "strict-origin");
    assert_eq!(headers["x-robots-tag"], "noindex");
    assert!(headers.contains_key(header::CACHE_CONTROL) && headers.contains_key("x-request-id"));
    assert!(!headers.contains_key(header::SET_COOKIE));
}
