//! The envelope of a list's response. Items are copied as the database returns them, and never
//! parsed.

use invoicing_core::Timestamp;
use invoicing_core::internal::page_limit;
use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use super::rows::{LARGE_LINES, LINES};
use crate::error::Error;
use crate::list_query::PageWindow;
use crate::records::{Lines, StoredPage};

/// Separator of the items of a page: a comma, and a line end, which no item contains.
const BETWEEN: &[u8] = b",\n";
/// Text before the items.
const START: &[u8] = br#"{"data":["#;
/// Room for the rest of the envelope.
const AROUND: usize = 160;

/// A page as the database returns it, with one item beyond the limit if there is one.
pub(super) struct PageRow {
    /// The envelope up to the last item.
    json: Vec<u8>,
    /// The size of each item's lines in bytes, separated by commas.
    lines_bytes: Option<String>,
    count: i64,
    /// The company's last stamp; `None` if there is no such company.
    last_stamp: Option<i64>,
}

impl<'r, R: Row> FromRow<'r, R> for PageRow
where
    &'static str: ColumnIndex<R>,
    &'r [u8]: Decode<'r, R::Database>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
    Option<String>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> Result<Self, sqlx::Error> {
        // Read as bytes, so that they are copied once.
        let items: &[u8] = row.try_get_unchecked("items")?;
        let mut json = Vec::with_capacity(items.len() + AROUND);
        json.extend_from_slice(START);
        json.extend_from_slice(items);
        Ok(Self {
            json,
            lines_bytes: row.try_get("lines_bytes")?,
            count: row.try_get("count")?,
            last_stamp: row.try_get("last_stamp")?,
        })
    }
}

impl PageRow {
    /// The page, without the item beyond the limit.
    pub(super) fn page(self, window: PageWindow) -> Result<Page, Error> {
        let Self { mut json, lines_bytes, count, last_stamp } = self;
        let as_of = Timestamp::from_millis(last_stamp.ok_or(Error::NotFound)?);
        let has_more = count > i64::from(window.limit);
        if has_more {
            // Line ends stand only between items, so the last one precedes the extra item.
            let last = memchr::memrchr(BETWEEN[1], &json).unwrap_or(0);
            json.truncate(last.saturating_sub(1));
            // The extra item may have been large, and what is sent keeps its whole allocation.
            json.shrink_to(json.len() + AROUND);
        }
        Ok(Page { json, lines_bytes: sizes(lines_bytes.as_deref())?, window, has_more, as_of })
    }
}

fn sizes(list: Option<&str>) -> Result<Vec<usize>, Error> {
    let texts = list.unwrap_or_default().split(',').filter(|text| !text.is_empty());
    texts.map(str::parse).collect::<Result<_, _>>().map_err(Error::internal)
}

/// A page of items, with the data of its envelope.
pub(super) struct Page {
    /// The envelope up to the last item.
    json: Vec<u8>,
    lines_bytes: Vec<usize>,
    window: PageWindow,
    has_more: bool,
    as_of: Timestamp,
}

impl Page {
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

    /// The JSON of the page whose items were read with these lines, or its size.
    pub(super) fn with_lines(self, lines: Lines) -> Result<StoredPage, Error> {
        let is_large = |bytes: &usize| *bytes > LARGE_LINES;
        let items: Vec<_> = self.items().zip(&self.lines_bytes).collect();
        if lines == Lines::AsOf(self.as_of) || !items.iter().any(|(_, bytes)| is_large(bytes)) {
            return Ok(StoredPage::Whole(self.json()));
        }
        let left_out = |bytes: &usize| if is_large(bytes) { LINES.len() + bytes } else { 0 };
        let sizes: Vec<usize> = items.iter().map(|(item, bytes)| item.len() + left_out(bytes)).collect();
        page_limit::check(&sizes)?;
        // The item beyond the limit is read too.
        let extra = self.lines_bytes.get(items.len()).map_or(0, left_out);
        let bytes = AROUND + extra + sizes.iter().map(|bytes| bytes + BETWEEN.len()).sum::<usize>();
        Ok(StoredPage::Large { bytes, as_of: self.as_of })
    }

    /// The whole envelope.
    pub(super) fn json(self) -> Vec<u8> {
        let Self { mut json, window: PageWindow { limit, offset, .. }, has_more, as_of, .. } = self;
        let tail = format!(
            r#"],"pagination":{{"limit":{limit},"offset":{offset},"hasMore":{has_more}}},"asOf":"{as_of}"}}"#
        );
        json.extend_from_slice(tail.as_bytes());
        json
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::{ClientId, NewClient, NewQuote, Quote};
    use serde_json::{Value, json};

    use super::*;
    use crate::Invoicing;
    use crate::list_query::PageQuery;

    /// A quote with this many lines of 1,900 characters.
    fn content(client: ClientId, lines: usize) -> NewQuote {
        let line = json!({ "description": "x".repeat(1_900), "quantity": 1, "unitPrice": 1, "tvaRate": 20 });
        NewQuote {
            lines: serde_json::from_value(vec![line; lines].into()).unwrap(),
            ..NewQuote::empty(client)
        }
    }

    /// Rules: LIST-8, FAIR-7
    #[tokio::test]
    async fn large_lines_are_read_if_their_page_is_still_the_one_that_was_counted() {
        let (_folder, _invoicing, company) = Invoicing::with_company().await;
        let client = company.clients().create(&NewClient::named("B")).await.unwrap().id;
        let quotes = company.quotes();
        quotes.create(&content(client, 500)).await.unwrap();
        let newest = quotes.create(&content(client, 6)).await.unwrap().summary;
        let window = PageWindow::default().limit(1);
        let query = PageQuery { status: None, include_lines: true, window };
        let size = async |lines| match company.documents::<Quote>().page(&query, lines).await.unwrap() {
            StoredPage::Large { bytes, as_of } => (bytes, as_of),
            StoredPage::Whole(page) => panic!("{} bytes", page.len()),
        };
        let (bytes, as_of) = size(Lines::UnlessLarge).await;
        assert!(bytes > 500 * 1_900, "the item beyond the limit is read too: {bytes}");

        quotes.edit(newest.id, &content(client, 7)).await.unwrap();
        let (bytes, as_of) = size(Lines::AsOf(as_of)).await;
        let StoredPage::Whole(page) =
            company.documents::<Quote>().page(&query, Lines::AsOf(as_of)).await.unwrap()
        else {
            panic!("the page has not changed")
        };
        assert!(page.len() < bytes && page.capacity() < page.len() + 4_096, "{} kept", page.capacity());
        let page: Value = serde_json::from_slice(&page).unwrap();
        assert_eq!(page["data"][0]["lines"].as_array().unwrap().len(), 7);
        assert_eq!(page["asOf"], json!(as_of));
    }
}
