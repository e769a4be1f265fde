//! Gives the rival the same data.

use invoicing_core::{Line, Quote, QuoteId};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use sha2::{Digest, Sha256};

use super::pool::{Connection, Pool, on_connection};
use crate::Data;

const INSERT_COMPANY: &str = "INSERT INTO company (id, plan, last_stamp) VALUES ($1, 'Team', $2)";
const INSERT_KEY: &str = "INSERT INTO api_key (hash, company_id) VALUES ($1, $2)";
const INSERT_QUOTE: &str = "INSERT INTO quote (id, company_id, number, status, client_id, client_name, client_email, \
     total_ht, total_ttc, tva_rate, currency, created_at, updated_at, retention_rate, retention_amount) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";
const INSERT_LINE: &str = "INSERT INTO line (quote_id, position, description, quantity, unit, unit_price, total_ht, \
     tva_rate, lot, section) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";

pub(crate) async fn fill(pool: &Pool, data: Data) -> Result<(), sqlx::Error> {
    let mut connection = pool.begin().await?;
    let last_stamp = data.quotes.last().map(|quote| quote.summary.updated_at.to_string());
    on_connection!(&mut connection, |c| sqlx::query(INSERT_COMPANY)
        .bind(data.company.0)
        .bind(last_stamp)
        .execute(c))?;
    let hash = Sha256::digest(data.key.as_bytes());
    on_connection!(&mut connection, |c| sqlx::query(INSERT_KEY)
        .bind(hash.as_slice())
        .bind(data.company.0)
        .execute(c))?;
    for quote in &data.quotes {
        insert_quote(&mut connection, &data, quote).await?;
        for (position, line) in (1..).zip(&quote.lines) {
            insert_line(&mut connection, quote.summary.id, position, line).await?;
        }
    }
    connection.commit().await
}

/// Drafts have no other fields than these.
async fn insert_quote(connection: &mut Connection, data: &Data, quote: &Quote) -> Result<(), sqlx::Error> {
    let (head, terms) = (&quote.summary, &quote.detail);
    on_connection!(connection, |c| sqlx::query(INSERT_QUOTE)
        .bind(head.id.0)
        .bind(data.company.0)
        .bind(&head.number)
        .bind(head.status.as_str())
        .bind(head.client_id.0)
        .bind(&head.client_name)
        .bind(&head.client_email)
        .bind(float(head.total_ht.get()))
        .bind(float(head.total_ttc.get()))
        .bind(float(head.tva_rate.get()))
        .bind(&head.currency)
        .bind(head.created_at.to_string())
        .bind(head.updated_at.to_string())
        .bind(float(terms.retention_rate.get()))
        .bind(float(terms.retention_amount.get()))
        .execute(c))?;
    Ok(())
}

async fn insert_line(
    connection: &mut Connection,
    quote: QuoteId,
    position: i32,
    line: &Line,
) -> Result<(), sqlx::Error> {
    on_connection!(connection, |c| sqlx::query(INSERT_LINE)
        .bind(quote.0)
        .bind(position)
        .bind(&line.description)
        .bind(float(line.quantity.get()))
        .bind(&line.unit)
        .bind(float(line.unit_price.get()))
        .bind(float(line.total_ht.get()))
        .bind(float(line.tva_rate.get()))
        .bind(&line.lot)
        .bind(&line.section)
        .execute(c))?;
    Ok(())
}

fn float(value: Decimal) -> f64 {
    value.to_f64().unwrap_or(f64::NAN)
}
