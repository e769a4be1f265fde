//! Text in the one encoding that the standard fonts have: `WinAnsiEncoding` (ISO 32000-1, annex D).
//!
//! Letters that it lacks lose their accent (`ő` becomes `o`), ligatures and the like are taken apart, and what then
//! still has no place becomes `?`: the limit of a document without fonts of its own.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Codes 0x80 to 0x9F. `\0` stands for a code that is not assigned.
const UPPER: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“',
    '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// Encodes the text. Every kind of line break becomes `\n`; no other byte below 0x20 comes out.
pub(super) fn encode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        bytes.extend_from_slice(text.as_bytes());
        return bytes;
    }
    let mut chars = text.nfc().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => bytes.push(b'\n'),
            '\t' => bytes.push(b' '),
            _ if is_invisible(c) || is_combining_mark(c) => {}
            _ => push(c, &mut bytes),
        }
    }
    bytes
}

fn push(c: char, bytes: &mut Vec<u8>) {
    match direct(c) {
        Some(byte) => bytes.push(byte),
        None => decompose_compatible(c, |part| {
            if !is_combining_mark(part) {
                bytes.push(direct(part).or_else(|| resembling(part)).unwrap_or(b'?'));
            }
        }),
    }
}

fn direct(c: char) -> Option<u8> {
    match c {
        ' '..='~' => u8::try_from(c).ok(),
        '\u{a0}'..='\u{ff}' => u8::try_from(u32::from(c)).ok(),
        '\0' => None,
        _ => (0x80..).zip(UPPER).find(|(_, upper)| *upper == c).map(|(byte, _)| byte),
    }
}

/// Characters that Unicode does not decompose, but that have a usual stand-in.
fn resembling(c: char) -> Option<u8> {
    Some(match c {
        '\u{2010}' | '\u{2012}' | '\u{2015}' | '\u{2212}' => b'-',
        '\u{2044}' | '\u{2215}' => b'/',
        'ł' => b'l',
        'Ł' => b'L',
        'đ' => b'd',
        'Đ' => b'D',
        'ı' => b'i',
        _ => return None,
    })
}

/// Soft hyphen, joiners, direction marks, variation selectors, byte order mark: nothing to print.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn french_text_is_kept() {
        assert_eq!(encode("Réf. œuvre : 5 €…"), b"R\xe9f. \x9cuvre : 5 \x80\x85");
        assert_eq!(encode("e\u{301}"), b"\xe9");
        assert_eq!(encode("« l’été »"), b"\xab l\x92\xe9t\xe9 \xbb");
    }

    #[test]
    fn what_is_missing_is_replaced() {
        assert_eq!(encode("Łódź, ő, ﬁn, ½ ⅓, m²"), b"L\xf3dz, o, fin, \xbd 1/3, m\xb2");
        assert_eq!(encode("1\u{202f}234 \u{2212}5"), b"1 234 -5");
        assert_eq!(encode("😀 שלום \0\u{1}\u{7f}\u{9f}"), b"? ???? ????");
        assert_eq!(encode("a\u{200f}b\u{202e}c\u{feff}d\u{ad}e"), b"abcde");
    }

    #[test]
    fn line_breaks_are_one_byte() {
        assert_eq!(encode("é\r\nb\rc\u{2028}d\te"), b"\xe9\nb\nc\nd e");
    }

    proptest! {
        #[test]
        fn only_printable_bytes_come_out(text in any::<String>()) {
            prop_assert!(encode(&text).iter().all(|byte| matches!(byte, b'\n' | 0x20..=0x7e | 0x80..)));
        }

        #[test]
        fn latin_1_is_kept(text in "[ -~¡-¬®-ÿ\n]*") {
            let latin1: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
            prop_assert_eq!(encode(&text), latin1);
        }
    }
}
