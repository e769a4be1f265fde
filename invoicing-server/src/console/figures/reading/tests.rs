use invoicing_core::Rule;
use proptest::prelude::*;
use rust_decimal::Decimal;

use super::*;

const BOTH: [Language; 2] = [Language::English, Language::French];
const CURRENCIES: [&str; 2] = ["EUR", "CHF"];

fn read<T: FormNumber>(language: Language, text: &str) -> Result<T, Invalid> {
    Figures::new(language, "EUR").read(text)
}

fn value<T: FromStr<Err = Invalid>>(text: &str) -> T {
    text.parse().unwrap()
}

#[test]
fn a_number_is_read_as_its_language_writes_it() {
    for (language, texts) in [
        (
            Language::English,
            ["1,234.5", "1234.50", "€1,234.50", "€\u{a0}1234.50", "1 234.50", " 1\u{202f}234.5 "],
        ),
        (
            Language::French,
            ["1\u{202f}234,50\u{a0}€", "1234,5", "1 234,50", "1\u{a0}234,5€", "1\u{2009}234.5", "1234.50"],
        ),
    ] {
        for text in texts {
            assert_eq!(read(language, text), Ok(value::<Money>("1234.50")), "{text}");
        }
    }
    assert_eq!(read(Language::English, "1,200"), Ok(value::<Money>("1200")));
    assert_eq!(read(Language::English, "12,345,678.9"), Ok(value::<Money>("12345678.9")));
    assert_eq!(read(Language::French, "1.2345"), Ok(value::<UnitPrice>("1.2345")));
    assert_eq!(read(Language::French, "1,500"), Ok(value::<Quantity>("1.5")));
    assert_eq!(read(Language::French, "20\u{a0}%"), Ok(value::<Percent>("20")));
    assert_eq!(read(Language::English, "5.5%"), Ok(value::<Percent>("5.5")));
    for language in BOTH {
        assert_eq!(read(language, "\u{2212}7"), Ok(value::<Quantity>("-7")));
        assert_eq!(read(language, "-7"), Ok(value::<Quantity>("-7")));
        assert_eq!(read(language, ".5"), Ok(value::<Quantity>("0.5")));
        assert_eq!(read(language, "007"), Ok(value::<Quantity>("7")));
    }
}

#[test]
fn a_number_that_could_be_another_one_is_refused() {
    let in_english = [
        "1,5",
        "1,20",
        "1,2345",
        "1,20,000",
        "1,200,50",
        "1.200,50",
        "1.200.50",
        "0,500",
        "1,200 500",
        "1234,567",
    ];
    let in_french =
        ["1.500", "1.234.567", "1.200,50", "1,200.50", "1,200,500", "1234.567", "1 234.567", "0 500"];
    let in_both = [
        "", "-", "€", "%", ".", ",", "x", "1e3", "1_000", "0x1", "1'200", "1 20", "1  200", "12 3456", "- 5",
        "--5", "5-", "$5", "CHF 5", "\u{663}", "1/2",
    ];
    let refused = |language, text: &str| {
        let refused = read::<Money>(language, text).unwrap_err();
        assert_eq!(refused.rule, Rule::NumberOfPage, "{text}");
    };
    for (language, texts) in [(Language::English, &in_english[..]), (Language::French, &in_french[..])] {
        for text in texts.iter().chain(&in_both) {
            refused(language, text);
        }
    }
    // The sign stands where the page writes it, and belongs to the kind of the number.
    refused(Language::English, "5 €");
    refused(Language::French, "€5");
    refused(Language::French, "5 %");
    assert!(read::<Quantity>(Language::French, "5 €").is_err());
    assert!(read::<Percent>(Language::English, "%5").is_err());
    // A number that its type does not take.
    assert!(read::<Money>(Language::English, "1.234").unwrap_err().to_string().contains("decimals"));
}

/// The values that a text may have for readers of any language: each pair of a mark before the
/// decimals and a mark between groups with which it is a number.
fn meanings(text: &str) -> Vec<(Option<char>, Option<char>, Decimal)> {
    let minus = text.starts_with(['-', '\u{2212}']);
    let digits: Vec<char> = text.chars().skip(usize::from(minus)).collect();
    let as_space = |c: char| if SPACES.contains(&c) { ' ' } else { c };
    let digits: Vec<char> = digits.into_iter().map(as_space).collect();
    let mut found = Vec::new();
    for mark in [None, Some('.'), Some(',')] {
        for group in [None, Some('.'), Some(','), Some(' ')] {
            if mark.is_none() || mark != group {
                found.extend(
                    with_marks(&digits, mark, group)
                        .map(|value| (mark, group, if minus { -value } else { value })),
                );
            }
        }
    }
    found
}

/// The value of a text with exactly these marks.
fn with_marks(text: &[char], mark: Option<char>, group: Option<char>) -> Option<Decimal> {
    let has = |wanted: Option<char>| wanted.is_none_or(|mark| text.contains(&mark));
    let known = |c: &char| c.is_ascii_digit() || Some(*c) == mark || Some(*c) == group;
    if !has(mark) || !has(group) || !text.iter().all(known) || !text.iter().any(char::is_ascii_digit) {
        return None;
    }
    let end = text.iter().position(|c| Some(*c) == mark).unwrap_or(text.len());
    let (whole, decimals) = (&text[..end], text.get(end + 1..).unwrap_or_default());
    if !decimals.iter().all(char::is_ascii_digit) || mark.is_some() && decimals.is_empty() {
        return None;
    }
    if let Some(group) = group {
        // From the right, each fourth character is the mark, and no other one is.
        let is_grouped = whole.iter().rev().enumerate().all(|(at, c)| (at % 4 == 3) == (*c == group));
        if !is_grouped || matches!(whole.first(), None | Some('0')) || *whole.first()? == group {
            return None;
        }
    }
    let digits: String = whole.iter().chain(decimals).filter(|c| c.is_ascii_digit()).collect();
    let places = u32::try_from(decimals.len()).ok()?;
    Decimal::try_from_i128_with_scale(digits.parse().ok()?, places).ok()
}

/// The marks that a language writes.
fn is_own(language: Language, mark: Option<char>, group: Option<char>) -> bool {
    match language {
        Language::English => matches!((mark, group), (None | Some('.'), None | Some(',' | ' '))),
        Language::French => matches!((mark, group), (None | Some(','), None | Some(' '))),
    }
}

fn texts() -> impl Strategy<Value = String> {
    let grouped = "[-\u{2212}]?[0-9]{1,4}([ ,.\u{a0}\u{202f}\u{2009}][0-9]{1,4}){0,3}";
    prop_oneof![3 => grouped, 1 => "[0-9]{0,3}[,.][0-9]{0,5}", 1 => "[-0-9 ,.€%x\u{a0}\u{202f}\u{2212}]{0,10}"]
}

/// A value prints, is read back as itself in the same language, and is read with the sign and
/// without it.
fn reads_back<T: FormNumber + PartialEq + std::fmt::Debug + Copy>(
    value: T,
    plain: &str,
    printed: impl Fn(Figures<'_>) -> String,
) -> Result<(), TestCaseError> {
    for language in BOTH {
        for currency in CURRENCIES {
            let figures = Figures::new(language, currency);
            let shown = printed(figures);
            prop_assert_eq!(figures.read::<T>(&shown), Ok(value), "{}", shown);
            // A page shows a non-breaking space as any other.
            let copied = shown.replace(['\u{a0}', '\u{202f}'], " ");
            prop_assert_eq!(figures.read::<T>(&copied), Ok(value), "{}", copied);
            let written = figures.written(&plain);
            prop_assert_eq!(figures.read::<T>(&written), Ok(value), "{}", written);
        }
    }
    Ok(())
}

const UNITS: i64 = 999_999_999_999_999;

fn units() -> impl Strategy<Value = i64> {
    prop_oneof![-UNITS..=UNITS, -20_000_000_i64..=20_000_000, -20_000_i64..=20_000]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Rules: PAGE-5
    #[test]
    fn every_number_is_read_back_as_it_is_printed(units in units()) {
        let money = Money::new(Decimal::new(units, 2)).unwrap();
        reads_back(money, &money.to_string(), |figures| figures.amount(money.get()))?;
        let quantity = Quantity::new(Decimal::new(units, 4)).unwrap();
        reads_back(quantity, &quantity.to_string(), |figures| figures.quantity(quantity))?;
        let price = UnitPrice::new(Decimal::new(units, 4)).unwrap();
        reads_back(price, &price.to_string(), |figures| figures.amount(price.get()))?;
        let rate = Percent::new(Decimal::new(units, 2)).unwrap();
        reads_back(rate, &rate.to_string(), |figures| figures.percent(rate))?;
    }

    /// Rules: PAGE-5
    #[test]
    fn a_text_that_is_read_has_one_meaning(text in texts()) {
        let text = text.trim();
        for language in BOTH {
            let meanings = meanings(text);
            let own: Vec<_> =
                meanings.iter().filter(|(mark, group, _)| is_own(language, *mark, *group)).collect();
            match Figures::new(language, "EUR").plain(text, None) {
                Some(plain) => {
                    let read = plain.parse::<Decimal>().unwrap();
                    // Only marks of another language, that no reader takes for another number.
                    let alone = own.is_empty() && meanings.len() == 1;
                    prop_assert!(!own.is_empty() || alone, "{} {:?}", text, meanings);
                    let meant = if alone { meanings[0].2 } else { own[0].2 };
                    prop_assert!(own.iter().all(|(_, _, value)| *value == meant), "{} {:?}", text, own);
                    prop_assert_eq!(read, meant, "{}", text);
                }
                None => prop_assert!(own.is_empty(), "{} {:?}", text, own),
            }
        }
    }
}
