//! What tells whether a read replica shows the same as its primary.

#[cfg(feature = "postgres")]
use invoicing_core::Timestamp;

#[cfg(feature = "postgres")]
use super::locks::COPY;
#[cfg(feature = "postgres")]
use super::migrate::KNOWN_POSTGRES;

/// The state of a company on a PostgreSQL server: its last stamp, and the timeline that it belongs to. Two servers that give
/// the same one show the same records, as each change of a company on a timeline has a stamp of its own.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConsistencyToken {
    pub(super) stamp: Timestamp,
    pub(super) timeline: i64,
}

#[cfg(feature = "postgres")]
impl ConsistencyToken {
    /// Of a primary, whose timeline is the first part of the name of the file that it writes to. `None` without one.
    pub(super) fn of_primary(stamp: Timestamp, wal_file: Option<&str>) -> Option<Self> {
        let timeline = u32::from_str_radix(wal_file?.get(..8)?, 16).ok()?;
        Some(Self { stamp, timeline: timeline.into() })
    }

    /// Of a replica. `None` where it may give no page.
    pub(super) fn of_replica(stamp: Timestamp, timeline: Option<i64>) -> Option<Self> {
        Some(Self { stamp, timeline: timeline? })
    }
}

/// Without PostgreSQL there is none.
#[cfg(not(feature = "postgres"))]
#[derive(Debug, Clone, Copy)]
pub(crate) enum ConsistencyToken {}

/// A statement of one page, to which a replica adds its timeline: none where it may give no page, as it is no standby, lacks
/// a migration, or is in the middle of a copy, which stores companies with their stamps before their records. `pg_class` is
/// read in the snapshot of the page.
#[cfg(feature = "postgres")]
pub(super) fn with_timeline(statement: &str) -> String {
    format!(
        "SELECT page.*,
            CASE WHEN pg_is_in_recovery() AND (SELECT max(version) FROM invoicing_migration) >= {KNOWN_POSTGRES}
                AND NOT EXISTS (SELECT FROM pg_class WHERE relname = '{COPY}') THEN
                (SELECT timeline_id FROM pg_control_checkpoint())::bigint
            END AS timeline
        FROM ({statement}) page"
    )
}
