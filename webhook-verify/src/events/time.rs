//! Instants: RFC 3339 in, and out with three decimals, as the service writes them.

use chrono::{DateTime, ParseError, SecondsFormat, Timelike, Utc};
use serde::{Serialize, Serializer};

pub(super) fn parse(text: &str) -> Result<DateTime<Utc>, ParseError> {
    Ok(DateTime::parse_from_rfc3339(text)?.with_timezone(&Utc))
}

pub(super) fn text(at: &DateTime<Utc>) -> String {
    let whole = at.nanosecond().is_multiple_of(1_000_000);
    at.to_rfc3339_opts(if whole { SecondsFormat::Millis } else { SecondsFormat::AutoSi }, true)
}

#[expect(clippy::ref_option, reason = "serde's `serialize_with` passes the field like this")]
pub(super) fn serialize<S: Serializer>(at: &Option<DateTime<Utc>>, serializer: S) -> Result<S::Ok, S::Error> {
    at.as_ref().map(text).serialize(serializer)
}
