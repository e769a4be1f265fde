//! Numbers of stored secrets, by their key.

use std::collections::BTreeMap;

use crate::sealing::is_id;

/// Numbers of stored secrets, by the key that they are sealed with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SealingStats {
    /// Secrets stored in clear, written while no key was given.
    pub clear: u64,
    /// Secrets by the id of their key. A key that is not named here is no longer needed.
    pub keys: BTreeMap<String, u64>,
    /// Secrets so badly damaged that even their key cannot be read. A rotation repairs a webhook
    /// whose secret is damaged.
    pub damaged: u64,
}

impl SealingStats {
    pub(crate) fn add(&mut self, key: Option<String>, count: u64) {
        match key {
            None => self.clear += count,
            Some(id) if is_id(&id) => *self.keys.entry(id).or_default() += count,
            Some(_) => self.damaged += count,
        }
    }
}
