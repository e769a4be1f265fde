//! URLs that carry their own proof: each gives access to one document until it expires.
//!
//! The proof covers every part of the URL, the hash of the bytes included, so a download needs no query of the database.
//! Issued URLs are not recorded and cannot be revoked, which is why they are short-lived. Routing and answering are done
//! elsewhere.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use invoicing_core::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::{DocumentKey, StoredDocument};

/// How long a URL is valid, in milliseconds.
pub(crate) const DOCUMENT_URL_VALID_MS: i64 = 5 * 60 * 1_000;

/// Separates these signatures from others made with the same key.
const DOMAIN: &[u8] = b"invoicing/document-url/v1";

/// RFC 3986, section 2.3: everything else is percent-encoded in the query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Signs and verifies document URLs.
pub(crate) struct UrlSigner {
    /// Filled up with zeros to SHA-256's block (RFC 2104, section 2).
    key: Zeroizing<[u8; 64]>,
}

impl UrlSigner {
    /// Processes that serve each other's URLs share the key.
    pub(crate) fn new(key: &[u8; 32]) -> Self {
        let mut block = Zeroizing::new([0; 64]);
        block[..32].copy_from_slice(key);
        Self { key: block }
    }

    /// Path and query of a document, valid up to and including `expires_at`.
    ///
    /// `/api/v1/documents/{company}/{upload}?sha256={hash}&name={file name}&expires={milliseconds since 1970}&signature={64 hex}`
    pub(crate) fn sign(&self, document: &StoredDocument, expires_at: Timestamp) -> String {
        let StoredDocument { key, sha256, file_name } = document;
        let name = utf8_percent_encode(file_name, QUERY);
        let expires = expires_at.as_millis();
        let mut url =
            format!("/api/v1/documents/{key}?sha256={sha256}&name={name}&expires={expires}&signature=");
        for byte in self.mac(document, expires) {
            // Writing to a string cannot fail.
            let _ = write!(url, "{byte:02x}");
        }
        url
    }

    /// What the parts of a URL give access to at this instant, if anything.
    ///
    /// `company` and `upload` are the segments of the path and `query` what follows the question mark, all as they
    /// arrived. Only the very text that [`sign`](Self::sign) made is accepted: another order, spelling, or number of
    /// parameters is as wrong as another signature.
    pub(crate) fn verify(
        &self,
        company: &str,
        upload: &str,
        query: &str,
        now: Timestamp,
    ) -> Option<StoredDocument> {
        let (sha256, rest) = query.strip_prefix("sha256=")?.split_once("&name=")?;
        let (name, rest) = rest.split_once("&expires=")?;
        let (expires, _signature) = rest.split_once("&signature=")?;
        let file_name = percent_decode_str(name).decode_utf8().ok()?.into_owned();
        let expires_at = Timestamp::from_millis(expires.parse().ok()?);
        let key = DocumentKey { company: company.parse().ok()?, upload: upload.parse().ok()? };
        let document = StoredDocument { key, sha256: sha256.parse().ok()?, file_name };
        let expected = self.sign(&document, expires_at);
        let given = format!("/api/v1/documents/{company}/{upload}?{query}");
        let genuine = bool::from(expected.as_bytes().ct_eq(given.as_bytes()));
        (genuine && now <= expires_at).then_some(document)
    }

    /// HMAC-SHA256 over the domain and the parts, each after its length, so that no two inputs look alike.
    fn mac(&self, document: &StoredDocument, expires: i64) -> [u8; 32] {
        let StoredDocument { key, sha256, file_name } = document;
        let mut mac = Hmac::<Sha256>::new((&*self.key).into());
        let expires = expires.to_be_bytes();
        let (company, upload) = (key.company.0.as_bytes(), key.upload.as_bytes());
        for part in [DOMAIN, company, upload, sha256.as_bytes(), file_name.as_bytes(), &expires] {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
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

    const UPLOAD: Uuid = Uuid::from_u128(0x0192_abcd_0000_7000_8000_0000_0000_0002);

    fn document(file_name: &str) -> StoredDocument {
        let key = DocumentKey { company: COMPANY, upload: UPLOAD };
        StoredDocument { key, sha256: ContentHash::of(b"x"), file_name: file_name.to_owned() }
    }

    fn signer() -> UrlSigner {
        UrlSigner::new(&[7; 32])
    }

    fn sign(file_name: &str) -> String {
        signer().sign(&document(file_name), NOW.plus_millis(DOCUMENT_URL_VALID_MS))
    }

    fn open_at(url: &str, now: Timestamp) -> Option<StoredDocument> {
        let (path, query) = url.strip_prefix("/api/v1/documents/")?.split_once('?')?;
        let (company, upload) = path.split_once('/')?;
        signer().verify(company, upload, query, now)
    }

    #[test]
    fn the_url_is_what_the_contract_says() {
        // The signature was computed with Python: hmac.new(bytes([7] * 32), b"".join(struct.pack(">Q", len(p)) + p
        // for p in parts), "sha256").hexdigest()
        let expected = "/api/v1/documents/0192abcd-0000-7000-8000-000000000001/\
            0192abcd-0000-7000-8000-000000000002\
            ?sha256=2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881\
            &name=DEV-2026-0042.pdf&expires=1789379167123&signature=\
            b43c1ea67c794e7e0148ea2acb4bc0c9007845897fc0a72cdb2000fba156b8a4";
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
        let (_, query) = url.split_once('?').unwrap();
        let (company, upload) = (COMPANY.to_string(), UPLOAD.to_string());
        let nil = Uuid::nil().to_string();
        assert!(signer().verify(&company, &upload, query, NOW).is_some());
        assert_eq!(UrlSigner::new(&[8; 32]).verify(&company, &upload, query, NOW), None);
        assert_eq!(signer().verify(&nil, &upload, query, NOW), None);
        assert_eq!(signer().verify(&company, &nil, query, NOW), None);
        assert_eq!(signer().verify(&company.to_uppercase(), &upload, query, NOW), None);
        assert_eq!(signer().verify(&company, &upload.to_uppercase(), query, NOW), None);
        assert_eq!(signer().verify(&company, &UPLOAD.simple().to_string(), query, NOW), None);
        let other = query.replace(&ContentHash::of(b"x").to_string(), &ContentHash::of(b"y").to_string());
        assert_eq!(signer().verify(&company, &upload, &other, NOW), None);
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
        fn any_query_is_answered(company in "\\PC*", upload in "\\PC*", query in "\\PC*") {
            prop_assert_eq!(signer().verify(&company, &upload, &query, NOW), None);
        }
    }
}
