//! Clients.

use invoicing_core::{Client, ClientId};

use super::arguments::Cell;
use super::deferred::{Reads, Write};
use super::page::PageAnswer;
use super::prefetch;
use super::query::Sql;
use super::rows::to_json;
use super::scope::Scope;
use super::versions::{RecordRow, StoredRecord};
use crate::Error;
use crate::page::{ClientQuery, NOWHERE};

const PAGE_BY_CREATION: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT CASE WHEN version = $5 THEN record ELSE CAST(version AS TEXT) || record END AS item FROM client
            WHERE company_id = $1 AND instr(search, $6) > 0
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT CASE WHEN version = $5 THEN record ELSE CAST(version AS TEXT) || record END AS item FROM client
            WHERE company_id = $1 AND strpos(search, $6) > 0
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};
const PAGE_BY_MODIFICATION: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT CASE WHEN version = $5 THEN record ELSE CAST(version AS TEXT) || record END AS item FROM client
            WHERE company_id = $1 AND updated_at >= $4 AND instr(search, $6) > 0
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT CASE WHEN version = $5 THEN record ELSE CAST(version AS TEXT) || record END AS item FROM client
            WHERE company_id = $1 AND updated_at >= $4 AND strpos(search, $6) > 0
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};
/// At most one client, which the unique index finds; so any order will do.
const PAGE_BY_EXTERNAL_ID: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT CASE WHEN version = $5 THEN record ELSE CAST(version AS TEXT) || record END AS item FROM client
            WHERE company_id = $1 AND external_id = $7 AND updated_at >= $4 AND instr(search, $6) > 0
            LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT CASE WHEN version = $5 THEN record ELSE CAST(version AS TEXT) || record END AS item FROM client
            WHERE company_id = $1 AND external_id = $7 AND updated_at >= $4 AND strpos(search, $6) > 0
            LIMIT $2 + 1 OFFSET $3
        ) items",
};

/// The clients of a company.
pub(crate) struct ClientTable<'c>(pub(super) Scope<'c>);

impl ClientTable<'_> {
    pub(crate) async fn find(&mut self, id: ClientId) -> Result<Client, Error> {
        let row: Option<RecordRow> = self.0.find(&prefetch::CLIENT, id.0).await?;
        row.ok_or(Error::NotFound)?.read(id)
    }

    pub(crate) async fn find_by_external_id(&mut self, external_id: &str) -> Result<Option<Client>, Error> {
        const FIND: &str = "
            SELECT record, version FROM client WHERE company_id = $1 AND external_id = $2";
        let find = self.0.query_of(Reads::Table("client"), FIND, &[&external_id]);
        let row: Option<RecordRow> = find.fetch_optional().await?;
        row.map(|row| row.read(external_id)).transpose()
    }

    pub(crate) async fn page(&mut self, query: &ClientQuery) -> Result<PageAnswer, Error> {
        let window = query.window;
        let statement = match (&query.external_id, window.since) {
            (Some(_), _) => PAGE_BY_EXTERNAL_ID,
            (None, Some(_)) => PAGE_BY_MODIFICATION,
            (None, None) => PAGE_BY_CREATION,
        };
        // PostgreSQL refuses an argument with a NUL.
        let external_id = query.external_id.as_deref().map(|id| if id.contains('\0') { NOWHERE } else { id });
        self.0.page::<Client>(window, statement, &[&query.folded(), &external_id]).await
    }

    pub(crate) async fn insert(&mut self, client: &Client) -> Result<(), Error> {
        static INSERT: Write = Write {
            table: "client",
            statement: "
                INSERT INTO client (company_id, id, external_id, created_at, updated_at, search, record, version)
                SELECT $1, $2, $3, $4, $5, $6, $7, $8 /* FROM rows */",
            postgres: &[],
            replaces: false,
        };
        let Client { id, external_id, created_at, updated_at, .. } = client;
        let (search, record) = (client.search_text(), to_json(client)?);
        let cells: [&dyn Cell; 7] =
            [id, external_id, created_at, updated_at, &search, &record, &Client::VERSION];
        self.0.write(&INSERT, &cells).await
    }

    pub(crate) async fn update(&mut self, client: &Client) -> Result<(), Error> {
        static UPDATE: Write = Write {
            table: "client",
            statement: "
                UPDATE client SET external_id = $3, updated_at = $4, search = $5, record = $6, version = $7 /* FROM rows */
                WHERE company_id = $1 AND id = $2 AND version <= $7",
            postgres: &[],
            replaces: true,
        };
        let Client { id, external_id, updated_at, .. } = client;
        let (search, record) = (client.search_text(), to_json(client)?);
        self.0.write(&UPDATE, &[id, external_id, updated_at, &search, &record, &Client::VERSION]).await
    }

    /// Rewrites a client of an older version in today's shape. `updatedAt` stays.
    pub(super) async fn rewrite(&mut self, id: ClientId) -> Result<(), Error> {
        let client = self.find(id).await?;
        self.update(&client).await
    }
}
