//! The statements of a list.

use invoicing_core::{MAX_PAGE_LIMIT, Timestamp};

use super::connection::{Argument, Query, Sql};
use super::scope::Scope;
use crate::error::Error;
use crate::list_query::{PageWindow, check_limit};

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
