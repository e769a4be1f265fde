//! Clients.

use futures_util::TryFutureExt;
use invoicing_core::{Client, ClientId, CompanyId};

use super::companies::one_row;
use super::connection::{Connection, Sql, on, run};
use super::page::{ClientQuery, NOWHERE, PageRow, page_statement};
use super::rows::{from_json, to_json};
use crate::Error;

const FIND: &str = "SELECT record FROM client WHERE company_id = $1 AND id = $2";
const FIND_BY_EXTERNAL_ID: &str = "SELECT record FROM client WHERE company_id = $1 AND external_id = $2";
const INSERT: &str = "INSERT INTO client \
     (company_id, id, external_id, created_at, updated_at, search, record) VALUES ($1, $2, $3, $4, $5, $6, $7)";
const UPDATE: &str = "UPDATE client SET external_id = $3, updated_at = $4, search = $5, record = $6 \
     WHERE company_id = $1 AND id = $2";

/// By creation, by modification.
const PAGES: [Sql; 2] = [
    page_statement!(
        "client", "record", "created_at",
        sqlite "AND instr(search, $5) > 0", postgres "AND strpos(search, $5) > 0"
    ),
    page_statement!(
        "client", "record", "updated_at",
        sqlite "AND updated_at >= $4 AND instr(search, $5) > 0",
        postgres "AND updated_at >= $4 AND strpos(search, $5) > 0"
    ),
];
/// The same for one `externalId`, which the unique index finds.
const LOOKUPS: [Sql; 2] = [
    page_statement!(
        "client", "record", "created_at",
        sqlite "AND instr(search, $5) > 0 AND external_id = $6",
        postgres "AND strpos(search, $5) > 0 AND external_id = $6"
    ),
    page_statement!(
        "client", "record", "updated_at",
        sqlite "AND updated_at >= $4 AND instr(search, $5) > 0 AND external_id = $6",
        postgres "AND updated_at >= $4 AND strpos(search, $5) > 0 AND external_id = $6"
    ),
];

pub(crate) async fn find(
    connection: &mut Connection,
    company: CompanyId,
    id: ClientId,
) -> Result<Client, Error> {
    let json: Option<String> =
        on!(connection, |c| sqlx::query_scalar(FIND).bind(company.0).bind(id.0).fetch_optional(c))?;
    from_json(&json.ok_or(Error::NotFound)?, "client", id)
}

pub(crate) async fn find_by_external_id(
    connection: &mut Connection,
    company: CompanyId,
    external_id: &str,
) -> Result<Option<Client>, Error> {
    let json: Option<String> = on!(connection, |c| sqlx::query_scalar(FIND_BY_EXTERNAL_ID)
        .bind(company.0)
        .bind(external_id)
        .fetch_optional(c))?;
    json.map(|json| from_json(&json, "client", external_id)).transpose()
}

pub(crate) async fn page(
    connection: &mut Connection,
    company: CompanyId,
    query: &ClientQuery,
) -> Result<PageRow, Error> {
    let window = query.window;
    let statements = if query.external_id.is_some() { LOOKUPS } else { PAGES };
    let statement = statements[usize::from(window.since.is_some())];
    // PostgreSQL takes no argument with a NUL.
    let external_id = query.external_id.as_deref().map(|id| if id.contains('\0') { NOWHERE } else { id });
    let page = on!(connection, |c, dialect| sqlx::query(statement.of(dialect))
        .bind(company.0)
        .bind(window.limit())
        .bind(window.offset())
        .bind(window.since_millis())
        .bind(query.folded())
        .bind(external_id)
        .fetch_one(c)
        .map_ok(PageRow::from))?;
    Ok(page)
}

pub(crate) async fn insert(
    connection: &mut Connection,
    company: CompanyId,
    client: &Client,
) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(INSERT)
        .bind(company.0)
        .bind(client.id.0)
        .bind(&client.external_id)
        .bind(client.created_at.as_millis())
        .bind(client.updated_at.as_millis())
        .bind(client.search_text())
        .bind(to_json(client)?)
        .execute(c))?;
    Ok(())
}

pub(crate) async fn update(
    connection: &mut Connection,
    company: CompanyId,
    client: &Client,
) -> Result<(), Error> {
    let done = run!(connection, |c| sqlx::query(UPDATE)
        .bind(company.0)
        .bind(client.id.0)
        .bind(&client.external_id)
        .bind(client.updated_at.as_millis())
        .bind(client.search_text())
        .bind(to_json(client)?)
        .execute(c))?;
    one_row(done, "client")
}
