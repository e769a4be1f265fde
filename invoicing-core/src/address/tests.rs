use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Address, postal code, town and country as they were entered; `""` for none.
type Entered = (&'static str, &'static str, &'static str, &'static str);

fn read((address, zip_code, city, country): Entered) -> PostalAddress<'static> {
    let [address, zip_code, city, country] =
        [address, zip_code, city, country].map(|text| Some(text).filter(|text| !text.is_empty()));
    PostalAddress::read(address, zip_code, city, country)
}

/// The lines, the town and the country of an address, separated by `|`.
fn parts(address: &PostalAddress<'_>) -> String {
    let lines = address.lines.join("/");
    [Some(&*lines), address.zip_code, address.city, address.country].map(Option::unwrap_or_default).join("|")
}

/// Rules: DOCUMENT-18, DOCUMENT-29
#[test]
fn an_address_is_read_and_printed_in_its_parts() {
    let cases: &[(Entered, &str, &str)] = &[
        (("Bât. B\n3 place Royale", "44000", "Nantes", ""), "Bât. B/3 place Royale|44000|Nantes|FR", ""),
        // The town stands in the address, in any case, and in its own fields.
        (("3 place Royale\n44000 NANTES", "44000", "Nantes", ""), "3 place Royale|44000|Nantes|FR", ""),
        (("3 place Royale, 44000 Nantes", "44000", "NANTES", ""), "3 place Royale|44000|NANTES|FR", ""),
        (("3 place Royale - 44000 Nantes", "44000", "Nantes", ""), "3 place Royale|44000|Nantes|FR", ""),
        (("3 place Royale 44000 Nantes", "44000", "Nantes", ""), "3 place Royale|44000|Nantes|FR", ""),
        (("3 place Royale\nNantes", "44000", "Nantes", ""), "3 place Royale|44000|Nantes|FR", ""),
        (("3 quai Sud, Saint Malo", "35400", "Saint-Malo", ""), "3 quai Sud|35400|Saint-Malo|FR", ""),
        (("3 rue X, 44000 Nantes\n44000 Nantes", "44000", "Nantes", "FR"), "3 rue X|44000|Nantes|FR", ""),
        (("", "", "44000 Nantes", ""), "|44000|Nantes|FR", ""),
        (("", "44000", "44000 Nantes", ""), "|44000|Nantes|FR", ""),
        // It stands in the address alone, or in part.
        (("12 rue X, 44000 Nantes", "", "", ""), "12 rue X|44000|Nantes|FR", ""),
        (("12, rue X,44000  Nantes", "", "", ""), "12, rue X|44000|Nantes|FR", ""),
        (
            ("12 rue X\n44000 Nantes, Loire-Atlantique", "", "", ""),
            "12 rue X|44000|Nantes, Loire-Atlantique|FR",
            "",
        ),
        (("12 rue X\n44000 Nantes", "44000", "", ""), "12 rue X|44000|Nantes|FR", ""),
        (("12 rue X\n44000 Nantes", "", "Nantes", ""), "12 rue X|44000|Nantes|FR", ""),
        // Another town, or a street of its name.
        (("3 rue X\n44000 Nantes", "44400", "Rezé", ""), "3 rue X/44000 Nantes|44400|Rezé|FR", ""),
        (("3 rue de Nantes", "44000", "Nantes", ""), "3 rue de Nantes|44000|Nantes|FR", ""),
        (("3 route de Vern", "", "Vern", ""), "3 route de Vern||Vern|FR", ""),
        (("BP 144000 Nantes", "44000", "Nantes", ""), "BP 144000 Nantes|44000|Nantes|FR", ""),
        (("1250 Chemin des Oliviers", "", "", ""), "1250 Chemin des Oliviers|||FR", ""),
        (("12345 67890", "", "", ""), "12345 67890|||FR", ""),
        (("1250 rte de Nice", "", "", ""), "1250 rte de Nice|||FR", ""),
        (("", "69401 CEDEX 03", "Lyon", ""), "|69401 CEDEX 03|Lyon|FR", ""),
        // Postal codes of parts of France overseas, and of Monaco.
        (("5 rue X\n97400 Saint-Denis", "", "", ""), "5 rue X|97400|Saint-Denis|RE", "La Réunion"),
        (("5 rue X", "97 300", "Cayenne", "FR"), "5 rue X|97 300|Cayenne|GF", "Guyane"),
        (
            ("3 rue X\n97110 Pointe-à-Pitre\nGuadeloupe", "", "", ""),
            "3 rue X|97110|Pointe-à-Pitre|GP",
            "Guadeloupe",
        ),
        (("3 rue X\nFrance", "97110", "Pointe-à-Pitre", ""), "3 rue X|97110|Pointe-à-Pitre|GP", "Guadeloupe"),
        (("3 rue X", "98000", "Monaco", ""), "3 rue X|98000|Monaco|MC", "Monaco"),
        // Countries.
        (("1 rue X\nSuisse", "57340", "Suisse", ""), "1 rue X|57340|Suisse|FR", ""),
        (("c/o Dupont\nPays-Bas", "59000", "Lille", ""), "c/o Dupont/Pays-Bas|59000|Lille|FR", ""),
        (("Résidence Le Parc\nMonaco", "06000", "Nice", ""), "Résidence Le Parc/Monaco|06000|Nice|FR", ""),
        (("12 rue X, 44000 Nantes\nFRANCE", "", "", ""), "12 rue X|44000|Nantes|FR", ""),
        (("12 rue X, 44000 Nantes, France", "44000", "Nantes", "FR"), "12 rue X|44000|Nantes|FR", ""),
        (("1 Domplatz\n10115 Berlin\nGermany", "", "", ""), "1 Domplatz|10115|Berlin|DE", "Allemagne"),
        (("1 Domplatz\nAllemagne", "10115", "Berlin", "DE"), "1 Domplatz|10115|Berlin|DE", "Allemagne"),
        (("1 Main St\nUS", "10001", "New York", "US"), "1 Main St|10001|New York|US", "États-Unis"),
        (("3 rue X\nBelgique", "44000", "Nantes", "FR"), "3 rue X/Belgique|44000|Nantes|FR", ""),
        (("3 rue X, Luxembourg", "L-1234", "Luxembourg", "LU"), "3 rue X|L-1234|Luxembourg|LU", "Luxembourg"),
        (("1 bd Neuf\n98000 Monaco\nMonaco", "", "", ""), "1 bd Neuf|98000|Monaco|MC", "Monaco"),
        (("France", "", "", ""), "France|||FR", ""),
        (("", "", "", "BE"), "|||BE", "Belgique"),
        // No French postal code.
        (("Bahnhofstr. 1\n8001 Zürich", "", "", ""), "Bahnhofstr. 1|8001|Zürich|", ""),
        (("8001 Zürich", "", "", ""), "|8001|Zürich|", ""),
        (("", "8001", "Zürich", ""), "|8001|Zürich|", ""),
        (("CH-8001 Zürich", "", "", "CH"), "|CH-8001|Zürich|CH", "Suisse"),
        (("F-44000 Nantes", "", "", ""), "|F-44000|Nantes|FR", ""),
        (("", "75 001", "Paris", ""), "|75 001|Paris|FR", ""),
        (("Dam 1\n1012 AB Amsterdam", "", "", "NL"), "Dam 1/1012 AB Amsterdam|||NL", "Pays-Bas"),
        (("", "8001", "Zürich", "FR"), "|8001|Zürich|FR", "France"),
        (("", "44000", "", ""), "|44000||FR", ""),
    ];
    for (entered, expected, country) in cases {
        let address = read(*entered);
        assert_eq!(parts(&address), *expected, "{entered:?}");
        let town: Vec<_> = address.zip_code.into_iter().chain(address.city).collect();
        let town = town.join(" ");
        let lines: Vec<_> = address.lines.iter().copied().chain([&*town, country]).collect();
        let printed = lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
        assert_eq!(address.printed().unwrap(), printed, "{entered:?}");
    }
    assert_eq!(read(("", "", "", "")).printed(), None);
    assert!(read(("", "44000", "", "BE")).is_empty() && !read(("", "", "Nantes", "")).is_empty());
}

/// The words of texts, without case, accents and signs.
fn words<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let is_sign = |c: char| !c.is_alphanumeric();
    let words = |text| fold_for_search(text).split(is_sign).map(str::to_owned).collect::<Vec<_>>();
    let mut words: Vec<_> = texts.into_iter().flat_map(words).filter(|word| !word.is_empty()).collect();
    words.sort();
    words
}

/// Postal codes, towns and the countries that they are in.
const TOWNS: [(&str, &str, &str); 7] = [
    ("44000", "Nantes", "FR"),
    ("35400", "Saint-Malo", "FR"),
    ("75116", "Paris 16e", "FR"),
    ("8001", "Zürich", "CH"),
    ("10115", "Berlin", "DE"),
    ("L-1234", "Luxembourg", "LU"),
    ("98000", "Monaco", "MC"),
];

/// A text that is entered, or is not.
fn perhaps(text: &'static str) -> impl Strategy<Value = Option<&'static str>> {
    select(vec![None, Some(text)])
}

/// An address as it is entered, with its parts.
#[derive(Debug)]
struct Sample {
    text: String,
    /// Postal code, town and country in fields of their own.
    fields: (Option<&'static str>, Option<&'static str>, Option<&'static str>),
    street: &'static str,
    zip_code: &'static str,
    city: &'static str,
    code: &'static str,
    /// True if the text names the town, and the country.
    has_town: bool,
    has_country: bool,
}

prop_compose! {
    /// An address of a street in a town, with the town and the country at the end of the text, in
    /// fields of their own, in both or in neither.
    fn entered()(
        street in select(vec!["3 place Royale", "Bât. B\n12, rue de Nantes", "1250 chemin de France", "Le Bourg"]),
        (zip_code, city, code) in select(TOWNS.to_vec()),
    )(
        street in Just(street),
        zip_code in Just(zip_code),
        city in Just(city),
        code in Just(code),
        town_in_text in select(vec!["", "\n", ", ", "\n\n", " ,"]),
        loud in any::<bool>(),
        country_in_text in select(vec!["", "\n", ", "]),
        fields in (perhaps(zip_code), perhaps(city), perhaps(code)),
    ) -> Sample {
        let mut text = street.to_owned();
        let (has_town, has_country) = (!town_in_text.is_empty(), !country_in_text.is_empty());
        if has_town {
            let town = format!("{zip_code} {city}");
            text = text + town_in_text + &(if loud { town.to_uppercase() } else { town });
        }
        if has_country {
            text = text + country_in_text + french_name(code);
        }
        Sample { text, fields, street, zip_code, city, code, has_town, has_country }
    }
}

proptest! {
    /// Rules: DOCUMENT-18, DOCUMENT-29
    #[test]
    fn an_address_loses_and_doubles_nothing_however_it_is_entered(
        Sample { text, fields, street, zip_code, city, code, has_town, has_country } in entered(),
    ) {
        let address = PostalAddress::read(Some(&text), fields.0, fields.1, fields.2);
        // Each word once, but for the country.
        let (has_code, has_city) = (has_town || fields.0.is_some(), has_town || fields.1.is_some());
        let known = [Some(street), has_code.then_some(zip_code), has_city.then_some(city)];
        let read = address.lines.iter().copied().chain(address.zip_code).chain(address.city);
        prop_assert_eq!(words(read), words(known.into_iter().flatten()), "{:?}", address);
        prop_assert_eq!((address.zip_code.is_some(), address.city.is_some()), (has_code, has_city));
        // The country, if it is entered anywhere, and never France for a code that is not French.
        if has_country || fields.2.is_some() {
            prop_assert_eq!(address.country, Some(code));
        } else if has_code && !is_french(zip_code) {
            prop_assert_ne!(address.country, Some(FRANCE));
        }
        // A document that prints it is read the same.
        let printed = address.printed().unwrap();
        let again = PostalAddress::read(Some(&printed), None, None, None);
        prop_assert_eq!(again.printed().unwrap(), printed.clone());
        if has_code == has_city {
            prop_assert_eq!(&again, &address, "{}", printed);
        }
    }

    /// Rules: DOCUMENT-29
    #[test]
    fn any_text_is_read_and_stays_as_it_is_printed(
        address in "[0-9A-Za-zé ,\n-]{0,40}",
        zip_code in proptest::option::of("[0-9]{4,5}"),
        city in proptest::option::of("[A-Z][a-zé -]{1,8}[a-z]"),
    ) {
        let address = PostalAddress::read(Some(&address), zip_code.as_deref(), city.as_deref(), None);
        if let Some(printed) = address.printed() {
            let again = PostalAddress::read(Some(&printed), None, None, None);
            prop_assert_eq!(again.printed(), Some(printed));
        }
    }
}
