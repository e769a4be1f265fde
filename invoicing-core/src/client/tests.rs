use super::*;
use crate::fixtures::{at, client, names_of, time, uuid};

fn parse(json: &str) -> Result<NewClient, serde_json::Error> {
    serde_json::from_str(json)
}

fn refused(json: &str) -> Invalid {
    parse(json).unwrap().check().unwrap_err()
}

/// Rules: RECORD-9
#[test]
fn the_record_has_the_fields_of_the_contract_in_their_order() {
    let expected = [
        "id",
        "name",
        "email",
        "phone",
        "address",
        "city",
        "zipCode",
        "type",
        "notes",
        "externalId",
        "siren",
        "vatNumber",
        "electronicAddress",
        "country",
        "billingAddress",
        "createdAt",
        "updatedAt",
    ];
    assert_eq!(names_of(&client()), expected);
    let bare = NewClient::named("Léa").check().unwrap().create(ClientId(uuid(1)), time(0));
    assert_eq!(names_of(&bare), expected);
    let json = serde_json::to_value(&bare).unwrap();
    assert_eq!(expected.iter().filter(|name| json[**name].is_null()).count(), 13);
}

/// Rules: WIRE-26
#[test]
fn a_record_reads_back_as_itself_and_what_is_new_in_it_is_ignored() {
    let mut json = serde_json::to_value(client()).unwrap();
    assert_eq!(serde_json::from_value::<Client>(json.clone()).unwrap(), client());
    json["loyalty"] = serde_json::json!({"points": 3});
    json["type"] = "ASSOCIATION".into();
    let read: Client<crate::OpenEnum<ClientType>> = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(read.r#type.as_ref().unwrap().known(), None);
    assert_eq!(serde_json::to_value(&read).unwrap()["type"], "ASSOCIATION");
}

#[test]
fn a_new_client_is_sent_without_what_is_unset() {
    assert_eq!(serde_json::to_string(&NewClient::named("Léa")).unwrap(), r#"{"name":"Léa"}"#);
}

/// Rules: CLIENT-4, CLIENT-5, CLIENT-8
#[test]
fn unknown_properties_missing_names_and_wrong_types_are_refused() {
    for bad in [
        "{}",
        r#"{"name": null}"#,
        r#"{"name": 5}"#,
        r#"{"name": "a", "externalID": "x"}"#,
        r#"{"name": "a", "name": "b"}"#,
        r#"{"name": "a", "type": "particulier"}"#,
        r#"{"name": "a", "type": 1}"#,
        r#"{"name": "a", "email": ["x"]}"#,
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
    let unknown = parse(r#"{"name": "a", "type": "X"}"#).unwrap_err().to_string();
    assert!(unknown.contains("PARTICULIER") && unknown.contains("PROFESSIONNEL"), "{unknown}");
}

/// Rules: WIRE-15
#[test]
fn an_empty_optional_text_is_null() {
    let fields = r#"{"name": " a ", "email": "", "phone": " ", "address": "", "city": "", "zipCode": "", "type": "",
        "notes": ""}"#;
    assert_eq!(parse(fields).unwrap().check(), NewClient::named("a").check());
    let nulls = r#"{"name": "a", "email": null, "phone": null, "address": null, "city": null, "zipCode": null,
        "type": null, "notes": null, "externalId": null}"#;
    assert_eq!(parse(nulls).unwrap().check(), NewClient::named("a").check());
}

/// Rules: CLIENT-6
#[test]
fn a_type_is_one_of_two_words() {
    let kind = |word: &str| parse(&format!(r#"{{"name": "a", "type": "{word}"}}"#)).unwrap().r#type;
    assert_eq!(kind("PARTICULIER"), Some(ClientType::Particulier));
    assert_eq!(kind(" PROFESSIONNEL "), Some(ClientType::Professionnel));
}

/// Rules: WIRE-16
#[test]
fn an_empty_external_id_is_refused() {
    for empty in ["", " ", "\\u00a0"] {
        assert_eq!(refused(&format!(r#"{{"name": "a", "externalId": "{empty}"}}"#)).field, "externalId");
    }
}

/// Rules: WIRE-14, WIRE-17
#[test]
fn every_text_has_its_length_and_no_control_characters() {
    for (field, max) in [
        ("name", 255),
        ("phone", 255),
        ("city", 255),
        ("zipCode", 255),
        ("externalId", 255),
        ("address", 2_000),
        ("notes", 2_000),
    ] {
        let with = |text: &str| {
            let mut json = serde_json::json!({"name": "a"});
            json[field] = text.into();
            serde_json::from_value::<NewClient>(json).unwrap().check()
        };
        assert!(with(&"é".repeat(max)).is_ok(), "{field}");
        assert_eq!(with(&"é".repeat(max + 1)).unwrap_err().field, field);
        assert_eq!(with(&"x".repeat(100_000)).unwrap_err().field, field);
        assert_eq!(with("a\0b").unwrap_err().field, field);
        assert_eq!(with("a\u{9f}b").unwrap_err().field, field);
        assert_eq!(with("a\u{85}b").is_ok(), max == 2_000, "{field}");
        assert_eq!(with("a\nb").is_ok(), max == 2_000, "{field}");
        assert_eq!(with("a\u{202e}b").is_ok(), max == 2_000, "{field}");
        assert!(with("😀 ' \" % _ \u{fffd}").is_ok(), "{field}");
    }
}

/// Rules: CLIENT-9
#[test]
fn the_numbers_of_a_business_are_stored_without_spaces() {
    let sent = r#"{"name": "a", "siren": " 732 829 320 ", "vatNumber": "fr 44 732 829 320",
        "electronicAddress": " 732829320_COMPTA ", "country": "fr"}"#;
    let client = parse(sent).unwrap().check().unwrap().create(ClientId(uuid(1)), time(0));
    let numbers = [client.siren, client.vat_number, client.electronic_address, client.country];
    assert_eq!(numbers.map(Option::unwrap), ["732829320", "FR44732829320", "732829320_COMPTA", "FR"]);
    let empty = r#"{"name": "a", "siren": " ", "vatNumber": "", "electronicAddress": "", "country": null}"#;
    assert_eq!(parse(empty).unwrap().check(), NewClient::named("a").check());
}

/// Rules: CLIENT-9
#[test]
fn a_number_of_a_business_that_cannot_exist_is_refused_by_name() {
    for (field, bad) in [
        ("siren", "732829321"),
        ("siren", "73282932"),
        ("siren", "73282932000074"),
        ("vatNumber", "FR45732829320"),
        ("vatNumber", "732829320"),
        ("electronicAddress", "732 829 320"),
        ("electronicAddress", "lea@exemple.fr"),
        ("country", "FRA"),
        ("country", "F1"),
    ] {
        assert_eq!(refused(&format!(r#"{{"name": "a", "{field}": "{bad}"}}"#)).field, field, "{bad}");
    }
    let check_digit = refused(r#"{"name": "a", "siren": "732829321"}"#);
    assert_eq!(check_digit.to_string(), "siren: must be a SIREN: 9 digits, the last one a check digit");
}

/// Rules: CLIENT-10
#[test]
fn a_billing_address_has_four_texts_or_is_null() {
    let billed = |address: &str| {
        let new = parse(&format!(r#"{{"name": "a", "billingAddress": {address}}}"#)).unwrap();
        new.check().map(|fields| fields.create(ClientId(uuid(1)), time(0)).billing_address)
    };
    let entered = r#"{"address": " CS 40102 ", "zipCode": "69401", "city": "Lyon", "country": "be"}"#;
    let address = billed(entered).unwrap().unwrap();
    assert_eq!(names_of(&address), ["address", "zipCode", "city", "country"]);
    assert_eq!(
        address,
        BillingAddress::default().address("CS 40102").zip_code("69401").city("Lyon").country("BE")
    );
    assert_eq!(address.postal_address().unwrap(), "CS 40102\n69401 Lyon\nBelgique");
    assert_eq!(billed(r#"{"city": "Lyon"}"#), Ok(Some(BillingAddress::default().city("Lyon"))));
    for blank in ["null", "{}", r#"{"address": " ", "zipCode": "", "city": null, "country": ""}"#] {
        assert_eq!(billed(blank), Ok(None), "{blank}");
    }
    for (bad, field) in [
        (r#"{"address": "a\u0000b"}"#, "billingAddress.address"),
        (r#"{"zipCode": "a\nb"}"#, "billingAddress.zipCode"),
        (r#"{"city": "a\nb"}"#, "billingAddress.city"),
        (r#"{"country": "BEL"}"#, "billingAddress.country"),
    ] {
        assert_eq!(billed(bad).unwrap_err().field, field, "{bad}");
    }
    let long = BillingAddress::default().address("é".repeat(2_001));
    assert_eq!(
        NewClient::named("a").billing_address(long).check().unwrap_err().field,
        "billingAddress.address"
    );
}

/// Rules: CLIENT-5, CLIENT-8, CLIENT-10
#[test]
fn a_billing_address_refuses_unknown_properties_that_a_record_ignores() {
    for bad in [r#""Lyon""#, "[]", r#"{"town": "Lyon"}"#, r#"{"city": 5}"#, r#"{"city": "a", "city": "b"}"#] {
        assert!(parse(&format!(r#"{{"name": "a", "billingAddress": {bad}}}"#)).is_err(), "{bad}");
    }
    let mut json = serde_json::to_value(client()).unwrap();
    json["billingAddress"] = serde_json::json!({"city": "Lyon", "building": "B"});
    let read: Client = serde_json::from_value(json).unwrap();
    assert_eq!(read.billing_address, Some(BillingAddress::default().city("Lyon")));
    let sent = serde_json::to_string(&NewClient::of(&read)).unwrap();
    assert_eq!(parse(&sent).unwrap(), NewClient::of(&read));
}

/// Rules: WIRE-18
#[test]
fn an_email_is_checked() {
    assert_eq!(refused(r#"{"name": "a", "email": "no-at-sign"}"#).field, "email");
    let long = format!(r#"{{"name": "a", "email": "{}@b"}}"#, "a".repeat(254));
    assert_eq!(refused(&long).field, "email");
    assert!(parse(r#"{"name": "a", "email": " a@b.fr "}"#).unwrap().check().is_ok());
}

/// Rules: WIRE-13
#[test]
fn texts_are_trimmed_and_normalised() {
    let new = parse(r#"{"name": "  Lefe\u0300vre ", "externalId": " x1 "}"#).unwrap();
    let client = new.check().unwrap().create(ClientId(uuid(1)), time(0));
    assert_eq!((client.name.as_str(), client.external_id.as_deref()), ("Lefèvre", Some("x1")));
}

fn fields_of(client: &Client) -> NewClient {
    NewClient {
        name: client.name.clone(),
        email: client.email.clone(),
        phone: client.phone.clone(),
        address: client.address.clone(),
        city: client.city.clone(),
        zip_code: client.zip_code.clone(),
        r#type: client.r#type,
        notes: client.notes.clone(),
        external_id: client.external_id.clone(),
        siren: client.siren.clone(),
        vat_number: client.vat_number.clone(),
        electronic_address: client.electronic_address.clone(),
        country: client.country.clone(),
        billing_address: client.billing_address.clone(),
    }
}

/// Rules: STAMP-6
#[test]
fn the_same_fields_again_are_no_change() {
    let client = client();
    let same = ClientChange { name: format!(" {} ", client.name), ..fields_of(&client) };
    assert_eq!(same.check().unwrap().apply(&client, at(9)), None);
}

/// Rules: STAMP-5
#[test]
fn each_field_that_differs_is_a_change() {
    type Edit = fn(&mut NewClient);
    let edits: [Edit; 14] = [
        |new| new.name.push('x'),
        |new| new.email = None,
        |new| new.phone = None,
        |new| new.address = None,
        |new| new.city = None,
        |new| new.zip_code = None,
        |new| new.r#type = None,
        |new| new.notes = None,
        |new| new.external_id = None,
        |new| new.siren = Some("732829320".into()),
        |new| new.vat_number = Some("FR44732829320".into()),
        |new| new.electronic_address = Some("732829320_A".into()),
        |new| new.country = Some("FR".into()),
        |new| new.billing_address = Some(BillingAddress::default().city("Lyon")),
    ];
    for edit in edits {
        let mut change = fields_of(&client());
        edit(&mut change);
        let changed = change.check().unwrap().apply(&client(), at(9)).unwrap();
        assert_eq!((changed.id, changed.created_at, changed.updated_at), (client().id, at(0), at(9)));
        assert_eq!(crate::fixtures::differences(&client(), &changed).len(), 2);
    }
}

/// Rules: LIST-19
#[test]
fn a_search_sees_name_email_and_city_only() {
    assert_eq!(client().search_text(), "lea martin\nlea@exemple.fr\nparis");
}
