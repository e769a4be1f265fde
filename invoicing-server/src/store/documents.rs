//! Quotes, invoices and credit notes. Each kind has a table of its own, and its statements are
//! those of [`statements`]; a kind adds the statements about what only it has.

mod kinds;
mod statements;

use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

use invoicing_core::{Line, Timestamp};
use serde::Serialize;
use uuid::Uuid;

use self::statements::{Columns, Statements};
use super::connection::{Argument, Cell, ReadSet};
use super::frozen_files::{FoundFileRow, FrozenFileRow};
#[cfg(feature = "console")]
use super::newest::NewestQuery;
use super::page_json::PageRow;
use super::rows::{JsonParts, LARGE_LINES, detail_to_json, summary_to_json, to_json};
use super::scope::Scope;
use super::versions::{self, RecordRow, StoredRecord};
use crate::error::Error;
use crate::list_query::PageQuery;
use crate::records::{Lines, StoredJson, StoredPage};

/// A kind of document.
pub(crate) trait StoredDocument: StoredRecord + Send + Sync + 'static {
    type Id: Cell + Copy + Send + Display + FromStr + From<Uuid> + Into<Uuid>;
    /// The part that a list shows.
    type Summary: StoredRecord + Send + Sync + 'static;
    /// The part that only the whole document shows.
    type Detail: Serialize + Sync + 'static;

    /// Its name in the middle of a sentence.
    const NAME: &'static str;

    /// Its columns besides those of each kind.
    const COLUMNS: Columns<Self>;

    /// The statements on its table.
    fn statements() -> &'static Statements;

    /// Its parts, in the order of its JSON.
    fn parts(&self) -> (&Self::Summary, &[Line], &Self::Detail);

    fn id(summary: &Self::Summary) -> &Self::Id;

    fn updated_at(summary: &Self::Summary) -> Timestamp;
}

/// The documents of one kind that a company has.
pub(crate) struct DocumentTable<'c, D> {
    pub(super) scope: Scope<'c>,
    kind: PhantomData<fn() -> D>,
}

/// The parts of a document, without its lines if they are large.
#[derive(sqlx::FromRow)]
struct SizedParts {
    #[sqlx(flatten)]
    parts: JsonParts,
    lines_bytes: i64,
}

impl<'c, D: StoredDocument> DocumentTable<'c, D> {
    pub(super) fn new(scope: Scope<'c>) -> Self {
        Self { scope, kind: PhantomData }
    }

    /// A page of the list as the JSON envelope of the API.
    ///
    /// # Errors
    /// [`Error::Invalid`] about `limit` if the page would be too large.
    pub(crate) async fn page<S: Copy + Into<&'static str>>(
        &mut self,
        query: &PageQuery<S>,
        lines: Lines,
    ) -> Result<StoredPage, Error> {
        let pages = &D::statements().pages;
        let statement = match (query.window.since, query.status) {
            (None, None) => pages.newest,
            (None, Some(_)) => pages.newest_in_status,
            (Some(_), _) => pages.changed,
        };
        let status = query.status.map(Into::into);
        let as_of = match lines {
            Lines::UnlessLarge => None,
            Lines::AsOf(stamp) => Some(stamp),
        };
        let filters: [&dyn Argument; 3] = [&status, &query.include_lines, &as_of];
        let row: PageRow = self.scope.page_query(query.window, statement, &filters)?.fetch_one().await?;
        let page = row.page(query.window)?;
        if query.include_lines { page.with_lines(lines) } else { Ok(StoredPage::Whole(page.json())) }
    }

    /// A page of the list for people, and the document behind which the next one begins.
    #[cfg(feature = "console")]
    pub(crate) async fn newest(
        &mut self,
        status: Option<&'static str>,
        after: Option<D::Id>,
        limit: u32,
    ) -> Result<(Vec<D::Summary>, Option<D::Id>), Error> {
        let query = NewestQuery { status, after: after.map(Into::into), limit, is_found: None };
        let (items, next) = self.scope.newest(&D::statements().newest, query).await?;
        Ok((items, next.map(Into::into)))
    }

    /// The document as the JSON of the API.
    pub(crate) async fn detail(&mut self, id: D::Id) -> Result<Vec<u8>, Error> {
        Ok(self.json_parts(id).await?.detail())
    }

    /// As [`Self::detail`], unless its lines are large: then only the size.
    pub(crate) async fn small_detail(&mut self, id: D::Id) -> Result<StoredJson, Error> {
        let found = self.scope.query(D::statements().small_detail, &[&id]).fetch_optional().await?;
        let SizedParts { parts, lines_bytes } = found.ok_or(Error::NotFound)?;
        Ok(match usize::try_from(lines_bytes) {
            Ok(bytes) if bytes > LARGE_LINES => StoredJson::Large { bytes },
            _ => StoredJson::Whole(parts.detail()),
        })
    }

    pub(crate) async fn find(&mut self, id: D::Id) -> Result<D, Error> {
        let parts = self.json_parts(id).await?;
        versions::read(&parts.detail(), parts.version, id)
    }

    async fn json_parts(&mut self, id: D::Id) -> Result<JsonParts, Error> {
        let parts: Option<JsonParts> = self.scope.find(&D::statements().find, id.into()).await?;
        parts.ok_or(Error::NotFound)
    }

    /// The document without lines and detail.
    pub(crate) async fn find_summary(&mut self, id: D::Id) -> Result<D::Summary, Error> {
        let row: Option<RecordRow> = self.scope.find(&D::statements().find_summary, id.into()).await?;
        row.ok_or(Error::NotFound)?.read(id)
    }

    /// The latest frozen file of the document; `None` if it has none.
    pub(crate) async fn latest_file(&mut self, id: D::Id) -> Result<Option<FrozenFileRow>, Error> {
        let row: Option<FoundFileRow> =
            self.scope.query(D::statements().latest_file, &[&id]).fetch_optional().await?;
        Ok(row.ok_or(Error::NotFound)?.file())
    }

    /// [`Error::NotFound`] if there is no such document.
    pub(crate) async fn check_exists(&mut self, id: D::Id) -> Result<(), Error> {
        let found: Option<i64> = self.scope.query(D::statements().exists, &[&id]).optional_scalar().await?;
        found.map(drop).ok_or(Error::NotFound)
    }

    /// Inserts a document. `beside` are the cells that only its kind has.
    pub(super) async fn insert_with(&mut self, document: &D, beside: &[&dyn Cell]) -> Result<(), Error> {
        let columns = D::COLUMNS;
        let (summary, lines, detail) = document.parts();
        let (summary_json, detail_json) = (summary_to_json(summary)?, detail_to_json(detail)?);
        let lines = to_json(&lines)?;
        let mut cells: Vec<&dyn Cell> = vec![D::id(summary)];
        cells.extend(columns.of_summary().map(|column| (column.cell)(summary)));
        cells.extend(columns.of_detail.iter().map(|column| (column.cell)(detail)));
        cells.extend([&summary_json as &dyn Cell, &lines, &detail_json]);
        cells.extend(beside);
        cells.push(&D::VERSION);
        debug_assert_eq!(1 + cells.len(), columns.inserted().len(), "{}: the cells of a new row", D::TABLE);
        self.scope.write(&D::statements().insert, &cells).await
    }

    /// Stores the summary, and the detail if it changes, of a document whose lines stay.
    pub(crate) async fn update(
        &mut self,
        summary: &D::Summary,
        detail: Option<&D::Detail>,
    ) -> Result<(), Error> {
        let columns = D::COLUMNS;
        let summary_json = summary_to_json(summary)?;
        let detail_json = detail.map(detail_to_json).transpose()?;
        let mut cells: Vec<&dyn Cell> = vec![D::id(summary)];
        cells.extend(columns.changing.iter().map(|column| (column.cell)(summary)));
        let of_detail = columns.of_detail.iter();
        cells.extend(of_detail.map(|column| detail.map_or(column.kind.null(), column.cell)));
        cells.extend([&summary_json as &dyn Cell, &detail_json, &D::VERSION]);
        self.scope.write(&D::statements().update, &cells).await
    }

    /// The document as it stands. `known` is an earlier state. If the document has not changed, its
    /// lines are not read again: that takes long if they are large.
    pub(crate) async fn reload_if_changed(&mut self, id: D::Id, known: Option<D>) -> Result<D, Error> {
        let Some(known) = known else { return self.find(id).await };
        let reads = ReadSet::Record(D::TABLE, id.into());
        let find = self.scope.query_of(reads, D::statements().updated_at, &[&id]);
        let stamp: Option<i64> = find.optional_scalar().await?;
        if stamp.ok_or(Error::NotFound)? == D::updated_at(known.parts().0).as_millis() {
            return Ok(known);
        }
        self.find(id).await
    }
}
