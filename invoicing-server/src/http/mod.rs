//! The API of the contract: what a request asks for, and how it is answered.
//!
//! A request goes through here in one direction: [`routes`] finds the endpoint, [`auth`] the company, [`body`] reads
//! what was sent, [`call`] turns it into typed input, [`handlers`] call one operation, [`reply`] and [`error`] make
//! the answer. This module knows neither SQL nor sockets, and decides nothing about records: operations do.

pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod call;
mod content_type;
mod download;
pub(crate) mod error;
pub(crate) mod handlers;
mod json;
pub(crate) mod load;
pub(crate) mod query;
pub(crate) mod reply;
pub(crate) mod request_id;
pub(crate) mod routes;

pub use routes::{Endpoint, ROUTES, Route};
