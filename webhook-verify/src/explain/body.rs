//! The changes that frameworks, proxies and editors make to a body, and their reversal.

use alloc::vec::Vec;
use core::fmt;

/// The difference between the body and the signed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BodyChange {
    /// White space was added around it, such as a final line break.
    SpaceAdded,
    /// A final line break was removed.
    LineBreakRemoved,
    /// Its line breaks were converted between LF and CRLF.
    LineBreaksConverted,
    /// A byte order mark was added.
    MarkAdded,
    /// A byte order mark was removed.
    MarkRemoved,
    /// The body is the same JSON with other white space: parsed, and printed again.
    Reprinted,
    /// The body is the same JSON with characters written as `\u` escapes or `\/`: parsed, and
    /// printed again.
    Escaped,
    /// Its UTF-8 was read as Latin-1 and encoded again.
    EncodedTwice,
}

impl fmt::Display for BodyChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SpaceAdded => "white space was added around the body",
            Self::LineBreakRemoved => "the line break at the end of the body was removed",
            Self::LineBreaksConverted => "the line breaks of the body were converted",
            Self::MarkAdded => "a byte order mark was added to the body",
            Self::MarkRemoved => "the byte order mark of the body was removed",
            Self::Reprinted => "the body was parsed as JSON and printed again with other white space",
            Self::Escaped => "the body was parsed as JSON and printed again with other escapes",
            Self::EncodedTwice => "the body was read as Latin-1 and encoded as UTF-8 once more",
        })
    }
}

const MARK: &[u8] = "\u{feff}".as_bytes();

/// Makes the body from before a change, if there can be one.
type Undo = fn(&[u8]) -> Option<Vec<u8>>;

/// The bodies that may have been signed, each with the change that turns it into the given body.
pub(super) fn undone(body: &[u8]) -> impl Iterator<Item = (BodyChange, Vec<u8>)> {
    let changes: [(BodyChange, Undo); 13] = [
        (BodyChange::SpaceAdded, |body| Some(without_line_break(body).to_vec())),
        (BodyChange::SpaceAdded, |body| Some(body.trim_ascii().to_vec())),
        (BodyChange::LineBreakRemoved, |body| Some([body, b"\n"].concat())),
        (BodyChange::LineBreakRemoved, |body| Some([body, b"\r\n"].concat())),
        (BodyChange::LineBreaksConverted, |body| Some(to_lf(body))),
        (BodyChange::LineBreaksConverted, |body| Some(to_crlf(body))),
        (BodyChange::MarkAdded, |body| body.strip_prefix(MARK).map(<[u8]>::to_vec)),
        (BodyChange::MarkRemoved, |body| Some([MARK, body].concat())),
        (BodyChange::Reprinted, |body| Some(respaced(body, b",", b":"))),
        (BodyChange::Reprinted, |body| Some(respaced(body, b", ", b": "))),
        (BodyChange::Escaped, |body| Some(unescaped(body))),
        (BodyChange::Escaped, |body| Some(unescaped(&respaced(body, b",", b":")))),
        (BodyChange::EncodedTwice, latin1),
    ];
    changes.into_iter().filter_map(|(change, undo)| Some((change, undo(body)?)))
}

/// True if text conversion has left its mark in place of bytes that were not UTF-8.
pub(super) fn has_replacement_character(body: &[u8]) -> bool {
    body.windows(3).any(|bytes| bytes == "\u{fffd}".as_bytes())
}

fn without_line_break(body: &[u8]) -> &[u8] {
    let body = body.strip_suffix(b"\n").unwrap_or(body);
    body.strip_suffix(b"\r").unwrap_or(body)
}

fn to_lf(body: &[u8]) -> Vec<u8> {
    let kept = |at: usize| !body[at..].starts_with(b"\r\n");
    body.iter().enumerate().filter(|(at, _)| kept(*at)).map(|(_, byte)| *byte).collect()
}

fn to_crlf(body: &[u8]) -> Vec<u8> {
    to_lf(body).split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\r\n"[..])
}

/// The JSON with no white space outside its strings, except the given texts behind each comma and
/// colon.
fn respaced(json: &[u8], comma: &[u8], colon: &[u8]) -> Vec<u8> {
    let mut printed = Vec::with_capacity(json.len());
    let mut in_string = false;
    let mut escaped = false;
    for byte in json {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' if !in_string => {}
            b',' if !in_string => printed.extend_from_slice(comma),
            b':' if !in_string => printed.extend_from_slice(colon),
            _ => {
                in_string ^= *byte == b'"' && !escaped;
                escaped = in_string && *byte == b'\\' && !escaped;
                printed.push(*byte);
            }
        }
    }
    printed
}

/// The JSON with every `\/` and every `\u` escape that JSON does not need written as the character
/// itself.
fn unescaped(json: &[u8]) -> Vec<u8> {
    let mut printed = Vec::with_capacity(json.len());
    let mut rest = json;
    while let [first, tail @ ..] = rest {
        if let Some((character, tail)) = needless_escape(rest) {
            printed.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            rest = tail;
        } else if let (b'\\', [second, tail @ ..]) = (first, tail) {
            printed.extend_from_slice(&[*first, *second]);
            rest = tail;
        } else {
            printed.push(*first);
            rest = tail;
        }
    }
    printed
}

fn needless_escape(json: &[u8]) -> Option<(char, &[u8])> {
    if let Some(rest) = json.strip_prefix(br"\/") {
        return Some(('/', rest));
    }
    let (first, rest) = code_unit(json)?;
    let second = code_unit(rest);
    let units = [Some(first), second.map(|(unit, _)| unit)];
    let character = char::decode_utf16(units.into_iter().flatten()).next()?.ok()?;
    let needed = character < ' ' || character == '"' || character == '\\';
    let rest = if character.len_utf16() == 2 { second?.1 } else { rest };
    (!needed).then_some((character, rest))
}

/// The UTF-16 code unit of a `\u` escape, and the rest behind it.
fn code_unit(json: &[u8]) -> Option<(u16, &[u8])> {
    let (digits, rest) = json.strip_prefix(br"\u")?.split_at_checked(4)?;
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u16::try_from(digit).ok());
    let unit = digits.iter().try_fold(0, |unit, byte| Some(unit << 4 | digit(byte)?))?;
    Some((unit, rest))
}

fn latin1(body: &[u8]) -> Option<Vec<u8>> {
    str::from_utf8(body).ok()?.chars().map(|character| u8::try_from(character).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{respaced, to_crlf, to_lf, unescaped};

    #[test]
    fn only_white_space_outside_strings_goes() {
        let spaced = br#"{ "a b" : [ 1 , "x , \" : y\\" , {} ],"c":"\\" }"#;
        assert_eq!(respaced(spaced, b",", b":"), br#"{"a b":[1,"x , \" : y\\",{}],"c":"\\"}"#);
        assert_eq!(respaced(br#"{"a":[1,2]}"#, b", ", b": "), br#"{"a": [1, 2]}"#);
    }

    #[test]
    fn only_needless_escapes_go() {
        assert_eq!(unescaped(br"\u00e9\ud83d\ude00\/\u003c"), "é😀/<".as_bytes());
        for kept in [&br#"\u000a\n\"\\u00e9\u0022\u005c"#[..], br"\ud83d", br"\u12", br"\u+123", b"\\", b""] {
            assert_eq!(unescaped(kept), kept, "{kept:?}");
        }
    }

    #[test]
    fn line_breaks_convert_both_ways() {
        assert_eq!(to_lf(b"a\r\nb\rc\nd\r\n"), b"a\nb\rc\nd\n");
        assert_eq!(to_crlf(b"a\nb\r\nc"), b"a\r\nb\r\nc");
    }
}
