//! Documents: their content, their freezing, and their storage.

mod from_quote;
mod frozen_documents;
mod frozen_invoices;
pub(crate) mod golden;
mod invoices;
mod issued;
mod large;
mod renderer;
mod storage;
mod work_site;
