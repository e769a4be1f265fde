//! The contract, rule by rule: the API, the host operations, the webhooks, the documents, and both databases. A folder
//! per subject.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]
#![expect(clippy::similar_names, reason = "a receiver, what it received, and a verifier that verified")]

mod access;
mod api;
mod console;
mod copy;
mod documents;
mod guidelines;
mod health;
mod model;
mod openapi;
mod operations;
mod postgres;
mod released;
mod reports;
mod security;
mod serving;
mod support;
mod telemetry;
mod webhooks;
