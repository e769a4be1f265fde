//! Instants in the form of the contract: RFC 3339, UTC, three decimals, `Z`.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, FixedOffset, SecondsFormat};
use serde::{Deserialize, Serialize};

/// An instant with millisecond precision, between the years 0 and 9999.
///
/// Stored and shown with the same precision, so that a value that was read can be sent back as
/// `since` without loss.
///
/// ```
/// use invoicing_core::Timestamp;
///
/// let at: Timestamp = "2026-09-14T11:41:07.123+02:00".parse()?;
/// assert_eq!(at.to_string(), "2026-09-14T09:41:07.123Z");
/// assert_eq!(at.plus_millis(877).as_seconds() - at.as_seconds(), 1);
/// # Ok::<(), invoicing_core::ParseTimestampError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// `0000-01-01T00:00:00.000Z` in milliseconds since 1970.
const MIN: i64 = -62_167_219_200_000;
/// `9999-12-31T23:59:59.999Z` in milliseconds since 1970.
const MAX: i64 = 253_402_300_799_999;

impl Timestamp {
    /// The earliest instant that can be written.
    pub const EARLIEST: Self = Self(MIN);

    /// Milliseconds since 1970-01-01T00:00:00Z. Values outside the years 0 to 9999 are brought to
    /// the nearest end.
    pub const fn from_millis(millis: i64) -> Self {
        Self(if millis < MIN {
            MIN
        } else if millis > MAX {
            MAX
        } else {
            millis
        })
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down: the `t` of a signature.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// This instant moved by a number of milliseconds.
    #[must_use]
    pub const fn plus_millis(self, millis: i64) -> Self {
        Self::from_millis(self.0.saturating_add(millis))
    }

    /// The instant as a value of chrono, from which callers compute the calendar date in a time
    /// zone.
    pub fn to_chrono(self) -> DateTime<chrono::Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }
}

/// The text is not an instant with date, time and time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an instant with date, time and time zone, such as 2026-09-14T09:41:07.123Z")]
#[non_exhaustive]
pub struct ParseTimestampError;

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    /// Reads ISO 8601 with date, time and zone: `Z`, `+02:00`, `+0200` or `+02`, with or without
    /// seconds, a fraction behind `.` or `,`, a space instead of the `T`, and one before the
    /// offset. Digits beyond the millisecond round up, so that `since` never shows a record that is
    /// older than the given instant.
    fn from_str(text: &str) -> Result<Self, ParseTimestampError> {
        let instant = read(&to_rfc_3339(text).ok_or(ParseTimestampError)?)?;
        in_range(instant.timestamp_millis() + i64::from(is_finer(text)))
    }
}

/// True if a digit beyond the millisecond is not 0. Looks at the text, as chrono drops digits
/// beyond the ninth.
fn is_finer(text: &str) -> bool {
    let fraction = text.split_once(['.', ',']).map_or("", |(_, fraction)| fraction);
    fraction.bytes().take_while(u8::is_ascii_digit).skip(3).any(|digit| digit != b'0')
}

/// Adds the parts that other forms of ISO 8601 leave out. Any other text stays unreadable.
fn to_rfc_3339(text: &str) -> Option<String> {
    /// Length of `2026-09-14T09:41`.
    const MINUTES: usize = 16;
    /// Length of `2026-09-14`.
    const DATE: usize = 10;
    let (minutes, rest) = text.split_at_checked(MINUTES)?;
    let (date, time) = minutes.split_at_checked(DATE)?;
    // Databases and languages print a space, such as `str` in Python and `to_s` in Ruby.
    let minutes = time.strip_prefix(' ').map_or_else(|| minutes.to_owned(), |time| format!("{date}T{time}"));
    let (seconds, zone) = rest.split_at(rest.find(['Z', 'z', '+', '-', '\u{2212}'])?);
    let seconds = seconds.strip_suffix(' ').unwrap_or(seconds);
    let seconds = if seconds.is_empty() { ":00".to_owned() } else { seconds.replacen(',', ".", 1) };
    let (hours, zone_minutes) = zone.split_at_checked(3).unwrap_or((zone, ""));
    let separator = if zone.len() == 5 { ":" } else { "" };
    let zone_minutes = if zone.len() == 3 { ":00" } else { zone_minutes };
    Some(format!("{minutes}{seconds}{hours}{separator}{zone_minutes}"))
}

/// Reads RFC 3339.
fn read(text: &str) -> Result<DateTime<FixedOffset>, ParseTimestampError> {
    // chrono also reads a space or an underscore in place of the `T`; the contract does not.
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't')) {
        return Err(ParseTimestampError);
    }
    DateTime::parse_from_rfc3339(text).map_err(|_| ParseTimestampError)
}

fn in_range(millis: i64) -> Result<Timestamp, ParseTimestampError> {
    if (MIN..=MAX).contains(&millis) { Ok(Timestamp(millis)) } else { Err(ParseTimestampError) }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_chrono().to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

/// Shows the instant in its printed form.
impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Digits beyond the millisecond round down: a stamp that was read, such as `asOf`, is never later
/// than the written one, so that no change lies between the two when it is sent back as `since`.
impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        read(&text).and_then(|instant| in_range(instant.timestamp_millis())).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rules: WIRE-2
    #[test]
    fn instants_have_three_decimals_and_z() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(format!("{:?}", Timestamp::from_millis(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(MIN).to_string(), "0000-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    }

    /// Rules: LIST-11
    #[test]
    fn offsets_are_read_and_finer_digits_round_up() {
        let noon: Timestamp = "2026-09-14T12:00:00+02:00".parse().unwrap();
        assert_eq!(noon.to_string(), "2026-09-14T10:00:00.000Z");
        let finer: Timestamp = "2026-09-14T10:00:00.0001Z".parse().unwrap();
        assert_eq!(finer, noon.plus_millis(1));
        let finest: Timestamp = "2026-09-14T10:00:00.00000000001Z".parse().unwrap();
        assert_eq!(finest, noon.plus_millis(1));
        let exact: Timestamp = "2026-09-14T10:00:00.00000000000Z".parse().unwrap();
        assert_eq!(exact, noon);
    }

    /// Rules: LIST-11
    #[test]
    fn the_forms_of_iso_8601_that_programs_print_are_read() {
        for (text, instant) in [
            // PHP, `DATE_ISO8601`
            ("2026-09-14T09:41:07+0200", "2026-09-14T07:41:07.000Z"),
            // Java, `OffsetDateTime` at a full minute
            ("2026-09-14T09:41Z", "2026-09-14T09:41:00.000Z"),
            ("2026-09-14T09:41+02:00", "2026-09-14T07:41:00.000Z"),
            // Python, `isoformat` with microseconds
            ("2026-09-14T09:41:07.123456+00:00", "2026-09-14T09:41:07.124Z"),
            // JavaScript, `toISOString`
            ("2026-09-14T09:41:07.123Z", "2026-09-14T09:41:07.123Z"),
            // A fraction behind a comma, as ISO 8601 prefers it
            ("2026-09-14T09:41:07,5-05:30", "2026-09-14T15:11:07.500Z"),
            // Hours alone as the offset
            ("2026-09-14T09:41:07+02", "2026-09-14T07:41:07.000Z"),
            ("2026-09-14T09:41-02", "2026-09-14T11:41:00.000Z"),
            // Python, `str` of an instant; PHP, `Y-m-d H:i:sP`
            ("2026-01-01 00:00:00+00:00", "2026-01-01T00:00:00.000Z"),
            ("2026-01-01 00:00:00.123456+00:00", "2026-01-01T00:00:00.124Z"),
            // PostgreSQL
            ("2026-09-14 09:41:07.5+02", "2026-09-14T07:41:07.500Z"),
            // Ruby, `to_s`
            ("2026-09-14 09:41:07 +0200", "2026-09-14T07:41:07.000Z"),
            ("2026-09-14 09:41Z", "2026-09-14T09:41:00.000Z"),
            // The minus sign that ISO 8601 names
            ("2026-09-14T09:41:07\u{2212}02:00", "2026-09-14T11:41:07.000Z"),
        ] {
            assert_eq!(text.parse::<Timestamp>().map(|at| at.to_string()).as_deref(), Ok(instant), "{text}");
        }
        for bad in [
            "2026-09-14T09:41,5Z",
            "2026-09-14T09:41:07,,5Z",
            "2026-09-14T09:41:07,Z",
            "2026-09-14T09Z",
            "2026-09-14T09:41:07+2",
            "2026-09-14T09:41:07+02000",
            "2026-09-14T09:41:07+é0",
            "2026-09-14T09:41:07Z+02",
            "20260914T094107Z",
            "2026-09-14  09:41:07Z",
            "2026-09-14 09:41:07  +0200",
            "2026-09-14 09:41:07",
            "2026-09-14_09:41:07Z",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_stamp_in_json_is_never_later_than_it_says() {
        for (text, millis) in [
            ("2026-09-14T12:00:00.1239+02:00", 1_789_380_000_123),
            ("1969-12-31T23:59:59.9991Z", -1),
            ("9999-12-31T23:59:59.9999Z", MAX),
        ] {
            let json = serde_json::Value::from(text);
            assert_eq!(serde_json::from_value::<Timestamp>(json).unwrap(), Timestamp(millis), "{text}");
        }
        assert!(serde_json::from_value::<Timestamp>("2026-09-14 10:00:00Z".into()).is_err());
    }

    /// Rules: LIST-12
    #[test]
    fn a_date_alone_or_a_missing_zone_is_refused() {
        for bad in
            ["2026-09-14", "2026-09-14T10:00:00", "2026-09-14 10:00:00", "now", "", "2026-13-01T00:00:00Z"]
        {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }

    proptest! {
        /// Rules: WIRE-3
        #[test]
        fn a_printed_instant_reads_back_as_itself(millis in MIN..=MAX) {
            let instant = Timestamp::from_millis(millis);
            prop_assert_eq!(instant.to_string().parse::<Timestamp>(), Ok(instant));
        }

        #[test]
        fn printed_instants_sort_like_the_instants(a in MIN..=MAX, b in MIN..=MAX) {
            let (a, b) = (Timestamp::from_millis(a), Timestamp::from_millis(b));
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC*") {
            let _ = text.parse::<Timestamp>();
        }
    }
}
