//! The envelope of a list's response. Items are copied as the database returns them, and never
//! parsed.

use std::str::FromStr;

use invoicing_core::{Timestamp, page_limit};
use sqlx::{ColumnIndex, Decode, FromRow, Row, Type};

use super::rows::{LARGE_LINES, LINES};
use super::versions::{StoredRecord, in_todays_shape};
use crate::Error;
use crate::list_query::PageWindow;
use crate::records::StoredJson;

/// Separator of the items of a page: a comma, and a line end, which no item contains.
const BETWEEN: &[u8] = b",\n";
/// Text before the items.
const START: &[u8] = br#"{"data":["#;
/// Room for the rest of the envelope.
const AROUND: usize = 160;

/// The lines of the items of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lines {
    /// If a page has large lines, its size is returned instead, so that memory can be reserved.
    UnlessLarge,
    All,
}

/// A page as the database returns it, with one item beyond the limit if there is one.
pub(super) struct PageRow {
    /// The envelope up to the last item.
    json: Vec<u8>,
    /// The version of each item's shape, separated by commas.
    versions: Option<String>,
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
            versions: row.try_get("versions")?,
            lines_bytes: row.try_get("lines_bytes")?,
            count: row.try_get("count")?,
            last_stamp: row.try_get("last_stamp")?,
        })
    }
}

impl PageRow {
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The page in today's shape. Drops the item beyond the limit.
    pub(super) fn page<T: StoredRecord>(self, window: PageWindow) -> Result<Page, Error> {
        let Self { mut json, versions, lines_bytes, count, last_stamp } = self;
        let as_of = Timestamp::from_millis(last_stamp.ok_or(Error::NotFound)?);
        let has_more = count > i64::from(window.limit);
        if has_more {
            // Line ends stand only between items, so the last one precedes the extra item.
            let last = memchr::memrchr(BETWEEN[1], &json).unwrap_or(0);
            json.truncate(last.saturating_sub(1));
        }
        let page = Page { json, lines_bytes: numbers(lines_bytes.as_deref())?, window, has_more, as_of };
        page.in_todays_shape::<T>(&numbers(versions.as_deref())?)
    }
}

fn numbers<N: FromStr>(list: Option<&str>) -> Result<Vec<N>, Error> {
    let texts = list.unwrap_or_default().split(',').filter(|text| !text.is_empty());
    let numbers: Option<Vec<N>> = texts.map(|text| text.parse().ok()).collect();
    numbers.ok_or_else(|| Error::internal("a page has a number that is none"))
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
    /// Prints items of older versions in today's shape. If there are none, nothing is parsed.
    fn in_todays_shape<T: StoredRecord>(self, versions: &[i64]) -> Result<Self, Error> {
        if versions.iter().all(|version| *version >= T::VERSION) {
            return Ok(self);
        }
        let mut json = START.to_vec();
        for (item, version) in self.items().zip(versions) {
            if json.len() > START.len() {
                json.extend_from_slice(BETWEEN);
            }
            json.append(&mut in_todays_shape::<T>(item.to_vec(), *version, "of a page")?);
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

    /// The JSON of the page whose items were read with these lines, or its size.
    pub(super) fn with_lines(self, lines: Lines) -> Result<StoredJson, Error> {
        let sizes: Vec<_> = self.items().zip(&self.lines_bytes).collect();
        if sizes.iter().all(|(_, lines_bytes)| **lines_bytes <= LARGE_LINES) {
            return Ok(StoredJson::Whole(self.json()));
        }
        let size = |(item, lines_bytes): &(&[u8], &usize)| match lines {
            Lines::UnlessLarge if **lines_bytes > LARGE_LINES => item.len() + LINES.len() + **lines_bytes,
            _ => item.len(),
        };
        let sizes: Vec<usize> = sizes.iter().map(size).collect();
        page_limit::check(&sizes)?;
        let bytes = AROUND + sizes.iter().map(|bytes| bytes + BETWEEN.len()).sum::<usize>();
        Ok(match lines {
            Lines::UnlessLarge => StoredJson::Large { bytes },
            Lines::All => StoredJson::Whole(self.json()),
        })
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
