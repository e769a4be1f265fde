//! Calendar dates that `YYYY-MM-DD` can write.
//!
//! The caller passes the date of today in a company's time zone, as this crate has no time zone
//! data.

use chrono::{Datelike, Days, NaiveDate};

use crate::{Invalid, Rule};

/// Refuses a date outside the years 0 to 9999: it would not be written with four digits.
pub(crate) fn check_date(field: &'static str, date: NaiveDate) -> Result<NaiveDate, Invalid> {
    if (0..=9_999).contains(&date.year()) {
        return Ok(date);
    }
    Err(Invalid::new(field, Rule::DateOutOfRange))
}

/// The date `days` days later.
pub(crate) fn days_after(field: &'static str, date: NaiveDate, days: u64) -> Result<NaiveDate, Invalid> {
    check_date(field, date.checked_add_days(Days::new(days)).unwrap_or(NaiveDate::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_that_cannot_be_written_is_refused() {
        let last = NaiveDate::from_ymd_opt(9_999, 12, 31).unwrap();
        assert_eq!(check_date("dueDate", last), Ok(last));
        assert!(days_after("dueDate", last, 1).unwrap_err().to_string().starts_with("dueDate: "));
        assert!(days_after("dueDate", NaiveDate::MAX, u64::MAX).is_err());
        assert!(check_date("dueDate", NaiveDate::MIN).is_err());
        let leap = NaiveDate::from_ymd_opt(2_028, 2, 28).unwrap();
        assert_eq!(days_after("dueDate", leap, 2).unwrap().to_string(), "2028-03-01");
    }
}
