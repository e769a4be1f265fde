//! Clients.

use invoicing_core::internal::{SHORT_TEXT, sought_text};
use invoicing_core::{Client, ClientId, Invalid, Rule};

use super::connection::{Argument, Cell, ReadSet, Sql, Write, prefetch};
use super::page_json::PageRow;
use super::rows::to_json;
use super::scope::Scope;
use super::versions::{RecordRow, StoredRecord};
use crate::error::Error;
use crate::list_query::{ClientQuery, NOWHERE};
use crate::records::StoredPage;

/// A page of clients: `$5` the longest word of the search, `$6` a JSON array of the others, `$7`
/// the sought `externalId`.
const PAGE_BY_CREATION: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(record, ',\n'), '') AS items, '' AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record FROM client
            WHERE company_id = $1 AND instr(search, $5) > 0
                AND ($6 IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_each($6) AS word WHERE instr(search, word.value) = 0
                ))
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(record, ',\n'), '') AS items, '' AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record FROM client
            WHERE company_id = $1 AND strpos(search, $5) > 0
                AND ($6::text IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_array_elements_text($6::json) AS word WHERE strpos(search, word) = 0
                ))
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};
const PAGE_BY_MODIFICATION: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(record, ',\n'), '') AS items, '' AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record FROM client
            WHERE company_id = $1 AND instr(search, $5) > 0
                AND ($6 IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_each($6) AS word WHERE instr(search, word.value) = 0
                )) AND updated_at >= $4
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(record, ',\n'), '') AS items, '' AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record FROM client
            WHERE company_id = $1 AND strpos(search, $5) > 0
                AND ($6::text IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_array_elements_text($6::json) AS word WHERE strpos(search, word) = 0
                )) AND updated_at >= $4
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};
/// Finds at most one client, so any order will do.
const PAGE_BY_EXTERNAL_ID: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(record, ',\n'), '') AS items, '' AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record FROM client
            WHERE company_id = $1 AND instr(search, $5) > 0
                AND ($6 IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_each($6) AS word WHERE instr(search, word.value) = 0
                )) AND updated_at >= $4 AND external_id = $7
            LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(record, ',\n'), '') AS items, '' AS lines_bytes, count(*) AS count,
            (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record FROM client
            WHERE company_id = $1 AND strpos(search, $5) > 0
                AND ($6::text IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_array_elements_text($6::json) AS word WHERE strpos(search, word) = 0
                )) AND updated_at >= $4 AND external_id = $7
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

    /// The client that has an `externalId`.
    pub(crate) async fn find_by_external_id(&mut self, external_id: &str) -> Result<Option<Client>, Error> {
        const FIND: &str = "SELECT record, version FROM client WHERE company_id = $1 AND external_id = $2";
        let find = self.0.query_of(ReadSet::Table("client"), FIND, &[&external_id]);
        let row: Option<RecordRow> = find.fetch_optional().await?;
        row.map(|row| row.read(external_id)).transpose()
    }

    /// A page as the JSON envelope of the API.
    pub(crate) async fn page(&mut self, query: &ClientQuery) -> Result<StoredPage, Error> {
        let (word, others) = query.words();
        let others = (!others.is_empty()).then(|| to_json(&others)).transpose()?;
        let external_id = query.external_id.as_deref().map(sought).transpose()?;
        let statement = match (&external_id, query.window.since) {
            (Some(_), _) => PAGE_BY_EXTERNAL_ID,
            (None, Some(_)) => PAGE_BY_MODIFICATION,
            (None, None) => PAGE_BY_CREATION,
        };
        let filters: [&dyn Argument; 3] = [&word, &others, &external_id];
        let row: PageRow = self.0.page_query(query.window, statement, &filters)?.fetch_one().await?;
        Ok(StoredPage::Whole(row.page(query.window)?.json()))
    }

    pub(crate) async fn insert(&mut self, client: &Client) -> Result<(), Error> {
        static INSERT: Write = Write {
            table: "client",
            sqlite: "
                INSERT INTO client (company_id, id, external_id, created_at, updated_at, search, record, version)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            postgres: "
                    INSERT INTO client
                        (company_id, id, external_id, created_at, updated_at, search, record, version)
                    SELECT * FROM unnest(
                        $1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
                        $8::bigint[]
                    )",
            first: 0,
            refuses_newer_format: false,
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
            sqlite: "
                UPDATE client SET external_id = $3, updated_at = $4, search = $5, record = $6, version = $7
                WHERE company_id = $1 AND id = $2 AND version <= $7",
            postgres: "
                    UPDATE client SET
                        external_id = new.external_id, updated_at = new.updated_at, search = new.search,
                        record = new.record, version = new.version
                    FROM unnest(
                        $1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[]
                    ) AS new (company_id, id, external_id, updated_at, search, record, version)
                    WHERE client.company_id = new.company_id AND client.id = new.id AND client.version <= new.version",
            first: 0,
            refuses_newer_format: true,
        };
        let Client { id, external_id, updated_at, .. } = client;
        let (search, record) = (client.search_text(), to_json(client)?);
        self.0.write(&UPDATE, &[id, external_id, updated_at, &search, &record, &Client::VERSION]).await
    }
}

/// An `externalId` in the form in which it is stored.
///
/// # Errors
/// [`Invalid`] if no character is left.
fn sought(external_id: &str) -> Result<String, Invalid> {
    match sought_text(external_id) {
        text if text.is_empty() => Err(Invalid::new("externalId", Rule::Characters { max: SHORT_TEXT })),
        // PostgreSQL refuses an argument with a NUL, and no client has such an `externalId`.
        text if text.contains('\0') => Ok(NOWHERE.to_owned()),
        text => Ok(text),
    }
}
