//! The contract of the host operations.

mod backup;
mod batches;
mod book;
mod closing;
mod credit_notes;
mod end_to_end;
mod history;
pub(crate) mod imports;
mod invoices;
mod limits;
mod newer_rows;
mod numbers_and_money;
mod projects;
mod quote_search;
mod quotes;
mod reminders;
mod schema;
mod signing_links;
mod sweep;
mod texts;
mod unchanged;
