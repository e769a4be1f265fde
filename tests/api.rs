//! The contract of the API over the real service.

mod any_request;
mod catch_up;
mod document_links;
mod downloads;
pub(crate) mod errors;
mod follower;
mod large_documents;
mod lists;
mod records;
mod reference;
mod stamps;
mod value_formats;
mod workload;
mod write_endpoints;
