//! URLs that carry their own proof: each gives access to one document until it expires.
//!
//! The proof covers every part of the URL, the hash of the bytes included, so a download needs no
//! query of the database. Issued URLs are not recorded and cannot be revoked, which is why they are
//! short-lived. `operations::documents` signs and verifies them, and `api::documents` serves them.

use hmac::{Hmac, KeyInit, Mac};
use invoicing_core::Timestamp;
use percent_encoding::{percent_decode_str, utf8_percent_encode};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::content_disposition::UNRESERVED;
use super::{DocumentKey, StoredFile};

/// Validity of a URL, in milliseconds.
pub(crate) const DOCUMENT_URL_VALID_MS: i64 = 5 * 60 * 1_000;

/// Separates these signatures from others made with the same key.
const DOMAIN: &[u8] = b"invoicing/document-url/v1";

/// Signs and verifies document URLs.
pub(crate) struct UrlSigner {
    /// The key, filled up with zeros to SHA-256's block (RFC 2104, section 2).
    key: Zeroizing<[u8; 64]>,
}

impl UrlSigner {
    /// A signer with this key. Processes that serve each other's URLs share the key.
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let mut block = Zeroizing::new([0; 64]);
        block[..32].copy_from_slice(key);
        Self { key: block }
    }

    /// Path and query of a document, valid up to and including `expires_at`.
    ///
    /// `/api/v1/documents/{company}/{upload}?sha256={hash}&name={file name}&expires={milliseconds
    /// since 1970}&signature={64 hex}`
    ///
    /// The signature is the HMAC-SHA256 of the domain and the text before `&signature=`.
    pub(crate) fn sign(&self, document: &StoredFile, expires_at: Timestamp) -> String {
        let StoredFile { key, sha256, file_name } = document;
        let name = utf8_percent_encode(file_name, UNRESERVED);
        let expires = expires_at.as_millis();
        let mut url = format!("/api/v1/documents/{key}?sha256={sha256}&name={name}&expires={expires}");
        let mac = Hmac::<Sha256>::new((&*self.key).into()).chain_update(DOMAIN).chain_update(&url).finalize();
        url.push_str("&signature=");
        url.push_str(&hex::encode(mac.into_bytes()));
        url
    }

    /// The document to which this path and query give access at this instant, if any.
    ///
    /// Only the very text that [`sign`](Self::sign) made is accepted: another order, spelling, or
    /// number of parameters is as wrong as another signature.
    pub(crate) fn verify(&self, url: &str, now: Timestamp) -> Option<StoredFile> {
        let (path, query) = url.strip_prefix("/api/v1/documents/")?.split_once('?')?;
        let (company, upload) = path.split_once('/')?;
        let (sha256, rest) = query.strip_prefix("sha256=")?.split_once("&name=")?;
        let (name, rest) = rest.split_once("&expires=")?;
        let (expires, _signature) = rest.split_once("&signature=")?;
        let file_name = percent_decode_str(name).decode_utf8().ok()?.into_owned();
        let expires_at = Timestamp::from_millis(expires.parse().ok()?);
        let key = DocumentKey { company: company.parse().ok()?, upload: upload.parse().ok()? };
        let document = StoredFile { key, sha256: sha256.parse().ok()?, file_name };
        let expected = self.sign(&document, expires_at);
        let genuine = bool::from(expected.as_bytes().ct_eq(url.as_bytes()));
        (genuine && now <= expires_at).then_some(document)
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::CompanyId;
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;
    use crate::documents::ContentHash;

    const NOW: Timestamp = Timestamp::from_millis(1_789_378_867_123);
    const COMPANY: CompanyId = CompanyId(Uuid::from_u128(0x0192_abcd_0000_7000_8000_0000_0000_0001));

    #[test]
    fn the_keyed_state_is_wiped() {
        const fn is_wiped<T: zeroize::ZeroizeOnDrop>() {}
        // The state of both parts of a keyed `Hmac`. The parts promise to be wiped, but `Hmac` does
        // not.
        is_wiped::<sha2::block_api::Sha256VarCore>();
    }

    const UPLOAD: Uuid = Uuid::from_u128(0x0192_abcd_0000_7000_8000_0000_0000_0002);

    fn document(file_name: &str) -> StoredFile {
        let key = DocumentKey { company: COMPANY, upload: UPLOAD };
        StoredFile { key, sha256: ContentHash::of(b"x"), file_name: file_name.to_owned() }
    }

    fn signer() -> UrlSigner {
        UrlSigner::new(&[7; 32])
    }

    fn sign(file_name: &str) -> String {
        signer().sign(&document(file_name), NOW.plus_millis(DOCUMENT_URL_VALID_MS))
    }

    fn open_at(url: &str, now: Timestamp) -> Option<StoredFile> {
        signer().verify(url, now)
    }

    #[test]
    fn the_url_is_what_the_contract_says() {
        // The signature was computed with Python:
        // hmac.new(bytes([7] * 32), b"invoicing/document-url/v1" + url, "sha256").hexdigest()
        let expected = "/api/v1/documents/0192abcd-0000-7000-8000-000000000001/\
            0192abcd-0000-7000-8000-000000000002\
            ?sha256=2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\
            &name=DEV-2026-0042.pdf&expires=1789379167123&signature=\
            11f13ad2b14fca1aeeb394fe14680a2590e016709d55f177c04b05e374ee3ea8";
        assert_eq!(sign("DEV-2026-0042.pdf"), expected);
    }

    /// Rules: DOCUMENT-5
    #[test]
    fn a_url_is_good_up_to_and_including_its_last_millisecond() {
        let url = sign("DEV-2026-0042.pdf");
        let last = NOW.plus_millis(DOCUMENT_URL_VALID_MS);
        for good in [Timestamp::EARLIEST, NOW, last] {
            assert!(open_at(&url, good).is_some());
        }
        for late in [last.plus_millis(1), last.plus_millis(i64::MAX)] {
            assert_eq!(open_at(&url, late), None);
        }
    }

    #[test]
    fn parameters_come_once_in_order_and_alone() {
        let url = sign("a.pdf");
        let (path, query) = url.split_once('?').unwrap();
        let parts: Vec<_> = query.split('&').collect();
        let [hash, name, expires, signature] = parts[..] else { panic!("{query}") };
        for query in [
            format!("{name}&{hash}&{expires}&{signature}"),
            format!("{hash}&{expires}&{name}&{signature}"),
            format!("{hash}&{name}&{expires}"),
            format!("{hash}&{name}&{signature}"),
            format!("{hash}&{expires}&{signature}"),
            format!("{name}&{expires}&{signature}"),
            format!("{hash}&{hash}&{name}&{expires}&{signature}"),
            format!("{hash}&{name}&{name}&{expires}&{signature}"),
            format!("{hash}&{name}&{expires}&{expires}&{signature}"),
            format!("{query}&{signature}"),
            format!("{query}&x=1"),
            format!("x=1&{query}"),
            format!("{query}&"),
            query.to_uppercase(),
            query.replace("a.pdf", "%61.pdf"),
            query.replace("expires=", "expires=0"),
            query.replace("expires=", "expires=%2B"),
            query.replace("expires=", "expires=+"),
            format!("{hash}&name=%FF&expires=1&signature="),
            "sha256=&name=&expires=1&signature=".to_owned(),
            String::new(),
        ] {
            assert_eq!(open_at(&format!("{path}?{query}"), NOW), None, "{query}");
        }
        assert!(open_at(&url, NOW).is_some());
    }

    #[test]
    fn another_key_company_document_or_hash_is_refused() {
        let url = sign("a.pdf");
        assert!(signer().verify(&url, NOW).is_some());
        assert_eq!(UrlSigner::new(&[8; 32]).verify(&url, NOW), None);
        let (company, upload, nil) = (COMPANY.to_string(), UPLOAD.to_string(), Uuid::nil().to_string());
        let (x, y) = (ContentHash::of(b"x").to_string(), ContentHash::of(b"y").to_string());
        for (part, other) in [
            (&company, &nil),
            (&upload, &nil),
            (&company, &company.to_uppercase()),
            (&upload, &upload.to_uppercase()),
            (&upload, &UPLOAD.simple().to_string()),
            (&x, &y),
        ] {
            assert!(url.contains(part), "{part}");
            assert_eq!(open_at(&url.replace(part, other), NOW), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn any_file_name_goes_there_and_back(file_name in any::<String>()) {
            prop_assert_eq!(open_at(&sign(&file_name), NOW), Some(document(&file_name)));
        }

        /// Rules: DOCUMENT-6
        #[test]
        fn changing_dropping_or_adding_one_character_breaks_a_url(
            file_name in prop_oneof![Just("DEV-2026-0042.pdf".to_owned()), "\\PC{0,8}"],
            position: prop::sample::Index,
            replacement in "[ -~]",
        ) {
            let url = sign(&file_name);
            let at = position.index(url.len());
            let (before, after) = (&url[..at], &url[at + 1..]);
            let changed = [
                format!("{before}{replacement}{after}"),
                format!("{before}{after}"),
                format!("{before}{replacement}{}", &url[at..]),
            ];
            for changed in changed.iter().filter(|changed| **changed != url) {
                prop_assert_eq!(open_at(changed, NOW), None, "{}", changed);
            }
        }

        #[test]
        fn any_url_is_answered(company in "\\PC*", upload in "\\PC*", query in "\\PC*") {
            for url in [format!("/api/v1/documents/{company}/{upload}?{query}"), query] {
                prop_assert_eq!(open_at(&url, NOW), None);
            }
        }
    }
}
