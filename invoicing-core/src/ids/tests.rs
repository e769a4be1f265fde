use super::*;

#[test]
fn an_id_has_one_spelling() {
    let text = "01990000-0000-7000-8000-000000000002";
    let id: QuoteId = text.parse().unwrap();
    assert_eq!(id.to_string(), text);
    assert_eq!(format!("{id:?}"), text);
    assert_eq!(serde_json::to_string(&id).unwrap(), format!("\"{text}\""));
    for bad in [
        "",
        "quote",
        "0199000000007000800000000000000002",
        "01990000000070008000000000000002",
        "{01990000-0000-7000-8000-000000000002}",
        "urn:uuid:01990000-0000-7000-8000-000000000002",
        "01990000-0000-7000-8000-00000000000g",
        " 01990000-0000-7000-8000-00000000000",
        "é1990000-0000-7000-8000-00000000002",
    ] {
        assert_eq!(bad.parse::<QuoteId>(), Err(ParseIdError), "{bad}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_an_id_or_none(text in "\\PC{0,40}") {
        if let Some(id) = parse_uuid(&text) {
            proptest::prop_assert_eq!(id.to_string(), text.to_lowercase());
        }
    }
}
