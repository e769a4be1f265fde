//! Handlers of `/invoices`.

use http::StatusCode;
use invoicing_core::{InvoiceId, InvoiceStatus};

use super::query_string;
use super::request::ApiRequest;
use crate::http::response::{ApiResult, json};
use crate::records::StoredJson;

/// `GET /invoices`.
pub(super) async fn list(request: &ApiRequest<'_>) -> ApiResult {
    let query = query_string::page::<InvoiceStatus>(request.query())?;
    request.reserve_page(query.window)?;
    let invoices = request.company.invoices();
    let page = match invoices.small_page(&query).await? {
        StoredJson::Whole(page) => page,
        StoredJson::Large { bytes } => {
            request.reserve(bytes)?;
            invoices.whole_page(&query).await?
        }
    };
    Ok(json(StatusCode::OK, page))
}

/// `GET /invoices/{id}`.
pub(super) async fn get(request: &ApiRequest<'_>) -> ApiResult {
    let id: InvoiceId = request.id()?;
    query_string::none(request.query())?;
    let invoices = request.company.invoices();
    let detail = match invoices.small_detail(id).await? {
        StoredJson::Whole(detail) => detail,
        StoredJson::Large { bytes } => {
            request.reserve(bytes)?;
            invoices.detail(id).await?
        }
    };
    Ok(json(StatusCode::OK, detail))
}
