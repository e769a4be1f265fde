//! What the statements of a company's tables run on.

use invoicing_core::CompanyId;

use super::arguments::Argument;
use super::connection::Connection;
use super::query::{Query, Sql};

/// A connection, and the company whose records may be reached with it.
pub(crate) struct Scope<'c> {
    pub(super) connection: &'c mut Connection,
    pub(super) company: CompanyId,
}

impl Scope<'_> {
    /// A statement: `$1` is the company, `$2` the first of the arguments.
    pub(super) fn query(&mut self, statement: impl Into<Sql>, arguments: &[&dyn Argument]) -> Query<'_> {
        self.connection
            .bind(statement.into(), [&self.company as _].into_iter().chain(arguments.iter().copied()))
    }

    /// To be called when the settings or the webhooks of the company are written.
    pub(super) fn forget(&mut self) {
        if let Some(cache) = self.connection.write_cache() {
            cache.forget(self.company);
        }
    }
}
