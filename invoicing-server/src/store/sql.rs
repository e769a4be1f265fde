//! The text of a statement, in the form of each database.

/// A statement that differs between the databases.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sql {
    pub(super) sqlite: &'static str,
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "the form of a database that is left out")
    )]
    pub(super) postgres: &'static str,
}

impl Sql {
    /// A statement that both databases understand.
    pub(super) const fn both(statement: &'static str) -> Self {
        Self { sqlite: statement, postgres: statement }
    }
}

/// As [`Sql::both`].
impl From<&'static str> for Sql {
    fn from(statement: &'static str) -> Self {
        Self::both(statement)
    }
}
