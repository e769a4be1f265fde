//! The text of a statement, in the form of each database.

/// A statement that differs between the databases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sql {
    pub(crate) sqlite: &'static str,
    #[cfg_attr(
        not(feature = "postgres"),
        expect(dead_code, reason = "the form of a database that is left out")
    )]
    pub(crate) postgres: &'static str,
}

impl Sql {
    /// A statement that both databases understand.
    pub(crate) const fn both(statement: &'static str) -> Self {
        Self { sqlite: statement, postgres: statement }
    }
}

/// As [`Sql::both`].
impl From<&'static str> for Sql {
    fn from(statement: &'static str) -> Self {
        Self::both(statement)
    }
}
