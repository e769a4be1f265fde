//! Clients.

use invoicing_core::{Client, ClientId, Invalid, SHORT_TEXT, SoughtId};
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::{Argument, Cell, Many, ReadSet, Sql, Type, Write, prefetch};
use super::page_json::PageRow;
use super::rows::to_json;
use super::scope::Scope;
use super::versions::{RecordRow, StoredRecord};
use crate::Error;
use crate::list_query::{ClientQuery, NOWHERE};
use crate::records::StoredPage;

/// A page of clients: `$5` the longest word of the search, `$6` a JSON array of the others, `$7`
/// true if one has an apostrophe, `$8` the sought `externalId` as it was sent, `$9` the same
/// without characters at its ends that render as nothing. Texts are searched with the apostrophe of
/// today if a word has one, as earlier versions stored each as it was entered.
const PAGE_BY_CREATION: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, string_agg(CAST(version AS TEXT), ',') AS versions,
            '' AS lines_bytes, count(*) AS count, (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record AS item, version FROM client
            WHERE company_id = $1
                AND instr(
                    CASE WHEN $7 THEN replace(replace(replace(search, '’', ''''), '‘', ''''), 'ʼ', '''') ELSE search END,
                    $5
                ) > 0
                AND ($6 IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_each($6) AS word
                    WHERE instr(
                        CASE WHEN $7 THEN replace(replace(replace(search, '’', ''''), '‘', ''''), 'ʼ', '''') ELSE search END,
                        word.value
                    ) = 0
                ))
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, string_agg(CAST(version AS TEXT), ',') AS versions,
            '' AS lines_bytes, count(*) AS count, (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record AS item, version FROM client
            WHERE company_id = $1
                AND strpos(CASE WHEN $7 THEN translate(search, '’‘ʼ', '''''''') ELSE search END, $5) > 0
                AND ($6::text IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_array_elements_text($6::json) AS word
                    WHERE strpos(CASE WHEN $7 THEN translate(search, '’‘ʼ', '''''''') ELSE search END, word) = 0
                ))
            ORDER BY created_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};
const PAGE_BY_MODIFICATION: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, string_agg(CAST(version AS TEXT), ',') AS versions,
            '' AS lines_bytes, count(*) AS count, (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record AS item, version FROM client
            WHERE company_id = $1
                AND instr(
                    CASE WHEN $7 THEN replace(replace(replace(search, '’', ''''), '‘', ''''), 'ʼ', '''') ELSE search END,
                    $5
                ) > 0
                AND ($6 IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_each($6) AS word
                    WHERE instr(
                        CASE WHEN $7 THEN replace(replace(replace(search, '’', ''''), '‘', ''''), 'ʼ', '''') ELSE search END,
                        word.value
                    ) = 0
                ))
                AND updated_at >= $4
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, string_agg(CAST(version AS TEXT), ',') AS versions,
            '' AS lines_bytes, count(*) AS count, (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record AS item, version FROM client
            WHERE company_id = $1
                AND strpos(CASE WHEN $7 THEN translate(search, '’‘ʼ', '''''''') ELSE search END, $5) > 0
                AND ($6::text IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_array_elements_text($6::json) AS word
                    WHERE strpos(CASE WHEN $7 THEN translate(search, '’‘ʼ', '''''''') ELSE search END, word) = 0
                ))
                AND updated_at >= $4
            ORDER BY updated_at DESC, id DESC LIMIT $2 + 1 OFFSET $3
        ) items",
};
/// Finds at most one client, so any order will do.
const PAGE_BY_EXTERNAL_ID: Sql = Sql {
    sqlite: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, string_agg(CAST(version AS TEXT), ',') AS versions,
            '' AS lines_bytes, count(*) AS count, (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record AS item, version FROM client
            WHERE company_id = $1
                AND instr(
                    CASE WHEN $7 THEN replace(replace(replace(search, '’', ''''), '‘', ''''), 'ʼ', '''') ELSE search END,
                    $5
                ) > 0
                AND ($6 IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_each($6) AS word
                    WHERE instr(
                        CASE WHEN $7 THEN replace(replace(replace(search, '’', ''''), '‘', ''''), 'ʼ', '''') ELSE search END,
                        word.value
                    ) = 0
                ))
                AND updated_at >= $4 AND external_id = CASE
                    WHEN EXISTS (SELECT 1 FROM client AS exact WHERE exact.company_id = $1 AND exact.external_id = $8)
                    THEN $8 ELSE $9
                END
            LIMIT $2 + 1 OFFSET $3
        ) items",
    postgres: "
        SELECT coalesce(string_agg(item, ',\n'), '') AS items, string_agg(CAST(version AS TEXT), ',') AS versions,
            '' AS lines_bytes, count(*) AS count, (SELECT last_stamp FROM company WHERE id = $1) AS last_stamp
        FROM (
            SELECT record AS item, version FROM client
            WHERE company_id = $1
                AND strpos(CASE WHEN $7 THEN translate(search, '’‘ʼ', '''''''') ELSE search END, $5) > 0
                AND ($6::text IS NULL OR NOT EXISTS (
                    SELECT 1 FROM json_array_elements_text($6::json) AS word
                    WHERE strpos(CASE WHEN $7 THEN translate(search, '’‘ʼ', '''''''') ELSE search END, word) = 0
                ))
                AND updated_at >= $4 AND external_id = CASE
                    WHEN EXISTS (SELECT 1 FROM client AS exact WHERE exact.company_id = $1 AND exact.external_id = $8)
                    THEN $8 ELSE $9
                END
            LIMIT $2 + 1 OFFSET $3
        ) items",
};

/// Clients by the forms of an `externalId`: `$2` as it was sent, `$3` without characters at its
/// ends that render as nothing, and those of earlier versions that may be the same as the second.
/// The last part reads the index `client_external_id_older`, which has no entry for nearly all
/// companies: it holds the clients whose `externalId` has an end that [renders as
/// nothing](invoicing_core::renders_as_nothing). Only earlier versions stored such an end, but for
/// the last character of an emoji.
const BY_EXTERNAL_ID: Sql = Sql {
    sqlite: "
        SELECT id, created_at, external_id, record, version FROM client
        WHERE company_id = $1 AND external_id IN ($2, $3)
        UNION ALL
        SELECT id, created_at, external_id, record, version FROM client
        WHERE company_id = $1 AND (
                unicode(external_id) IN (173, 847, 1564, 4447, 4448, 6068, 6069, 10240, 12644, 65279, 65440, 119129)
                OR unicode(external_id) BETWEEN 6155 AND 6159
                OR unicode(external_id) BETWEEN 8203 AND 8207
                OR unicode(external_id) BETWEEN 8234 AND 8238
                OR unicode(external_id) BETWEEN 8288 AND 8303
                OR unicode(external_id) BETWEEN 65024 AND 65039
                OR unicode(external_id) BETWEEN 65520 AND 65532
                OR unicode(external_id) BETWEEN 113824 AND 113827
                OR unicode(external_id) BETWEEN 119155 AND 119162
                OR unicode(external_id) BETWEEN 917504 AND 921599
                OR unicode(substr(external_id, -1)) IN (173, 847, 1564, 4447, 4448, 6068, 6069, 10240, 12644, 65279, 65440, 119129)
                OR unicode(substr(external_id, -1)) BETWEEN 6155 AND 6159
                OR unicode(substr(external_id, -1)) BETWEEN 8203 AND 8207
                OR unicode(substr(external_id, -1)) BETWEEN 8234 AND 8238
                OR unicode(substr(external_id, -1)) BETWEEN 8288 AND 8303
                OR unicode(substr(external_id, -1)) BETWEEN 65024 AND 65039
                OR unicode(substr(external_id, -1)) BETWEEN 65520 AND 65532
                OR unicode(substr(external_id, -1)) BETWEEN 113824 AND 113827
                OR unicode(substr(external_id, -1)) BETWEEN 119155 AND 119162
                OR unicode(substr(external_id, -1)) BETWEEN 917504 AND 921599
            ) AND instr(external_id, $3) > 0",
    postgres: r#"
        SELECT id, created_at, external_id, record, version FROM client
        WHERE company_id = $1 AND external_id IN ($2, $3)
        UNION ALL
        SELECT id, created_at, external_id, record, version FROM client
        WHERE company_id = $1 AND (
                ascii(external_id) IN (173, 847, 1564, 4447, 4448, 6068, 6069, 10240, 12644, 65279, 65440, 119129)
                OR ascii(external_id) BETWEEN 6155 AND 6159
                OR ascii(external_id) BETWEEN 8203 AND 8207
                OR ascii(external_id) BETWEEN 8234 AND 8238
                OR ascii(external_id) BETWEEN 8288 AND 8303
                OR ascii(external_id) BETWEEN 65024 AND 65039
                OR ascii(external_id) BETWEEN 65520 AND 65532
                OR ascii(external_id) BETWEEN 113824 AND 113827
                OR ascii(external_id) BETWEEN 119155 AND 119162
                OR ascii(external_id) BETWEEN 917504 AND 921599
                OR ascii("right"(external_id, 1)) IN (173, 847, 1564, 4447, 4448, 6068, 6069, 10240, 12644, 65279, 65440, 119129)
                OR ascii("right"(external_id, 1)) BETWEEN 6155 AND 6159
                OR ascii("right"(external_id, 1)) BETWEEN 8203 AND 8207
                OR ascii("right"(external_id, 1)) BETWEEN 8234 AND 8238
                OR ascii("right"(external_id, 1)) BETWEEN 8288 AND 8303
                OR ascii("right"(external_id, 1)) BETWEEN 65024 AND 65039
                OR ascii("right"(external_id, 1)) BETWEEN 65520 AND 65532
                OR ascii("right"(external_id, 1)) BETWEEN 113824 AND 113827
                OR ascii("right"(external_id, 1)) BETWEEN 119155 AND 119162
                OR ascii("right"(external_id, 1)) BETWEEN 917504 AND 921599
            ) AND strpos(external_id, $3) > 0"#,
};

/// A client that a look-up by its `externalId` may find.
#[derive(FromRow)]
struct SoughtClientRow {
    id: Uuid,
    created_at: i64,
    external_id: String,
    #[sqlx(flatten)]
    record: RecordRow,
}

/// The clients of a company.
pub(crate) struct ClientTable<'c>(pub(super) Scope<'c>);

impl ClientTable<'_> {
    pub(crate) async fn find(&mut self, id: ClientId) -> Result<Client, Error> {
        let row: Option<RecordRow> = self.0.find(&prefetch::CLIENT, id.0).await?;
        row.ok_or(Error::NotFound)?.read(id)
    }

    /// The client that has an `externalId`: as it was sent, or else stripped, or else the oldest
    /// one of an earlier version.
    pub(crate) async fn find_by_external_id(&mut self, sought: &SoughtId) -> Result<Option<Client>, Error> {
        let best = self.best_by_external_id(sought).await?;
        best.map(|row| row.record.read(row.id)).transpose()
    }

    async fn best_by_external_id(&mut self, sought: &SoughtId) -> Result<Option<SoughtClientRow>, Error> {
        let (as_sent, stripped) = (searchable(sought.as_sent()), searchable(sought.stripped()));
        let find = self.0.query_of(ReadSet::Table("client"), BY_EXTERNAL_ID, &[&as_sent, &stripped]);
        let rows: Vec<SoughtClientRow> = find.fetch_all().await?;
        let ranked = rows.into_iter().filter_map(|row| {
            let rank = sought.rank(&row.external_id)?;
            Some(((rank, row.created_at, row.id), row))
        });
        Ok(ranked.min_by_key(|(order, _)| *order).map(|(_, row)| row))
    }

    /// A page as the JSON envelope of the API.
    pub(crate) async fn page(&mut self, query: &ClientQuery) -> Result<StoredPage, Error> {
        let page = self.find_page(query).await?.page::<Client>(query.window)?;
        Ok(StoredPage::Whole(page.json()))
    }

    async fn find_page(&mut self, query: &ClientQuery) -> Result<PageRow, Error> {
        let Some(external_id) = &query.external_id else {
            let by_time = if query.window.since.is_some() { PAGE_BY_MODIFICATION } else { PAGE_BY_CREATION };
            return self.page_of(query, by_time, None, None).await;
        };
        let sought = SoughtId::new(external_id);
        let (as_sent, stripped) = (searchable(sought.as_sent()), searchable(sought.stripped()));
        let page = self.page_of(query, PAGE_BY_EXTERNAL_ID, Some(as_sent), Some(stripped)).await?;
        if !page.is_empty() {
            return Ok(page);
        }
        // Nearly always there is none.
        match self.best_by_external_id(&sought).await? {
            Some(SoughtClientRow { external_id, .. }) if sought.rank(&external_id) == Some(2) => {
                self.page_of(query, PAGE_BY_EXTERNAL_ID, Some(&external_id), Some(&external_id)).await
            }
            None if sought.stripped().is_empty() => {
                Err(Invalid::new("externalId", format!("must have 1 to {SHORT_TEXT} characters")).into())
            }
            _ => Ok(page),
        }
    }

    async fn page_of(
        &mut self,
        query: &ClientQuery,
        statement: Sql,
        as_sent: Option<&str>,
        stripped: Option<&str>,
    ) -> Result<PageRow, Error> {
        let (word, others) = query.words();
        let has_apostrophe = word.contains('\'') || others.iter().any(|word| word.contains('\''));
        let others = (!others.is_empty()).then(|| to_json(&others)).transpose()?;
        let filters: [&dyn Argument; 5] = [&word, &others, &has_apostrophe, &as_sent, &stripped];
        Ok(self.0.page_query(query.window, statement, &filters)?.fetch_one().await?)
    }

    pub(crate) async fn insert(&mut self, client: &Client) -> Result<(), Error> {
        static INSERT: Write = Write {
            table: "client",
            sqlite: "
                INSERT INTO client (company_id, id, external_id, created_at, updated_at, search, record, version)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            postgres: &Many {
                text: "
                    INSERT INTO client
                        (company_id, id, external_id, created_at, updated_at, search, record, version)
                    SELECT * FROM unnest(
                        $1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
                        $8::bigint[]
                    )",
                columns: &[
                    Type::Uuid,
                    Type::Uuid,
                    Type::Text,
                    Type::Int,
                    Type::Int,
                    Type::Text,
                    Type::Text,
                    Type::Int,
                ],
            },
            first: 0,
            requires_current_version: false,
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
            postgres: &Many {
                text: "
                    UPDATE client SET
                        external_id = new.external_id, updated_at = new.updated_at, search = new.search,
                        record = new.record, version = new.version
                    FROM unnest(
                        $1::uuid[], $2::uuid[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[]
                    ) AS new (company_id, id, external_id, updated_at, search, record, version)
                    WHERE client.company_id = new.company_id AND client.id = new.id AND client.version <= new.version",
                columns: &[
                    Type::Uuid,
                    Type::Uuid,
                    Type::Text,
                    Type::Int,
                    Type::Text,
                    Type::Text,
                    Type::Int,
                ],
            },
            first: 0,
            requires_current_version: true,
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

/// A text in a form that the databases can compare: PostgreSQL refuses an argument with a NUL, and
/// no client has an empty `externalId`.
fn searchable(external_id: &str) -> &str {
    if external_id.is_empty() || external_id.contains('\0') { NOWHERE } else { external_id }
}

#[cfg(test)]
mod tests {
    use invoicing_core::renders_as_nothing;

    use super::*;

    /// The ranges of conditions on a code point.
    fn ranges(conditions: &[&str]) -> Vec<(u32, u32)> {
        let number = |text: &str| text.trim().parse::<u32>().unwrap();
        let mut ranges = Vec::new();
        for part in conditions {
            if let Some(list) = part.strip_prefix("IN ") {
                let codes = list.trim_matches(['(', ')']).split(',');
                ranges.extend(codes.map(|code| (number(code), number(code))));
            } else {
                let (from, to) = part.strip_prefix("BETWEEN ").unwrap().split_once(" AND ").unwrap();
                ranges.push((number(from), number(to)));
            }
        }
        ranges
    }

    fn on_one_line(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The condition on the ends of an `externalId`.
    fn condition(statement: &str) -> String {
        let statement = on_one_line(statement);
        let (_, condition) = statement.split_once("company_id = $1 AND ( ").unwrap();
        condition.split_once(" ) AND ").unwrap().0.to_owned()
    }

    #[test]
    fn the_statements_have_what_renders_as_nothing() {
        for (statement, code) in [
            (BY_EXTERNAL_ID.sqlite, "unicode(external_id) "),
            (BY_EXTERNAL_ID.postgres, "ascii(external_id) "),
        ] {
            let condition = condition(statement);
            let of_first: Vec<&str> =
                condition.split(" OR ").filter_map(|part| part.strip_prefix(code)).collect();
            let ranges = ranges(&of_first);
            let differing: Vec<char> = ('\0'..=char::MAX)
                .filter(|c| {
                    let code = u32::from(*c);
                    renders_as_nothing(*c) != ranges.iter().any(|(from, to)| (*from..=*to).contains(&code))
                })
                .collect();
            assert!(differing.is_empty(), "{differing:?}");
        }
    }

    #[test]
    fn the_index_of_older_ids_has_the_text_of_the_statements() {
        for (migration, statement) in [
            (include_str!("../../migrations/sqlite/0015_texts.sql"), BY_EXTERNAL_ID.sqlite),
            (include_str!("../../migrations/postgres/0015_texts.sql"), BY_EXTERNAL_ID.postgres),
        ] {
            let condition = condition(statement);
            assert!(on_one_line(migration).contains(&condition), "{condition}");
        }
    }
}
