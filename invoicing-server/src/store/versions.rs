//! Versions of the stored shapes.
//!
//! A row holds finished JSON, so a field that a release adds is missing in every row from before.
//! Each row therefore names the version of its shape. An older row is completed when it is read and
//! rewritten by the sweep. A newer row was written by a newer node during a rolling upgrade: it is
//! copied as it is, and a change of it is refused.
//!
//! Versions of a quote differ in the summary only, those of an invoice also in the detail. So an
//! older one is completed without its lines, which may be large, and each statement that writes the
//! summary brings the row to today's version.
//!
//! A release that adds a field to a record counts its version up and gives the field a default. If
//! the record has an index of older rows, a migration renews it: see `rewrite`.

use std::fmt::Display;

use invoicing_core::{
    Client, Company, CreditNote, CreditNoteSummary, Invalid, Invoice, InvoiceStatus, InvoiceSummary, Project,
    Quote, QuoteSummary,
};
use memchr::memmem;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::FromRow;

use super::rows::{LINES, summary_to_json};
use crate::Error;

const QUOTE: i64 = 1;
/// Version 2 adds `retentionDue`, on which the other amounts depend. Version 3 adds the kind, the
/// facts of the document, and what is credited.
const INVOICE: i64 = 3;
const CREDIT_NOTE: i64 = 1;
/// Version 2 adds the numbers of a business, its electronic address, and the country.
const CLIENT: i64 = 2;
const PROJECT: i64 = 1;
/// Version 2 adds legal data. Rows of version 1 lack no member that is always written, so they stay
/// as they are.
const COMPANY: i64 = 2;

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
        // A cancelled invoice owes nothing. Rows of the first release store the full sum, which the
        // sweep settles with a new stamp.
        if self.status == InvoiceStatus::Canceled && self.amount_due.is_zero() {
            return Ok(());
        }
        self.update_amounts()
    }
}

impl StoredRecord for CreditNote {
    const TABLE: &'static str = "credit_note";
    const VERSION: i64 = CREDIT_NOTE;
}

impl StoredRecord for CreditNoteSummary {
    const TABLE: &'static str = CreditNote::TABLE;
    const VERSION: i64 = CREDIT_NOTE;
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
