//! Numbers that people enter: read as the pages write them in the language of the reader.
//!
//! In English a comma groups three digits and a point stands before the decimals, in French a space
//! and a comma. A text that does not fit the language has two meanings as soon as its reader knows
//! the other one: `1,5`, or `1.500` in French. It is refused, as a wrong guess changes an amount by
//! three digits.

use std::str::FromStr;

use invoicing_core::{Invalid, Money, Percent, Quantity, Rule, UnitPrice};

use super::Figures;
use crate::console::Language;
use crate::documents::content::french;

/// Spaces between groups of digits, and between a number and its sign.
const SPACES: [char; 4] = [' ', '\u{a0}', '\u{202f}', '\u{2009}'];

/// A kind of number that forms ask for.
pub(in crate::console) trait FormNumber: FromStr<Err = Invalid> {
    /// The sign that the pages write beside it, and people may leave out.
    fn sign(figures: Figures<'_>) -> Option<&str>;
}

impl FormNumber for Money {
    fn sign(figures: Figures<'_>) -> Option<&str> {
        Some(french::sign(figures.currency))
    }
}

impl FormNumber for UnitPrice {
    fn sign(figures: Figures<'_>) -> Option<&str> {
        Some(french::sign(figures.currency))
    }
}

impl FormNumber for Percent {
    fn sign(_: Figures<'_>) -> Option<&str> {
        Some("%")
    }
}

impl FormNumber for Quantity {
    fn sign(_: Figures<'_>) -> Option<&str> {
        None
    }
}

impl Figures<'_> {
    /// The number in a text, as this reader writes it.
    ///
    /// # Errors
    /// [`Invalid`] for any other text, and for a number that its type does not take.
    pub(in crate::console) fn read<T: FormNumber>(self, text: &str) -> Result<T, Invalid> {
        let plain =
            self.plain(text, T::sign(self)).ok_or_else(|| Invalid::new("number", Rule::NumberOfPage))?;
        plain.parse()
    }

    /// The number with a hyphen and a point, and without groups.
    fn plain(self, text: &str, sign: Option<&str>) -> Option<String> {
        let text = text.trim();
        let (minus, text) = match text.strip_prefix(['-', '\u{2212}']) {
            Some(text) => ("-", text),
            None => ("", text),
        };
        let (whole, decimals) = self.split(self.without(sign, text))?;
        let whole = self.ungrouped(whole)?;
        if decimals.is_some_and(|digits| !are_digits(digits)) || whole.is_empty() && decimals.is_none() {
            return None;
        }
        Some(format!("{minus}0{whole}.{}", decimals.unwrap_or("0")))
    }

    /// The text without its sign, if that stands on its side of the number.
    fn without<'t>(self, sign: Option<&str>, text: &'t str) -> &'t str {
        let Some(sign) = sign else { return text };
        // The sign of a percentage follows the number in both languages.
        let (rest, is_in_front) = if self.language == Language::English && sign != "%" {
            (text.strip_prefix(sign), true)
        } else {
            (text.strip_suffix(sign), false)
        };
        match rest {
            Some(rest) if is_in_front => rest.trim_start_matches(SPACES),
            Some(rest) => rest.trim_end_matches(SPACES),
            None => text,
        }
    }

    /// The digits before and behind the mark.
    fn split(self, text: &str) -> Option<(&str, Option<&str>)> {
        let mark = self.language.pick(".", ",");
        if let Some((whole, decimals)) = text.split_once(mark) {
            return Some((whole, Some(decimals)));
        }
        match text.split_once('.') {
            // A point in a French number was copied, and may group three digits.
            Some((_, decimals)) if decimals.len() == 3 => None,
            Some((whole, decimals)) => Some((whole, Some(decimals))),
            None => Some((text, None)),
        }
    }

    /// The digits of a whole number: all of them together, or in groups of three.
    fn ungrouped(self, text: &str) -> Option<String> {
        if text.is_empty() || are_digits(text) {
            return Some(text.to_owned());
        }
        let groups: Vec<_> = if self.language == Language::English && text.contains(',') {
            text.split(',').collect()
        } else {
            text.split(SPACES).collect()
        };
        let (first, others) = groups.split_first()?;
        let is_first = (1..=3).contains(&first.len()) && !first.starts_with('0');
        let are_groups = is_first && others.iter().all(|group| group.len() == 3);
        (are_groups && groups.iter().all(|group| are_digits(group))).then(|| groups.concat())
    }
}

fn are_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
