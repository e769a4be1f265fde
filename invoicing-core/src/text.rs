//! What a text field accepts, and how a search sees it.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::Invalid;

/// Longest name, e-mail, city and the like, in characters.
pub const SHORT_TEXT: usize = 255;
/// Longest address, note or description, in characters.
pub const LONG_TEXT: usize = 2_000;

/// Trims, normalises to NFC, and checks length and characters; a missing or empty text is refused.
pub fn required_text(field: &str, text: &str, max: usize) -> Result<String, Invalid> {
    optional_text(field, Some(text), max)?
        .ok_or_else(|| Invalid::new(field.to_owned(), format!("must have 1 to {max} characters")))
}

/// As [`required_text`], but a missing or empty text is `None`.
pub fn optional_text(field: &str, text: Option<&str>, max: usize) -> Result<Option<String>, Invalid> {
    let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    // Normalising can lengthen a text threefold; refuse early what can no longer fit.
    if text.len() > max * 16 {
        return Err(too_long(field, max));
    }
    let text: String = text.nfc().collect();
    if text.chars().count() > max {
        return Err(too_long(field, max));
    }
    let line_break = |c: char| max == LONG_TEXT && matches!(c, '\n' | '\r' | '\t');
    if text.chars().any(|c| c.is_control() && !line_break(c)) {
        return Err(Invalid::new(field.to_owned(), "must not contain control characters"));
    }
    Ok(Some(text))
}

fn too_long(field: &str, max: usize) -> Invalid {
    Invalid::new(field.to_owned(), format!("must have at most {max} characters"))
}

/// Checks the shape of an e-mail address: one `@` with something on both sides, and no white space.
///
/// Whether mail arrives there only sending can tell.
pub fn check_email(field: &str, email: &str) -> Result<(), Invalid> {
    let well_formed = email
        .rsplit_once('@')
        .is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !local.contains('@'))
        && !email.contains(char::is_whitespace);
    well_formed.then_some(()).ok_or_else(|| Invalid::new(field.to_owned(), "must be an e-mail address"))
}

/// The text as a search compares it: without accents, case, ligatures and control characters.
pub fn fold_for_search(text: &str) -> String {
    if text.is_ascii() {
        return text.chars().filter(|c| !c.is_control()).map(|c| c.to_ascii_lowercase()).collect();
    }
    let mut folded = String::with_capacity(text.len());
    let bare = |c: &char| !is_combining_mark(*c) && !c.is_control();
    for c in text.nfkd().filter(bare) {
        // Through the capital, because some capitals have two small letters (σ and ς, i and ı).
        for c in c.to_uppercase().flat_map(char::to_lowercase).nfkd().filter(bare) {
            match c {
                'œ' => folded.push_str("oe"),
                'æ' => folded.push_str("ae"),
                'ß' => folded.push_str("ss"),
                'ø' => folded.push('o'),
                'ł' => folded.push('l'),
                'đ' => folded.push('d'),
                c => folded.push(c),
            }
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules: LIST-20
    #[test]
    fn search_is_blind_to_case_and_accents() {
        assert_eq!(fold_for_search("Lefèvre"), "lefevre");
        assert_eq!(fold_for_search("LEFE\u{300}VRE"), "lefevre");
        assert_eq!(fold_for_search("Cœur İstanbul Straße"), "coeur istanbul strasse");
        assert_eq!(fold_for_search("ΟΔΟΣ"), fold_for_search("οδος"));
    }

    #[test]
    fn folding_is_blind_to_the_case_of_every_character_and_done_once() {
        let mut odd = Vec::new();
        // The Greek iota below a letter is an accent, but its capital is a letter: it stays an accent here.
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

    /// Rules: WIRE-17
    #[test]
    fn control_characters_are_refused() {
        assert!(required_text("name", "a\0b", SHORT_TEXT).is_err());
        assert!(required_text("name", "a\nb", SHORT_TEXT).is_err());
        assert!(required_text("notes", "a\nb", LONG_TEXT).is_ok());
    }

    /// Rules: WIRE-18
    #[test]
    fn an_email_has_two_sides() {
        for good in ["a@b", "jean.dupont+devis@exemple.fr"] {
            assert!(check_email("email", good).is_ok(), "{good}");
        }
        for bad in ["", "a", "@b", "a@", "a@b@c", "a b@c"] {
            assert!(check_email("email", bad).is_err(), "{bad}");
        }
    }
}
