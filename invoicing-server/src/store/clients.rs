//! Clients.

use futures_util::TryFutureExt;
use invoicing_core::{Client, ClientId};

use super::companies::one_row;
use super::connection::{Sql, execute, query};
use super::page::PageRow;
use super::rows::{from_json, to_json};
use super::scope::Scope;
use crate::Error;
use crate::page::{ClientQuery, NOWHERE};

const PAGE_BY_CREATION: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(item, ',\n'), ''), count(*), (SELECT last_stamp FROM company WHERE id = $1)
        FROM (
            SELECT record AS item FROM client
            WHERE company_id = $1 AND instr(search, $5) > 0
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(item, ',\n'), ''), count(*), (SELECT last_stamp FROM company WHERE id = $1)
        FROM (
            SELECT record AS item FROM client
            WHERE company_id = $1 AND strpos(search, $5) > 0
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};
const PAGE_BY_MODIFICATION: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(item, ',\n'), ''), count(*), (SELECT last_stamp FROM company WHERE id = $1)
        FROM (
            SELECT record AS item FROM client
            WHERE company_id = $1 AND updated_at >= $4 AND instr(search, $5) > 0
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(item, ',\n'), ''), count(*), (SELECT last_stamp FROM company WHERE id = $1)
        FROM (
            SELECT record AS item FROM client
            WHERE company_id = $1 AND updated_at >= $4 AND strpos(search, $5) > 0
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};
/// At most one client, which the unique index finds; so any order will do.
const PAGE_BY_EXTERNAL_ID: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(item, ',\n'), ''), count(*), (SELECT last_stamp FROM company WHERE id = $1)
        FROM (
            SELECT record AS item FROM client
            WHERE company_id = $1 AND external_id = $6 AND updated_at >= $4 AND instr(search, $5) > 0
            LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(item, ',\n'), ''), count(*), (SELECT last_stamp FROM company WHERE id = $1)
        FROM (
            SELECT record AS item FROM client
            WHERE company_id = $1 AND external_id = $6 AND updated_at >= $4 AND strpos(search, $5) > 0
            LIMIT $2 + 1 OFFSET $3
        ) items",
};

/// The clients of a company.
pub(crate) struct ClientTable<'c>(pub(super) Scope<'c>);

impl ClientTable<'_> {
    pub(crate) async fn find(&mut self, id: ClientId) -> Result<Client, Error> {
        const FIND: &str = "SELECT record FROM client WHERE company_id = $1 AND id = $2";
        let Scope { connection, company } = &mut self.0;
        let json: Option<String> =
            query!(connection, |c| sqlx::query_scalar(FIND).bind(company.0).bind(id.0).fetch_optional(c))?;
        from_json(&json.ok_or(Error::NotFound)?, "client", id)
    }

    pub(crate) async fn find_by_external_id(&mut self, external_id: &str) -> Result<Option<Client>, Error> {
        const FIND: &str = "SELECT record FROM client WHERE company_id = $1 AND external_id = $2";
        let Scope { connection, company } = &mut self.0;
        let json: Option<String> = query!(connection, |c| sqlx::query_scalar(FIND)
            .bind(company.0)
            .bind(external_id)
            .fetch_optional(c))?;
        json.map(|json| from_json(&json, "client", external_id)).transpose()
    }

    pub(crate) async fn page(&mut self, query: &ClientQuery) -> Result<PageRow, Error> {
        let window = query.window;
        let statement = match (&query.external_id, window.since) {
            (Some(_), _) => PAGE_BY_EXTERNAL_ID,
            (None, Some(_)) => PAGE_BY_MODIFICATION,
            (None, None) => PAGE_BY_CREATION,
        };
        // PostgreSQL refuses an argument with a NUL.
        let external_id = query.external_id.as_deref().map(|id| if id.contains('\0') { NOWHERE } else { id });
        let Scope { connection, company } = &mut self.0;
        let page = query!(connection, |c, dialect| sqlx::query(statement.of(dialect))
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

    pub(crate) async fn insert(&mut self, client: &Client) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO client (company_id, id, external_id, created_at, updated_at, search, record)
            VALUES ($1, $2, $3, $4, $5, $6, $7)";
        let Scope { connection, company } = &mut self.0;
        execute!(connection, |c| sqlx::query(INSERT)
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

    pub(crate) async fn update(&mut self, client: &Client) -> Result<(), Error> {
        const UPDATE: &str = "
            UPDATE client SET external_id = $3, updated_at = $4, search = $5, record = $6
            WHERE company_id = $1 AND id = $2";
        let Scope { connection, company } = &mut self.0;
        let done = execute!(connection, |c| sqlx::query(UPDATE)
            .bind(company.0)
            .bind(client.id.0)
            .bind(&client.external_id)
            .bind(client.updated_at.as_millis())
            .bind(client.search_text())
            .bind(to_json(client)?)
            .execute(c))?;
        one_row(done, "client")
    }
}
