//! Versions of the stored shapes.
//!
//! A row holds finished JSON, so a field that a release adds is missing in every row from before.
//! Each row therefore names the version of its shape. An older row is completed when it is read and
//! rewritten by the sweep. A newer row was written by a newer node during a rolling upgrade: it is
//! copied as it is, and a change of it is refused.
//!
//! Versions of a quote or an invoice differ in the summary only. So an older one is completed
//! without its lines, which may be large, and each statement that writes the summary brings the row
//! to today's version.
//!
//! A release that adds a field to a record counts its version up and gives the field a default. If
//! the record has an index of older rows, a migration renews it: see `rewrite`.

use std::fmt::Display;

use invoicing_core::{Client, Company, Invalid, Invoice, InvoiceSummary, Project, Quote, QuoteSummary};
use memchr::memmem;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::FromRow;

use super::rows::{LINES, summary_to_json};
use crate::Error;

const QUOTE: i64 = 1;
/// Version 2 adds `retentionDue`, on which the other amounts depend.
const INVOICE: i64 = 2;
const CLIENT: i64 = 1;
const PROJECT: i64 = 1;
const COMPANY: i64 = 1;

/// A record that is stored as JSON.
pub(crate) trait StoredRecord: Serialize + DeserializeOwned {
    /// The table that holds it.
    const TABLE: &'static str;
    /// Version of the shape that this code writes.
    const VERSION: i64;

    /// Computes the fields that older versions did not store, as far as serde's defaults do not.
    fn complete(&mut self) -> Result<(), Invalid> {
        Ok(())
    }
}

impl StoredRecord for Quote {
    const TABLE: &'static str = "quote";
    const VERSION: i64 = QUOTE;
}

impl StoredRecord for QuoteSummary {
    const TABLE: &'static str = Quote::TABLE;
    const VERSION: i64 = QUOTE;
}

impl StoredRecord for Invoice {
    const TABLE: &'static str = "invoice";
    const VERSION: i64 = INVOICE;

    fn complete(&mut self) -> Result<(), Invalid> {
        self.summary.complete()
    }
}

impl StoredRecord for InvoiceSummary {
    const TABLE: &'static str = Invoice::TABLE;
    const VERSION: i64 = INVOICE;

    fn complete(&mut self) -> Result<(), Invalid> {
        self.update_amounts()
    }
}

impl StoredRecord for Client {
    const TABLE: &'static str = "client";
    const VERSION: i64 = CLIENT;
}

impl StoredRecord for Project {
    const TABLE: &'static str = "project";
    const VERSION: i64 = PROJECT;
}

impl StoredRecord for Company {
    const TABLE: &'static str = "company";
    const VERSION: i64 = COMPANY;
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

/// Reads a row's JSON, of any version.
pub(super) fn read<T: StoredRecord>(json: &[u8], version: i64, id: impl Display) -> Result<T, Error> {
    let mut record: T = serde_json::from_slice(json).map_err(|cause| {
        // A newer shape may be one that this version cannot parse: the row is not damaged.
        if version > T::VERSION { newer(T::TABLE) } else { Error::bad_row(T::TABLE, "record", &id, cause) }
    })?;
    if version < T::VERSION {
        record.complete().map_err(|cause| Error::bad_row(T::TABLE, "record", id, cause))?;
    }
    Ok(record)
}

/// A row's JSON in today's shape. A newer row stays as it is.
///
/// `T` is the part before the lines; the lines and the rest are copied. Within a string the quotes
/// of [`LINES`] would be escaped, so its first occurrence is the member.
pub(super) fn in_todays_shape<T: StoredRecord>(
    mut json: Vec<u8>,
    version: i64,
    id: impl Display,
) -> Result<Vec<u8>, Error> {
    if version >= T::VERSION {
        return Ok(json);
    }
    let end = memmem::find(&json, LINES.as_bytes()).unwrap_or(json.len().saturating_sub(1));
    let completed: T = read(&[&json[..end], b"}"].concat(), version, id)?;
    json.splice(..end, summary_to_json(&completed)?.into_bytes()).for_each(drop);
    Ok(json)
}

/// The refusal to change a row that a newer version of the service wrote. This version would drop
/// its new fields.
pub(super) fn newer(table: &'static str) -> Error {
    Error::unavailable(format!("table {table}: the row was written by a newer version of the service"))
}
