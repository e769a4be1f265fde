//! The contract of the host operations and of the deliveries, rule by rule.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]
#![expect(clippy::similar_names, reason = "a receiver, what it received, and a verifier that verified")]

mod deliveries;
mod dispatcher;
mod document_storage;
mod documents_and_evidence;
mod golden_documents;
mod imports;
mod invoices;
mod keys;
mod large_documents;
mod meanwhile;
mod moving;
mod nodes;
mod numbers_and_money;
mod particulars;
mod plans;
mod projects;
mod quotes;
mod schema;
mod sealed_secrets;
mod smoke;
mod support;
mod sweep;
mod target_changes;
mod target_corpus;
mod target_policy;
mod target_support;
mod webhooks;
