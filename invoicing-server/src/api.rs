//! The HTTP API: from a request to its response.
//!
//! [`service`] drives a request: [`routes`] finds the endpoint, [`access`] the company, [`body`] reads the body, and the
//! resource's file ([`quotes`], [`invoices`], [`clients`], [`documents`], [`openapi`]) holds the handler, which calls one operation.
//! [`capacity`] limits concurrent work, [`byte_budget`] the memory that peers hold. [`response_body`] is what they read.
//! This module knows neither SQL nor sockets, and business rules are in operations.

pub(crate) mod access;
pub(crate) mod body;
pub(crate) mod byte_budget;
pub(crate) mod capacity;
mod clients;
mod content_type;
mod documents;
pub(crate) mod download;
pub(crate) mod error;
pub(crate) mod fixed_response;
mod headers;
mod invoices;
mod json;
pub(crate) mod openapi;
mod query;
mod quotes;
#[cfg(feature = "reference")]
pub(crate) mod reference;
mod request;
pub(crate) mod request_id;
pub(crate) mod response;
pub(crate) mod response_body;
pub(crate) mod routes;
pub(crate) mod service;
#[cfg(any(feature = "console", feature = "reference"))]
pub(crate) mod snippets;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::access::Access;
use crate::operations::Services;
use capacity::Capacity;
use openapi::OpenApi;

/// What the API works with.
pub(crate) struct ApiContext {
    pub(crate) services: Arc<Services>,
    pub(crate) access: Arc<Access>,
    /// Limits on concurrent work, shared by all clones of the service.
    pub(crate) capacity: Arc<Capacity>,
    /// The description of the API.
    pub(crate) openapi: OpenApi,
    #[cfg(feature = "reference")]
    pub(crate) reference: reference::Reference,
    /// Time limit for the body of a request.
    pub(crate) body_time: Duration,
}

impl fmt::Debug for ApiContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiContext").finish_non_exhaustive()
    }
}
