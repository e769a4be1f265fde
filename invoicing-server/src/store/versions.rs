//! Versions of the stored shapes.
//!
//! A row holds finished JSON, and names the version of its shape. A row of a newer version was
//! written by a newer node during a rolling upgrade: it is copied as it is, and a change of it is
//! refused, as this version would drop its new fields.
//!
//! A release that adds a field to a record counts its version up, gives the field a default, and
//! completes the rows of before in a migration.

use std::fmt::Display;

use invoicing_core::{
    Client, Company, CreditNote, CreditNoteSummary, Invoice, InvoiceSummary, Project, Quote, QuoteSummary,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::FromRow;

use crate::error::Error;
use crate::records::Payment;

/// A record that is stored as JSON.
pub(crate) trait StoredRecord: Serialize + DeserializeOwned {
    /// The table that holds it.
    const TABLE: &'static str;
    /// Version of the shape that this code writes.
    const VERSION: i64 = 1;
}

macro_rules! stored {
    ($($record:ty: $table:literal,)*) => {$(
        impl StoredRecord for $record {
            const TABLE: &'static str = $table;
        }
    )*};
}

stored! {
    Company: "company",
    Client: "client",
    Quote: "quote",
    QuoteSummary: "quote",
    Invoice: "invoice",
    InvoiceSummary: "invoice",
    CreditNote: "credit_note",
    CreditNoteSummary: "credit_note",
    Payment: "payment",
    Project: "project",
}

/// A record whose JSON is in one column.
#[derive(FromRow)]
pub(super) struct RecordRow {
    record: String,
    version: i64,
}

impl RecordRow {
    pub(super) fn read<T: StoredRecord>(&self, id: impl Display) -> Result<T, Error> {
        read(self.record.as_bytes(), self.version, id)
    }
}

/// Reads a row's JSON, of this version or a newer one.
pub(super) fn read<T: StoredRecord>(json: &[u8], version: i64, id: impl Display) -> Result<T, Error> {
    serde_json::from_slice(json).map_err(|cause| {
        // A newer shape may be one that this version cannot parse: the row is not damaged.
        if version > T::VERSION { newer(T::TABLE) } else { Error::bad_row(T::TABLE, "record", &id, cause) }
    })
}

/// The refusal to change a row that a newer version of the service wrote. This version would drop
/// its new fields.
pub(super) fn newer(table: &'static str) -> Error {
    Error::unavailable(format!("table {table}: the row was written by a newer version of the service"))
}
