//! The views in the book.

use invoicing_core::CompanyId;
use invoicing_tests::{Behind, Database};

const REPORTS: &str = include_str!("../../docs/operate-reports.md");
/// The company of the documented queries.
const EXAMPLE: &str = "01994a2e-0c5b-7000-8000-000000000000";

/// A documented view.
pub(super) struct View {
    pub(super) name: &'static str,
    pub(super) columns: Vec<&'static str>,
}

impl View {
    /// Every view, in the order of the document.
    pub(super) fn all() -> Vec<Self> {
        let rows = REPORTS.lines().filter_map(|line| line.strip_prefix("| `report_"));
        let views: Vec<Self> = rows.map(Self::read).collect();
        assert!(views.len() >= 10, "{} views are documented", views.len());
        views
    }

    fn read(row: &'static str) -> Self {
        let (name, rest) = row.split_once('`').unwrap();
        let (_, columns) = rest.trim_end_matches(" |").rsplit_once(" | ").unwrap();
        let columns = columns.split(", ").map(|column| column.trim_matches('`')).collect();
        Self { name, columns }
    }

    /// As statements name it.
    pub(super) fn table(&self) -> String {
        format!("report_{}", self.name)
    }

    /// The rows of all companies, each as a JSON object.
    pub(super) async fn rows(&self, behind: &mut Behind) -> Vec<serde_json::Value> {
        let row = match behind {
            Behind::Sqlite(_) => {
                let members: Vec<_> = self.columns.iter().map(|name| format!("'{name}', {name}")).collect();
                format!("json_object({})", members.join(", "))
            }
            Behind::Postgres(_) => "to_json(v)::text".to_owned(),
        };
        let statement = format!("SELECT {row} FROM {} v", self.table());
        let rows: Vec<String> = behind.all(&statement, &[]).await;
        rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect()
    }
}

/// The meaning of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Id,
    /// A number, and how many of its units make one.
    Number(i64),
    Instant,
    Day,
    Text,
}

impl Kind {
    /// The kind that a column has by its name.
    pub(super) fn of(column: &str) -> Self {
        match column {
            "external_id" | "movement_id" => Self::Text,
            "id" => Self::Id,
            "position" | "attempts" => Self::Number(1),
            "valid_until" | "supplied_on" => Self::Day,
            _ if column.ends_with("_id") => Self::Id,
            _ if column.ends_with("_cents") || column.ends_with("_bp") => Self::Number(100),
            _ if column.ends_with("_e4") => Self::Number(10_000),
            _ if column.ends_with("_at") => Self::Instant,
            _ if column.ends_with("_date") => Self::Day,
            _ => Self::Text,
        }
    }

    /// The type of its columns: in PostgreSQL; that of the stored values in SQLite.
    pub(super) fn type_in(self, database: Database) -> &'static str {
        match self {
            Self::Id => database.either("text", "uuid"),
            Self::Number(_) => database.either("integer", "bigint"),
            Self::Instant => database.either("text", "timestamp with time zone"),
            Self::Day => database.either("text", "date"),
            Self::Text => "text",
        }
    }
}

/// The documented queries, for this company.
pub(super) fn queries(company: CompanyId) -> Vec<String> {
    let queries: Vec<_> = REPORTS
        .split("```sql\n")
        .skip(1)
        .map(|rest| rest.split_once(";\n```").unwrap().0.replace(EXAMPLE, &company.to_string()))
        .collect();
    assert!(queries.len() >= 5 && queries.iter().all(|query| !query.contains(EXAMPLE)));
    queries
}
