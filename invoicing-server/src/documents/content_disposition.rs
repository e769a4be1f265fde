//! The header that names a downloaded file.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters of RFC 3986, section 2.3: all others are percent-encoded in a file name. RFC 8187
/// also permits others in a header.
pub(super) const UNRESERVED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The value of `Content-Disposition` for a download under this name (RFC 6266). It is always ASCII
/// without control characters.
pub(crate) fn content_disposition(file_name: &str) -> String {
    let tame = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ');
    let fallback: String = file_name.chars().map(|c| if tame(c) { c } else { '_' }).collect();
    let exact = utf8_percent_encode(file_name, UNRESERVED);
    format!("attachment; filename=\"{fallback}\"; filename*=UTF-8''{exact}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_disposition_names_the_file_twice() {
        let plain = "attachment; filename=\"DEV-2026-0042.pdf\"; filename*=UTF-8''DEV-2026-0042.pdf";
        assert_eq!(content_disposition("DEV-2026-0042.pdf"), plain);
        let wild = "attachment; filename=\"_ __a__ _.pdf\"; filename*=UTF-8''%C3%A9%20%22%5Ca%0D%0A%20%F0%9F%98%80.pdf";
        assert_eq!(content_disposition("é \"\\a\r\n 😀.pdf"), wild);
    }

    proptest! {
        #[test]
        fn a_disposition_is_always_one_harmless_header(file_name in any::<String>()) {
            let value = content_disposition(&file_name);
            prop_assert!(http::HeaderValue::from_str(&value).is_ok());
            prop_assert_eq!(value.matches('"').count(), 2);
            prop_assert_eq!(value.matches(';').count(), 2);
        }
    }
}
