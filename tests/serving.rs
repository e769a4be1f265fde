//! The API over real connections: limits, protocols, peers that misbehave, and other servers around the service.

pub(crate) mod connections;
mod embedding;
mod fairness;
mod http2;
mod request_limits;
mod smuggling;
