//! What the sweep looks for: records whose day has passed, and rows that have served their time.

use invoicing_core::{CompanyId, InvoiceId, QuoteId, Timestamp};
use uuid::Uuid;

use super::connection::{Connection, on, run};
use crate::Error;

const QUOTES: &str = "SELECT company_id, id FROM quote WHERE status = 'SENT' AND valid_until < $1 \
     AND company_id = $2 ORDER BY valid_until LIMIT $3";
const INVOICES: &str = "SELECT company_id, id FROM invoice WHERE status = 'SENT' AND due_date < $1 \
     AND company_id = $2 ORDER BY due_date LIMIT $3";
const PRUNE: &str = "DELETE FROM attempt WHERE (company_id, at, event_id, webhook_id, number) IN \
     (SELECT company_id, at, event_id, webhook_id, number FROM attempt WHERE company_id = $1 AND at < $2 LIMIT $3)";

/// Sent quotes of a company whose validity ended before `today`.
pub(crate) async fn ended_quotes(
    connection: &mut Connection,
    company: CompanyId,
    today: chrono::NaiveDate,
    limit: u32,
) -> Result<Vec<QuoteId>, Error> {
    Ok(past(connection, QUOTES, company, today, limit).await?.into_iter().map(QuoteId).collect())
}

/// Issued invoices of a company that were due before `today`, paid or not.
pub(crate) async fn due_invoices(
    connection: &mut Connection,
    company: CompanyId,
    today: chrono::NaiveDate,
    limit: u32,
) -> Result<Vec<InvoiceId>, Error> {
    Ok(past(connection, INVOICES, company, today, limit).await?.into_iter().map(InvoiceId).collect())
}

async fn past(
    connection: &mut Connection,
    statement: &'static str,
    company: CompanyId,
    today: chrono::NaiveDate,
    limit: u32,
) -> Result<Vec<Uuid>, Error> {
    let rows: Vec<(Uuid, Uuid)> = on!(connection, |c| sqlx::query_as(statement)
        .bind(today)
        .bind(company.0)
        .bind(i64::from(limit))
        .fetch_all(c))?;
    Ok(rows.into_iter().map(|(_, id)| id).collect())
}

/// Deletes attempts of a company that began before an instant, at most `limit`; how many it deleted.
pub(crate) async fn prune_attempts(
    connection: &mut Connection,
    company: CompanyId,
    before: Timestamp,
    limit: u32,
) -> Result<u64, Error> {
    let done = run!(connection, |c| sqlx::query(PRUNE)
        .bind(company.0)
        .bind(before.as_millis())
        .bind(i64::from(limit))
        .execute(c))?;
    Ok(done)
}
