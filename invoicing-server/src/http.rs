//! The HTTP of this service: the API, the console, the signing page and the probes answer with it.
//!
//! [`exchange`] takes a request to its response, and [`service`] makes hyper's and tower's service
//! of an application. [`body`] reads the body of a request, [`response`] completes a response, and
//! [`response_body`] sends it in pieces. [`capacity`] limits concurrent work, [`byte_budget`] the
//! memory that peers hold.

pub(crate) mod body;
pub(crate) mod byte_budget;
pub(crate) mod capacity;
pub(crate) mod download;
pub(crate) mod error;
pub(crate) mod exchange;
pub(crate) mod fixed_response;
pub(crate) mod headers;
pub(crate) mod request_id;
pub(crate) mod response;
pub(crate) mod response_body;
pub(crate) mod routing;
pub(crate) mod service;

use std::time::Duration;

use self::capacity::Capacity;
use crate::env::Env;

/// Shared by all applications of a service.
#[derive(Debug)]
pub(crate) struct HttpContext {
    pub(crate) env: Env,
    pub(crate) capacity: Capacity,
    /// Time limit for the body of a request.
    pub(crate) body_time: Duration,
}
