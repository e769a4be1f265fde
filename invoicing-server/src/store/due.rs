//! Records that fall due, in the order in which the sweep takes them.

use chrono::NaiveDate;
use sqlx::FromRow;
use uuid::Uuid;

/// A record, and its last day before it falls due.
#[derive(Debug, Clone, Copy, FromRow)]
pub(crate) struct DueRecord {
    pub(super) day: NaiveDate,
    pub(crate) id: Uuid,
}

impl DueRecord {
    /// A position before all records: none has a date before the year 0.
    pub(crate) const BEFORE_ALL: Self = Self { day: FIRST_DAY, id: Uuid::nil() };
}

const FIRST_DAY: NaiveDate = match NaiveDate::from_yo_opt(0, 1) {
    Some(day) => day,
    None => NaiveDate::MIN,
};
