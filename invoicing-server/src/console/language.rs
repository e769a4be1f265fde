//! The languages of the pages. Each text is written in both languages where it is used.

use http::{HeaderMap, header};
use serde::Deserialize;

/// A language of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Language {
    /// English.
    #[default]
    English,
    /// French.
    French,
}

impl Language {
    /// The value of the attribute `lang`.
    pub(super) const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::French => "fr",
        }
    }

    /// The text in this language.
    pub(super) const fn pick<'t>(self, english: &'t str, french: &'t str) -> &'t str {
        match self {
            Self::English => english,
            Self::French => french,
        }
    }

    /// The language of the console that the browser prefers. English if it names neither.
    pub(super) fn preferred(headers: &HeaderMap) -> Self {
        let values = headers.get_all(header::ACCEPT_LANGUAGE).iter().filter_map(|value| value.to_str().ok());
        let mut best: Option<(f32, Self)> = None;
        for range in values.flat_map(|value| value.split(',')) {
            let Some((weight, language)) = read_range(range) else { continue };
            // Of equal weights the first one counts.
            if best.is_none_or(|(best, _)| weight > best) {
                best = Some((weight, language));
            }
        }
        best.map_or(Self::English, |(_, language)| language)
    }
}

/// Weight and language of a range such as `fr-CH;q=0.9`. `None` for other languages, and for a
/// weight of 0.
fn read_range(range: &str) -> Option<(f32, Language)> {
    let mut parts = range.split(';').map(str::trim);
    let tag = parts.next()?;
    let language = match tag.split('-').next()?.to_ascii_lowercase().as_str() {
        "en" => Language::English,
        "fr" => Language::French,
        _ => return None,
    };
    let weight = parts.find_map(|part| part.strip_prefix("q="));
    let weight = weight.map_or(Some(1.0), |weight| weight.parse().ok())?;
    (weight > 0.0).then_some((weight, language))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn preferred(value: &'static str) -> Language {
        let value = HeaderValue::from_static(value);
        Language::preferred(&HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, value)]))
    }

    #[test]
    fn the_browser_s_preference_counts() {
        for french in [
            "fr",
            "fr-FR,fr;q=0.9,en;q=0.8",
            "de, fr;q=0.5, en;q=0.4",
            "en;q=0.3,FR-ch;q=0.31",
            "en;q=0,fr;q=0.1",
        ] {
            assert_eq!(preferred(french), Language::French, "{french}");
        }
        for english in ["en", "en,fr", "de", "", "*", "fr;q=0", "fr;q=x, en;q=0.1", "fr;q=0.5,en;q=0.6"] {
            assert_eq!(preferred(english), Language::English, "{english}");
        }
        assert_eq!(Language::preferred(&HeaderMap::new()), Language::English);
    }
}
