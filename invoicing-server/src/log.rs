//! Texts of peers in a form that is safe in a log.
//!
//! Their control and invisible characters are escaped, so that they can neither forge a line nor
//! hide one.

use std::error::Error;
use std::fmt::{self, Write};

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
