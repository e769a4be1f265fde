//! Instants as people read them: in the time zone of the company.

use chrono::{Datelike, NaiveDate, NaiveDateTime, TimeDelta, TimeZone};
use chrono_tz::Tz;
use invoicing_core::{Company, Invalid, Rule, Timestamp};
use maud::{Markup, html};

use super::Language;

const ENGLISH_MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const FRENCH_MONTHS: [&str; 12] =
    ["janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."];

/// Writes instants for one reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct LocalClock {
    zone: Tz,
    language: Language,
}

impl LocalClock {
    /// A clock in the company's time zone, or in UTC if that zone is unknown.
    pub(super) fn of(company: &Company, language: Language) -> Self {
        Self { zone: company.time_zone.parse().unwrap_or(Tz::UTC), language }
    }

    /// `14 Sep 2026, 11:41:07`, with the exact instant for machines.
    pub(super) fn show(self, at: Timestamp) -> Markup {
        html! { time datetime=(at) title=(at) { (self.text(at)) } }
    }

    pub(super) fn text(self, at: Timestamp) -> String {
        let local = at.to_chrono().with_timezone(&self.zone);
        let (separator, time) = (self.language.pick(",", " à"), local.format("%H:%M:%S"));
        format!("{}{separator} {time}", self.day_text(&local))
    }

    /// `14 Sep 2026`, with the exact instant for machines.
    pub(super) fn show_day(self, at: Timestamp) -> Markup {
        let local = at.to_chrono().with_timezone(&self.zone);
        html! { time datetime=(at) title=(at) { (self.day_text(&local)) } }
    }

    /// A date, in the zone that it was entered for.
    pub(super) fn date(self, date: NaiveDate) -> Markup {
        html! { time datetime=(date) { (self.day_text(&date)) } }
    }

    fn day_text(self, day: &impl Datelike) -> String {
        let months = match self.language {
            Language::English => ENGLISH_MONTHS,
            Language::French => FRENCH_MONTHS,
        };
        let number = match (self.language, day.day()) {
            (Language::French, 1) => "1er".to_owned(),
            (_, number) => number.to_string(),
        };
        format!("{number} {} {}", months[day.month0() as usize], day.year())
    }

    /// True if two instants are on one day.
    pub(super) fn is_same_day(self, one: Timestamp, other: Timestamp) -> bool {
        let day = |at: Timestamp| at.to_chrono().with_timezone(&self.zone).date_naive();
        day(one) == day(other)
    }

    /// The zone, as `Europe/Paris`.
    pub(super) fn zone(self) -> &'static str {
        self.zone.name()
    }

    /// Reads the value of a field of the type `datetime-local`, in the zone. A time that comes
    /// twice stands for its first instant, and a time that is left out in spring for the one an
    /// hour later.
    pub(super) fn read_local(self, text: &str) -> Result<Timestamp, Invalid> {
        let local = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%.f"]
            .iter()
            .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
            .filter(|_| text.starts_with(|first: char| first.is_ascii_digit()));
        let local = local.ok_or_else(|| Invalid::new("time", Rule::LocalTime))?;
        let instant = |local: NaiveDateTime| self.zone.from_local_datetime(&local).earliest();
        let instant = instant(local).or_else(|| instant(local + TimeDelta::hours(1)));
        Ok(instant.map_or(Timestamp::EARLIEST, |at| Timestamp::from_millis(at.timestamp_millis())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_day_of_a_month_is_written_as_in_the_document() {
        let day = NaiveDate::from_ymd_opt(2026, 3, 1).unwrap();
        let text = |language| LocalClock { zone: Tz::UTC, language }.day_text(&day);
        assert_eq!([text(Language::French), text(Language::English)], ["1er mars 2026", "1 Mar 2026"]);
    }

    #[test]
    fn local_times_are_read_in_the_zone_of_the_company() {
        let clock = LocalClock { zone: Tz::Europe__Paris, language: Language::English };
        for (text, instant) in [
            ("2026-09-14T09:41", "2026-09-14T07:41:00.000Z"),
            ("2026-09-14T09:41:07", "2026-09-14T07:41:07.000Z"),
            ("2026-09-14T09:41:07.123", "2026-09-14T07:41:07.123Z"),
            // Twice, in autumn.
            ("2026-10-25T02:30", "2026-10-25T00:30:00.000Z"),
            // Left out, in spring.
            ("2026-03-29T02:30", "2026-03-29T01:30:00.000Z"),
        ] {
            assert_eq!(clock.read_local(text).unwrap().to_string(), instant, "{text}");
        }
        for text in
            ["", "2026-09-14", "09:41", "2026-02-30T09:41", "+26026-09-14T09:41", "-1-09-14T09:41", "x"]
        {
            clock.read_local(text).unwrap_err();
        }
    }
}
