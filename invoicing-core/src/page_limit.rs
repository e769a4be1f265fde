//! The bound on the bytes of a page, and the reading of its refusal from an answer.

use crate::{Invalid, Rule};

/// Maximum number of bytes of JSON that the items of a page with lines may have together, unless it
/// has a single item: 16 MiB.
pub const MAX_PAGE_BYTES: usize = 16 * 1024 * 1024;

const BEFORE: &str = "must be at most ";
const BEHIND: &str = " at this offset, as a page with lines has at most 16 MiB";

/// Checks the items of a page by their bytes, in the order of the page.
///
/// # Errors
/// [`Invalid`] about `limit`, with the largest one that works at the same offset. A page of one
/// item always works.
pub fn check(bytes: &[usize]) -> Result<(), Invalid> {
    let mut total = 0;
    let fits = |bytes: &&usize| {
        total += **bytes;
        total <= MAX_PAGE_BYTES
    };
    let limit = bytes.iter().take_while(fits).count().max(1);
    if limit < bytes.len() {
        return Err(Invalid::new("limit", Rule::PageTooLarge { limit }));
    }
    Ok(())
}

/// The largest limit that works, from the message of a refusal by [`check`]; `None` for any other
/// message.
pub fn parse(message: &str) -> Option<u32> {
    let rule = message.strip_prefix("limit: ")?;
    rule.strip_prefix(BEFORE)?.strip_suffix(BEHIND)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    fn refused(bytes: &[usize]) -> Option<u32> {
        parse(&check(bytes).err()?.to_string())
    }

    /// Rules: LIST-25
    #[test]
    fn the_refusal_names_the_largest_limit_that_works() {
        assert_eq!(refused(&[2 * MIB; 8]), None);
        assert_eq!(refused(&[2 * MIB; 9]), Some(8));
        assert_eq!(refused(&[MIB, 15 * MIB, 1]), Some(2));
        assert_eq!(refused(&[1, 16 * MIB]), Some(1));
        assert_eq!(check(&[1, 16 * MIB]).unwrap_err().field, "limit");
    }

    /// Rules: LIST-25
    #[test]
    fn a_page_of_one_item_is_never_refused() {
        assert_eq!(refused(&[]), None);
        assert_eq!(refused(&[100 * MIB]), None);
        assert_eq!(refused(&[100 * MIB, 1]), Some(1));
    }

    #[test]
    fn another_message_names_no_limit() {
        for message in ["", "limit: must be an integer from 1 to 100", "limit: must be at most 100"] {
            assert_eq!(parse(message), None, "{message}");
        }
    }
}
