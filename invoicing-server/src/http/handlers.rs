//! What each endpoint does: read its input, call one operation, answer with what that returned.

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use invoicing_core::{InvoiceId, InvoiceStatus, NewClient, QuoteId, QuoteStatus};
use matchit::Params;
use serde::Deserialize;

use super::call::Call;
use super::download::Download;
use super::error::ApiError;
use super::json::nullable;
use super::query::{DocumentQuery, NoParameters};
use super::reply::Reply;
use super::routes::Endpoint;
use crate::Invoicing;
use crate::store::page::{ClientQuery, PageQuery};

type Answer = Result<Reply, ApiError>;

/// The body of `PATCH /quotes/{id}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LinkBody {
    #[serde(deserialize_with = "nullable")]
    external_id: Option<String>,
}

/// Serves a request of a company.
pub(crate) async fn serve(call: &Call<'_>, body: Bytes) -> Answer {
    match call.endpoint {
        Endpoint::ListQuotes => list_quotes(call).await,
        Endpoint::GetQuote => get_quote(call).await,
        Endpoint::LinkQuote => link_quote(call, body).await,
        Endpoint::QuoteDocument => quote_document(call).await,
        Endpoint::ListInvoices => list_invoices(call).await,
        Endpoint::GetInvoice => get_invoice(call).await,
        Endpoint::ListClients => list_clients(call).await,
        Endpoint::CreateClient => create_client(call, body).await,
        // It belongs to nobody who could be asked for a key, see `frozen_document`.
        Endpoint::FrozenDocument => Err(ApiError::NOT_FOUND),
    }
}

/// Serves the document behind a signed URL.
pub(crate) async fn frozen_document(invoicing: &Invoicing, params: &Params<'_, '_>, head: &Parts) -> Answer {
    let segment = |name| params.get(name).unwrap_or_default();
    let query = head.uri.query().unwrap_or_default();
    let grant = invoicing.inner().document_grant(segment("company"), segment("upload"), query)?;
    let download = Download::new(&head.method, &head.headers, grant.sha256);
    if download.is_known() {
        return download.not_modified();
    }
    download.reply(invoicing.inner().open_granted(&grant).await?, &grant.file_name)
}

async fn list_quotes(call: &Call<'_>) -> Answer {
    let query: PageQuery<QuoteStatus> = call.query()?;
    Ok(Reply::json(StatusCode::OK, call.company.quotes().page(&query).await?))
}

async fn get_quote(call: &Call<'_>) -> Answer {
    let id: QuoteId = call.id()?;
    let NoParameters = call.query()?;
    Ok(Reply::json(StatusCode::OK, call.company.quotes().detail(id).await?))
}

async fn link_quote(call: &Call<'_>, body: Bytes) -> Answer {
    let id: QuoteId = call.id()?;
    let NoParameters = call.query()?;
    let LinkBody { external_id } = call.json(&body)?;
    let link = call.company.quotes().link(id, external_id.as_deref()).await?;
    Reply::record(StatusCode::OK, &link)
}

async fn quote_document(call: &Call<'_>) -> Answer {
    let id: QuoteId = call.id()?;
    let DocumentQuery = call.query()?;
    Reply::record(StatusCode::OK, &call.company.quotes().document(id).await?)
}

async fn list_invoices(call: &Call<'_>) -> Answer {
    let query: PageQuery<InvoiceStatus> = call.query()?;
    Ok(Reply::json(StatusCode::OK, call.company.invoices().page(&query).await?))
}

async fn get_invoice(call: &Call<'_>) -> Answer {
    let id: InvoiceId = call.id()?;
    let NoParameters = call.query()?;
    Ok(Reply::json(StatusCode::OK, call.company.invoices().detail(id).await?))
}

async fn list_clients(call: &Call<'_>) -> Answer {
    let query: ClientQuery = call.query()?;
    Ok(Reply::json(StatusCode::OK, call.company.clients().page(&query).await?))
}

async fn create_client(call: &Call<'_>, body: Bytes) -> Answer {
    let NoParameters = call.query()?;
    let new: NewClient = call.json(&body)?;
    let creation = call.company.clients().create(&new).await?;
    let status = if creation.created { StatusCode::CREATED } else { StatusCode::OK };
    Reply::record(status, &creation.client)
}
