//! Text as entered to text that can be printed.
//!
//! Each character becomes a line break or a space, stays, or is dropped, or the text is refused.
//! That happens before layout, and does not depend on the fonts. The texts of a signed document are
//! never refused: a box stands for each character that cannot be printed.
//!
//! **Direction.** Embeddings, overrides and isolates (U+202A to U+202E, U+2066 to U+2069) are
//! dropped, because they could show an amount or a name in another order than the stored one.
//! Direction marks (U+200E, U+200F, U+061C) are dropped too. The Unicode bidirectional algorithm
//! orders the rest. Every field is a separate paragraph, so no text affects the order of another.

use std::borrow::Cow;

use invoicing_core::Rule;
use invoicing_core::internal::renders_as_nothing;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// Longest text in bytes: five times the limit of a long field.
const LONGEST: usize = 40_000;

/// Maximum number of characters in a grapheme cluster: a letter with its accents, or the parts of
/// one emoji. More cannot be read; the stream-safe text format of UAX #15 allows 30.
const CLUSTER: usize = 32;

/// The reason why a text cannot be printed.
#[derive(Debug)]
pub(in crate::documents) enum Unfit {
    /// No font has this character.
    Character(char),
    Text(Rule),
}

impl Unfit {
    /// The rule, about the text as it was entered.
    pub(in crate::documents) fn rule(self, entered: &str) -> Rule {
        match self {
            Self::Character(c) => unprintable(c, entered),
            Self::Text(rule) => rule,
        }
    }
}

/// The sign for a character that cannot be printed.
pub(in crate::documents) const BOX: char = '□';

/// The treatment of a text that cannot be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::documents) enum Unprintable {
    /// The text is refused with its field, so that its author can change it.
    Refused,
    /// A box stands for each character: nobody can change the text any more.
    Boxed,
}

/// The text as it is laid out: in NFC, with `\n` as its only line break. The only invisible
/// characters left are joiners that change the shape of their neighbours.
pub(in crate::documents) fn sanitize(text: &str) -> Result<Cow<'_, str>, Unfit> {
    if text.len() > LONGEST {
        return Err(Unfit::Text(Rule::TooLongToPrint { max: LONGEST }));
    }
    let clean = clean(text, |c| Err(Unfit::Character(c)))?;
    if clean.graphemes(true).any(|cluster| cluster.chars().count() > CLUSTER) {
        return Err(Unfit::Text(Rule::ClusterTooLong { max: CLUSTER }));
    }
    Ok(clean)
}

/// The same for any text. A text that would be refused is shortened, or a box stands for its
/// character.
pub(in crate::documents) fn sanitize_any(text: &str) -> Cow<'_, str> {
    let text = &text[..text.floor_char_boundary(LONGEST)];
    let clean = clean(text, |_| Ok(BOX)).unwrap_or_default();
    if clean.graphemes(true).all(|cluster| cluster.chars().count() <= CLUSTER) {
        return clean;
    }
    clean.graphemes(true).flat_map(|cluster| cluster.chars().take(CLUSTER)).collect::<String>().into()
}

fn clean(text: &str, unprintable: impl Fn(char) -> Result<char, Unfit>) -> Result<Cow<'_, str>, Unfit> {
    // Nearly all texts need no change, and so no copy.
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
            '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => out.push(unprintable(c)?),
            _ if c.is_control() => out.push(unprintable(c)?),
            // Few fonts have these. Only the no-break spaces (U+00A0, U+202F, U+2007) matter, and
            // stay.
            '\u{1680}' | '\u{2000}'..='\u{2006}' | '\u{2008}'..='\u{200a}' | '\u{205f}' | '\u{3000}' => {
                out.push(' ');
            }
            _ => out.push(c),
        }
    }
    Ok(Cow::Owned(out))
}

/// A text for a page of HTML. A text that would be refused is shown without its invisible
/// characters, as the renderer of a host may print it.
#[cfg(feature = "console")]
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let can_stay = |c: &char| *c == '\n' || !(c.is_control() || renders_as_nothing(*c));
    sanitize(text).unwrap_or_else(|_| text.chars().filter(can_stay).collect::<String>().into())
}

/// The rule that names a character without a glyph, and its first place in the text as entered,
/// counted from 1.
fn unprintable(c: char, text: &str) -> Rule {
    let code = u32::from(c);
    // A character that layout has composed is not in the text as such.
    let position = text.chars().position(|entered| entered == c);
    let position = position.or_else(|| text.nfc().position(|composed| composed == c));
    let position = position.map_or(1, |before| before + 1);
    let is_visible = !c.is_control() && !matches!(code, 0xe000..=0xf8ff | 0xf_0000..);
    let sign = if is_visible { format!("“{c}” U+{code:04X}") } else { format!("U+{code:04X}") };
    Rule::NoGlyph { sign, position }
}

/// Plainer characters with the same meaning: `m²` for `㎡`, `A` for `Ａ`. `None` if there are none.
///
/// A mapping to figures is left out, as `½` would become `1⁄2` beside other figures, and `²` a
/// figure like them.
pub(in crate::documents) fn plainer(c: char) -> Option<String> {
    let plain: String = std::iter::once(c).nfkc().collect();
    match c {
        _ if plain.chars().eq([c]) => None,
        // Units in one square, such as `㎡`, `㎥` and `㎨`: a figure in them is an exponent.
        '\u{3371}'..='\u{33df}' => Some(plain.replace('2', "²").replace('3', "³")),
        // Wide figures, and those of formulas.
        '\u{ff10}'..='\u{ff19}' | '\u{1d7ce}'..='\u{1d7ff}' => Some(plain),
        _ if plain.contains(char::is_numeric) => None,
        _ => Some(plain),
    }
}

/// True if a joiner after this character has a visible effect: in scripts that join, and in emoji.
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
        let marked = sanitize(&format!("z{}", "\u{335}".repeat(40))).unwrap_err().rule("");
        assert!(marked.to_string().contains("32 characters"), "{marked}");
    }

    #[test]
    fn a_refusal_names_the_character() {
        let refused = |text: &str| sanitize(text).unwrap_err().rule(text).to_string();
        assert_eq!(refused("a\0"), "has U+0000 (character 2), which no font of the document has");
        assert_eq!(refused("\u{e000}"), "has U+E000 (character 1), which no font of the document has");
        assert!(sanitize(&"é".repeat(LONGEST)).is_err());
        let sign = unprintable('⌀', "e\u{301} ⌀").to_string();
        assert_eq!(sign, "has “⌀” U+2300 (character 4), which no font of the document has");
    }

    #[test]
    fn plainer_characters_never_become_other_figures() {
        for (c, plain) in [('㎡', "m²"), ('㎥', "m³"), ('㎨', "m∕s²"), ('㎜', "mm"), ('Ａ', "A"), ('４', "4")]
        {
            assert_eq!(plainer(c).as_deref(), Some(plain), "{c}");
        }
        for c in ['a', 'é', '½', '²', '①', '⒈', '㍙', '⌀', '電'] {
            assert_eq!(plainer(c), None, "{c}");
        }
    }

    proptest! {
        #[test]
        fn any_text_can_be_sanitized(text in any::<String>()) {
            let any = sanitize_any(&text);
            match sanitize(&text) {
                Ok(text) => prop_assert_eq!(text, any),
                Err(_) => prop_assert!(sanitize(&any).is_ok()),
            }
        }

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
