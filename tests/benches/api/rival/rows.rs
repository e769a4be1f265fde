//! The rival's rows and answers.

use serde::Serialize;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};
use uuid::Uuid;

/// The tables, with what each database calls an id, bytes, and a floating-point number of 64 bits.
macro_rules! schema {
    ($id:literal, $bytes:literal, $number:literal) => {
        concat!(
            "CREATE TABLE company (id ", $id, " PRIMARY KEY, plan TEXT NOT NULL, last_stamp TEXT NOT NULL); \
             CREATE TABLE api_key (hash ", $bytes, " PRIMARY KEY, company_id ", $id, " NOT NULL); \
             CREATE TABLE quote (id ", $id, " PRIMARY KEY, company_id ", $id, " NOT NULL, number TEXT NOT NULL, \
             status TEXT NOT NULL, external_id TEXT, client_id ", $id, " NOT NULL, client_name TEXT NOT NULL, \
             client_email TEXT, total_ht ", $number, " NOT NULL, total_ttc ", $number, " NOT NULL, \
             tva_rate ", $number, " NOT NULL, currency TEXT NOT NULL, valid_until TEXT, created_at TEXT NOT NULL, \
             updated_at TEXT NOT NULL, sent_at TEXT, signed_at TEXT, accepted_at TEXT, signed_by_name TEXT, \
             signed_by_email TEXT, retention_rate ", $number, " NOT NULL, retention_amount ", $number, " NOT NULL, \
             accepted_text TEXT, proof_fingerprint TEXT); \
             CREATE INDEX quote_created ON quote (company_id, created_at, id); \
             CREATE TABLE line (quote_id ", $id, " NOT NULL, position INTEGER NOT NULL, description TEXT NOT NULL, \
             quantity ", $number, " NOT NULL, unit TEXT, unit_price ", $number, " NOT NULL, \
             total_ht ", $number, " NOT NULL, tva_rate ", $number, " NOT NULL, lot TEXT, section TEXT, \
             PRIMARY KEY (quote_id, position));"
        )
    };
}

pub(crate) const ON_SQLITE: &str = schema!("BLOB", "BLOB", "REAL");
pub(crate) const ON_POSTGRES: &str = schema!("UUID", "BYTEA", "DOUBLE PRECISION");

/// The code of `#[derive(FromRow)]`: each column by its name. sqlx's macros would be compiled for this alone.
macro_rules! from_row {
    ($row:ident: $($column:ident),*) => {
        from_row!($row of SqliteRow: $($column),*);
        from_row!($row of PgRow: $($column),*);
    };
    ($row:ident of $kind:ty: $($column:ident),*) => {
        impl FromRow<'_, $kind> for $row {
            fn from_row(row: &$kind) -> Result<Self, sqlx::Error> {
                Ok(Self { $($column: row.try_get(stringify!($column))?),* })
            }
        }
    };
}

from_row!(Row: id, number, status, external_id, client_id, client_name, client_email, total_ht, total_ttc, tva_rate,
    currency, valid_until, created_at, updated_at, sent_at, signed_at, accepted_at, signed_by_name, signed_by_email,
    retention_rate, retention_amount, accepted_text, proof_fingerprint);
from_row!(Line: quote_id, description, quantity, unit, unit_price, total_ht, tva_rate, lot, section);

pub(crate) struct Row {
    pub(crate) id: Uuid,
    number: String,
    status: String,
    external_id: Option<String>,
    client_id: Uuid,
    client_name: String,
    client_email: Option<String>,
    total_ht: f64,
    total_ttc: f64,
    tva_rate: f64,
    currency: String,
    valid_until: Option<String>,
    created_at: String,
    updated_at: String,
    sent_at: Option<String>,
    signed_at: Option<String>,
    accepted_at: Option<String>,
    signed_by_name: Option<String>,
    signed_by_email: Option<String>,
    retention_rate: f64,
    retention_amount: f64,
    accepted_text: Option<String>,
    proof_fingerprint: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Head {
    id: Uuid,
    number: String,
    status: String,
    external_id: Option<String>,
    client_id: Uuid,
    client_name: String,
    client_email: Option<String>,
    #[serde(rename = "totalHT")]
    total_ht: f64,
    #[serde(rename = "totalTTC")]
    total_ttc: f64,
    tva_rate: f64,
    currency: String,
    valid_until: Option<String>,
    created_at: String,
    updated_at: String,
    sent_at: Option<String>,
    signed_at: Option<String>,
    accepted_at: Option<String>,
    signed_by_name: Option<String>,
    signed_by_email: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Line {
    #[serde(skip)]
    pub(crate) quote_id: Uuid,
    description: String,
    quantity: f64,
    unit: Option<String>,
    unit_price: f64,
    #[serde(rename = "totalHT")]
    total_ht: f64,
    tva_rate: f64,
    lot: Option<String>,
    section: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct Item {
    #[serde(flatten)]
    pub(crate) head: Head,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lines: Option<Vec<Line>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page {
    pub(crate) data: Vec<Item>,
    pub(crate) pagination: Pagination,
    pub(crate) as_of: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pagination {
    pub(crate) limit: i64,
    pub(crate) offset: i64,
    pub(crate) has_more: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Quote {
    #[serde(flatten)]
    head: Head,
    lines: Vec<Line>,
    retention_rate: f64,
    retention_amount: f64,
    vat_breakdown: Vec<VatShare>,
    signature: Option<Signature>,
}

#[derive(Serialize)]
struct VatShare {
    #[serde(rename = "tvaRate")]
    tva_rate: f64,
    #[serde(rename = "baseHT")]
    base_ht: f64,
    #[serde(rename = "amountTVA")]
    amount_tva: f64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Signature {
    signed_at: String,
    signed_by_name: Option<String>,
    signed_by_email: Option<String>,
    accepted_text: Option<String>,
    proof_fingerprint: Option<String>,
}

impl Row {
    pub(crate) fn head(self) -> Head {
        Head {
            id: self.id,
            number: self.number,
            status: self.status,
            external_id: self.external_id,
            client_id: self.client_id,
            client_name: self.client_name,
            client_email: self.client_email,
            total_ht: self.total_ht,
            total_ttc: self.total_ttc,
            tva_rate: self.tva_rate,
            currency: self.currency,
            valid_until: self.valid_until,
            created_at: self.created_at,
            updated_at: self.updated_at,
            sent_at: self.sent_at,
            signed_at: self.signed_at,
            accepted_at: self.accepted_at,
            signed_by_name: self.signed_by_name,
            signed_by_email: self.signed_by_email,
        }
    }
}

impl Quote {
    pub(crate) fn new(mut row: Row, lines: Vec<Line>) -> Self {
        let signature = row.signed_at.clone().map(|signed_at| Signature {
            signed_at,
            signed_by_name: row.signed_by_name.clone(),
            signed_by_email: row.signed_by_email.clone(),
            accepted_text: row.accepted_text.take(),
            proof_fingerprint: row.proof_fingerprint.take(),
        });
        let (retention_rate, retention_amount) = (row.retention_rate, row.retention_amount);
        let vat_breakdown = vat_breakdown(&lines);
        Self { head: row.head(), lines, retention_rate, retention_amount, vat_breakdown, signature }
    }
}

fn vat_breakdown(lines: &[Line]) -> Vec<VatShare> {
    let mut shares: Vec<VatShare> = Vec::new();
    for line in lines {
        match shares.iter_mut().find(|share| share.tva_rate.total_cmp(&line.tva_rate).is_eq()) {
            Some(share) => share.base_ht += line.total_ht,
            None => {
                shares.push(VatShare { tva_rate: line.tva_rate, base_ht: line.total_ht, amount_tva: 0.0 });
            }
        }
    }
    shares.sort_by(|a, b| a.tva_rate.total_cmp(&b.tva_rate));
    for share in &mut shares {
        share.base_ht = cents(share.base_ht);
        share.amount_tva = cents(share.base_ht * share.tva_rate / 100.0);
    }
    shares
}

fn cents(amount: f64) -> f64 {
    (amount * 100.0).round() / 100.0
}
