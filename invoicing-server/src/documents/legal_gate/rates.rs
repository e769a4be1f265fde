//! The VAT rates of France, each with the place and the days on which it is in force.

use chrono::NaiveDate;
use invoicing_core::Percent;
use rust_decimal::Decimal;

use crate::documents::territory::Territory;

/// A rate.
struct Rate {
    /// Hundredths of a percent.
    hundredths: i64,
    place: Place,
    /// First and last year, month and day.
    from: Day,
    until: Option<Day>,
}

type Day = (i32, u32, u32);

/// The place in which a rate is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    France,
    Corsica,
    Overseas,
}

/// CGI, art. 278 to 281 nonies (France), 297 (Corsica), 296 and BOI-TVA-GEO-20-10 (overseas).
const RATES: [Rate; 14] = [
    rate(2_000, Place::France, (2014, 1, 1), None),
    rate(1_960, Place::France, (2000, 4, 1), Some((2013, 12, 31))),
    rate(2_060, Place::France, (1995, 8, 1), Some((2000, 3, 31))),
    rate(1_000, Place::France, (2014, 1, 1), None),
    rate(700, Place::France, (2012, 1, 1), Some((2013, 12, 31))),
    rate(550, Place::France, (1982, 7, 1), None),
    rate(210, Place::France, (1986, 7, 1), None),
    rate(1_300, Place::Corsica, (1986, 7, 1), None),
    rate(800, Place::Corsica, (1986, 7, 1), Some((2013, 12, 31))),
    rate(90, Place::Corsica, (1986, 7, 1), None),
    rate(850, Place::Overseas, (2000, 4, 1), None),
    rate(950, Place::Overseas, (1995, 8, 1), Some((2000, 3, 31))),
    rate(175, Place::Overseas, (1986, 7, 1), None),
    rate(105, Place::Overseas, (1986, 7, 1), None),
];

const fn rate(hundredths: i64, place: Place, from: Day, until: Option<Day>) -> Rate {
    Rate { hundredths, place, from, until }
}

impl Rate {
    fn is(&self, rate: Percent, day: NaiveDate) -> bool {
        let date = |(year, month, day)| NaiveDate::from_ymd_opt(year, month, day);
        rate.get() == Decimal::new(self.hundredths, 2)
            && date(self.from) <= Some(day)
            && self.until.is_none_or(|until| Some(day) <= date(until))
    }
}

/// True if a rate is in force anywhere in France on a day. Zero is no rate.
pub(super) fn is_in_force(rate: Percent, day: NaiveDate) -> bool {
    rate.is_zero() || RATES.iter().any(|known| known.is(rate, day))
}

/// True if a rate that is in force on a day is so only in another part of France than the client's.
/// An address does not say whether it is in Corsica.
pub(super) fn is_elsewhere(rate: Percent, day: NaiveDate, client: Territory) -> bool {
    let places: Vec<_> = RATES.iter().filter(|known| known.is(rate, day)).map(|known| known.place).collect();
    let is_at_home = |place: &Place| match place {
        Place::France => true,
        Place::Corsica => false,
        Place::Overseas => client == Territory::Overseas,
    };
    !places.is_empty() && !places.iter().any(is_at_home)
}
