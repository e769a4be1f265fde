//! Characters by their properties in Unicode: one table for texts that are entered, searched,
//! printed and shown.

use icu_properties::props::{
    BidiControl, BinaryProperty, Dash, DefaultIgnorableCodePoint, EnumeratedProperty, GeneralCategory,
    VariationSelector,
};

/// True if a character renders as nothing: no ink, and no width.
///
/// These are Unicode's `Default_Ignorable_Code_Point`, which holds the controls of direction,
/// joiners, fillers, variation selectors and tags. Besides these they are the placeholders that
/// programs leave behind for objects and notes, and two blanks that are no white space.
pub fn renders_as_nothing(c: char) -> bool {
    !c.is_ascii() && (is_placeholder(c) || DefaultIgnorableCodePoint::for_char(c))
}

/// The object that dictation leaves behind, annotations, the braille blank and the note without a
/// head.
const fn is_placeholder(c: char) -> bool {
    matches!(c, '\u{fff9}'..='\u{fffc}' | '\u{2800}' | '\u{1d159}')
}

/// True if a character changes the order in which its neighbours are shown.
pub fn is_bidi_control(c: char) -> bool {
    !c.is_ascii() && BidiControl::for_char(c)
}

/// True if a character has a meaning that every reader shares: it is neither of private use nor
/// unassigned, and so no noncharacter either.
pub(crate) fn is_assigned(c: char) -> bool {
    c.is_ascii()
        || !matches!(
            GeneralCategory::for_char(c),
            GeneralCategory::PrivateUse | GeneralCategory::Unassigned | GeneralCategory::Surrogate
        )
}

/// True if a character has no meaning that readers share, and never gets one: it is of private use,
/// or a noncharacter, which Unicode keeps out of texts.
pub(crate) fn is_without_meaning(c: char) -> bool {
    let code = u32::from(c);
    matches!(code, 0xe000..=0xf8ff | 0xfdd0..=0xfdef | 0xf_0000..) || code & 0xfffe == 0xfffe
}

/// True if a character that renders as nothing changes the look of the visible sign before it: a
/// variation selector, or a tag of a flag.
fn completes_a_sign(c: char) -> bool {
    !c.is_ascii() && (matches!(c, '\u{e0020}'..='\u{e007f}') || VariationSelector::for_char(c))
}

/// True if a character shapes the word around it: a joiner, or part of the sign before it.
pub(crate) fn shapes_words(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}') || completes_a_sign(c)
}

/// True if a character ends a line and is not on a keyboard.
pub(crate) const fn is_other_line_break(c: char) -> bool {
    matches!(c, '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// True if a search reads a character as the end of a word: white space or a hyphen.
pub(crate) fn separates_words(c: char) -> bool {
    c == '-' || c.is_whitespace() || !c.is_ascii() && Dash::for_char(c)
}

/// The text without white space and without characters that render as nothing at both ends.
/// Variation selectors and tags behind the last visible sign belong to it.
pub fn trim_invisible(text: &str) -> &str {
    let is_seen = |c: char| !c.is_whitespace() && !renders_as_nothing(c);
    let text = text.trim_start_matches(|c| !is_seen(c));
    let visible = text.trim_end_matches(|c| !is_seen(c)).len();
    let behind = &text[visible..];
    let completing = behind.len() - behind.trim_start_matches(completes_a_sign).len();
    &text[..visible + completing]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rules: WIRE-27
    #[test]
    fn what_renders_as_nothing_is_found_by_unicode() {
        for c in "\u{200b}\u{3164}\u{feff}\u{fffc}\u{2800}\u{ad}\u{34f}\u{115f}\u{1160}\u{17b4}\u{180e}\u{202e}\u{2060}\u{2066}\
                  \u{ffa0}\u{1d173}\u{e0001}\u{e0041}\u{e0fff}\u{fe0f}"
            .chars()
        {
            assert!(renders_as_nothing(c), "U+{:04X}", u32::from(c));
        }
        for c in "a é\u{a0}\u{301}א\u{600}👍\u{3000}".chars() {
            assert!(!renders_as_nothing(c), "U+{:04X}", u32::from(c));
        }
    }

    #[test]
    fn assigned_characters_are_told_from_all_others() {
        for c in ['a', 'é', '字', '👍', '\u{fffd}', '\u{200b}', 'Ա', 'ก'] {
            assert!(is_assigned(c), "U+{:04X}", u32::from(c));
        }
        for c in ['\u{e000}', '\u{f0000}', '\u{10fffd}', '\u{ffff}', '\u{fdd0}', '\u{378}', '\u{1fffe}'] {
            assert!(!is_assigned(c), "U+{:04X}", u32::from(c));
        }
    }

    /// Rules: WIRE-31
    #[test]
    fn only_what_no_later_unicode_assigns_is_without_meaning() {
        let count = ('\0'..=char::MAX)
            .filter(|c| is_without_meaning(*c))
            .inspect(|c| assert!(!is_assigned(*c), "U+{:04X}", u32::from(*c)))
            .count();
        // 6,400 and two planes of private use; 66 noncharacters, of which four are in these planes.
        assert_eq!(count, 6_400 + 2 * 65_536 + 66 - 4);
        let is_private = |c: char| GeneralCategory::for_char(c) == GeneralCategory::PrivateUse;
        assert!(('\0'..=char::MAX).filter(|c| is_private(*c)).all(is_without_meaning));
        for c in ['\u{378}', '\u{1faff}', '\u{3fffd}', '\u{e0fff}', '\u{fffd}', '\u{fdcf}', '\u{fdf0}'] {
            assert!(!is_without_meaning(c), "U+{:04X}", u32::from(c));
        }
    }

    /// Rules: WIRE-27
    #[test]
    fn ends_lose_what_cannot_be_seen_and_keep_what_shapes_a_sign() {
        for (text, trimmed) in [
            ("\u{feff}crm-42", "crm-42"),
            (" \u{200b} x@y.fr\u{200b}\u{a0}\u{200b}", "x@y.fr"),
            ("\u{3164}", ""),
            ("\u{202e}\u{202c} ", ""),
            ("a\u{200d}b", "a\u{200d}b"),
            ("❤\u{fe0f}", "❤\u{fe0f}"),
            ("❤\u{fe0f} \u{fe0f}", "❤\u{fe0f}"),
            ("\u{fe0f}a\u{200b}\u{fe0f}", "a"),
            ("👩\u{200d}🔧", "👩\u{200d}🔧"),
            (
                "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}\u{200b}",
                "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            ),
        ] {
            assert_eq!(trim_invisible(text), trimmed, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn trimming_twice_changes_nothing_more(text in "[a é\u{200b}\u{fe0f}\u{200d}\u{feff}\u{301}\u{e0041}❤]{0,8}") {
            let once = trim_invisible(&text);
            prop_assert_eq!(trim_invisible(once), once);
        }
    }
}
