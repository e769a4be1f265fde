//! Postal addresses: one reader for what documents print, the XML, and the legal gate.

use crate::country::{FRANCE, code_of, french_name};
use crate::text::fold_for_search;

/// Maximum number of capital letters before the hyphen of a postal code such as `CH-8001`.
const MAX_PREFIX: usize = 3;
/// Countries abroad whose postal codes have five digits, as the French ones.
const FIVE_DIGITS: [&str; 15] =
    ["CZ", "DE", "DZ", "EE", "ES", "FI", "GR", "HR", "IT", "LT", "MA", "SE", "SK", "TR", "US"];
/// Words that follow a house number of four digits, which is no postal code then.
const STREETS: [&str; 55] = [
    "all",
    "allee",
    "av",
    "avenue",
    "bd",
    "bis",
    "boulevard",
    "chaussee",
    "che",
    "chem",
    "chemin",
    "clos",
    "cours",
    "d",
    "domaine",
    "esplanade",
    "faubourg",
    "fbg",
    "fg",
    "grand",
    "grande",
    "hameau",
    "imp",
    "impasse",
    "lieu",
    "lot",
    "lotissement",
    "mail",
    "montee",
    "passage",
    "pl",
    "place",
    "promenade",
    "quai",
    "quartier",
    "rd",
    "res",
    "residence",
    "rn",
    "route",
    "rte",
    "rue",
    "ruelle",
    "sentier",
    "sq",
    "square",
    "ter",
    "traverse",
    "vieille",
    "vieux",
    "villa",
    "voie",
    "za",
    "zi",
    "zone",
];

/// A postal address in its parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostalAddress<'a> {
    /// The lines above the town.
    pub lines: Vec<&'a str>,
    /// The postal code.
    pub zip_code: Option<&'a str>,
    /// The town.
    pub city: Option<&'a str>,
    /// The code of the country (ISO 3166-1): as it was given, else the one that the address names,
    /// else that of the postal code, else of France. `None` if there is a postal code of another form
    /// than the French.
    pub country: Option<&'a str>,
}

impl<'a> PostalAddress<'a> {
    /// Reads an address as it was entered: its text may end with the town, and then with the name
    /// of the country. They count as given if they are not, and are left out of the text if they
    /// are the same. Any other end of the text stays in it.
    pub fn read(
        address: Option<&'a str>,
        zip_code: Option<&'a str>,
        city: Option<&'a str>,
        country: Option<&'a str>,
    ) -> Self {
        let is_space = |c: char| c.is_whitespace() || c == ',';
        let lines = address.into_iter().flat_map(str::lines).map(|line| line.trim_matches(is_space));
        let lines = lines.filter(|line| !line.is_empty()).collect();
        let mut read = Self { lines, zip_code, city, country };
        if let Some(town) = city.and_then(|city| read.new_town(city)) {
            (read.zip_code, read.city) = town;
        }
        read.take_country();
        while read.take_town() {}
        if read.country.is_none_or(|country| country == FRANCE) {
            read.country = read.zip_code.map_or(Some(FRANCE), place_of).or(read.country);
        }
        read
    }

    /// True if neither a line nor a town is known.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.city.is_none()
    }

    /// The lines below the name, in the order of a French envelope, separated by `\n`: a country
    /// other than France last, by its French name. `None` if there are none.
    pub fn printed(&self) -> Option<String> {
        let town: Vec<&str> = self.zip_code.into_iter().chain(self.city).collect();
        let town = town.join(" ");
        let town = (!town.is_empty()).then_some(&*town);
        // France is named below a postal code of another form, which does not imply it.
        let is_named = |code: &&str| *code != FRANCE || !self.zip_code.is_none_or(is_french);
        let country = self.country.filter(is_named).map(french_name);
        let lines: Vec<&str> = self.lines.iter().copied().chain(town).chain(country).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Takes the country from the end of the text, below anything else.
    fn take_country(&mut self) {
        let is_alone = self.lines.len() == 1 && self.zip_code.is_none() && self.city.is_none();
        let found = self.endings().find_map(|(before, ending)| {
            let code = self.country.filter(|own| *own == ending).or_else(|| code_of(ending))?;
            let is_own = self.country.is_none_or(|own| own == code) && !self.contradicts(code);
            (is_own && !(is_alone && before.is_empty())).then_some((before, code))
        });
        if let Some((before, code)) = found {
            self.country = Some(code);
            self.end_with(before);
        }
    }

    /// True if the known postal code is of another country than this one.
    fn contradicts(&self, country: &str) -> bool {
        let Some(place) = self.zip_code.and_then(place_of) else { return false };
        let is_of_it = country == FRANCE || country == place;
        !is_of_it && (place != FRANCE || !FIVE_DIGITS.contains(&country))
    }

    /// Takes the town from the end of the text; false if it does not end with it.
    fn take_town(&mut self) -> bool {
        let known = |(before, ending)| self.town_of(ending).map(|town| (before, town));
        let found = self.endings().find_map(known).or_else(|| self.town_without_comma());
        let Some((before, town)) = found else { return false };
        (self.zip_code, self.city) = town;
        self.end_with(before);
        true
    }

    /// Postal code and town that this text stands for.
    fn town_of(&self, text: &'a str) -> Option<Town<'a>> {
        let (code, city) = (self.zip_code.unwrap_or_default(), self.city.unwrap_or_default());
        let is_known = [city, code, &format!("{code} {city}")].into_iter().any(|known| is_same(known, text));
        if is_known { Some((self.zip_code, self.city)) } else { self.new_town(text) }
    }

    /// Postal code and town that this text names, if they do not contradict those that are known.
    fn new_town(&self, text: &'a str) -> Option<Town<'a>> {
        let (code, city) = town(text)?;
        let is_own = self.zip_code.is_none_or(|own| is_same(own, code))
            && self.city.is_none_or(|own| own == text || is_same(own, city));
        is_own.then_some((Some(code), Some(city)))
    }

    /// The known postal code and town at the end of the last line, behind a space. A town alone
    /// there may be the name of the street.
    fn town_without_comma(&self) -> Option<(&'a str, Town<'a>)> {
        let town = format!("{} {}", self.zip_code?, self.city?);
        let line = *self.lines.last()?;
        // Hyphens and spaces of the town may have been entered otherwise.
        let words = fold_for_search(&town).split_whitespace().count();
        let mut spaces = line.rmatch_indices(' ').take(words + 2);
        let (at, _) = spaces.find(|(at, _)| is_same(&line[at + 1..], &town))?;
        Some((&line[..at], (self.zip_code, self.city)))
    }

    /// The part of the last line behind its last comma, and the whole line: each with the text
    /// before it.
    fn endings(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let line = self.lines.last().copied();
        let part = line.and_then(|line| line.rsplit_once(','));
        part.map(|(before, part)| (before, part.trim())).into_iter().chain(line.map(|line| ("", line)))
    }

    /// Replaces the last line by the text before its end.
    fn end_with(&mut self, before: &'a str) {
        self.lines.pop();
        let is_separator = |c: char| c.is_whitespace() || [',', ';', '-', '–', '—'].contains(&c);
        self.lines.extend(Some(before.trim_end_matches(is_separator)).filter(|before| !before.is_empty()));
    }
}

/// Postal code and town.
type Town<'a> = (Option<&'a str>, Option<&'a str>);

/// Postal code and town, from a text such as `44000 Nantes`, `8001 Zürich` or `CH-8001 Zürich`.
fn town(text: &str) -> Option<(&str, &str)> {
    let (code, town) = text.split_once(char::is_whitespace)?;
    let town = town.trim_start();
    let is_prefix = |prefix: &str| {
        (1..=MAX_PREFIX).contains(&prefix.len()) && prefix.bytes().all(|byte| byte.is_ascii_uppercase())
    };
    let bare = code.split_once('-').filter(|(prefix, _)| is_prefix(prefix)).map_or(code, |(_, bare)| bare);
    let is_code = bare.bytes().all(|byte| byte.is_ascii_digit())
        && (bare.len() == 5 || bare.len() == 4 && !goes_on(town));
    (is_code && town.starts_with(char::is_alphabetic)).then_some((code, town))
}

/// True if four digits before this text are a house number, or only a part of a postal code, as the
/// Dutch is one (`1012 AB`).
fn goes_on(text: &str) -> bool {
    let first = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let is_dutch = first.len() == 2 && first.bytes().all(|byte| byte.is_ascii_uppercase());
    is_dutch || STREETS.contains(&&*fold_for_search(first))
}

/// The five digits of a French postal code, written with or without its country, and before a
/// delivery office (`69401 CEDEX 03`).
fn french_digits(code: &str) -> Option<String> {
    let bare = code.strip_prefix("F-").or_else(|| code.strip_prefix("FR-")).unwrap_or(code);
    let is_office = |c: char| c.is_alphabetic();
    let digits: String = bare.split(is_office).next().unwrap_or_default().split_whitespace().collect();
    (digits.len() == 5 && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

fn is_french(code: &str) -> bool {
    french_digits(code).is_some()
}

/// The code of France or of its part overseas that has a French postal code, or of Monaco; `None`
/// for a code of another form.
fn place_of(code: &str) -> Option<&'static str> {
    Some(match &french_digits(code)?[..3] {
        "971" => "GP",
        "972" => "MQ",
        "973" => "GF",
        "974" => "RE",
        "975" => "PM",
        "976" => "YT",
        "980" => "MC",
        "986" => "WF",
        "987" => "PF",
        "988" => "NC",
        _ => FRANCE,
    })
}

/// True for the same words, without regard to case, accents and hyphens.
fn is_same(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(fold_for_search);
    let mut words = one.split_whitespace().peekable();
    words.peek().is_some() && words.eq(other.split_whitespace())
}

#[cfg(test)]
mod tests;
