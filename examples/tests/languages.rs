//! The interface as other languages see it: the receivers to start from, the snippets of the reference page, the official
//! libraries of a sender that signs in the same way, validators and a fuzzer of the document, and clients generated from
//! it.
//!
//! Packages that are not part of a system come from lock files with hashes. See [`tools`].

mod deliveries;
mod document;
mod generated;
mod receivers;
mod schemathesis;
mod sender;
mod snippets;
mod stripe;
pub(crate) mod tools;
mod typescript;
mod waits;
