use super::*;
use crate::QuoteStatus;

/// Rules: WIRE-26
#[test]
fn a_value_that_is_not_known_survives_reading_and_writing() {
    let json = "\"ARCHIVED\"";
    let status: OpenEnum<QuoteStatus> = serde_json::from_str(json).unwrap();
    assert_eq!(status, OpenEnum::Other("ARCHIVED".into()));
    assert_eq!((status.known(), status.to_string().as_str()), (None, "ARCHIVED"));
    assert_eq!(serde_json::to_string(&status).unwrap(), json);
}

#[test]
fn a_value_that_is_known_is_that_value() {
    let status: OpenEnum<QuoteStatus> = serde_json::from_str("\"SENT\"").unwrap();
    assert_eq!(status, QuoteStatus::Sent);
    assert_eq!(status, OpenEnum::from(QuoteStatus::Sent));
    assert_eq!(status.known(), Some(QuoteStatus::Sent));
    assert_eq!(serde_json::to_string(&status).unwrap(), "\"SENT\"");
    assert!(serde_json::from_str::<OpenEnum<QuoteStatus>>("5").is_err());
}
