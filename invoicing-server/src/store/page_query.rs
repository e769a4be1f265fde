//! The statements of a list.

use invoicing_core::{MAX_PAGE_LIMIT, Timestamp};

use super::connection::{Argument, Query, Sql};
use super::scope::Scope;
use crate::error::Error;
use crate::list_query::{PageWindow, check_limit};

/// The statements of a list of documents. Each returns one row, so a page is one snapshot: see
/// [`PageRow`](super::page_json::PageRow).
///
/// `$1` company, `$2` limit, `$3` offset, `$4` since, `$5` status, `$6` true if items have their
/// lines, `$7` the company's last stamp with which they have large ones too, of more than 8 KiB.
/// Both databases read the size of lines without the lines. The inner select passes lines on, and
/// the outer one prints them: rows that the offset skips are never printed.
///
/// The filters leave the index of the order as the only useful one: `status || ''` keeps `changed`
/// off the index by status, which would require a sort. The aggregate takes the items in the order
/// of its subquery. SQLite keeps that order as there is a limit, and PostgreSQL as it is sorted.
pub(crate) struct PageStatements {
    pub(super) newest: &'static str,
    pub(super) newest_in_status: &'static str,
    pub(super) changed: &'static str,
}

impl Scope<'_> {
    /// A statement of a list: `filters` are its arguments from `$5` on.
    pub(super) fn page_query(
        &mut self,
        window: PageWindow,
        statement: impl Into<Sql>,
        filters: &[&dyn Argument],
    ) -> Result<Query<'_>, Error> {
        check_limit(window.limit, MAX_PAGE_LIMIT)?;
        let offset = i64::try_from(window.offset).unwrap_or(i64::MAX);
        let since = window.since.unwrap_or(Timestamp::EARLIEST);
        let part: [&dyn Argument; 3] = [&window.limit, &offset, &since];
        Ok(self.query(statement, &[&part, filters].concat()))
    }
}
