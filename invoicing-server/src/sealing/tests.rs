use base64::Engine;
use proptest::prelude::*;
use uuid::Uuid;

use super::*;

const COMPANY: CompanyId = CompanyId(Uuid::from_u128(0x0192_abcd_0000_7000_8000_0000_0000_0001));
const WEBHOOK: WebhookId = WebhookId(Uuid::from_u128(0x0192_abcd_0000_7000_8000_0000_0000_0002));

fn key(id: &str, byte: u8) -> SealingKey {
    SealingKey::new(id, [byte; 32]).unwrap()
}

fn sealer(keys: SealingKeys) -> Sealer {
    let sealer = Sealer::new(Env::system());
    sealer.set_keys(Arc::new(keys));
    sealer
}

fn data() -> AssociatedData {
    AssociatedData::webhook_secret(COMPANY, WEBHOOK)
}

#[test]
fn a_value_sealed_by_another_implementation_opens() {
    // Made with Python: HChaCha20 written from the draft (and checked against its vector) gives the
    // subkey, and cryptography's ChaCha20Poly1305(subkey).encrypt(bytes(4) + nonce[16:],
    // b"whsec_example", aad) the rest, where key = bytes([7]) * 32, nonce = bytes(range(24)) and
    // aad = b"".join(struct.pack(">Q", len(p)) + p for p in (b"invoicing/sealed/v1", b"k1",
    // b"webhook", b"secret", company.bytes, str(webhook).encode())).
    let sealed = "v1.k1.AAECAwQFBgcICQoLDA0ODxAREhMUFRYX33_Y4JlDPt1EqvErgyzF2DvZp7KaDeX5e2VcXDw";
    let opened = sealer(SealingKeys::new(key("k1", 7))).open_text(&data(), sealed).unwrap();
    assert_eq!(&*opened, "whsec_example");
}

#[test]
fn without_keys_values_are_stored_in_clear_text() {
    let sealer = Sealer::new(Env::system());
    assert_eq!(&*sealer.seal_text(&data(), "whsec_x"), "whsec_x");
    assert_eq!(&*sealer.open_text(&data(), "whsec_x").unwrap(), "whsec_x");
    assert_eq!(sealer.open_text(&data(), "v1.k1.AAAA"), Err(NotOpened::NoKey("k1".into())));
}

#[test]
fn clear_text_values_stay_readable_with_keys() {
    let sealer = sealer(SealingKeys::new(key("k1", 1)));
    assert_eq!(&*sealer.open_text(&data(), "whsec_x").unwrap(), "whsec_x");
}

#[test]
fn older_keys_open_values_and_the_current_key_seals_them() {
    let old = sealer(SealingKeys::new(key("k1", 1))).seal_text(&data(), "whsec_x");
    let both = sealer(SealingKeys::new(key("k2", 2)).older(key("k1", 1)));
    assert_eq!(&*both.open_text(&data(), &old).unwrap(), "whsec_x");
    assert_eq!(key_id(&both.seal_text(&data(), "whsec_x")), Some("k2"));
    let new_only = sealer(SealingKeys::new(key("k2", 2)));
    assert_eq!(new_only.open_text(&data(), &old), Err(NotOpened::NoKey("k1".into())));
    let lost = sealer(SealingKeys::new(key("k2", 2)).lost("k1"));
    assert_eq!(lost.open_text(&data(), &old), Err(NotOpened::Lost("k1".into())));
}

#[test]
fn a_value_opens_only_with_its_own_associated_data() {
    let ours = sealer(SealingKeys::new(key("k1", 1)));
    let sealed = ours.seal_text(&data(), "whsec_x");
    let other_company = CompanyId(WEBHOOK.0);
    let mut column = data();
    column.column = "url";
    let mut table = data();
    table.table = "setting";
    let mut no_company = data();
    no_company.company = None;
    for elsewhere in [
        AssociatedData::webhook_secret(other_company, WEBHOOK),
        AssociatedData::webhook_secret(COMPANY, WebhookId(COMPANY.0)),
        AssociatedData::setting(&WEBHOOK.to_string()),
        column,
        table,
        no_company,
    ] {
        assert_eq!(ours.open_text(&elsewhere, &sealed), Err(NotOpened::Damaged), "{elsewhere:?}");
    }
}

#[test]
fn a_key_with_another_id_or_other_bytes_opens_nothing() {
    let sealed = sealer(SealingKeys::new(key("k1", 1))).seal_text(&data(), "whsec_x");
    let wrong = sealer(SealingKeys::new(key("k1", 2)));
    assert_eq!(wrong.open_text(&data(), &sealed), Err(NotOpened::Damaged));
    let renamed = sealed.replace("v1.k1.", "v1.k2.");
    assert_eq!(sealer(SealingKeys::new(key("k2", 1))).open_text(&data(), &renamed), Err(NotOpened::Damaged));
}

#[test]
fn keys_are_read_from_any_common_base64() {
    let bytes: [u8; 32] = std::array::from_fn(|place| 255 - u8::try_from(place).unwrap());
    let standard = base64::engine::general_purpose::STANDARD.encode(bytes);
    let url_safe = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes);
    assert!(standard.contains(['+', '/']) && standard.ends_with('='));
    for text in [&standard, &url_safe, &format!(" {standard}\r\n"), &standard.replace('=', "")] {
        assert_eq!(*SealingKey::from_base64("k", text).unwrap().bytes, bytes, "{text}");
    }
}

#[test]
fn an_invalid_key_is_refused_without_quoting_it() {
    let good = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    for id in ["", "a.b", "é", "a b", "a\n", &"x".repeat(33)] {
        assert_eq!(SealingKey::from_base64(id, good).unwrap_err(), SealingKeyError::Id, "{id}");
    }
    assert_eq!(SealingKey::from_base64("k", "pass phrase").unwrap_err(), SealingKeyError::Encoding);
    assert_eq!(SealingKey::from_base64("k", "").unwrap_err(), SealingKeyError::Length(0));
    assert_eq!(SealingKey::from_base64("k", "AAAA").unwrap_err(), SealingKeyError::Length(3));
}

#[test]
fn a_repeated_id_is_found() {
    let keys = || SealingKeys::new(key("a", 1)).older(key("b", 2)).lost("c");
    assert_eq!(keys().repeated_id(), None);
    assert_eq!(keys().older(key("a", 3)).repeated_id(), Some("a"));
    assert_eq!(keys().lost("b").repeated_id(), Some("b"));
    assert_eq!(keys().lost("c").repeated_id(), Some("c"));
}

#[test]
fn debug_shows_no_bytes() {
    assert_eq!(format!("{:?}", key("k1", 7)), "SealingKey { id: \"k1\", .. }");
}

proptest! {
    #[test]
    fn any_text_opens_as_itself_and_is_never_sealed_to_the_same_value_twice(text in any::<String>()) {
        let ours = sealer(SealingKeys::new(key("k1", 1)));
        let (one, two) = (ours.seal_text(&data(), &text), ours.seal_text(&data(), &text));
        prop_assert_ne!(&one, &two);
        for sealed in [one, two] {
            prop_assert_eq!(&*ours.open_text(&data(), &sealed).unwrap(), &text);
        }
    }

    #[test]
    fn a_changed_dropped_or_added_character_never_opens(
        position: prop::sample::Index,
        replacement in "[ -~]",
    ) {
        let ours = sealer(SealingKeys::new(key("k1", 1)));
        let sealed = ours.seal_text(&data(), "whsec_x");
        // The prefix apart: a value without it is one in clear.
        let at = 3 + position.index(sealed.len() - 3);
        let (before, after) = (&sealed[..at], &sealed[at + 1..]);
        let changed = [
            format!("{before}{replacement}{after}"),
            format!("{before}{after}"),
            format!("{before}{replacement}{}", &sealed[at..]),
        ];
        for changed in changed.iter().filter(|changed| **changed != *sealed) {
            prop_assert!(ours.open_text(&data(), changed).is_err(), "{}", changed);
        }
    }

    #[test]
    fn any_stored_text_opens_or_is_refused(text in "(v1\\.)?\\PC*") {
        let _ = sealer(SealingKeys::new(key("k1", 1))).open_text(&data(), &text);
    }
}
