//! Text as entered to text that can be printed.
//!
//! Each character becomes a line break, a space, itself or nothing, or the text is refused. That happens before layout,
//! and does not depend on the fonts.
//!
//! **Direction.** Embeddings, overrides and isolates (U+202A to U+202E, U+2066 to U+2069) are dropped, because they
//! could show an amount or a name in another order than the stored one. Direction marks (U+200E, U+200F, U+061C) are
//! dropped too. The Unicode bidirectional algorithm orders the rest. Every field is a paragraph of its own, so no text
//! affects the order of another.

use std::borrow::Cow;

use invoicing_core::renders_as_nothing;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Longest text in bytes: five times the limit of a long field.
const LONGEST: usize = 40_000;

/// Most characters in a grapheme cluster: a letter with its accents, or the parts of one emoji. More cannot be read;
/// the stream-safe text format of UAX #15 allows 30.
const CLUSTER: usize = 32;

/// Why a text is refused: the rest of a sentence that begins with the field.
pub(in crate::documents) type Rule = Cow<'static, str>;

/// The text as it is laid out: in NFC, with `\n` as its only line break. The only invisible characters left are joiners
/// that change the shape of their neighbours.
pub(in crate::documents) fn sanitize(text: &str) -> Result<Cow<'_, str>, Rule> {
    if text.len() > LONGEST {
        return Err(Rule::Owned(format!("has more than {LONGEST} bytes, which no page can show")));
    }
    // Nearly all texts: nothing to change, nothing to copy.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n')) {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.nfc().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => out.push('\n'),
            '\t' => out.push(' '),
            '\u{200c}' | '\u{200d}' if out.ends_with(joins) => out.push(c),
            _ if renders_as_nothing(c) => {}
            // Private use: a PDF/A-3 document must not contain it (6.2.11.7.3).
            '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => return Err(unprintable(c)),
            _ if c.is_control() => return Err(unprintable(c)),
            // Few fonts have these. Only the no-break spaces (U+00A0, U+202F, U+2007) matter, and stay.
            '\u{1680}' | '\u{2000}'..='\u{2006}' | '\u{2008}'..='\u{200a}' | '\u{205f}' | '\u{3000}' => {
                out.push(' ');
            }
            _ => out.push(c),
        }
    }
    if out.graphemes(true).any(|cluster| cluster.chars().count() > CLUSTER) {
        return Err(Rule::Owned(format!("has more than {CLUSTER} characters in the place of one")));
    }
    Ok(Cow::Owned(out))
}

/// The text as a page of HTML shows it. What no font prints is left out, as a host's own renderer may print it.
#[cfg(feature = "console")]
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let can_stay = |c: &char| *c == '\n' || !(c.is_control() || renders_as_nothing(*c));
    sanitize(text).unwrap_or_else(|_| text.chars().filter(can_stay).collect::<String>().into())
}

/// The rule that names a character without a glyph.
pub(in crate::documents) fn unprintable(c: char) -> Rule {
    Rule::Owned(format!("has U+{:04X}, which no font of the document has", u32::from(c)))
}

/// Whether a joiner after this character has a visible effect: in scripts that join, and in emoji.
fn joins(c: char) -> bool {
    c >= '\u{590}'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sanitized(text: &str) -> String {
        sanitize(text).unwrap().into_owned()
    }

    #[test]
    fn line_breaks_and_spaces_are_unified() {
        assert_eq!(sanitized("é\r\nb\rc\u{2028}d\te\u{2003}f"), "é\nb\nc\nd e f");
        assert_eq!(sanitized("1\u{202f}234\u{a0}€"), "1\u{202f}234\u{a0}€");
    }

    #[test]
    fn direction_controls_are_dropped() {
        assert_eq!(sanitized("100\u{202e}000 €\u{202c} é"), "100000 € é");
        assert_eq!(sanitized("\u{2067}Léa\u{2069}\u{200f}"), "Léa");
    }

    #[test]
    fn joiners_stay_only_where_they_have_an_effect() {
        assert_eq!(sanitized("a\u{200d}b\u{200b}é"), "abé");
        assert_eq!(sanitized("👩\u{200d}🔧"), "👩\u{200d}🔧");
    }

    #[test]
    fn accents_are_composed_and_too_many_in_one_place_are_refused() {
        assert_eq!(sanitized("e\u{301}"), "é");
        assert!(sanitize(&format!("z{}", "\u{335}".repeat(40))).unwrap_err().contains("32 characters"));
    }

    #[test]
    fn a_refusal_names_the_character() {
        assert_eq!(sanitize("a\0").unwrap_err(), "has U+0000, which no font of the document has");
        assert_eq!(sanitize("\u{e000}").unwrap_err(), "has U+E000, which no font of the document has");
        assert!(sanitize(&"é".repeat(LONGEST)).is_err());
    }

    proptest! {
        #[test]
        fn sanitizing_is_idempotent(text in any::<String>()) {
            if let Ok(once) = sanitize(&text) {
                prop_assert_eq!(&sanitize(&once).unwrap(), &once);
            }
        }

        #[test]
        fn french_text_is_unchanged(text in "[ -~¡-¬®-ÿŒœ€’–—…\n]*") {
            prop_assert_eq!(sanitized(&text), text);
        }
    }
}
