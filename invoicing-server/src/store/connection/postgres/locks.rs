//! Names that processes share in a PostgreSQL database: advisory locks, and the table of a copy.

/// Advisory locks. The first half is the same for all of ours, so that a host can distinguish them
/// from its own.
const LOCKS: i64 = 0x696e_766f << 32;
pub(crate) const MIGRATION_LOCK: i64 = LOCKS | 1;
pub(crate) const SERVICE_LOCK: i64 = LOCKS | 2;
pub(crate) const SWEEP_LOCK: i64 = LOCKS | 3;

/// True if there is a table. A query sees tables that are committed by now; `to_regclass` may
/// answer from the catalogue as the session saw it before it waited for a lock.
pub(crate) const TABLE_EXISTS: &str =
    "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = $1 AND pg_table_is_visible(oid))";
/// The table that exists while a copy into the database is in progress. No migration creates it.
pub(crate) const COPY: &str = "invoicing_copy";
