//! Strict query strings: a parameter that is unknown, repeated or unreadable is refused by name. A
//! typo must not silently widen a result.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::str::FromStr;

use invoicing_core::internal::{SHORT_TEXT, required_text, search_words};
use invoicing_core::{DEFAULT_PAGE_LIMIT, Invalid, MAX_PAGE_LIMIT, ParseTimestampError, Rule, Timestamp};
use percent_encoding::percent_decode_str;

use crate::http::error::ApiError;
use crate::list_query::{ClientQuery, CreditNoteQuery, PageQuery, PageWindow};
use crate::log::without_secrets;

/// Longest part of the input that an error message repeats, in characters.
const MAX_EXCERPT: usize = 64;

/// The parameters of a list of quotes or invoices.
pub(super) const PAGE: [&str; 5] = ["status", "include", "limit", "offset", "since"];
/// The parameters of a list of credit notes.
pub(super) const CREDIT_NOTES: [&str; 4] = ["include", "limit", "offset", "since"];
/// The parameters of a list of clients.
pub(super) const CLIENTS: [&str; 5] = ["q", "externalId", "limit", "offset", "since"];
/// The parameters of a document link.
pub(super) const DOCUMENT: [&str; 1] = ["type"];

/// The query of an endpoint without parameters.
pub(super) fn none(query: &str) -> Result<(), ApiError> {
    parameters(query, []).map(|[]| ())
}

/// The query of a document link: `type`, which must be `pdf`.
pub(super) fn document(query: &str) -> Result<(), ApiError> {
    let [document_type] = parameters(query, DOCUMENT)?;
    fixed_value("type", "pdf", document_type.as_deref()).map(|_| ())
}

/// The query of a list of quotes or invoices.
pub(super) fn page<S: FromStr<Err = Invalid>>(query: &str) -> Result<PageQuery<S>, ApiError> {
    let [status, include, limit, offset, since] = parameters(query, PAGE)?;
    let status = status.map(|status| status.parse().map_err(|error: Invalid| error.in_field("status")));
    Ok(PageQuery {
        status: status.transpose()?,
        include_lines: fixed_value("include", "lines", include.as_deref())?,
        window: window(limit.as_deref(), offset.as_deref(), since.as_deref())?,
    })
}

/// The query of a list of credit notes.
pub(super) fn credit_notes(query: &str) -> Result<CreditNoteQuery, ApiError> {
    let [include, limit, offset, since] = parameters(query, CREDIT_NOTES)?;
    Ok(CreditNoteQuery {
        include_lines: fixed_value("include", "lines", include.as_deref())?,
        window: window(limit.as_deref(), offset.as_deref(), since.as_deref())?,
    })
}

/// The query of a list of clients.
pub(super) fn clients(query: &str) -> Result<ClientQuery, ApiError> {
    let [q, external_id, limit, offset, since] = parameters(query, CLIENTS)?;
    Ok(ClientQuery {
        q: q.as_deref().map(parse_search).transpose()?,
        external_id: external_id.as_deref().map(parse_external_id).transpose()?,
        window: window(limit.as_deref(), offset.as_deref(), since.as_deref())?,
    })
}

fn window(limit: Option<&str>, offset: Option<&str>, since: Option<&str>) -> Result<PageWindow, Invalid> {
    let limit = limit.map(|limit| integer("limit", limit, 1..=MAX_PAGE_LIMIT));
    // SQL integers are i64.
    let offset = offset.map(|offset| integer("offset", offset, 0..=i64::MAX.cast_unsigned()));
    Ok(PageWindow {
        limit: limit.unwrap_or(Ok(DEFAULT_PAGE_LIMIT))?,
        offset: offset.unwrap_or(Ok(0))?,
        since: since.map(parse_since).transpose()?,
    })
}

fn integer<N>(name: &'static str, text: &str, range: RangeInclusive<N>) -> Result<N, Invalid>
where
    N: FromStr + PartialOrd + Copy + Into<u64>,
{
    // Unlike `parse` alone, this refuses a plus sign.
    let is_unsigned = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_unsigned.then(|| text.parse().ok()).flatten();
    let rule = || Rule::IntegerFrom { min: (*range.start()).into(), max: (*range.end()).into() };
    number.filter(|number| range.contains(number)).ok_or_else(|| Invalid::new(name, rule()))
}

fn parse_since(text: &str) -> Result<Timestamp, Invalid> {
    /// Length of `2026-09-14 `: a space at its end stands for the `T`.
    const DATE: usize = 11;
    let (date, time) = text.split_at_checked(DATE).unwrap_or((text, ""));
    // An unencoded `+` in a query string means a space, so `+02:00` arrives as ` 02:00`.
    let time = time.replace(" +", "+").replace(" -", "-").replace(' ', "+");
    format!("{date}{time}").parse().map_err(|error: ParseTimestampError| Invalid::new("since", error))
}

/// True if a parameter with only one possible value is given.
fn fixed_value(name: &'static str, value: &str, given: Option<&str>) -> Result<bool, ApiError> {
    match given {
        None => Ok(false),
        Some(given) if given == value => Ok(true),
        Some(_) => Err(ApiError::unreadable(name, format!("must be {value}"))),
    }
}

/// An `externalId` to search, in the form in which it is stored.
fn parse_external_id(id: &str) -> Result<String, Invalid> {
    required_text("externalId", id, SHORT_TEXT)
}

/// The search text. It must keep a word after folding, as an empty text would match every record.
fn parse_search(q: &str) -> Result<String, ApiError> {
    let text = q.trim();
    if text.is_empty() || text.chars().count() > SHORT_TEXT {
        return Err(Invalid::new("q", Rule::Characters { max: SHORT_TEXT }).into());
    }
    if search_words(text).is_empty() {
        return Err(ApiError::unreadable("q", "must have a character that can be searched for"));
    }
    Ok(text.to_owned())
}

/// The values of the known parameters, in the order of `known`.
fn parameters<const N: usize>(
    query: &str,
    known: [&'static str; N],
) -> Result<[Option<String>; N], ApiError> {
    let mut values = [const { None }; N];
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name).ok_or_else(|| ApiError::unreadable(excerpt(name), "is not UTF-8"))?;
        let Some(index) = known.iter().position(|known| *known == name) else {
            return Err(ApiError::unreadable(excerpt(&name), unknown_rule(&known)));
        };
        let value = decode(value).ok_or_else(|| ApiError::unreadable(known[index], "is not UTF-8"))?;
        if values[index].replace(value).is_some() {
            return Err(ApiError::unreadable(known[index], "must be given once"));
        }
    }
    Ok(values)
}

/// Decodes `application/x-www-form-urlencoded`; a `%` without two hexadecimal digits stays. `None`
/// if the result is not UTF-8.
fn decode(text: &str) -> Option<String> {
    percent_decode_str(&text.replace('+', " ")).decode_utf8().ok().map(Cow::into_owned)
}

fn unknown_rule(known: &[&str]) -> String {
    if known.is_empty() {
        return "is unknown: there are no parameters here".to_owned();
    }
    format!("is unknown: the parameters here are {}", known.join(", "))
}

/// A short part of the input for an error message, without secrets: messages are logged, and
/// callers paste keys into the wrong parameter.
pub(super) fn excerpt(text: &str) -> String {
    let text = without_secrets(text);
    match text.char_indices().nth(MAX_EXCERPT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::{ErrorCode, InvoiceStatus, QuoteStatus};
    use proptest::prelude::*;

    use super::*;

    type Quotes = PageQuery<QuoteStatus>;

    fn quotes(query: &str) -> Result<Quotes, ApiError> {
        page(query)
    }

    fn refused<Q>(parse: fn(&str) -> Result<Q, ApiError>, query: &str) -> String {
        let error = parse(query).err().unwrap_or_else(|| panic!("{query} was accepted"));
        assert_eq!(error.code(), ErrorCode::ValidationError, "{query}");
        error.message().into_owned()
    }

    /// The parameter that the refusal names.
    fn named<Q>(parse: fn(&str) -> Result<Q, ApiError>, query: &str) -> String {
        let message = refused(parse, query);
        message.split_once(": ").unwrap_or_else(|| panic!("{message} names none")).0.to_owned()
    }

    #[test]
    fn an_empty_query_has_the_defaults() {
        for query in ["", "&", "&&"] {
            let parsed = quotes(query).unwrap();
            assert_eq!(parsed, Quotes { status: None, include_lines: false, window: PageWindow::default() });
        }
    }

    #[test]
    fn all_parameters_are_parsed() {
        let query =
            "status=SENT&include=lines&limit=100&offset=9223372036854775807&since=2026-09-14T09:41:07.123Z";
        let since = "2026-09-14T09:41:07.123Z".parse().ok();
        let window = PageWindow { limit: 100, offset: i64::MAX as u64, since };
        let expected = Quotes { status: Some(QuoteStatus::Sent), include_lines: true, window };
        assert_eq!(quotes(query).unwrap(), expected);
        // Names and values may be percent-encoded.
        assert_eq!(quotes("%73tatus=S%45NT").unwrap().status, Some(QuoteStatus::Sent));
    }

    #[test]
    fn an_offset_from_utc_may_arrive_unencoded() {
        let expected: Timestamp = "2026-09-14T07:00:00Z".parse().unwrap();
        for since in [
            "2026-09-14T09:00:00+02:00",
            "2026-09-14T09:00:00%2B02:00",
            "2026-09-14T09:00:00%2b02%3A00",
            "2026-09-14T09:00:00%2002:00",
            "2026-09-14 09:00:00+02:00",
            "2026-09-14+09:00:00+02:00",
            "2026-09-14%2009:00:00%2B02:00",
            "2026-09-14+09:00:00+%2B0200",
            "2026-09-14%2003:00:00+-04:00",
        ] {
            assert_eq!(quotes(&format!("since={since}")).unwrap().window.since, Some(expected), "{since}");
        }
    }

    #[test]
    fn a_bad_since_is_named_with_a_correct_example() {
        for since in ["", "2026-09-14", "2026-09-14T09:00:00", "2026-09-14+09:00:00", "now", "1789378867"] {
            let message = refused(quotes, &format!("since={since}"));
            assert!(
                message.starts_with("since") && message.contains("2026-09-14T09:41:07.123Z"),
                "{message}"
            );
        }
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        for query in [
            "limit=0",
            "limit=101",
            "limit=",
            "limit",
            "limit=-1",
            "limit=+5",
            "limit=5.0",
            "limit=1e1",
            "limit=٣",
            "limit=99999999999999999999",
            "offset=-1",
            "offset=9223372036854775808",
            "offset=1.5",
            "status=sent",
            "status=",
            "status=PAID",
            "include=line",
            "include=lines,client",
            "since=x",
            "limit=5&limit=5",
            "status=%FF",
        ] {
            let name = query.split('=').next().unwrap();
            assert_eq!(named(quotes, query), name, "{query}");
        }
        assert_eq!(named(page::<InvoiceStatus>, "status=ACCEPTED"), "status");
        assert_eq!(named(document, "type=xml"), "type");
        assert_eq!(named(none, "include=lines"), "include");
    }

    #[test]
    fn a_search_text_needs_a_character_to_search_for() {
        let invisible = "%E2%80%8B%E3%85%A4";
        for q in ["", "+", "%20", "%00", "%CC%80", "-", invisible, &"x".repeat(256), "%FF"] {
            assert_eq!(named(clients, &format!("q={q}")), "q");
        }
        let found = clients("q=+Lef%C3%A8vre+%25_+&externalId=%20crm-1").unwrap();
        assert_eq!(found.q.as_deref(), Some("Lefèvre %_"));
        assert_eq!(found.external_id.as_deref().map(str::trim), Some("crm-1"));
        assert_eq!(clients("q=100%").unwrap().q.as_deref(), Some("100%"));
        for id in ["", "+", "a%00", &"x".repeat(256)] {
            assert_eq!(named(clients, &format!("externalId={id}")), "externalId", "{id}");
        }
        let message = refused(clients, "externalId=crm%E2%80%AE%0B42");
        assert_eq!(message, "externalId: must not contain U+202E (character 4)");
        let decomposed = "e%CC%81".repeat(255);
        let found = clients(&format!("externalId={decomposed}%E2%80%8B")).unwrap().external_id;
        assert_eq!(found.unwrap(), "é".repeat(255));
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let field = named(quotes, &format!("{}=1", "é".repeat(10_000)));
        assert_eq!(field, format!("{}…", "é".repeat(MAX_EXCERPT)));
    }

    proptest! {
        #[test]
        fn any_query_is_parsed_or_refused(query in "\\PC{0,60}") {
            let _ = quotes(&query);
            let _ = clients(&query);
            let _ = document(&query);
        }

        #[test]
        fn any_likely_query_is_parsed_or_refused(
            query in "((limit|offset|since|status|q|include)=?[0-9A-Z+%&=:.é-]{0,12}&?){0,6}",
        ) {
            let _ = quotes(&query);
            let _ = clients(&query);
        }

        #[test]
        fn an_unknown_parameter_is_named(name in "[a-zA-Z_]{1,12}", value in "[a-z0-9]{0,5}", first in any::<bool>()) {
            prop_assume!(!["status", "include", "limit", "offset", "since"].contains(&name.as_str()));
            let unknown = format!("{name}={value}");
            let query = if first { format!("{unknown}&limit=5") } else { format!("limit=5&{unknown}") };
            prop_assert_eq!(named(quotes, &query), name);
        }

        #[test]
        fn an_encoded_text_is_decoded(text in "\\PC{1,40}") {
            let text = text.trim();
            prop_assume!(!search_words(text).is_empty());
            let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
            let query = clients(&format!("q={encoded}")).unwrap();
            prop_assert_eq!(query.q.as_deref(), Some(text));
        }

        #[test]
        fn every_window_in_range_is_parsed(limit in 1..=MAX_PAGE_LIMIT, offset in 0..=i64::MAX as u64) {
            let window = quotes(&format!("limit={limit}&offset={offset}")).unwrap().window;
            prop_assert_eq!(window, PageWindow { limit, offset, since: None });
        }
    }
}
