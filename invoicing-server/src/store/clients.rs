//! Clients.

use invoicing_core::{Client, ClientId, CompanyId};
use sqlx::SqliteConnection;

use super::companies::one_row;
use super::page::{ClientQuery, PageRow, page_statement};
use super::rows::{from_json, to_json};
use crate::Error;

const FIND: &str = "SELECT record FROM client WHERE company_id = $1 AND id = $2";
const FIND_BY_EXTERNAL_ID: &str = "SELECT record FROM client WHERE company_id = $1 AND external_id = $2";
const INSERT: &str = "INSERT INTO client \
     (company_id, id, external_id, created_at, updated_at, search, record) VALUES ($1, $2, $3, $4, $5, $6, $7)";
const UPDATE: &str = "UPDATE client SET external_id = $3, updated_at = $4, search = $5, record = $6 \
     WHERE company_id = $1 AND id = $2";

/// By creation, by modification.
const PAGES: [&str; 2] = [
    page_statement!("client", "record", "created_at", "AND instr(search, $5) > 0"),
    page_statement!("client", "record", "updated_at", "AND updated_at >= $4 AND instr(search, $5) > 0"),
];
/// The same for one `externalId`, which the unique index finds.
const LOOKUPS: [&str; 2] = [
    page_statement!("client", "record", "created_at", "AND instr(search, $5) > 0 AND external_id = $6"),
    page_statement!(
        "client",
        "record",
        "updated_at",
        "AND updated_at >= $4 AND instr(search, $5) > 0 AND external_id = $6"
    ),
];

pub(crate) async fn find(
    connection: &mut SqliteConnection,
    company: CompanyId,
    id: ClientId,
) -> Result<Client, Error> {
    let json: Option<String> =
        sqlx::query_scalar(FIND).bind(company.0).bind(id.0).fetch_optional(connection).await?;
    from_json(&json.ok_or(Error::NotFound)?, "client", id)
}

pub(crate) async fn find_by_external_id(
    connection: &mut SqliteConnection,
    company: CompanyId,
    external_id: &str,
) -> Result<Option<Client>, Error> {
    let json: Option<String> = sqlx::query_scalar(FIND_BY_EXTERNAL_ID)
        .bind(company.0)
        .bind(external_id)
        .fetch_optional(connection)
        .await?;
    json.map(|json| from_json(&json, "client", external_id)).transpose()
}

pub(crate) async fn page(
    connection: &mut SqliteConnection,
    company: CompanyId,
    query: &ClientQuery,
) -> Result<PageRow, Error> {
    let window = query.window;
    let statements = if query.external_id.is_some() { LOOKUPS } else { PAGES };
    let page = sqlx::query(statements[usize::from(window.since.is_some())])
        .bind(company.0)
        .bind(window.limit())
        .bind(window.offset())
        .bind(window.since_millis())
        .bind(query.folded());
    let page = match &query.external_id {
        Some(external_id) => page.bind(external_id),
        None => page,
    };
    Ok(page.fetch_one(connection).await?.into())
}

pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    company: CompanyId,
    client: &Client,
) -> Result<(), Error> {
    sqlx::query(INSERT)
        .bind(company.0)
        .bind(client.id.0)
        .bind(&client.external_id)
        .bind(client.created_at.as_millis())
        .bind(client.updated_at.as_millis())
        .bind(client.search_text())
        .bind(to_json(client)?)
        .execute(connection)
        .await?;
    Ok(())
}

pub(crate) async fn update(
    connection: &mut SqliteConnection,
    company: CompanyId,
    client: &Client,
) -> Result<(), Error> {
    let done = sqlx::query(UPDATE)
        .bind(company.0)
        .bind(client.id.0)
        .bind(&client.external_id)
        .bind(client.updated_at.as_millis())
        .bind(client.search_text())
        .bind(to_json(client)?)
        .execute(connection)
        .await?;
    one_row(done.rows_affected(), "client")
}
