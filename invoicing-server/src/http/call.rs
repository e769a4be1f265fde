//! One request that has been let in, and the three ways its input comes: an id, a typed query, a typed JSON body.

use std::str::FromStr;

use bytes::Bytes;
use http::request::Parts;
use matchit::Params;
use serde::de::DeserializeOwned;

use super::error::ApiError;
use super::query::Query;
use super::routes::Endpoint;
use super::{content_type, json};
use crate::operations::CompanyHandle;

/// A request of a company, for an endpoint that exists.
#[derive(Debug)]
pub(crate) struct Call<'r> {
    /// Whose records it is about.
    pub(crate) company: CompanyHandle,
    /// What it asks for.
    pub(crate) endpoint: Endpoint,
    /// The parameters of the path, as they were sent.
    pub(crate) params: Params<'static, 'r>,
    /// Method, address and headers.
    pub(crate) head: &'r Parts,
}

impl Call<'_> {
    /// The record that the path names. A text that is no id names nothing.
    pub(crate) fn id<T: FromStr>(&self) -> Result<T, ApiError> {
        let text = self.params.get("id").unwrap_or_default();
        let text =
            percent_encoding::percent_decode_str(text).decode_utf8().map_err(|_| ApiError::NOT_FOUND)?;
        text.parse().map_err(|_| ApiError::NOT_FOUND)
    }

    /// The parameters of the query, all of them.
    pub(crate) fn query<Q: Query>(&self) -> Result<Q, ApiError> {
        Ok(Q::parse(self.head.uri.query().unwrap_or_default())?)
    }

    /// The body, which must say that it is JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, body: &Bytes) -> Result<T, ApiError> {
        if !content_type::is_json(&self.head.headers) {
            return Err(ApiError::bad_request("The Content-Type must be application/json, in UTF-8"));
        }
        json::parse(body)
    }
}
