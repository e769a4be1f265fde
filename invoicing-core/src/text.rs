//! The texts that fields accept, and their form for a search.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::characters::{
    is_assigned, is_bidi_control, is_other_line_break, is_without_meaning, renders_as_nothing,
    separates_words, shapes_words, trim_invisible,
};
use crate::{Invalid, Rule};

/// Longest short text, such as a name, an e-mail address or a city, in characters.
pub const SHORT_TEXT: usize = 255;
/// Longest address, note or description, in characters.
pub const LONG_TEXT: usize = 2_000;
/// Longest order number of a buyer, in characters: that of the platforms of e-invoicing.
const ORDER_NUMBER: usize = 50;

/// A character that a text must not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedCharacter {
    /// The character.
    pub character: char,
    /// The place of the character in the text as entered, counted from 1.
    pub position: usize,
}

impl From<RefusedCharacter> for Rule {
    fn from(RefusedCharacter { character, position }: RefusedCharacter) -> Self {
        Self::Character { code_point: character.into(), position }
    }
}

impl RefusedCharacter {
    /// The first character of this kind between the invisible ends of a text.
    fn find(text: &str, is_refused: impl Fn(char) -> bool) -> Option<Self> {
        let kept = trim_invisible(text);
        let (offset, character) = kept.char_indices().find(|(_, c)| is_refused(*c))?;
        let before = kept.as_ptr().addr() - text.as_ptr().addr() + offset;
        Some(Self { character, position: text[..before].chars().count() + 1 })
    }

    /// The first character that no name, label or identifier may have.
    fn in_short_text(text: &str) -> Option<Self> {
        Self::find(text, |c| {
            c.is_control() || is_bidi_control(c) || is_other_line_break(c) || is_without_meaning(c)
        })
    }

    /// The first character that no text of several lines may have.
    fn in_long_text(text: &str) -> Option<Self> {
        let is_layout = |c| matches!(c, '\n' | '\r' | '\t') || is_other_line_break(c);
        Self::find(text, |c| c.is_control() && !is_layout(c) || is_without_meaning(c))
    }

    /// The first character that neither the name nor the e-mail of a signer may have.
    pub fn in_signer(text: &str) -> Option<Self> {
        Self::in_short_text(text).or_else(|| Self::find(text, |c| !is_assigned(c)))
    }
}

/// Trims, normalises to NFC, and checks length and characters; a missing or empty text is refused.
///
/// Both ends lose white space and characters that render as nothing. A text of up to [`LONG_TEXT`]
/// characters may have line breaks, and each kind of line break but a carriage return becomes `\n`.
pub fn required_text(field: &str, text: &str, max: usize) -> Result<String, Invalid> {
    optional_text(field, Some(text), max)?
        .ok_or_else(|| Invalid::new(field.to_owned(), Rule::Characters { max }))
}

/// As [`required_text`], but a missing or empty text is `None`.
pub fn optional_text(field: &str, text: Option<&str>, max: usize) -> Result<Option<String>, Invalid> {
    let Some(entered) = text else { return Ok(None) };
    let is_long = max == LONG_TEXT;
    let refused = if is_long {
        RefusedCharacter::in_long_text(entered)
    } else {
        RefusedCharacter::in_short_text(entered)
    };
    let text = normalized(field, trim_invisible(entered), max)?;
    match refused {
        Some(refused) => Err(Invalid::new(field.to_owned(), refused)),
        None if text.is_empty() => Ok(None),
        None if is_long => Ok(Some(text.replace(is_other_line_break, "\n"))),
        None => Ok(Some(text)),
    }
}

/// The order number of a buyer, as entered.
pub(crate) fn optional_order_number(text: Option<&str>) -> Result<Option<String>, Invalid> {
    optional_text("orderNumber", text, ORDER_NUMBER)
}

/// The form in which a text is looked up among the stored ones: as [`required_text`] stores it.
/// Empty if no character is left.
pub fn sought_text(text: &str) -> String {
    trim_invisible(text).nfc().collect()
}

/// The text without controls of direction. For texts that stay readable without them, and whose
/// author could not find them in order to remove them.
pub fn without_bidi_controls(text: &str) -> String {
    text.chars().filter(|c| !is_bidi_control(*c)).collect()
}

/// The text in NFC, if it is not too long.
fn normalized(field: &str, text: &str, max: usize) -> Result<String, Invalid> {
    let too_long = || Invalid::new(field.to_owned(), Rule::AtMostCharacters { max });
    // Normalising can lengthen a text threefold. A text that cannot fit any more is refused early.
    if text.len() > max * 16 {
        return Err(too_long());
    }
    let text: String = text.nfc().collect();
    if text.chars().count() > max { Err(too_long()) } else { Ok(text) }
}

/// As [`optional_text`] for an e-mail address.
///
/// A character that renders as nothing is invisible, and no mail arrives at an address that has
/// one: it is left out, unless it shapes a word. So is what a list of addresses or a link has
/// around them.
pub(crate) fn optional_email(field: &str, text: Option<&str>) -> Result<Option<String>, Invalid> {
    let Some(mut email) = optional_text(field, text, SHORT_TEXT)? else { return Ok(None) };
    email.retain(|c| !renders_as_nothing(c) || shapes_words(c));
    let email = bare_address(&email);
    check_email(field, email)?;
    Ok(Some(email.to_owned()))
}

/// The address in `<a@b.fr>`, `mailto:a@b.fr` and `a@b.fr;`.
fn bare_address(text: &str) -> &str {
    const SCHEME: &str = "mailto:";
    let bare = text.trim_matches(['<', '>']).trim_end_matches([',', ';']).trim();
    let has_scheme = bare.get(..SCHEME.len()).is_some_and(|start| start.eq_ignore_ascii_case(SCHEME));
    let bare = if has_scheme { &bare[SCHEME.len()..] } else { bare };
    // One may stand within another.
    if bare.len() == text.len() { bare } else { bare_address(bare) }
}

/// As [`optional_email`], but a missing address is refused.
pub(crate) fn required_email(field: &str, text: &str) -> Result<String, Invalid> {
    optional_email(field, Some(text))?
        .ok_or_else(|| Invalid::new(field.to_owned(), Rule::Characters { max: SHORT_TEXT }))
}

/// The name of a signer. Of the characters that a name may have it accepts every assigned one, as a
/// person cannot change the name; the fonts of a document do not limit it.
pub fn signer_name(text: &str) -> Result<String, Invalid> {
    const FIELD: &str = "signedByName";
    let name = required_text(FIELD, text, SHORT_TEXT)?;
    check_assigned(FIELD, text)?;
    Ok(name)
}

/// The e-mail of a signer, of assigned characters as [`signer_name`].
pub fn signer_email(text: &str) -> Result<String, Invalid> {
    const FIELD: &str = "signedByEmail";
    let email = required_email(FIELD, text)?;
    check_assigned(FIELD, text)?;
    Ok(email)
}

fn check_assigned(field: &'static str, text: &str) -> Result<(), Invalid> {
    RefusedCharacter::in_signer(text).map_or(Ok(()), |refused| Err(Invalid::new(field, refused)))
}

/// Checks the shape of an e-mail address: one `@` with visible text on both sides, and no white
/// space.
///
/// Only sending can show that mail arrives at the address.
pub(crate) fn check_email(field: &str, email: &str) -> Result<(), Invalid> {
    let is_visible = |side: &str| !trim_invisible(side).is_empty();
    let well_formed = email
        .rsplit_once('@')
        .is_some_and(|(local, domain)| is_visible(local) && is_visible(domain) && !local.contains('@'))
        && !email.contains(char::is_whitespace);
    well_formed.then_some(()).ok_or_else(|| Invalid::new(field.to_owned(), Rule::Email))
}

/// True if the domain of an e-mail address has a dot between two names, like all domains that
/// receive mail from everywhere.
pub fn has_dotted_domain(email: &str) -> bool {
    // Every full stop that a domain name may be written with (UTS #46).
    const DOTS: [char; 4] = ['.', '\u{3002}', '\u{ff0e}', '\u{ff61}'];
    let domain = email.rsplit_once('@').map_or("", |(_, domain)| domain);
    domain.contains(DOTS) && domain.split(DOTS).all(|name| !trim_invisible(name).is_empty())
}

/// The text in the form for a search: without accents, case, ligatures, control characters and
/// characters that render as nothing. Hyphens and white space of any kind become spaces, and
/// apostrophes those of a typewriter.
pub fn fold_for_search(text: &str) -> String {
    let is_kept = |c: &char| !c.is_control();
    if text.is_ascii() {
        return text.chars().map(sign).filter(is_kept).map(|c| c.to_ascii_lowercase()).collect();
    }
    let mut folded = String::with_capacity(text.len());
    let bare = |c: &char| is_kept(c) && !is_combining_mark(*c) && !renders_as_nothing(*c);
    for c in text.chars().map(sign).nfkd().map(sign).filter(bare) {
        // Lowers the capital of each letter, because some capitals have two small letters (σ and ς,
        // i and ı).
        for c in c.to_uppercase().flat_map(char::to_lowercase).nfkd().filter(bare) {
            match c {
                'œ' => folded.push_str("oe"),
                'æ' => folded.push_str("ae"),
                'ß' => folded.push_str("ss"),
                'ø' => folded.push('o'),
                'ł' => folded.push('l'),
                'đ' => folded.push('d'),
                c => folded.push(sign(c)),
            }
        }
    }
    folded
}

/// The sign that stands for a character in a search.
fn sign(c: char) -> char {
    match c {
        '\u{2bc}' | '\u{2018}' | '\u{2019}' => '\'',
        c if separates_words(c) => ' ',
        c => c,
    }
}

/// The words of a search, folded. A record is found when each of them is a part of one of its
/// folded texts.
pub fn search_words(text: &str) -> Vec<String> {
    fold_for_search(text).split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::check_external_id;

    /// Rules: LIST-20
    #[test]
    fn search_is_blind_to_case_and_accents() {
        assert_eq!(fold_for_search("Lefèvre"), "lefevre");
        assert_eq!(fold_for_search("LEFE\u{300}VRE"), "lefevre");
        assert_eq!(fold_for_search("Cœur İstanbul Straße"), "coeur istanbul strasse");
        assert_eq!(fold_for_search("ΟΔΟΣ"), fold_for_search("οδος"));
    }

    /// Rules: LIST-20
    #[test]
    fn search_knows_one_apostrophe_and_no_hyphen() {
        for text in ["l'atelier", "L’Atelier", "L‘ATELIER", "lʼatelier", "l＇atelier"] {
            assert_eq!(search_words(text), ["l'atelier"], "{text}");
        }
        for text in
            ["Saint-Étienne", "Saint‑Étienne", "saint – etienne", "SAINT\u{202f}ETIENNE", "Saint\tÉtienne"]
        {
            assert_eq!(search_words(text), ["saint", "etienne"], "{text}");
        }
        assert_eq!(fold_for_search("Cl\u{200b}ai\u{ad}re\u{feff}"), "claire");
        for text in ["", " ", "-", "\u{3164}\u{200b}", "\u{301}", "\0"] {
            assert!(search_words(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn folding_is_blind_to_the_case_of_every_character_and_done_once() {
        let mut odd = Vec::new();
        // The Greek iota below a letter is an accent, but its capital is a letter. This search
        // keeps it an accent.
        let iota_below = |c: char| std::iter::once(c).nfkd().any(|c| c == '\u{345}');
        for c in ('\0'..='\u{1ffff}').filter(|c| !c.is_control() && !iota_below(*c)) {
            let folded = fold_for_search(&c.to_string());
            let capital = fold_for_search(&c.to_uppercase().to_string());
            let small = fold_for_search(&c.to_lowercase().to_string());
            if fold_for_search(&folded) != folded || capital != folded || small != folded {
                odd.push(c);
            }
        }
        assert!(odd.is_empty(), "{odd:?}");
    }

    /// Rules: WIRE-13
    #[test]
    fn texts_are_trimmed_and_normalised_to_nfc() {
        assert_eq!(optional_text("city", Some("  e\u{301}  "), SHORT_TEXT).unwrap().unwrap(), "é");
        assert_eq!(optional_text("city", Some("   "), SHORT_TEXT).unwrap(), None);
        assert!(required_text("name", "", SHORT_TEXT).is_err());
    }

    /// Rules: WIRE-14
    #[test]
    fn lengths_are_counted_in_characters() {
        assert!(required_text("name", &"é".repeat(255), SHORT_TEXT).is_ok());
        assert!(required_text("name", &"é".repeat(256), SHORT_TEXT).is_err());
        assert!(required_text("notes", &"😀".repeat(2_000), LONG_TEXT).is_ok());
    }

    fn refused(field: &str, text: &str, max: usize) -> String {
        optional_text(field, Some(text), max).unwrap_err().to_string()
    }

    /// Rules: WIRE-17, WIRE-29
    #[test]
    fn a_refusal_of_a_character_names_it_and_its_position() {
        assert_eq!(refused("name", "a\0b", SHORT_TEXT), "name: must not contain U+0000 (character 2)");
        assert_eq!(refused("name", " é\nb", SHORT_TEXT), "name: must not contain U+000A (character 3)");
        assert_eq!(refused("name", "a\u{2028}b", SHORT_TEXT), "name: must not contain U+2028 (character 2)");
        assert_eq!(refused("notes", "a\nb\u{9f}", LONG_TEXT), "notes: must not contain U+009F (character 4)");
    }

    /// Rules: WIRE-29, WIRE-31
    #[test]
    fn a_character_without_a_shared_meaning_is_in_no_text() {
        for (c, name) in [
            ('\u{fffe}', "U+FFFE"),
            ('\u{ffff}', "U+FFFF"),
            ('\u{1fffe}', "U+1FFFE"),
            ('\u{10ffff}', "U+10FFFF"),
            ('\u{fdd0}', "U+FDD0"),
            ('\u{fdef}', "U+FDEF"),
            ('\u{e000}', "U+E000"),
            ('\u{f8ff}', "U+F8FF"),
            ('\u{f0000}', "U+F0000"),
        ] {
            for max in [SHORT_TEXT, LONG_TEXT] {
                for (text, position) in [(format!("{c}a"), 1), (format!(" é{c}"), 3), (c.to_string(), 1)] {
                    let rule = format!("name: must not contain {name} (character {position})");
                    assert_eq!(refused("name", &text, max), rule);
                }
            }
            assert!(check_external_id(Some(&format!("crm{c}"))).is_err());
            assert!(optional_email("email", Some(&format!("a{c}@b.fr"))).is_err());
        }
        // Not assigned yet: a later version of Unicode may.
        for c in ['\u{378}', '\u{1faff}', '\u{3fffd}'] {
            let text = format!("a{c}");
            assert_eq!(required_text("name", &text, SHORT_TEXT).unwrap(), text);
            assert!(signer_name(&text).is_err());
        }
    }

    /// Rules: WIRE-17
    #[test]
    fn every_line_break_of_a_long_text_is_stored_as_one() {
        let notes = required_text("notes", "a\u{b}b\u{85}c\u{2028}d\u{2029}e\u{c}f\ng\th\r\ni", LONG_TEXT);
        assert_eq!(notes.unwrap(), "a\nb\nc\nd\ne\nf\ng\th\r\ni");
    }

    /// Rules: WIRE-27
    #[test]
    fn what_renders_as_nothing_is_no_text() {
        for nothing in ["\u{200b}", "\u{3164}", "\u{feff} \u{2800}", "\u{fffc}", "\u{202e}\u{202c}"] {
            assert_eq!(optional_text("city", Some(nothing), SHORT_TEXT), Ok(None), "{nothing:?}");
            assert!(required_text("name", nothing, SHORT_TEXT).is_err(), "{nothing:?}");
        }
        let name = "\u{200f}\u{feff} Zoé 👩\u{200d}🔧\u{fffc} ";
        assert_eq!(required_text("name", name, SHORT_TEXT).unwrap(), "Zoé 👩\u{200d}🔧");
        for word in ["می\u{200c}خواهم", "क्\u{200d}ष", "❤\u{fe0f}"] {
            assert_eq!(required_text("name", word, SHORT_TEXT).unwrap(), word);
        }
    }

    /// Rules: WIRE-28
    #[test]
    fn controls_of_direction_stay_in_long_texts_only() {
        for c in
            "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}"
                .chars()
        {
            let text = format!("Claire {c}Lefèvre");
            let rule = format!("name: must not contain U+{:04X} (character 8)", u32::from(c));
            assert_eq!(refused("name", &text, SHORT_TEXT), rule);
            assert_eq!(required_text("notes", &text, LONG_TEXT).unwrap(), text);
        }
    }

    /// Rules: EVIDENCE-5
    #[test]
    fn a_signer_has_a_name_of_any_assigned_characters() {
        for name in ["Անի", "ნინო", "สมชาย", "देवी", "தமிழ்", "王小明", "Zoé 👍", "Claire\u{fffc}", "\u{fffd}"]
        {
            assert!(signer_name(name).is_ok(), "{name}");
        }
        for (name, at) in [
            ("Claire\u{e000}", "U+E000 (character 7)"),
            ("\u{10ffff}", "U+10FFFF (character 1)"),
            ("a\u{378}", "U+0378 (character 2)"),
            ("\u{fdd0}b", "U+FDD0 (character 1)"),
            ("Claire \u{202e}b", "U+202E (character 8)"),
        ] {
            assert_eq!(
                signer_name(name).unwrap_err().to_string(),
                format!("signedByName: must not contain {at}")
            );
        }
        assert_eq!(signer_name("Zoe\u{301}"), signer_name("Zoé"));
        assert!(signer_email("zoé\u{e000}@exemple.fr").is_err());
    }

    /// Rules: WIRE-18
    #[test]
    fn an_email_has_two_visible_sides() {
        for good in ["a@b", "jean.dupont+devis@exemple.fr", "x@y.fr\u{200b}", "\u{feff}x@y.fr"] {
            let email = optional_email("email", Some(good)).unwrap().unwrap();
            assert_eq!(email, trim_invisible(good));
        }
        assert_eq!(required_email("email", "x\u{200b}@\u{fffc}y.fr").unwrap(), "x@y.fr");
        for bad in ["a", "@b", "a@", "a@b@c", "a b@c", "\u{200b}@b", "a@\u{3164}", "a\u{202e}b@c"] {
            assert!(optional_email("email", Some(bad)).is_err(), "{bad:?}");
        }
        assert_eq!(optional_email("email", Some("\u{200b}")), Ok(None));
        for pasted in
            ["<a@b.fr>", "mailto:a@b.fr", "MAILTO:a@b.fr,", "a@b.fr;", "<a@b.fr> ;", "mailto: a@b.fr"]
        {
            assert_eq!(required_email("email", pasted).unwrap(), "a@b.fr", "{pasted}");
        }
        assert!(optional_email("email", Some("<>")).is_err());
        assert!(check_email("email", "").is_err() && check_email("email", "\u{200b}@b").is_err());
    }

    /// Rules: SIGN-14
    #[test]
    fn a_domain_that_receives_mail_has_a_dot_inside() {
        for good in ["marie@exemple.fr", "marie@例え。jp"] {
            assert!(has_dotted_domain(good), "{good}");
        }
        for bad in ["marie@exemple", "marie@exemple.", "marie@.fr", "marie@exemple..fr", "marie.fr", "a.b@c"]
        {
            assert!(!has_dotted_domain(bad), "{bad}");
        }
    }
}
