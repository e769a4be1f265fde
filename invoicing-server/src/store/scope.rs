//! What the statements of a table run on.

use invoicing_core::CompanyId;

use super::connection::Connection;

/// A connection, and the company whose records may be reached with it.
pub(crate) struct Scope<'c> {
    pub(super) connection: &'c mut Connection,
    pub(super) company: CompanyId,
}
