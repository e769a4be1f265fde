//! The frame of a page, and the pages of errors.

use bytes::Bytes;
use http::Response;
use http::request::Parts;

use super::application::Reader;
use super::error::PageError;
use super::layout::{Frame, SignedIn};
use super::request::{PageRequest, page, page_bytes, page_of};
use super::{ConsoleContext, Language, carried_out, paths, way_back};
use crate::http::response::shared;

impl ConsoleContext {
    pub(super) fn frame<'f>(&'f self, request: &'f PageRequest<'_>) -> Frame<'f> {
        Frame {
            signed_in: Some(SignedIn { company: Some(&request.record.name), person: &request.session.name }),
            notice: request.again.map(|again| carried_out::again(request, again)),
            ..self.bare_frame(request.language)
        }
    }

    /// The frame of a page without a session.
    pub(super) fn bare_frame(&self, language: Language) -> Frame<'_> {
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

    pub(super) fn error_page(&self, error: &PageError, head: &Parts, reader: &Reader) -> Response<Bytes> {
        let session = reader.session.get();
        // Without a session, the host's own pages lead on.
        let leads_on =
            session.is_some() || matches!(error, PageError::CrossSite) || paths::is_public(head.uri.path());
        let way_back = way_back::path(error, head).filter(|_| leads_on);
        if session.is_none() && way_back.is_none() {
            return self.plain_error_page(error, head);
        }
        let language = session.and_then(|session| session.language);
        let language = language.unwrap_or_else(|| Language::preferred(&head.headers));
        let signed_in = session.map(|session| SignedIn {
            company: reader.company.get().map(String::as_str),
            person: &session.name,
        });
        let has_home = self.has_home(head);
        let way_back = way_back.map(|path| format!("{}{path}", self.place.path));
        let content = error.content(language, way_back.as_deref());
        let frame = Frame { has_home, signed_in, ..self.bare_frame(language) };
        with_header_of(error, page(error.status(), &frame.around(&content)))
    }

    /// The page of an error for someone who is not signed in, without a link that leads on.
    pub(super) fn plain_error_page(&self, error: &PageError, head: &Parts) -> Response<Bytes> {
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
        self.sign_in.is_some() && !paths::is_public(head.uri.path())
    }
}

/// The response with the header that belongs to the error.
fn with_header_of(error: &PageError, mut response: Response<Bytes>) -> Response<Bytes> {
    if let PageError::Api(error) = error {
        response.headers_mut().extend(error.header());
    }
    response
}
