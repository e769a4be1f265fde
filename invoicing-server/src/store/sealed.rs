//! Which keys the stored secrets are sealed with, whatever table they are in.

use std::collections::BTreeMap;

use sqlx::SqliteConnection;

use super::{settings, webhooks};
use crate::Error;

/// How many stored secrets are sealed with which key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SealedWith {
    /// Stored in clear: written while no key was given.
    pub clear: u64,
    /// By the id of the key. A key that is not named here is not needed any more.
    pub keys: BTreeMap<String, u64>,
    /// So badly damaged that not even the key is known. Webhooks whose secret is damaged are repaired by rotating it.
    pub damaged: u64,
}

impl SealedWith {
    pub(crate) async fn read(connection: &mut SqliteConnection) -> Result<Self, Error> {
        let mut all = Self::default();
        for (key, count) in webhooks::sealed_with(connection).await? {
            all.add(key, u64::try_from(count).unwrap_or(0));
        }
        if let Some(key) = settings::sealed_with(connection).await? {
            all.add(key, 1);
        }
        Ok(all)
    }

    fn add(&mut self, key: Option<String>, count: u64) {
        match key {
            None => self.clear += count,
            Some(id) if crate::sealing::is_id(&id) => *self.keys.entry(id).or_default() += count,
            Some(_) => self.damaged += count,
        }
    }
}
