//! Stored secrets by their key.

use std::collections::BTreeMap;

use crate::sealing::is_id;

/// How many stored secrets are sealed with which key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SealingStats {
    /// Stored in clear: written while no key was given.
    pub clear: u64,
    /// By the id of the key. A key that is not named here is not needed any more.
    pub keys: BTreeMap<String, u64>,
    /// So badly damaged that not even the key is known. Webhooks whose secret is damaged are repaired by rotating it.
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
