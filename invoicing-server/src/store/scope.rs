//! A connection plus the company bound as `$1`.

use invoicing_core::CompanyId;
use uuid::Uuid;

use super::connection::prefetch::Find;
use super::connection::{Argument, Cell, Connection, Query, ReadSet, Row, Sql, Write};
use crate::error::Error;

/// A connection, and the company whose records may be reached with it.
pub(crate) struct Scope<'c> {
    pub(super) connection: &'c mut Connection,
    pub(super) company: CompanyId,
}

impl Scope<'_> {
    /// A statement: `$1` is the company, `$2` the first of the arguments.
    pub(super) fn query(&mut self, statement: impl Into<Sql>, arguments: &[&dyn Argument]) -> Query<'_> {
        self.query_of(ReadSet::Anything, statement, arguments)
    }

    /// As [`Self::query`], for a statement that reads only `reads`.
    pub(super) fn query_of(
        &mut self,
        reads: ReadSet,
        statement: impl Into<Sql>,
        arguments: &[&dyn Argument],
    ) -> Query<'_> {
        let company: &dyn Argument = &self.company;
        let arguments = [company].into_iter().chain(arguments.iter().copied());
        self.connection.bind(statement.into(), arguments, reads)
    }

    /// The row of a record, which may have been prefetched with the beginning of the transaction.
    pub(super) async fn find<R: Row>(
        &mut self,
        find: &'static Find,
        id: Uuid,
    ) -> Result<Option<R>, sqlx::Error> {
        #[cfg(feature = "postgres")]
        if let Connection::Postgres(session, _) = &*self.connection
            && let Some(row) = session.prefetched(find, self.company, id)
        {
            return R::from_row(row).map(Some);
        }
        self.query_of(ReadSet::Record(find.table, id), find.sql, &[&id]).fetch_optional().await
    }

    /// A write that may wait for the end of the operation. `$1` is the company, `$2` the first of
    /// the arguments.
    pub(super) async fn write(
        &mut self,
        write: &'static Write,
        arguments: &[&dyn Cell],
    ) -> Result<(), Error> {
        let company: &dyn Cell = &self.company;
        self.connection.write(write, &[&[company], arguments].concat()).await
    }

    /// Makes the reads up to [`Self::end_snapshot`] see one snapshot. The caller must call that
    /// also after an error.
    pub(crate) async fn begin_snapshot(&mut self) -> Result<(), Error> {
        Ok(self.connection.begin_snapshot().await?)
    }

    pub(crate) async fn end_snapshot(&mut self) -> Result<(), Error> {
        Ok(self.connection.end_transaction().await?)
    }

    /// Drops the company from the cache. Must be called when the settings or the webhooks of the
    /// company are written.
    pub(super) fn forget(&mut self) {
        if let Some(cache) = self.connection.write_cache() {
            cache.forget(self.company);
        }
    }
}
