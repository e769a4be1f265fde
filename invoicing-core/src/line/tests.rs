use super::*;
use crate::fixtures::{holds_costing, names_of, new_line, priced};

fn refused(edit: impl FnOnce(&mut NewLine)) -> Invalid {
    let mut line = new_line("50", "10");
    edit(&mut line);
    price_lines(&[new_line("1", "20"), line]).unwrap_err()
}

fn json_line(quantity: &str, price: &str, rate: &str) -> Result<NewLine, serde_json::Error> {
    let head = r#""description": "x""#;
    serde_json::from_str(&format!(
        r#"{{{head}, "quantity": {quantity}, "unitPrice": {price}, "tvaRate": {rate}}}"#
    ))
}

/// Rules: RECORD-5
#[test]
fn a_line_has_exactly_the_eight_fields_of_the_contract() {
    let expected = ["description", "quantity", "unit", "unitPrice", "totalHT", "tvaRate", "lot", "section"];
    assert_eq!(names_of(&priced().lines[0]), expected);
    let bare = price_lines(&[json_line("1", "2", "20").unwrap()]).unwrap().lines.remove(0);
    assert_eq!(names_of(&bare), expected);
    let json = serde_json::to_value(&bare).unwrap();
    assert!(["unit", "lot", "section"].iter().all(|name| json[name].is_null()));
}

#[test]
fn a_line_can_be_read_by_who_does_not_know_all_of_it() {
    let mut json = serde_json::to_value(&priced().lines[0]).unwrap();
    json["discount"] = 5.into();
    assert_eq!(serde_json::from_value::<Line>(json).unwrap(), priced().lines[0]);
}

/// Rules: RECORD-6
#[test]
fn what_only_the_company_knows_is_split_off() {
    let priced = priced();
    assert_eq!(priced.lines.len(), priced.costings.len());
    assert!(!holds_costing(&serde_json::to_string(&priced.lines).unwrap()));
    assert!(!holds_costing(&format!("{:?}", priced.lines)));
    assert!(holds_costing(&serde_json::to_string(&priced.costings).unwrap()));
    assert_eq!(priced.costings[0], new_line("50", "10").costing);
}

/// Rules: MONEY-1
#[test]
fn a_line_is_priced_to_the_cent() {
    let total = |quantity, price| {
        price_lines(&[json_line(quantity, price, "20").unwrap()]).unwrap().lines[0].total_ht.to_string()
    };
    assert_eq!(total("12.5", "24"), "300.00");
    assert_eq!(total("0.3333", "0.015"), "0.00");
    assert_eq!(total("0.5", "0.01"), "0.01");
    assert_eq!(total("-0.5", "0.01"), "-0.01");
    assert_eq!(total("-1", "99.9999"), "-100.00");
}

/// Rules: WIRE-8
#[test]
fn more_decimals_than_the_contract_allows_are_refused() {
    assert!(json_line("1.2345", "1.2345", "5.25").is_ok());
    for (quantity, price, rate) in [
        ("1.23456", "1", "20"),
        ("1", "1.23456", "20"),
        ("1", "1", "5.125"),
        ("1e-5", "1", "20"),
        ("1", "1e-40", "20"),
    ] {
        assert!(json_line(quantity, price, rate).is_err(), "{quantity} {price} {rate}");
    }
    assert!(json_line("1e400", "1", "20").is_err());
    assert!(json_line("100000000000", "1", "20").is_err());
    assert!(json_line("\"1\"", "1", "20").is_err());
    assert!(json_line("1", "1", "null").is_err());
}

#[test]
fn unknown_members_are_refused_also_within_the_costing() {
    let with = |member: &str| {
        let json =
            format!(r#"{{"description": "x", "quantity": 1, "unitPrice": 1, "tvaRate": 20, {member}}}"#);
        serde_json::from_str::<NewLine>(&json)
    };
    assert!(with(r#""costing": {"labourCost": 3}"#).is_ok());
    assert!(with(r#""totalHT": 3"#).is_err());
    assert!(with(r#""costing": {"labourCosts": 3}"#).is_err());
    assert!(with(r#""costing": {"labourCost": 3.001}"#).is_err());
}

/// Rules: MONEY-5
#[test]
fn a_negative_price_is_refused_and_a_negative_quantity_is_a_discount() {
    let refusal = refused(|line| line.unit_price = "-0.0001".parse().unwrap());
    assert_eq!(refusal.field, "lines[1].unitPrice");
    let mut discount = new_line("50", "10");
    discount.quantity = "-2".parse().unwrap();
    assert_eq!(price_lines(&[discount]).unwrap().lines[0].total_ht, Money::from(-100));
}

/// Rules: MONEY-12
#[test]
fn a_rate_is_between_0_and_100() {
    for bad in ["-0.01", "100.01"] {
        assert_eq!(refused(|line| line.tva_rate = bad.parse().unwrap()).field, "lines[1].tvaRate");
    }
    assert!(price_lines(&[new_line("1", "0"), new_line("1", "100")]).is_ok());
}

/// Rules: WIRE-14, WIRE-17
#[test]
fn every_text_has_its_length_and_no_control_characters() {
    type Field = fn(&mut NewLine, String);
    let fields: [(&str, usize, Field); 6] = [
        ("description", 2_000, |line, text| line.description = text),
        ("unit", 255, |line, text| line.unit = Some(text)),
        ("lot", 255, |line, text| line.lot = Some(text)),
        ("section", 255, |line, text| line.section = Some(text)),
        ("costing.privateNote", 2_000, |line, text| line.costing.private_note = Some(text)),
        ("costing.subcontractor", 255, |line, text| line.costing.subcontractor = Some(text)),
    ];
    for (name, max, set) in fields {
        let mut longest = new_line("50", "10");
        set(&mut longest, "é".repeat(max));
        assert!(price_lines(&[longest]).is_ok(), "{name}");
        for bad in ["é".repeat(max + 1), "a\0b".to_owned(), "a\u{1b}[31mb".to_owned()] {
            assert_eq!(refused(|line| set(line, bad)).field, format!("lines[1].{name}"));
        }
        let mut two_rows = new_line("50", "10");
        set(&mut two_rows, "a\nb".to_owned());
        assert_eq!(price_lines(&[two_rows]).is_ok(), max == 2_000, "{name}");
    }
}

#[test]
fn a_line_needs_a_description_and_empty_optional_texts_are_null() {
    assert_eq!(refused(|line| line.description = " \n ".into()).field, "lines[1].description");
    let mut line = new_line("50", "10");
    (line.unit, line.lot, line.section) = (Some(String::new()), Some(" ".into()), Some("\t".into()));
    line.costing.private_note = Some(String::new());
    let priced = price_lines(&[line]).unwrap();
    let Line { unit, lot, section, .. } = &priced.lines[0];
    assert_eq!((unit, lot, section), (&None, &None, &None));
    assert_eq!(priced.costings[0].private_note, None);
}

/// Rules: RECORD-11
#[test]
fn the_number_of_lines_is_bounded() {
    let lines = vec![new_line("1", "20"); MAX_LINES + 1];
    assert_eq!(price_lines(&lines[1..]).unwrap().lines.len(), MAX_LINES);
    assert_eq!(price_lines(&lines).unwrap_err().field, "lines");
}

/// Rules: RECORD-12
#[test]
fn the_lines_of_a_document_have_at_most_2_mib_of_json() {
    let long = NewLine { description: "é".repeat(2_000), ..new_line("1", "20") };
    let json = |count: usize| {
        let lines = price_lines(&vec![long.clone(); count])?.lines;
        Ok::<usize, Invalid>(serde_json::to_vec(&lines).unwrap().len())
    };
    let each = json(2).unwrap() - json(1).unwrap();
    let max = (MAX_LINES_BYTES - 1) / each;
    assert!(json(max).unwrap() <= MAX_LINES_BYTES);
    assert_eq!(json(max + 1).unwrap_err().field, "lines");
    // Exact to the byte: the last line fills the bytes that are left.
    let left = MAX_LINES_BYTES - json(max).unwrap();
    let fixed = json(1).unwrap() - long.description.len() - 1;
    let fitting = |bytes: usize| {
        let last = NewLine { description: "x".repeat(bytes), ..new_line("1", "20") };
        price_lines(&[vec![long.clone(); max], vec![last]].concat())
    };
    let room = left.checked_sub(fixed).unwrap();
    assert!((1..2_000).contains(&room), "{room}");
    assert!(fitting(room).is_ok());
    assert!(fitting(room + 1).is_err());
}

#[test]
fn a_total_beyond_what_money_holds_names_its_line() {
    let refusal = refused(|line| {
        line.quantity = "99999999999".parse().unwrap();
        line.unit_price = "99999999999".parse().unwrap();
    });
    assert_eq!(refusal.field, "lines[1].totalHT");
}
