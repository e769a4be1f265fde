//! Lists for people: newest first, each page behind the last record of the one before. Records
//! that are added meanwhile stand before that one, so each earlier record is on exactly one page.

use invoicing_core::Timestamp;
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::Argument;
use super::scope::Scope;
use super::versions::{self, StoredRecord};
use crate::error::Error;
use crate::list_query::check_limit;

/// Number of records that a page with a search looks at, and number of them that are read at once.
const LOOKED_AT: usize = 10_000;
const BATCH: u32 = 500;
/// Maximum number of records of a page.
const MAX_PAGE: u32 = 100;

/// The statements of a list. Each is led by an index and sorts nothing.
///
/// `$1` company, `$2` and `$3` instant and id of the record behind which it reads, `$4` limit, `$5`
/// status.
pub(super) struct NewestStatements {
    pub(super) all: &'static str,
    pub(super) in_status: &'static str,
    /// The instant of the record with the id `$2`.
    pub(super) created_at: &'static str,
}

/// True if a search finds the summary with this id.
pub(super) type Search<'s> = dyn Fn(&str, Uuid) -> Result<bool, Error> + Sync + 's;

/// A part of the requested list.
pub(super) struct NewestQuery<'q> {
    pub(super) status: Option<&'static str>,
    /// The record behind which the page begins.
    pub(super) after: Option<Uuid>,
    pub(super) limit: u32,
    /// The search; `None` for all records.
    pub(super) is_found: Option<&'q Search<'q>>,
}

#[derive(FromRow)]
struct SummaryRow {
    id: Uuid,
    created_at: i64,
    record: String,
    version: i64,
}

/// The record behind which the next ones are read.
#[derive(Clone, Copy)]
struct Place {
    created_at: Timestamp,
    id: Uuid,
}

impl Scope<'_> {
    /// A page of summaries, and the record behind which the next one begins.
    ///
    /// # Errors
    /// [`Error::NotFound`] if `after` is no record of the list.
    pub(super) async fn newest<T: StoredRecord>(
        &mut self,
        statements: &NewestStatements,
        query: NewestQuery<'_>,
    ) -> Result<(Vec<T>, Option<Uuid>), Error> {
        check_limit(query.limit, MAX_PAGE)?;
        let mut place = self.place(statements, query.after).await?;
        let (mut items, mut last_item, mut looked_at) = (Vec::new(), None, 0);
        let batch = if query.is_found.is_some() { BATCH } else { query.limit + 1 };
        loop {
            let rows = self.rows_behind(statements, query.status, place, batch).await?;
            for row in &rows {
                if !query.is_found.map_or(Ok(true), |is_found| is_found(&row.record, row.id))? {
                    continue;
                }
                if items.len() == query.limit as usize {
                    return Ok((items, last_item));
                }
                items.push(versions::read(row.record.as_bytes(), row.version, row.id)?);
                last_item = Some(row.id);
            }
            looked_at += rows.len();
            match rows.last() {
                Some(last) if rows.len() == batch as usize => {
                    place = Place { created_at: Timestamp::from_millis(last.created_at), id: last.id };
                }
                _ => return Ok((items, None)),
            }
            if looked_at >= LOOKED_AT {
                return Ok((items, Some(place.id)));
            }
        }
    }

    async fn place(&mut self, statements: &NewestStatements, after: Option<Uuid>) -> Result<Place, Error> {
        let Some(id) = after else {
            return Ok(Place { created_at: Timestamp::from_millis(i64::MAX), id: Uuid::max() });
        };
        let created_at: Option<i64> = self.query(statements.created_at, &[&id]).optional_scalar().await?;
        Ok(Place { created_at: Timestamp::from_millis(created_at.ok_or(Error::NotFound)?), id })
    }

    async fn rows_behind(
        &mut self,
        statements: &NewestStatements,
        status: Option<&'static str>,
        behind: Place,
        limit: u32,
    ) -> Result<Vec<SummaryRow>, Error> {
        let part: [&dyn Argument; 3] = [&behind.created_at, &behind.id, &limit];
        let query = match &status {
            None => self.query(statements.all, &part),
            Some(status) => self.query(statements.in_status, &[&part[..], &[status]].concat()),
        };
        Ok(query.fetch_all().await?)
    }
}
