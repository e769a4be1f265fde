//! The address of a link that was forwarded with a sign behind it.
//!
//! Mail programs and messengers take a full stop, a bracket or a quotation mark behind an address
//! for a part of it. Such an address leads to the one without.

use invoicing_core::internal::trim_invisible;
use percent_encoding::percent_decode_str;

use crate::console::paths::SIGN;
use crate::operations::split_behind_token;

/// The paths below the token that people pass on, the longer ones first.
const PASSED_ON: [&str; 3] = ["/document.pdf", "/decline", ""];

/// The path without the signs at its end; `None` if it has none. The form of the path decides
/// alone, so that the answer does not reveal if the link exists.
pub(in crate::console) fn without_signs_behind(path: &str) -> Option<&str> {
    let (_, below) = split_behind_token(path.strip_prefix(SIGN)?)?;
    let behind = PASSED_ON.iter().find_map(|passed_on| below.strip_prefix(passed_on))?;
    (!behind.is_empty() && has_signs_only(behind)).then(|| &path[..path.len() - behind.len()])
}

/// True for punctuation, symbols, white space and characters that render as nothing.
fn has_signs_only(encoded: &str) -> bool {
    let Ok(text) = percent_decode_str(encoded).decode_utf8() else { return false };
    // Some that render as nothing are letters to Unicode.
    let is_invisible = |c: char| trim_invisible(c.encode_utf8(&mut [0; 4])).is_empty();
    text.chars().all(|c| !c.is_alphanumeric() || is_invisible(c))
}
