//! Instants as people read them: in the time zone of the company.

use chrono::{Datelike, NaiveDate};
use chrono_tz::Tz;
use invoicing_core::{Company, Timestamp};
use maud::{Markup, html};

use super::Language;

const ENGLISH_MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const FRENCH_MONTHS: [&str; 12] =
    ["janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."];

/// Writes instants for one reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    zone: Tz,
    language: Language,
}

impl Clock {
    /// For the readers of a company. One without a known zone reads UTC.
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
        format!("{} {} {}", day.day(), months[day.month0() as usize], day.year())
    }
}
