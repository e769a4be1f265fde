//! Requests without a session: for assets, and for what stands behind a signing link.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::header;
use http::request::Parts;
use invoicing_core::QuoteId;
use matchit::Params;

use super::{Arrived, ConsoleContext};
use crate::Error;
use crate::api::body::{ReadableBody, RequestBody};
use crate::api::byte_budget::{ByteReservation, ConnectionHandle, Holder, Owner};
use crate::api::download::Download;
use crate::api::error::ApiError;
use crate::console::Language;
use crate::console::client_address::client_address;
use crate::console::error::PageError;
use crate::console::layout::Frame;
use crate::console::request::{FormOutcome, PageResult, page, see_other};
use crate::console::routes::Endpoint;
use crate::console::sign::{self, Visit};
use crate::operations::{CompanyHandle, SigningLinks};
use crate::secret::sha256;
use crate::telemetry::spans;

impl ConsoleContext {
    pub(super) async fn public(
        &self,
        arrived: Arrived<'_>,
        endpoint: Endpoint,
        params: &Params<'static, '_>,
        body: &mut RequestBody<impl ReadableBody + Unpin>,
        reservation: &mut Option<ByteReservation>,
    ) -> PageResult {
        let Arrived { connection, head, span, request_id } = arrived;
        if endpoint == Endpoint::Asset {
            return Ok(self.assets.get(params.get("name").unwrap_or_default())?);
        }
        let token = params.get("token").ok_or(PageError::NOT_FOUND)?;
        let links = SigningLinks::new(Arc::clone(&self.api.services)).for_request(request_id);
        let (company, quote) = links.resolve(token).await?;
        spans::of_company(span, company.id());
        let capacity = &*self.api.capacity;
        let _link = capacity.links.try_acquire(sha256(token)).ok_or(ApiError::Overloaded)?;
        if endpoint == Endpoint::SigningDocument {
            return self.download(connection, &company, quote, head, reservation).await;
        }
        // From here on the request counts for the company, whose token it holds.
        let owner = Owner { connection: connection.cloned(), holder: Holder::Link(company.id()) };
        let reservation = &*reservation.insert(capacity.bytes.admit(owner)?);
        let form = self.form(head, body, reservation).await?;
        let user_agent = head.headers.get(header::USER_AGENT);
        let visit = Visit {
            links,
            token,
            company,
            quote,
            capacity,
            language: Language::preferred(&head.headers),
            prefix: &self.place.path,
            reservation,
            form,
            ip: client_address(head, self.proxies.as_ref()),
            user_agent: user_agent.map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned()),
        };
        self.visited(endpoint, &visit).await
    }

    /// Calls the handler of an endpoint behind a signing link. Boxed as those behind a session are.
    fn visited<'v>(&'v self, endpoint: Endpoint, visit: &'v Visit<'_>) -> BoxFuture<'v, PageResult> {
        Box::pin(async move {
            let outcome = match endpoint {
                Endpoint::SigningPage => sign::show(visit).await?,
                Endpoint::Sign => sign::sign(visit).await?,
                Endpoint::ConfirmRefusal => sign::confirm_refusal(visit).await?,
                Endpoint::Decline => sign::decline(visit).await?,
                _ => return Err(PageError::NOT_FOUND),
            };
            match outcome {
                FormOutcome::Page(status, content) => {
                    let frame = Frame { has_home: false, ..self.bare_frame(visit.language) };
                    Ok(page(status, &frame.around(&content)))
                }
                FormOutcome::See(path) => see_other(&visit.link(path)),
            }
        })
    }

    /// The last document that was frozen of a quote, as behind a signed URL of the API.
    async fn download(
        &self,
        connection: Option<&ConnectionHandle>,
        company: &CompanyHandle,
        quote: QuoteId,
        head: &Parts,
        reservation: &mut Option<ByteReservation>,
    ) -> PageResult {
        // First, so that the holder of one link asks no more of the database at once than the company may.
        let _slot =
            self.api.capacity.keyless_documents.try_acquire(company.id()).ok_or(ApiError::Overloaded)?;
        let (document, size) = company.quotes().stored_document(quote).await?;
        let download = Download::new(&head.method, &head.headers, document.sha256);
        if download.is_not_modified() {
            return Ok(download.not_modified()?);
        }
        let capacity = &self.api.capacity;
        let owner = Owner { connection: connection.cloned(), holder: Holder::Document(document.key) };
        let reservation = &*reservation.insert(capacity.bytes.admit(owner)?);
        // Before the bytes are read, so that they never exceed their share.
        reservation.cover(usize::try_from(size).map_err(Error::internal)?)?;
        let bytes =
            self.api.services.documents.bounded_store().fetch(&document).await.map_err(Error::from)?;
        Ok(download.respond(bytes, &document.file_name)?)
    }
}
