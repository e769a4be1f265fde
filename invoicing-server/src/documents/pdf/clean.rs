//! What is printed of a text.
//!
//! Decides character by character, before any layout: a line break, a space, something to print, nothing at all, or a
//! refusal. Which fonts have a character is not known here.
//!
//! **Direction.** Embeddings, overrides and isolates (U+202A to U+202E, U+2066 to U+2069) are dropped: they could show
//! an amount or a name in another order than it is stored. Marks (U+200E, U+200F, U+061C) go with them. What is left
//! is ordered by the Unicode bidirectional algorithm, and every field is a paragraph of its own, so that no text can
//! reach into another.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Longest text that is laid out in one piece, in bytes; five times what a long field can hold.
const LONGEST: usize = 40_000;

/// Most characters that may share one place: a letter with its accents, or the parts of one emoji. The stream-safe
/// text format of UAX #15 ends at 30, and nobody reads more.
const CLUSTER: usize = 32;

/// Why a text is not printed, as the end of a sentence that begins with the field.
pub(super) type Rule = Cow<'static, str>;

/// The text as it is laid out: NFC, with `\n` as its only line break and no invisible characters but the joiners that
/// shape their neighbours.
pub(super) fn clean(text: &str) -> Result<Cow<'_, str>, Rule> {
    if text.len() > LONGEST {
        return Err(Rule::Owned(format!("has more than {LONGEST} bytes, which no page can show")));
    }
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
            _ if is_invisible(c) => {}
            _ if c.is_control() || is_private(c) => return Err(unprintable(c)),
            // Of all the spaces only the fixed ones mean something; few fonts have the others.
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

/// Says which character cannot be printed.
pub(super) fn unprintable(c: char) -> Rule {
    Rule::Owned(format!("has U+{:04X}, which no font of the document has", u32::from(c)))
}

/// Scripts that join, and emoji. A joiner anywhere else changes nothing that is seen.
fn joins(c: char) -> bool {
    c >= '\u{590}'
}

/// Soft hyphens, direction controls, word joiners, variation selectors, tags, byte order marks: nothing to print.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Characters whose look is agreed in private: a document for others cannot use them (PDF/A-3, 6.2.11.7.3).
const fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cleaned(text: &str) -> String {
        clean(text).unwrap().into_owned()
    }

    #[test]
    fn line_breaks_and_spaces_are_of_one_kind() {
        assert_eq!(cleaned("é\r\nb\rc\u{2028}d\te\u{2003}f"), "é\nb\nc\nd e f");
        assert_eq!(cleaned("1\u{202f}234\u{a0}€"), "1\u{202f}234\u{a0}€");
    }

    #[test]
    fn nothing_can_turn_a_text_around() {
        assert_eq!(cleaned("100\u{202e}000 €\u{202c} é"), "100000 € é");
        assert_eq!(cleaned("\u{2067}Léa\u{2069}\u{200f}"), "Léa");
    }

    #[test]
    fn joiners_stay_where_they_join() {
        assert_eq!(cleaned("a\u{200d}b\u{200b}é"), "abé");
        assert_eq!(cleaned("👩\u{200d}🔧"), "👩\u{200d}🔧");
    }

    #[test]
    fn accents_become_one_character_and_towers_of_them_are_refused() {
        assert_eq!(cleaned("e\u{301}"), "é");
        assert!(clean(&format!("z{}", "\u{335}".repeat(40))).unwrap_err().contains("32 characters"));
    }

    #[test]
    fn what_cannot_be_printed_is_named() {
        assert_eq!(clean("a\0").unwrap_err(), "has U+0000, which no font of the document has");
        assert_eq!(clean("\u{e000}").unwrap_err(), "has U+E000, which no font of the document has");
        assert!(clean(&"é".repeat(LONGEST)).is_err());
    }

    proptest! {
        #[test]
        fn cleaning_twice_is_cleaning_once(text in any::<String>()) {
            if let Ok(once) = clean(&text) {
                prop_assert_eq!(&clean(&once).unwrap(), &once);
            }
        }

        #[test]
        fn french_is_kept(text in "[ -~¡-¬®-ÿŒœ€’–—…\n]*") {
            prop_assert_eq!(cleaned(&text), text);
        }
    }
}
