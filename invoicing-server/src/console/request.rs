//! A request with a session, and the answers to it.

use std::str::FromStr;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use invoicing_core::{Company, Timestamp};
use matchit::Params;
use maud::{DOCTYPE, Markup, html};

use super::error::PageError;
use super::figures::Figures;
use super::form::Form;
use super::layout::PageContent;
use super::time::LocalClock;
use super::{ConsoleAction, ConsoleSession, Language, form_token};
use crate::env::Env;
use crate::error::Error;
use crate::http::byte_budget::ByteReservation;
use crate::http::response::with_headers;
use crate::operations::CompanyHandle;
use crate::records::Version;

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// The field of a form with the version of the record that its page has shown.
pub(super) const VERSION: &str = "version";
/// The field of a form with the language of its page.
pub(super) const LANGUAGE: &str = "language";

pub(super) type PageResult = Result<Response<Bytes>, PageError>;

/// The outcome of a request.
pub(super) enum Outcome {
    /// A page. That of a form has a secret, or is the form with its errors: browsers cannot come
    /// back to it, so no other page is the answer to a POST.
    Page(StatusCode, PageContent),
    /// Another page of the console.
    See(String),
    /// A file.
    File(Response<Bytes>),
}

impl From<PageContent> for Outcome {
    fn from(content: PageContent) -> Self {
        Self::Page(StatusCode::OK, content)
    }
}

impl From<Response<Bytes>> for Outcome {
    fn from(file: Response<Bytes>) -> Self {
        Self::File(file)
    }
}

impl Outcome {
    /// The form again with the error, if an input is invalid or a conflict refuses it. Other errors
    /// have their pages.
    pub(super) fn refused(error: Error, form: impl FnOnce(&Error) -> PageContent) -> Result<Self, PageError> {
        match error {
            Error::Invalid(_) | Error::Conflict(_) => Ok(Self::Page(error.status(), form(&error))),
            error => Err(error.into()),
        }
    }
}

/// The reason for which the page of a form comes again, while no record was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    /// The form is too old, or of another company.
    Old,
    /// The form was filled in in the other language, in which a number may mean another one.
    Translated,
    /// The record was changed after the page was opened.
    Changed,
}

/// Addresses outside of the console, without a slash at the end.
#[derive(Clone, Copy)]
pub(super) struct Elsewhere<'r> {
    /// Address of the service: the API is at `/api/v1` below it.
    pub(super) service: &'r str,
    /// The signing page is at `/sign/{token}` below it.
    pub(super) signing: &'r str,
}

/// A request to the console.
pub(super) struct PageRequest<'r> {
    pub(super) company: CompanyHandle,
    /// Its record, read for this request.
    pub(super) record: Company,
    pub(super) session: &'r ConsoleSession,
    /// The time of its arrival.
    pub(super) now: Timestamp,
    /// Time limit of an attempt to deliver.
    pub(super) attempt_timeout_ms: u64,
    pub(super) language: Language,
    /// The path of the console, with which links begin.
    pub(super) prefix: &'r str,
    /// The addresses of the API and of the signing page.
    pub(super) elsewhere: Elsewhere<'r>,
    /// The memory that the request and its page take.
    pub(super) reservation: &'r ByteReservation,
    /// The parameters of the path.
    pub(super) params: Params<'static, 'r>,
    /// The fields of the form, or of the query.
    pub(super) form: Form,
    /// The path, below that of the console.
    pub(super) path: &'r str,
    /// True for a form.
    pub(super) is_form: bool,
    /// Set if the page of the form comes again before it was carried out.
    pub(super) again: Option<Again>,
    pub(super) env: &'r Env,
}

impl PageRequest<'_> {
    /// The id in the path. A malformed one is answered like an unknown one.
    pub(super) fn id<T: FromStr>(&self) -> Result<T, PageError> {
        self.param("id")
    }

    /// A parameter of the path, likewise.
    pub(super) fn param<T: FromStr>(&self, name: &str) -> Result<T, PageError> {
        self.params.get(name).and_then(|id| id.parse().ok()).ok_or(PageError::NOT_FOUND)
    }

    pub(super) fn clock(&self) -> LocalClock {
        LocalClock::of(&self.record, self.language)
    }

    /// Writes and reads the numbers of the company's records.
    pub(super) fn figures(&self) -> Figures<'_> {
        Figures::new(self.language, &self.record.currency)
    }

    pub(super) fn pick<'t>(&self, english: &'t str, french: &'t str) -> &'t str {
        self.language.pick(english, french)
    }

    pub(super) fn allows(&self, action: ConsoleAction) -> bool {
        self.session.role.allows(action)
    }

    /// The address of a page.
    pub(super) fn link(&self, path: impl AsRef<str>) -> String {
        format!("{}{}", self.prefix, path.as_ref())
    }

    /// The entered fields, if the page comes again after a form.
    pub(super) fn entered(&self) -> Option<&Form> {
        self.is_form.then_some(&self.form)
    }

    /// A form about a record that the page shows in a version. The form is refused if the record has
    /// another version by then.
    pub(super) fn form_about(
        &self,
        path: impl AsRef<str>,
        shown: impl Into<Version>,
        fields: &Markup,
    ) -> Markup {
        // A form that comes again as it was is still about the version that was shown before.
        let is_kept = self.path == path.as_ref() && self.again != Some(Again::Changed);
        let version = match self.entered() {
            Some(form) if is_kept => Version::from(form.text(VERSION)),
            _ => shown.into(),
        };
        self.form(
            path,
            &html! {
                input type="hidden" name=(VERSION) value=(version) autocomplete="off";
                (fields)
            },
        )
    }

    /// A form that is carried out once. `path`: its target.
    pub(super) fn form(&self, path: impl AsRef<str>, fields: &Markup) -> Markup {
        let path = path.as_ref();
        let token = form_token::new(self.env, self.record.id, path);
        html! {
            form method="post" action=(self.link(path)) {
                // Browsers that restore fields must not restore a spent token.
                input type="hidden" name=(form_token::FIELD) value=(token) autocomplete="off";
                // Numbers are read in the language in which they were entered.
                input type="hidden" name=(LANGUAGE) value=(self.language.tag()) autocomplete="off";
                (fields)
            }
        }
    }

    /// Reserves memory before it is taken.
    pub(super) fn reserve(&self, bytes: usize) -> Result<(), Error> {
        self.reservation.cover(bytes).map_err(|_| Error::Overloaded)
    }

    /// Sends the browser to a page, after a form.
    pub(super) fn see(&self, path: impl AsRef<str>) -> PageResult {
        see_other(&self.link(path))
    }
}

/// Sends the browser to an address.
pub(super) fn see_other(address: &str) -> PageResult {
    let address = HeaderValue::from_str(address).map_err(Error::internal)?;
    let headers = HeaderMap::from_iter([(header::LOCATION, address)]);
    Ok(with_headers(StatusCode::SEE_OTHER, headers, Bytes::new()))
}

/// A page of HTML.
pub(super) fn page(status: StatusCode, html: &Markup) -> Response<Bytes> {
    page_of(status, page_bytes(html))
}

/// The bytes of a page of HTML.
pub(super) fn page_bytes(html: &Markup) -> Bytes {
    html! { (DOCTYPE) (html) }.into_string().into()
}

/// A page of HTML from its bytes.
pub(super) fn page_of(status: StatusCode, bytes: Bytes) -> Response<Bytes> {
    with_headers(status, HeaderMap::from_iter([(header::CONTENT_TYPE, HTML)]), bytes)
}
