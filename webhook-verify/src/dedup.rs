//! The keys by which a receiver recognises a delivery that it has already handled.
//!
//! The receiver reads the three members out of the body, and stores the keys.

use core::fmt::{self, Write as _};

/// The key of an event, which all its deliveries have in common.
///
/// Deliveries are made at least once, so a receiver must recognise repeats. The contract names the
/// pair of `event` and `data.id` as the key ([`documented`](Self::documented)). Use
/// [`recommended`](Self::recommended) instead: it adds the envelope's `timestamp`, because some
/// events really happen twice to one record, such as a project that is completed, reopened and
/// completed again.
///
/// The header's `t` is no part of a key: each attempt is signed anew, so a repeat carries another
/// `t`.
///
/// ```
/// use webhook_verify::DedupKey;
///
/// let id = "0199f3a2-7c1e-7d10-8f00-5a4b3c2d1e0f";
/// let first = DedupKey::recommended("project.completed", id, "2026-09-14T09:41:07.123Z");
/// let again = DedupKey::recommended("project.completed", id, "2026-10-02T16:05:00.000Z");
/// assert_ne!(first, again);
/// assert_eq!(DedupKey::documented("ping", "42").to_string(), "ping 42");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DedupKey<'a> {
    /// The envelope's `event`, such as `quote.signed`.
    pub event: &'a str,
    /// The `id` inside `data`.
    pub id: &'a str,
    /// The envelope's `timestamp`, as text of the body; `None` in the documented pair.
    pub timestamp: Option<&'a str>,
    /// The name of the receiver in an inbox that several share: each handles the event. `None` in
    /// an inbox for one receiver.
    pub receiver: Option<&'a str>,
}

impl<'a> DedupKey<'a> {
    /// The documented pair; takes a real second occurrence for a repeat.
    pub const fn documented(event: &'a str, id: &'a str) -> Self {
        Self { event, id, timestamp: None, receiver: None }
    }

    /// The pair and the time of the event; keeps real second occurrences apart.
    pub const fn recommended(event: &'a str, id: &'a str, timestamp: &'a str) -> Self {
        Self { event, id, timestamp: Some(timestamp), receiver: None }
    }

    /// The same event for the receiver of this name.
    #[must_use]
    pub const fn of_receiver(self, name: &'a str) -> Self {
        Self { receiver: Some(name), ..self }
    }
}

/// The parts separated by spaces, to be stored as one text: different keys have different texts.
/// The kinds, ids and timestamps of the service hold neither space nor backslash; if a part does, a
/// backslash goes before it. The text begins with `\@` and the name of the receiver, if it has one.
impl fmt::Display for DedupKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = self.receiver {
            f.write_str("\\@")?;
            escaped(f, name)?;
            f.write_char(' ')?;
        }
        escaped(f, self.event)?;
        for part in [Some(self.id), self.timestamp].into_iter().flatten() {
            f.write_char(' ')?;
            escaped(f, part)?;
        }
        Ok(())
    }
}

fn escaped(f: &mut fmt::Formatter<'_>, part: &str) -> fmt::Result {
    for piece in part.split_inclusive([' ', '\\']) {
        match piece.strip_suffix([' ', '\\']) {
            Some(before) => write!(f, "{before}\\{}", &piece[before.len()..])?,
            None => f.write_str(piece)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::DedupKey;
    use alloc::string::ToString;

    /// Rules: VERIFY-8
    #[test]
    fn only_the_recommended_key_keeps_a_real_repeat() {
        let at = |timestamp| DedupKey::recommended("project.completed", "1", timestamp);
        assert_eq!(at("a"), at("a"));
        assert_ne!(at("a"), at("b"));
        assert_ne!(at("a"), DedupKey::documented("project.completed", "1"));
        assert_ne!(DedupKey::documented("quote.signed", "1"), DedupKey::documented("quote.accepted", "1"));
        assert_eq!(at("a").to_string(), "project.completed 1 a");
    }

    #[test]
    fn different_keys_have_different_texts() {
        let parts = ["", " ", "a", "a ", " a", "\\", "a\\", "\\ ", "a b"];
        let mut texts = alloc::collections::BTreeSet::new();
        let mut count = 0;
        for event in parts {
            for id in parts {
                for timestamp in parts.into_iter().map(Some).chain([None]) {
                    for receiver in ["", "a", "\\", "a ", "@"].into_iter().map(Some).chain([None]) {
                        count += 1;
                        texts.insert(DedupKey { event, id, timestamp, receiver }.to_string());
                    }
                }
            }
        }
        assert_eq!(texts.len(), count);
    }
}
