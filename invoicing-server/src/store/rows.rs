//! Reading and writing the JSON of a record.

use invoicing_core::{CompanyId, Invoice, Quote};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::connection::{Connection, query};
use crate::Error;

/// A record as JSON. Our own types always have a JSON form.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value).map_err(Error::internal)
}

/// A record from the JSON that an earlier call of [`to_json`] made.
pub(crate) fn from_json<T: DeserializeOwned>(
    json: impl AsRef<[u8]>,
    table: &'static str,
    id: impl std::fmt::Display,
) -> Result<T, Error> {
    serde_json::from_slice(json.as_ref()).map_err(|cause| Error::bad_row(table, "record", id, cause))
}

/// A quote or an invoice in the three parts in which it is stored, so that an answer copies text and parses nothing.
#[derive(sqlx::FromRow)]
pub(crate) struct JsonParts {
    /// The object of a list item without its closing brace.
    pub(crate) head: String,
    /// The array of lines.
    pub(crate) lines: String,
    /// The rest of the detail's object without its opening brace.
    pub(crate) terms: String,
}

impl JsonParts {
    /// Reads them with a statement that takes the company and the id.
    pub(super) async fn find(
        connection: &mut Connection,
        statement: &'static str,
        company: CompanyId,
        id: Uuid,
    ) -> Result<Self, Error> {
        let row: Option<Self> =
            query!(connection, |c| sqlx::query_as(statement).bind(company.0).bind(id).fetch_optional(c))?;
        row.ok_or(Error::NotFound)
    }

    pub(crate) fn of_quote(quote: &Quote) -> Result<Self, Error> {
        Self::of(&quote.summary, &quote.lines, &quote.detail)
    }

    pub(crate) fn of_invoice(invoice: &Invoice) -> Result<Self, Error> {
        Self::of(&invoice.summary, &invoice.lines, &invoice.detail)
    }

    fn of(head: &impl Serialize, lines: &impl Serialize, terms: &impl Serialize) -> Result<Self, Error> {
        let mut head = to_json(head)?;
        head.pop();
        let mut terms = to_json(terms)?;
        terms.remove(0);
        Ok(Self { head, lines: to_json(lines)?, terms })
    }

    /// The whole detail.
    pub(crate) fn detail(&self) -> String {
        let Self { head, lines, terms } = self;
        let mut json = String::with_capacity(head.len() + lines.len() + terms.len() + 10);
        json.push_str(head);
        json.push_str(",\"lines\":");
        json.push_str(lines);
        json.push(',');
        json.push_str(terms);
        json
    }
}
