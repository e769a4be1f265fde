//! Requests without a session: for assets, and for pages and documents behind a signing link.

use std::sync::Arc;

use http::header;
use invoicing_core::Quote;
use matchit::Params;

use super::ConsoleContext;
use super::application::{PageExchange, form_of};
use crate::console::Language;
use crate::console::client_address::client_address;
use crate::console::error::PageError;
use crate::console::layout::Frame;
use crate::console::request::{Outcome, PageResult, page, see_other};
use crate::console::route::{Handler, SigningHandler};
use crate::console::sign::SigningRequest;
use crate::http::body::RequestBody;
use crate::http::byte_budget::{Holder, Proof};
use crate::http::download;
use crate::http::error::ApiError;
use crate::operations::{LinkedQuote, SigningLinks};

impl ConsoleContext {
    pub(super) async fn public(
        &self,
        exchange: &PageExchange<'_>,
        handler: Handler,
        params: &Params<'static, '_>,
        body: &mut RequestBody,
    ) -> PageResult {
        let head = exchange.head;
        if matches!(handler, Handler::Asset) {
            return Ok(self.assets.get(params.get("name").unwrap_or_default())?);
        }
        let token = params.get("token").ok_or(PageError::NOT_FOUND)?;
        let links = SigningLinks::new(Arc::clone(&self.services)).for_request(exchange.request_id);
        let linked = links.resolve(token).await?;
        exchange.is_of(linked.company.id());
        let capacity = &self.http.capacity;
        let Handler::Signing(handler) = handler else {
            return self.download(exchange, &linked).await;
        };
        // From here on the request counts for the link, whose token it holds.
        let holder = Holder::Link { company: linked.company.id(), token: linked.token_hash };
        let reservation = exchange.admit(holder)?;
        let form = form_of(exchange, body, reservation).await?;
        // Taken once the form has arrived, so that slow forms keep no place from others.
        let _link = capacity.links.try_acquire(linked.token_hash).ok_or(ApiError::Overloaded)?;
        let user_agent = head.headers.get(header::USER_AGENT);
        let request = SigningRequest {
            linked,
            token,
            capacity,
            language: Language::preferred(&head.headers),
            prefix: &self.place.path,
            form,
            env: &self.http.env,
            ip: client_address(head, self.proxies.as_ref()),
            user_agent: user_agent.map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned()),
        };
        self.visited(handler, &request).await
    }

    async fn visited(&self, handler: SigningHandler, request: &SigningRequest<'_>) -> PageResult {
        match handler(request).await? {
            Outcome::Page(status, content) => {
                let frame = Frame { has_home: false, ..self.bare_frame(request.language) };
                Ok(page(status, &frame.around(&content)))
            }
            Outcome::See(path) => see_other(&request.link(path)),
            Outcome::File(file) => Ok(file),
        }
    }

    /// The last frozen document of a quote, answered as behind a signed URL of the API.
    async fn download(&self, exchange: &PageExchange<'_>, linked: &LinkedQuote) -> PageResult {
        let capacity = &self.http.capacity;
        let _link = capacity.links.try_acquire(linked.token_hash).ok_or(ApiError::Overloaded)?;
        // Taken first, so that the holder of one link uses the database no more at once than its
        // company may.
        let slot = capacity.keyless_documents.try_acquire(linked.company.id()).ok_or(ApiError::Overloaded)?;
        let (document, size) = linked.company.documents::<Quote>().stored(linked.id).await?;
        drop(slot);
        let store = self.services.documents.bounded_store();
        Ok(download::download(exchange, capacity, Proof::Link, (&document, Some(size)), store).await?)
    }
}
