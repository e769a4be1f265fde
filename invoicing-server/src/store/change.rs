//! What every change of a company starts from.

use chrono::NaiveDate;
use chrono_tz::Tz;
use invoicing_core::{ChangeTime, Company, Timestamp};

use crate::Error;

/// The company that is being changed, and the instants of the change.
#[derive(Debug, Clone)]
pub(crate) struct CompanyChange {
    pub(crate) company: Company,
    pub(crate) zone: Tz,
    /// The instant on the clock.
    pub(crate) now: Timestamp,
    /// The modification stamp: `max(now, last stamp + 1 ms)`.
    pub(crate) stamp: Timestamp,
}

impl CompanyChange {
    pub(crate) fn new(company: Company, last_stamp: Timestamp, now: Timestamp) -> Result<Self, Error> {
        let zone = company
            .time_zone
            .parse()
            .map_err(|cause| Error::bad_row("company", "record.timeZone", company.id, cause))?;
        Ok(Self { company, zone, now, stamp: Self::next_stamp(last_stamp, now) })
    }

    pub(super) fn next_stamp(last: Timestamp, now: Timestamp) -> Timestamp {
        now.max(Timestamp::from_millis(last.as_millis().saturating_add(1)))
    }

    /// When the change happens.
    pub(crate) fn at(&self) -> ChangeTime {
        ChangeTime { now: self.now, stamp: self.stamp }
    }

    /// The date in the company's time zone. It follows the clock: a clock that once ran ahead has moved the stamps
    /// ahead for good.
    pub(crate) fn today(&self) -> NaiveDate {
        self.date_of(self.now)
    }

    /// The date of an instant in the company's time zone.
    pub(crate) fn date_of(&self, at: Timestamp) -> NaiveDate {
        at.to_chrono().with_timezone(&self.zone).date_naive()
    }
}
