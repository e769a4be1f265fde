//! The contract of the host operations.

mod batches;
mod end_to_end;
pub(crate) mod imports;
mod invoices;
mod numbers_and_money;
mod projects;
mod quotes;
mod reminders;
mod schema;
mod signing_links;
mod sweep;
