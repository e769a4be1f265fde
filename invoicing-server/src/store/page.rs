//! The statements of a list, and the envelope of its response.

use std::str::FromStr;

use invoicing_core::{MAX_PAGE_LIMIT, Timestamp, page_limit};
use serde::Deserialize;
use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};
use uuid::Uuid;

use super::arguments::Argument;
use super::query::Sql;
use super::rows::from_json;
use super::scope::Scope;
use super::versions::{StoredRecord, in_todays_shape};
use crate::Error;
use crate::page::{PageQuery, PageWindow, check_limit};

/// A page as the JSON envelope of the API.
pub(crate) struct PageAnswer {
    pub(super) json: Vec<u8>,
}

impl PageAnswer {
    /// Whether it has no item.
    pub(super) fn is_empty(&self) -> bool {
        self.json.get(START.len()) == Some(&b']')
    }
}

/// Reserves memory for an answer before it is built, given its bytes. An error refuses the read. May be called again,
/// where a read is repeated.
pub(crate) type Reserve<'r> = &'r (dyn Fn(usize) -> Result<(), Error> + Sync);

/// The statements of a list of documents. Each gives the page in one row and one snapshot: the items and one more if
/// there is one, how many these are, and the company's last stamp.
///
/// Before an item that has not today's version stands its version.
///
/// Lines of more than 8 KiB are large: in their place stands their size in bytes, so that no statement reads more than
/// is allowed. Both databases know it without reading the lines: `octet_length` of a column looks at the row only.
///
/// `$1` company, `$2` limit, `$3` offset, `$4` since, `$5` today's version, `$6` status, `$7` whether items carry their
/// lines. The filters leave the index of the order as the only useful one: `status || ''` keeps the last statement off the index by
/// status, where it would have to sort. The aggregate takes the items in the order of its subquery, which SQLite keeps
/// as there is a limit, and PostgreSQL as it is sorted.
pub(super) struct PageStatements {
    pub(super) newest: &'static str,
    pub(super) newest_in_status: &'static str,
    pub(super) changed: &'static str,
    /// The large lines of one record: `$1` company, `$2` id.
    pub(super) large_lines: Sql,
}

impl Scope<'_> {
    /// A page of documents as the JSON envelope of the API. `T` is their summary.
    ///
    /// Large lines are read after the page, as its size must be known before it is built. Then both are read in one
    /// snapshot, for which the page is read again.
    ///
    /// # Errors
    /// [`Error::Invalid`] about `limit` where the page would be too large.
    pub(super) async fn document_page<T: StoredRecord, S: Copy>(
        &mut self,
        query: &PageQuery<S>,
        statements: &PageStatements,
        text: impl Fn(S) -> &'static str,
        reserve: Reserve<'_>,
    ) -> Result<PageAnswer, Error> {
        let statement = match (query.window.since, query.status) {
            (None, None) => statements.newest,
            (None, Some(_)) => statements.newest_in_status,
            (Some(_), _) => statements.changed,
        };
        let status = query.status.map(text);
        let filters: [&dyn Argument; 2] = [&status, &query.include_lines];
        let mut page = self.page_row::<T>(query.window, statement, &filters).await?;
        if query.include_lines && page.items().any(|item| large_bytes(item) > 0) {
            self.connection.begin_snapshot().await?;
            let read = self
                .page_with_large_lines::<T>(
                    query.window,
                    statement,
                    &filters,
                    statements.large_lines,
                    reserve,
                )
                .await;
            // Also after an error, so that the connection can be used again.
            let ended = self.connection.end_transaction().await;
            page = read?;
            ended?;
        }
        Ok(page.answer(query.window))
    }

    /// A page as the JSON envelope of the API, with items `T`. `filters` are the arguments from `$6` on.
    pub(super) async fn page<T: StoredRecord>(
        &mut self,
        window: PageWindow,
        statement: impl Into<Sql>,
        filters: &[&dyn Argument],
    ) -> Result<PageAnswer, Error> {
        Ok(self.page_row::<T>(window, statement, filters).await?.answer(window))
    }

    /// A page in today's shape, without large lines.
    async fn page_row<T: StoredRecord>(
        &mut self,
        window: PageWindow,
        statement: impl Into<Sql>,
        filters: &[&dyn Argument],
    ) -> Result<Page, Error> {
        check_limit(window.limit, MAX_PAGE_LIMIT)?;
        let offset = i64::try_from(window.offset).unwrap_or(i64::MAX);
        let since = window.since.unwrap_or(Timestamp::EARLIEST);
        let part: [&dyn Argument; 4] = [&window.limit, &offset, &since, &T::VERSION];
        let arguments = [&part, filters].concat();
        let row: PageRow = self.query(statement, &arguments).fetch_one().await?;
        row.page(window.limit)?.in_todays_shape::<T>()
    }

    /// A page with large lines in the place of their sizes.
    async fn page_with_large_lines<T: StoredRecord>(
        &mut self,
        window: PageWindow,
        statement: &'static str,
        filters: &[&dyn Argument],
        large_lines: Sql,
        reserve: Reserve<'_>,
    ) -> Result<Page, Error> {
        let page = self.page_row::<T>(window, statement, filters).await?;
        let sizes: Vec<usize> = page.items().map(|item| item.len() + large_bytes(item)).collect();
        page_limit::check(&sizes)?;
        let size = START.len() + sizes.iter().map(|bytes| bytes + BETWEEN.len()).sum::<usize>() + AROUND;
        reserve(size)?;
        let mut json = Vec::with_capacity(size);
        json.extend_from_slice(START);
        for item in page.items() {
            if json.len() > START.len() {
                json.extend_from_slice(BETWEEN);
            }
            if large_bytes(item) == 0 {
                json.extend_from_slice(item);
                continue;
            }
            let ItemId { id } = from_json(item, "page", self.company)?;
            let lines: String = self.query(large_lines, &[&id]).scalar().await?;
            json.extend_from_slice(split_size(item).0);
            json.extend_from_slice(lines.as_bytes());
            json.push(b'}');
        }
        Ok(Page { json, ..page })
    }
}

/// Of an item, what its lines are looked up by.
#[derive(Deserialize)]
struct ItemId {
    id: Uuid,
}

/// The size that stands in an item in the place of its lines; 0 where these are there.
fn large_bytes(item: &[u8]) -> usize {
    number(split_size(item).1).unwrap_or(0)
}

fn number<N: FromStr>(digits: &[u8]) -> Option<N> {
    str::from_utf8(digits).ok()?.parse().ok()
}

/// An item up to the size of its lines, and that size.
fn split_size(item: &[u8]) -> (&[u8], &[u8]) {
    let item = item.strip_suffix(b"}").unwrap_or(item);
    let digits = item.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    item.split_at(item.len() - digits)
}

/// What stands between the items of a page: a comma, and a line end, which no item contains.
const BETWEEN: &[u8] = b",\n";
/// What stands before the items.
const START: &[u8] = br#"{"data":["#;
/// Room for what stands around the items.
const AROUND: usize = 160;

/// One page as the database gives it: the items and one more if there is one, how many these are, and the company's last
/// stamp (none where there is no such company).
struct PageRow {
    /// The envelope up to the last item.
    json: Vec<u8>,
    count: i64,
    last_stamp: Option<i64>,
}

impl<'r, R: Row> FromRow<'r, R> for PageRow
where
    &'static str: ColumnIndex<R>,
    &'r [u8]: Decode<'r, R::Database>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        // The items are read as bytes, unchecked: they are copied once and never parsed.
        let items: &[u8] = row.try_get_unchecked("items")?;
        let mut json = Vec::with_capacity(items.len() + AROUND);
        json.extend_from_slice(START);
        json.extend_from_slice(items);
        Ok(Self { json, count: row.try_get("count")?, last_stamp: row.try_get("last_stamp")? })
    }
}

impl PageRow {
    /// Leaves the one more out.
    fn page(self, limit: u32) -> Result<Page, Error> {
        let Self { mut json, count, last_stamp } = self;
        let as_of = Timestamp::from_millis(last_stamp.ok_or(Error::NotFound)?);
        let has_more = count > i64::from(limit);
        if has_more {
            let last = memchr::memrchr(BETWEEN[1], &json).unwrap_or(0);
            json.truncate(last.saturating_sub(1));
        }
        Ok(Page { json, has_more, as_of })
    }
}

/// One page.
struct Page {
    /// The envelope up to the last item.
    json: Vec<u8>,
    has_more: bool,
    as_of: Timestamp,
}

impl Page {
    /// Prints items of older versions in today's shape. Without any, nothing is parsed.
    fn in_todays_shape<T: StoredRecord>(self) -> Result<Self, Error> {
        if self.items().all(|item| item.first().is_none_or(|first| *first == b'{')) {
            return Ok(self);
        }
        let mut json = START.to_vec();
        for item in self.items() {
            if json.len() > START.len() {
                json.extend_from_slice(BETWEEN);
            }
            let digits = item.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (version, record) = item.split_at(digits);
            let version = number(version).unwrap_or(T::VERSION);
            json.append(&mut in_todays_shape::<T>(record.to_vec(), version, "of a page")?);
        }
        Ok(Self { json, ..self })
    }

    fn items(&self) -> impl Iterator<Item = &[u8]> {
        let items = &self.json[START.len()..];
        let ends = memchr::memchr_iter(BETWEEN[1], items).map(|end| end + 1).chain([items.len()]);
        let mut start = 0;
        ends.map(move |end| {
            let item = &items[start..end];
            start = end;
            item.strip_suffix(BETWEEN).unwrap_or(item)
        })
    }

    fn answer(self, PageWindow { limit, offset, .. }: PageWindow) -> PageAnswer {
        let Self { mut json, has_more, as_of } = self;
        let tail = format!(
            r#"],"pagination":{{"limit":{limit},"offset":{offset},"hasMore":{has_more}}},"asOf":"{as_of}"}}"#
        );
        json.extend_from_slice(tail.as_bytes());
        PageAnswer { json }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI32, Ordering};

    use invoicing_core::{NewClient, NewQuote};
    use serde_json::{Value, json};
    use tokio::runtime::Handle;
    use tokio::task::block_in_place;

    use super::*;
    use crate::Invoicing;

    /// Rules: LIST-8
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_change_between_a_page_and_its_large_lines_is_not_on_the_page() {
        let (_folder, _invoicing, company) = Invoicing::with_company().await;
        let client = company.clients().create(&NewClient::named("B")).await.unwrap().id;
        let content = |price: i32| {
            let line = json!({
                "description": "x".repeat(1_900), "quantity": 1, "unitPrice": price, "tvaRate": 20
            });
            let lines = serde_json::from_value(vec![line; 6].into()).unwrap();
            NewQuote { lines, ..NewQuote::empty(client) }
        };
        let quote = company.quotes().create(&content(1)).await.unwrap().summary;
        let (price, runtime) = (AtomicI32::new(1), Handle::current());
        // Memory is reserved once the page was read, before its lines are.
        let change = |_| {
            let content = content(price.fetch_add(1, Ordering::SeqCst) + 1);
            block_in_place(|| runtime.block_on(company.quotes().edit(quote.id, &content))).map(drop)
        };
        let query = PageQuery { include_lines: true, ..PageQuery::default() };
        let page = company.quotes().page_within(&query, &change).await.unwrap();
        let page: Value = serde_json::from_slice(&page).unwrap();
        let item = &page["data"][0];
        assert_eq!((&item["totalHT"], &item["lines"][0]["unitPrice"]), (&json!(6), &json!(1)));
        let stamp = json!(quote.updated_at);
        assert_eq!((&item["updatedAt"], &page["asOf"]), (&stamp, &stamp));
        assert_eq!(price.into_inner(), 2, "memory was reserved once");
    }
}
