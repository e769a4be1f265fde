//! [`ApiKey`]: a secret that is not printed.

use std::fmt;

use http::HeaderValue;
use zeroize::Zeroizing;

use crate::ConfigError;

/// An API key (`isk_…`), made of a text: a host that has it as a `Secret` gives `secret.reveal()`. `Debug` does not print
/// it, and its memory is zeroed on drop.
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

/// How signing secrets of webhooks begin. Keys begin with `isk_`.
const WEBHOOK_SECRET_PREFIX: &str = "whsec_";

/// Replaces the key in texts.
const REDACTED: &str = "[key]";

impl ApiKey {
    /// The `Authorization` header, marked sensitive so that HTTP libraries neither print nor index it.
    pub(crate) fn header(&self) -> Result<HeaderValue, ConfigError> {
        if self.0.is_empty() {
            return Err(ConfigError::ApiKey);
        }
        if self.0.starts_with(WEBHOOK_SECRET_PREFIX) {
            return Err(ConfigError::WebhookSecret);
        }
        let text = Zeroizing::new(format!("Bearer {}", *self.0));
        let mut value = HeaderValue::from_str(&text).map_err(|_| ConfigError::ApiKey)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Removes the key from a text: a proxy's error page may repeat the refused request.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(self.0.as_str(), REDACTED)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

impl From<String> for ApiKey {
    /// Trims white space, such as the final newline of a secrets file.
    fn from(key: String) -> Self {
        let key = Zeroizing::new(key);
        Self(Zeroizing::new(key.trim().to_owned()))
    }
}

impl From<&str> for ApiKey {
    /// Trims white space, such as the final newline of a secrets file.
    fn from(key: &str) -> Self {
        Self(Zeroizing::new(key.trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules: RETRY-7
    #[test]
    fn the_key_is_sent_but_never_printed() {
        let key = ApiKey::from("isk_secret\n");
        let header = key.header().unwrap();
        assert_eq!(header.as_bytes(), b"Bearer isk_secret");
        assert!(header.is_sensitive());
        assert!(!format!("{key:?} {header:?}").contains("secret"));
        assert_eq!(key.redact("GET with isk_secret refused"), "GET with [key] refused");
    }

    /// Rules: VERIFY-9
    #[test]
    fn the_secret_of_a_webhook_is_no_key_and_the_error_says_so() {
        let error = ApiKey::from(" whsec_private").header().unwrap_err();
        for shown in [error.to_string(), format!("{error:?}")] {
            assert!(shown.contains("signing secret") && shown.contains("isk_"), "{shown}");
            assert!(!shown.contains("private"), "{shown}");
        }
    }

    #[test]
    fn a_key_with_invalid_header_characters_is_refused() {
        for bad in ["", "  \n", "isk_\nsecond: header", "isk_\u{0}"] {
            assert!(ApiKey::from(bad).header().is_err(), "{bad:?}");
        }
    }
}
