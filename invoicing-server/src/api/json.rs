//! JSON bodies: `bad_request` for a body that is not JSON, `validation_error` for JSON that is not
//! acceptable.

mod lone_surrogate;

use invoicing_core::Invalid;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::query_string::excerpt;
use crate::http::error::ApiError;

/// Deepest nesting of a body. No body of this API needs more than two levels.
const MAX_DEPTH: usize = 128;

/// Parses a body that must be an object.
///
/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, with the field, if the
/// object is not a `T`.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let text = std::str::from_utf8(body).map_err(|_| ApiError::bad_request("The body is not UTF-8"))?;
    if text.starts_with('\u{feff}') {
        return Err(ApiError::bad_request("The body begins with a byte order mark"));
    }
    if !text.trim_ascii_start().starts_with('{') {
        return Err(ApiError::bad_request("The body must be a JSON object"));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        // serde stops at the first value that is not acceptable, and the rest may not be JSON.
        check_well_formed(text).err().unwrap_or_else(|| refused(text, &error))
    })?;
    json.end().map_err(|error| malformed(&error))?;
    Ok(value)
}

fn check_well_formed(text: &str) -> Result<(), ApiError> {
    serde_json::from_str::<IgnoredAny>(text).map_err(|error| malformed(&error))?;
    if depth(text) > MAX_DEPTH {
        return Err(ApiError::bad_request("The body is nested too deeply"));
    }
    Ok(())
}

fn malformed(error: &serde_json::Error) -> ApiError {
    ApiError::BadRequest(format!("The body is not valid JSON: {error}").into())
}

/// The deepest nesting of well-formed JSON.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The refusal of a value: a surrogate without its pair, or what serde's message says.
fn refused(body: &str, error: &serde_path_to_error::Error<serde_json::Error>) -> ApiError {
    if let Some(lone) = lone_surrogate::find(body, error.inner()) {
        return Invalid::new(excerpt(&lone.field(error.path())), lone.rule()).into();
    }
    let text = error.inner().to_string();
    let position = format!(" at line {} column {}", error.inner().line(), error.inner().column());
    let text = text.strip_suffix(&position).unwrap_or(&text);
    if let Some(field) = quoted(text, "missing field") {
        return ApiError::unreadable(field.to_owned(), "is required");
    }
    if let Some(field) = quoted(text, "duplicate field") {
        return ApiError::unreadable(field.to_owned(), "must be given once");
    }
    let path = excerpt(&error.path().to_string());
    if text.starts_with("unknown field") {
        let known = text.rsplit_once(", expected ").map_or("none", |(_, known)| known);
        return ApiError::unreadable(path, format!("is unknown; expected {}", known.replace('`', "")));
    }
    ApiError::unreadable(path, shortened(text))
}

fn quoted<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    text.strip_prefix(prefix)?.trim_start().strip_prefix('`')?.strip_suffix('`')
}

/// The text of serde's message with both parts shortened, as it repeats the value.
fn shortened(text: &str) -> String {
    match text.rsplit_once(", expected ") {
        Some((found, expected)) => format!("{}, expected {}", excerpt(found), excerpt(expected)),
        None => excerpt(text),
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::{ErrorCode, NewClient, NewQuote};
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;
    use crate::NewPayment;

    fn refused(body: &[u8]) -> (ErrorCode, String) {
        let error = parse::<NewClient>(body).err().unwrap_or_else(|| panic!("{body:?} was accepted"));
        (error.code(), error.message().into_owned())
    }

    #[test]
    fn an_object_is_parsed() {
        let client: NewClient = parse(b" \r\n{\"name\": \"Lef\\u00e8vre\", \"email\": null}\n").unwrap();
        assert_eq!(client, NewClient::named("Lefèvre"));
    }

    #[test]
    fn a_body_that_is_not_a_json_object_is_a_bad_request() {
        let deep = format!("{{\"name\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        for body in [
            b"".as_slice(),
            b" ",
            b"null",
            b"[]",
            b"[\"Bob\"]",
            b"\"name\"",
            b"{",
            b"{\"name\":\"a\"",
            b"{\"name\":\"a\"} {}",
            b"{\"name\":\"a\"}x",
            b"{\"name\":\"a\",}",
            b"{'name':'a'}",
            b"{\"name\":\"a\nb\"}",
            b"{\"nom\":1,",
            b"{\"name\":\"\xff\"}",
            b"\xef\xbb\xbf{\"name\":\"a\"}",
            b"{\"name\":NaN}",
            deep.as_bytes(),
        ] {
            assert_eq!(refused(body).0, ErrorCode::BadRequest, "{:?}", refused(body));
        }
    }

    #[test]
    fn a_value_that_is_not_acceptable_is_named() {
        for (body, expected) in [
            ("{}", "name: is required"),
            ("{\"name\":null}", "name: invalid type: null, expected a string"),
            ("{\"name\":1e400}", "name: number out of range"),
            ("{\"name\":\"a\",\"name\":\"b\"}", "name: must be given once"),
            (
                "{\"name\":\"a\",\"billingAddress\":{\"town\":\"b\"}}",
                "billingAddress.town: is unknown; expected one of address, zipCode, city, country",
            ),
            (
                "{\"name\":\"a\",\"billingAddress\":[\"b\"]}",
                "billingAddress: invalid type: sequence, expected an object or null",
            ),
            (
                "{\"name\":\"a\",\"billingAddress\":{\"city\":5}}",
                "billingAddress.city: invalid type: integer `5`, expected a string",
            ),
            ("{\"name\":[[1]]}", "name: invalid type: sequence, expected a string"),
            ("{\"name\":\"emoji \\ud83d\"}", "name: must not contain U+D83D (character 7)"),
            ("{\"name\":\"\\ude00\"}", "name: must not contain U+DE00 (character 1)"),
            (
                "{\"name\":\"a\",\"type\":\"company\"}",
                "type: invalid value: string \"company\", expected one of PARTICULIER PROFESSIONNEL",
            ),
            (
                "{\"name\":\"a\",\"externalID\":\"b\"}",
                "externalID: is unknown; expected one of name, email, phone, address, city, zipCode, type, notes, externalId, siren, vatNumber, electronicAddress, country, billingAddress",
            ),
        ] {
            assert_eq!(refused(body.as_bytes()), (ErrorCode::ValidationError, expected.to_owned()), "{body}");
        }
    }

    /// Rules: WIRE-7, WIRE-8
    #[test]
    fn each_entered_field_refuses_digits_that_a_float_would_round() {
        const BAD: &str = "0.10000000000000000001";
        let message = |refused: Result<(), ApiError>| refused.unwrap_err().message().into_owned();
        for (path, body) in [
            ("lines[0].quantity", r#"{"lines":[{"quantity":BAD}]}"#),
            ("lines[0].unitPrice", r#"{"lines":[{"unitPrice":BAD}]}"#),
            ("lines[0].tvaRate", r#"{"lines":[{"tvaRate":BAD}]}"#),
            ("lines[0].costing.labourCost", r#"{"lines":[{"costing":{"labourCost":BAD}}]}"#),
            ("lines[0].costing.materialCost", r#"{"lines":[{"costing":{"materialCost":BAD}}]}"#),
            ("retentionRate", r#"{"retentionRate":BAD}"#),
        ] {
            let refused = message(parse::<NewQuote>(body.replace("BAD", BAD).as_bytes()).map(drop));
            assert!(refused.starts_with(&format!("{path}: must have at most")), "{refused}");
        }
        let payment = |amount: &str| {
            parse::<NewPayment>(format!(r#"{{"amount":{amount},"source":"bank"}}"#).as_bytes())
        };
        let expected = format!("amount: must have at most 2 decimals, not as in {BAD}");
        assert_eq!(message(payment(BAD).map(drop)), expected);
        assert_eq!(payment("0.1").unwrap().amount.to_string(), "0.10");
    }

    #[test]
    fn a_message_does_not_repeat_long_input() {
        let long = "é".repeat(10_000);
        for body in [format!("{{\"{long}\":1}}"), format!("{{\"name\":\"a\",\"type\":\"{long}\"}}")] {
            let (code, message) = refused(body.as_bytes());
            assert_eq!(code, ErrorCode::ValidationError);
            assert!(message.len() < 500, "{message}");
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    struct Link {
        #[serde(deserialize_with = "Option::deserialize")]
        external_id: Option<String>,
    }

    #[test]
    fn a_missing_field_is_not_null() {
        assert_eq!(parse::<Link>(b"{\"externalId\":null}").unwrap().external_id, None);
        assert_eq!(parse::<Link>(b"{\"externalId\":\"a\"}").unwrap().external_id.as_deref(), Some("a"));
        assert_eq!(parse::<Link>(b"{}").unwrap_err().message(), "externalId: is required");
    }

    proptest! {
        #[test]
        fn any_body_is_parsed_or_refused(body in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = parse::<NewClient>(&body);
        }

        #[test]
        fn any_likely_body_is_parsed_or_refused(
            body in "\\{?(\"(name|type|x|\\\\\\\\u[0-9a-f]{0,4})\"[:,]?|[0-9eE.+-]{1,6}|[\\[\\]{},:]|null|true){0,12}\\}?",
        ) {
            let _ = parse::<NewClient>(body.as_bytes());
        }
    }
}
