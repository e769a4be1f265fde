//! The API key, held so that it is never shown.

use std::fmt;

use http::HeaderValue;
use zeroize::Zeroizing;

use crate::ConfigError;

/// An API key (`isk_…`). `Debug` does not show it, and its memory is wiped when it is dropped.
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

/// What stands where the key would have been shown.
const REDACTED: &str = "[key]";

impl ApiKey {
    /// The `Authorization` header, marked sensitive so that HTTP libraries neither show nor index it.
    pub(crate) fn header(&self) -> Result<HeaderValue, ConfigError> {
        if self.0.is_empty() {
            return Err(ConfigError::ApiKey);
        }
        let text = Zeroizing::new(format!("Bearer {}", *self.0));
        let mut value = HeaderValue::from_str(&text).map_err(|_| ConfigError::ApiKey)?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// The text without the key: a proxy's error page may echo the request that it refused.
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
    /// Takes the key; white space around it, such as the newline of a secrets file, is dropped.
    fn from(key: String) -> Self {
        let key = Zeroizing::new(key);
        Self(Zeroizing::new(key.trim().to_owned()))
    }
}

impl From<&str> for ApiKey {
    /// Takes the key; white space around it, such as the newline of a secrets file, is dropped.
    fn from(key: &str) -> Self {
        Self(Zeroizing::new(key.trim().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rules: RETRY-7
    #[test]
    fn the_key_is_sent_and_never_shown() {
        let key = ApiKey::from("isk_secret\n");
        let header = key.header().unwrap();
        assert_eq!(header.as_bytes(), b"Bearer isk_secret");
        assert!(header.is_sensitive());
        assert!(!format!("{key:?} {header:?}").contains("secret"));
        assert_eq!(key.redact("GET with isk_secret refused"), "GET with [key] refused");
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused() {
        for bad in ["", "  \n", "isk_\nsecond: header", "isk_\u{0}"] {
            assert!(ApiKey::from(bad).header().is_err(), "{bad:?}");
        }
    }
}
