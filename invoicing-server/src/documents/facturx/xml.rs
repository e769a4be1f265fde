//! XML 1.0 as a stream of elements into one buffer, without indentation.

use std::borrow::Cow;

use chrono::NaiveDate;
use rust_decimal::Decimal;

/// The code of a date that is written as `20260914` (UNTDID 2379).
const DAY: &str = "102";

/// A document that is being written.
pub(super) struct Xml {
    out: String,
    /// The first character that no XML document may have.
    forbidden: Option<char>,
}

impl Xml {
    /// A document with room for this many bytes.
    pub(super) fn with_capacity(bytes: usize) -> Self {
        let mut out = String::with_capacity(bytes);
        out.push_str(r#"<?xml version="1.0" encoding="UTF-8"?>"#);
        Self { out, forbidden: None }
    }

    /// The document, or the character that it must not have.
    pub(super) fn finish(self) -> Result<Vec<u8>, char> {
        self.forbidden.map_or_else(|| Ok(self.out.into_bytes()), Err)
    }

    /// An element around others.
    pub(super) fn group(&mut self, name: &str, content: impl FnOnce(&mut Self)) {
        self.open(name, &[]);
        content(self);
        self.close(name);
    }

    /// An element around others that can fail.
    pub(super) fn try_group<E>(
        &mut self,
        name: &str,
        content: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open(name, &[]);
        content(self)?;
        self.close(name);
        Ok(())
    }

    /// An element with a text.
    pub(super) fn text(&mut self, name: &str, text: &str) {
        self.attributed(name, &[], text);
    }

    /// An element with a text, if there is one.
    pub(super) fn optional(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(name, text);
        }
    }

    /// An element with attributes and a text.
    pub(super) fn attributed(&mut self, name: &str, attributes: &[(&str, &str)], text: &str) {
        self.open(name, attributes);
        self.escape(text);
        self.close(name);
    }

    /// A number in its shortest form.
    pub(super) fn number(&mut self, name: &str, number: Decimal) {
        self.text(name, &shortest(number));
    }

    /// An element around a day.
    pub(super) fn day(&mut self, name: &str, day: NaiveDate) {
        self.group(name, |xml| xml.day_text("udt:DateTimeString", day));
    }

    /// The text of a day.
    pub(super) fn day_text(&mut self, name: &str, day: NaiveDate) {
        self.attributed(name, &[("format", DAY)], &day.format("%Y%m%d").to_string());
    }

    /// The start of an element.
    pub(super) fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.out.push('<');
        self.out.push_str(name);
        for (attribute, value) in attributes {
            self.out.push(' ');
            self.out.push_str(attribute);
            self.out.push_str("=\"");
            self.escape(value);
            self.out.push('"');
        }
        self.out.push('>');
    }

    /// The end of an element.
    pub(super) fn close(&mut self, name: &str) {
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    fn escape(&mut self, text: &str) {
        for c in with_plain_breaks(text).chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                _ if is_forbidden(c) => self.forbidden = self.forbidden.or(Some(c)),
                _ => self.out.push(c),
            }
        }
    }
}

/// True if no XML 1.0 document may have this character, not even as a reference.
pub(super) const fn is_forbidden(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => false,
        _ => matches!(c, '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}'),
    }
}

/// A number without superfluous zeros, and never with an exponent.
pub(super) fn shortest(number: Decimal) -> String {
    if number.is_zero() { "0".to_owned() } else { number.normalize().to_string() }
}

/// A text with `\n` as its only line break: a reader of XML turns each of the others into it.
fn with_plain_breaks(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() }
}
