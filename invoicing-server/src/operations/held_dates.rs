//! Warnings about issue dates that are held back.
//!
//! A clock that is set back would date an invoice before the last one of its series, or a credit
//! note before its invoice. The record then gets the date of the other one, until the clock has
//! caught up.

use std::collections::HashMap;

use chrono::NaiveDate;
use invoicing_core::CompanyId;
use parking_lot::Mutex;

/// The day of the last warning of each company.
#[derive(Debug, Default)]
pub(crate) struct HeldDates(Mutex<HashMap<CompanyId, NaiveDate>>);

impl HeldDates {
    /// Warns of an invoice or a credit note that was issued today and has a later date, once per
    /// company and day.
    pub(super) fn check(&self, company: CompanyId, date: NaiveDate, today: NaiveDate) {
        if date > today && self.is_first(company, today) {
            tracing::warn!(%company, %today, %date, "issue has the date of an earlier one: the clock is behind that date");
        }
    }

    fn is_first(&self, company: CompanyId, today: NaiveDate) -> bool {
        self.0.lock().insert(company, today) != Some(today)
    }
}

#[cfg(test)]
mod tests {
    use chrono::Days;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_company_is_warned_once_a_day() {
        let held = HeldDates::default();
        let (one, other) = (CompanyId(Uuid::from_u128(1)), CompanyId(Uuid::from_u128(2)));
        let today = NaiveDate::from_ymd_opt(2026, 9, 14).unwrap();
        assert!(held.is_first(one, today));
        assert!(!held.is_first(one, today));
        assert!(held.is_first(other, today));
        assert!(held.is_first(one, today + Days::new(1)));
    }
}
