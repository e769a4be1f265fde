//! Reads the value of the signature header: `t=<unix seconds>,v1=<hex>`.
//!
//! Keeps slices of the value and copies no bytes. Does not check whether a `v1` is right.

use core::iter;

use crate::error::HeaderError;

/// A header of the right form: one `t`, at least one `v1`.
pub(crate) struct Header<'h> {
    /// The text of `t` in the header, which the MAC covers.
    pub(crate) t_text: &'h [u8],
    /// `t` as a number, Unix seconds.
    pub(crate) t: i64,
    /// Number of `v1`.
    pub(crate) candidates: usize,
    first_v1: &'h [u8],
    /// The elements behind the first `v1`; usually none, so that the header is read once only.
    after: Elements<'h>,
}

impl<'h> Header<'h> {
    pub(crate) fn parse(value: &'h [u8]) -> Result<Self, HeaderError> {
        let mut t_text = None;
        let mut first = None;
        let mut candidates = 0;
        let mut rest = elements(value);
        while let Some(element) = rest.next() {
            if let Some(text) = element.strip_prefix(b"t=") {
                if t_text.replace(text).is_some() {
                    return Err(HeaderError::TimestampRepeated);
                }
            } else if let Some(v1) = element.strip_prefix(b"v1=") {
                candidates += 1;
                first.get_or_insert_with(|| (v1, rest.clone()));
            }
        }
        let t_text = t_text.ok_or(HeaderError::TimestampMissing)?;
        let t = decimal(t_text).ok_or(HeaderError::TimestampInvalid)?;
        let (first_v1, after) = first.ok_or(HeaderError::SignatureMissing)?;
        Ok(Self { t_text, t, candidates, first_v1, after })
    }

    /// The value of each `v1`, in any form.
    pub(crate) fn v1(&self) -> impl Iterator<Item = &'h [u8]> {
        let others = self.after.clone().filter_map(|element| element.strip_prefix(b"v1="));
        iter::once(self.first_v1).chain(others)
    }
}

/// The parts of a header value between its commas.
pub(crate) const fn elements(value: &[u8]) -> Elements<'_> {
    Elements { rest: Some(value) }
}

/// Iterates over the parts between commas.
#[derive(Clone)]
pub(crate) struct Elements<'h> {
    rest: Option<&'h [u8]>,
}

impl<'h> Iterator for Elements<'h> {
    type Item = &'h [u8];

    fn next(&mut self) -> Option<&'h [u8]> {
        let rest = self.rest?;
        let comma = rest.iter().position(|byte| *byte == b',');
        self.rest = comma.map(|at| &rest[at + 1..]);
        Some(&rest[..comma.unwrap_or(rest.len())])
    }
}

fn decimal(text: &[u8]) -> Option<i64> {
    // The standard parser takes a `+`, which no sender writes.
    if text.starts_with(b"+") {
        return None;
    }
    str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Header, decimal};
    use crate::error::HeaderError;

    /// Rules: VERIFY-1
    #[test]
    fn t_is_an_optional_minus_and_digits() {
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("007", 7),
            ("-12", -12),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(decimal(text.as_bytes()), Some(value), "{text}");
        }
        for text in
            ["", "-", "+1", "-+1", "--1", " 1", "1 ", "1.0", "1e3", "0x1", "1_0", "٣", "9223372036854775808"]
        {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        assert_eq!(decimal(b"1\xff"), None);
    }

    /// Rules: VERIFY-2
    #[test]
    fn unknown_elements_are_ignored_and_the_order_is_free() -> Result<(), HeaderError> {
        let header = Header::parse(b",v0=x,v1=a,\xff=1,t,tt=3,T=4,t=5,v1,v11=c,v1=b=c,v1=,")?;
        assert_eq!((header.t, header.t_text, header.candidates), (5, &b"5"[..], 3));
        assert!(header.v1().eq([&b"a"[..], b"b=c", b""]));
        Ok(())
    }

    /// Rules: VERIFY-1
    #[test]
    fn each_fault_has_its_name() {
        let fault = |value: &str| Header::parse(value.as_bytes()).err();
        assert_eq!(fault(""), Some(HeaderError::TimestampMissing));
        assert_eq!(fault("v1=a"), Some(HeaderError::TimestampMissing));
        assert_eq!(fault("t=1,t=1,v1=a"), Some(HeaderError::TimestampRepeated));
        assert_eq!(fault("t=1,v1=a,t="), Some(HeaderError::TimestampRepeated));
        assert_eq!(fault("t=,v1=a"), Some(HeaderError::TimestampInvalid));
        assert_eq!(fault("t=1"), Some(HeaderError::SignatureMissing));
        assert_eq!(fault("t=1, v1=a"), Some(HeaderError::SignatureMissing));
        assert_eq!(fault("t=1,V1=a"), Some(HeaderError::SignatureMissing));
    }
}
