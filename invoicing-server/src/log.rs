//! Texts in a form that is safe in a log.
//!
//! Control and invisible characters in a peer's text are escaped, so that they can neither forge a
//! line nor hide one. Secrets, and the parts of a URL that may hold one, are left out.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Write};

use crate::secret::prefix_end;

/// A writer that escapes control and invisible characters, and combining marks. Other characters
/// stay unchanged.
struct Escaping<'w, W>(&'w mut W);

impl<W: Write> Write for Escaping<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                // These are harmless, but `escape_debug` would escape them.
                '"' | '\'' | '\\' => self.0.write_char(character)?,
                _ => write!(self.0, "{}", character.escape_debug())?,
            }
        }
        Ok(())
    }
}

/// A text of a peer.
pub(crate) struct PeerText<'t>(pub(crate) &'t str);

impl fmt::Display for PeerText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Escaping(f).write_str(self.0)
    }
}

/// An error and its causes in one line. They may repeat texts of a peer.
pub(crate) struct ErrorChain<'e>(pub(crate) &'e (dyn Error + 'e));

impl fmt::Display for ErrorChain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = Escaping(f);
        write!(line, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(line, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// The text up to the first secret in it, for error messages and logs.
pub(crate) fn without_secrets(text: &str) -> Cow<'_, str> {
    match prefix_end(text.as_bytes()) {
        Some(end) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// Scheme, host and port of a URL, for `Debug`, pages and logs. The rest may hold credentials:
/// tokens in path and query, a password before the host.
pub(crate) fn shown_url(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return "..".to_owned() };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}/..")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::env::Env;
    use crate::secret::{API_KEY, Secret};

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        for (text, printed) in [
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\r\nb", "a\\r\\nb"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("\u{202e}txt", "\\u{202e}txt"),
            ("L'\"été\" \\ 漢字", "L'\"été\" \\ 漢字"),
        ] {
            assert_eq!(PeerText(text).to_string(), printed);
        }
    }

    #[test]
    fn an_error_and_its_causes_are_one_line() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer\u{202e}")]
        struct Outer(#[source] std::io::Error);

        let error = Outer(std::io::Error::other("inner\n\u{1b}"));
        assert_eq!(ErrorChain(&error).to_string(), "outer\\u{202e}: inner\\n\\u{1b}");
    }

    #[test]
    fn only_scheme_host_and_port_of_a_url_are_shown() {
        for (url, shown) in [
            ("https://example.com/path/token?token=x", "https://example.com/.."),
            ("https://example.com:8443", "https://example.com:8443/.."),
            ("https://user:secret@example.com#x", "https://example.com/.."),
            ("https://a@b@example.com/", "https://example.com/.."),
            ("https://example.com?token=a@b", "https://example.com/.."),
            ("https://example.com\\token", "https://example.com/.."),
            ("no url", ".."),
            ("", ".."),
        ] {
            assert_eq!(shown_url(url), shown, "{url}");
        }
    }

    #[test]
    fn text_after_a_secret_prefix_is_cut() {
        assert_eq!(without_secrets("type: \"isk_abc\""), "type: \"isk_…");
        assert_eq!(without_secrets("sgn_x whsec_y"), "sgn_…");
        assert_eq!(without_secrets("éISK_ABC"), "éISK_…");
        assert_eq!(without_secrets("no secret"), "no secret");
    }

    proptest! {
        #[test]
        fn a_secret_never_remains_in_a_text(before in "\\PC{0,20}", after in "\\PC{0,20}") {
            let secret = Secret::generate(API_KEY, &Env::system());
            let text = format!("{before}{}{after}", secret.reveal());
            prop_assert!(!without_secrets(&text).contains(&secret.reveal()[4..8]));
        }
    }
}
