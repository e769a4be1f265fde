//! The names of countries.

use crate::text::fold_for_search;

/// The code of France (ISO 3166-1).
pub(crate) const FRANCE: &str = "FR";

/// France and its parts overseas, the countries of the European Union, and those that French clients
/// write from most: the code, the name in French, and other names, most of them English.
const NAMES: [(&str, &str, &[&str]); 46] = [
    ("AT", "Autriche", &["Austria"]),
    ("BE", "Belgique", &["Belgium"]),
    ("BG", "Bulgarie", &["Bulgaria"]),
    ("CA", "Canada", &[]),
    ("CH", "Suisse", &["Switzerland"]),
    ("CY", "Chypre", &["Cyprus"]),
    ("CZ", "Tchéquie", &["Czechia", "Czech Republic", "République tchèque"]),
    ("DE", "Allemagne", &["Germany"]),
    ("DK", "Danemark", &["Denmark"]),
    ("DZ", "Algérie", &["Algeria"]),
    ("EE", "Estonie", &["Estonia"]),
    ("ES", "Espagne", &["Spain"]),
    ("FI", "Finlande", &["Finland"]),
    ("FR", "France", &[]),
    (
        "GB",
        "Royaume-Uni",
        &["United Kingdom", "UK", "Great Britain", "Grande-Bretagne", "England", "Angleterre"],
    ),
    ("GF", "Guyane", &["French Guiana", "Guyane française"]),
    ("GP", "Guadeloupe", &[]),
    ("GR", "Grèce", &["Greece"]),
    ("HR", "Croatie", &["Croatia"]),
    ("HU", "Hongrie", &["Hungary"]),
    ("IE", "Irlande", &["Ireland"]),
    ("IT", "Italie", &["Italy"]),
    ("LT", "Lituanie", &["Lithuania"]),
    ("LU", "Luxembourg", &[]),
    ("LV", "Lettonie", &["Latvia"]),
    ("MA", "Maroc", &["Morocco"]),
    ("MC", "Monaco", &[]),
    ("MQ", "Martinique", &[]),
    ("MT", "Malte", &["Malta"]),
    ("NC", "Nouvelle-Calédonie", &["New Caledonia"]),
    ("NL", "Pays-Bas", &["Netherlands", "The Netherlands"]),
    ("NO", "Norvège", &["Norway"]),
    ("PF", "Polynésie française", &["French Polynesia"]),
    ("PL", "Pologne", &["Poland"]),
    ("PM", "Saint-Pierre-et-Miquelon", &[]),
    ("PT", "Portugal", &[]),
    ("RE", "La Réunion", &["Réunion"]),
    ("RO", "Roumanie", &["Romania"]),
    ("SE", "Suède", &["Sweden"]),
    ("SI", "Slovénie", &["Slovenia"]),
    ("SK", "Slovaquie", &["Slovakia"]),
    ("TN", "Tunisie", &["Tunisia"]),
    ("TR", "Turquie", &["Turkey"]),
    ("US", "États-Unis", &["United States", "USA", "États-Unis d’Amérique"]),
    ("WF", "Wallis-et-Futuna", &[]),
    ("YT", "Mayotte", &[]),
];

/// The name of a country in French, or its code if it is far away.
pub(crate) fn french_name(code: &str) -> &str {
    NAMES.iter().find(|(known, ..)| *known == code).map_or(code, |(_, name, _)| name)
}

/// The code of the country with this name, in French or English, without regard to case and accents.
pub(crate) fn code_of(name: &str) -> Option<&'static str> {
    let sought = fold_for_search(name);
    let is_it = |(_, french, others): &&(_, &str, &[&str])| {
        std::iter::once(french).chain(*others).any(|name| fold_for_search(name) == sought)
    };
    NAMES.iter().find(is_it).map(|(code, ..)| *code)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules: DOCUMENT-27, DOCUMENT-29
    #[test]
    fn countries_nearby_have_names_and_others_codes() {
        assert_eq!(["BE", "RE", "JP"].map(french_name), ["Belgique", "La Réunion", "JP"]);
        let names = ["GRECE", "Switzerland", "royaume uni", "The Netherlands", "JP", "Ohio", ""];
        assert_eq!(names.map(code_of), [Some("GR"), Some("CH"), Some("GB"), Some("NL"), None, None, None]);
        for (code, name, others) in NAMES {
            for name in std::iter::once(&name).chain(others) {
                assert_eq!(code_of(&name.to_uppercase()), Some(code), "{name}");
            }
        }
    }
}
