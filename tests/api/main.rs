//! The contract of the API, rule by rule, over the real service.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]
#![expect(clippy::similar_names, reason = "a header that was heard, and what was read of it")]

mod anything;
mod catch_up;
mod documents;
mod downloads;
mod embedding;
mod endpoints;
mod errors;
mod follow;
mod hostile;
mod hostile_bytes;
mod http2;
mod keys_and_quota;
mod law;
mod limits;
mod lists;
mod records;
mod serving;
mod shop;
mod smuggling;
mod stamps;
mod support;
mod tenants;
mod wire;
