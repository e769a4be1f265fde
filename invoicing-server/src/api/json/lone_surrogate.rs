//! The surrogate without its pair at which serde stopped. JSON can write one (`"\\ud83d"`), but no
//! text has one.

use invoicing_core::Rule;
use serde_path_to_error::{Path, Segment};

/// A surrogate without its pair.
pub(super) struct LoneSurrogate<'t> {
    code: u16,
    /// Its place among the characters of its text, counted from 1.
    position: usize,
    /// The text, as it is written in the JSON, if it is the name of a property.
    name: Option<&'t str>,
}

impl LoneSurrogate<'_> {
    /// The rule that the text breaks.
    pub(super) fn rule(&self) -> Rule {
        Rule::Character { code_point: self.code.into(), position: self.position }
    }

    /// The path of the text, for an error at this path.
    pub(super) fn field(&self, path: &Path) -> String {
        let Some(name) = self.name else { return path.to_string() };
        // serde leaves out, or does not know, the name that it could not read.
        let parents: Vec<_> = path.iter().take_while(|part| !matches!(part, Segment::Unknown)).collect();
        let parents: String = parents.iter().flat_map(|part| [part.to_string(), ".".to_owned()]).collect();
        format!("{}{name}", parents.replace(".[", "["))
    }
}

/// The first such surrogate in the text at which serde stopped, in a body that is well-formed.
/// serde stops at the first one, if it reads that text at all.
pub(super) fn find<'b>(body: &'b str, error: &serde_json::Error) -> Option<LoneSurrogate<'b>> {
    let line_start: usize =
        body.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let (literal, behind) = last_literal(body, line_start + error.column())?;
    let units = utf16(literal)?;
    let (before, lone) =
        char::decode_utf16(units).enumerate().find_map(|(before, unit)| Some((before, unit.err()?)))?;
    let is_name = behind.trim_start().starts_with(':');
    Some(LoneSurrogate {
        code: lone.unpaired_surrogate(),
        position: before + 1,
        name: is_name.then_some(literal),
    })
}

/// The last text that begins before an offset, without its quotation marks, and the JSON behind it.
fn last_literal(body: &str, before: usize) -> Option<(&str, &str)> {
    let (mut start, mut last, mut escaped) = (None, None, false);
    for (at, byte) in body.bytes().enumerate() {
        match (start, byte) {
            (None, _) if at >= before => break,
            (None, b'"') => start = Some(at + 1),
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(from), b'"') => {
                last = Some((&body[from..at], &body[at + 1..]));
                start = None;
            }
            _ => {}
        }
    }
    last
}

/// The code units that the inside of a literal stands for; `None` if it is not well-formed.
fn utf16(literal: &str) -> Option<Vec<u16>> {
    let mut units = Vec::with_capacity(literal.len());
    let mut rest = literal.chars();
    while let Some(c) = rest.next() {
        let c = if c == '\\' {
            rest.next()?
        } else {
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
            continue;
        };
        if c == 'u' {
            let (digits, behind) = rest.as_str().split_at_checked(4)?;
            units.push(u16::from_str_radix(digits, 16).ok()?);
            rest = behind.chars();
        } else {
            // One character, whichever it is.
            units.push(b' '.into());
        }
    }
    Some(units)
}

#[cfg(test)]
mod tests {
    use invoicing_core::{ErrorCode, NewClient, NewQuote};
    use proptest::prelude::*;
    use serde::de::DeserializeOwned;

    use super::super::parse;

    fn refused<T: DeserializeOwned>(body: &str) -> (ErrorCode, String) {
        let error = parse::<T>(body.as_bytes()).err().unwrap_or_else(|| panic!("{body} was accepted"));
        (error.code(), error.message().into_owned())
    }

    /// Rules: WIRE-29
    #[test]
    fn it_is_named_by_code_position_and_field() {
        for (body, message) in [
            (r#"{"name":"\ud83d"}"#, "name: must not contain U+D83D (character 1)"),
            (r#"{"name":"\uDE00 x"}"#, "name: must not contain U+DE00 (character 1)"),
            (r#"{"name":"\ud83d\ud83d\ude00"}"#, "name: must not contain U+D83D (character 1)"),
            (r#"{"name":"\ud83d\ude00\ude00"}"#, "name: must not contain U+DE00 (character 2)"),
            (r#"{"name":"é😀\"\\\n\u00e9\ud83d\n"}"#, "name: must not contain U+D83D (character 7)"),
            (
                "{\n \"name\":\"a\",\n \"city\" : \"é\\ud800\"\n}",
                "city: must not contain U+D800 (character 2)",
            ),
            (r#"{"n\ud800":"a"}"#, r"n\ud800: must not contain U+D800 (character 2)"),
            (r#"{"name":"a","type":"\udfff"}"#, "type: must not contain U+DFFF (character 1)"),
        ] {
            assert_eq!(
                refused::<NewClient>(body),
                (ErrorCode::ValidationError, message.to_owned()),
                "{body}"
            );
        }
        for (body, message) in [
            (r#"{"lines":[{"unit":"m\ud83d"}]}"#, "lines[0].unit: must not contain U+D83D (character 2)"),
            (
                r#"{"lines":[{"costing":{"x\ud83d":1}}]}"#,
                r"lines[0].costing.x\ud83d: must not contain U+D83D (character 2)",
            ),
        ] {
            assert_eq!(refused::<NewQuote>(body), (ErrorCode::ValidationError, message.to_owned()), "{body}");
        }
    }

    #[test]
    fn another_fault_before_it_or_in_the_json_comes_first() {
        let (code, message) = refused::<NewClient>(r#"{"name":1,"city":"\ud800"}"#);
        assert_eq!(
            (code, &*message),
            (ErrorCode::ValidationError, "name: invalid type: integer `1`, expected a string")
        );
        assert_eq!(refused::<NewClient>(r#"{"name":"\ud800"#).0, ErrorCode::BadRequest);
        assert_eq!(refused::<NewClient>(r#"{"name":"\ud800",}"#).0, ErrorCode::BadRequest);
        assert_eq!(refused::<NewClient>(r#"{"name":"\ud8"}"#).0, ErrorCode::BadRequest);
    }

    proptest! {
        /// Rules: WIRE-29
        #[test]
        fn any_code_units_are_a_text_or_refused_at_the_first_lone_one(
            units in proptest::collection::vec(
                prop_oneof![0xd7fe..0xe002_u16, Just(0xd83d), Just(0xde00), Just(0x61), Just(0xe9)],
                1..12,
            ),
        ) {
            let escaped: String = units.iter().flat_map(|unit| ["\\u".to_owned(), format!("{unit:04x}")]).collect();
            let parsed = parse::<NewClient>(format!("{{\"city\": null, \"name\" : \"{escaped}\"}}").as_bytes());
            let lone = char::decode_utf16(units.iter().copied()).position(|unit| unit.is_err());
            match lone {
                None => prop_assert_eq!(parsed.unwrap().name, String::from_utf16(&units).unwrap()),
                Some(before) => {
                    let lone = char::decode_utf16(units.iter().copied()).find_map(Result::err).unwrap();
                    let code = lone.unpaired_surrogate();
                    let message = format!("name: must not contain U+{code:04X} (character {})", before + 1);
                    prop_assert_eq!(parsed.unwrap_err().message(), message);
                }
            }
        }
    }
}
