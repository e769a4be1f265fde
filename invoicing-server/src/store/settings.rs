//! The service's own settings: a few values by name, sealed if there is a key.

use invoicing_core::Timestamp;
use zeroize::Zeroizing;

use super::connection::Connection;
use crate::error::Error;
use crate::sealing::{AssociatedData, NotOpened, Sealer, is_sealed, key_id};

/// The key of document URLs: 32 bytes.
pub(crate) const DOCUMENT_URL_KEY: &str = "document_url_key";
/// Prefix of the names of [`key_check`].
const KEY_CHECK: &str = "sealing_key.";

/// A task that a host has to run. The instant of its last run is stored, so that each node can read
/// the runs of the others.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HostTask {
    Dispatcher,
    Sweep,
}

impl HostTask {
    /// The name of the setting with its last run, in milliseconds as decimal digits.
    const fn setting(self) -> &'static str {
        match self {
            Self::Dispatcher => "dispatcher_ran_at",
            Self::Sweep => "sweep_ran_at",
        }
    }
}

/// A value as it is stored.
enum Stored {
    Clear(Zeroizing<Vec<u8>>),
    Sealed(String),
}

impl Stored {
    /// Distinguishes the forms: a value in clear has 32 bytes; a sealed one is a longer text.
    fn of(value: Vec<u8>) -> Self {
        match String::from_utf8(value) {
            Ok(text) if text.len() != 32 && is_sealed(&text) => Self::Sealed(text),
            Ok(text) => Self::Clear(Zeroizing::new(text.into_bytes())),
            Err(error) => Self::Clear(Zeroizing::new(error.into_bytes())),
        }
    }
}

fn open(sealer: &Sealer, name: &str, stored: Stored) -> Result<Zeroizing<Vec<u8>>, NotOpened> {
    match stored {
        Stored::Clear(value) => Ok(value),
        Stored::Sealed(text) => sealer.open(&AssociatedData::setting(name), &text),
    }
}

/// The settings that the service stores, by name.
pub(crate) struct SettingTable<'c>(pub(super) &'c mut Connection);

impl SettingTable<'_> {
    async fn value(&mut self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        const FIND: &str = "SELECT value FROM setting WHERE name = $1";
        Ok(self.0.query(FIND, &[&name]).optional_scalar().await?)
    }

    async fn set_value(&mut self, name: &str, value: Vec<u8>) -> Result<(), Error> {
        const SET: &str = "
            INSERT INTO setting (name, value) VALUES ($1, $2)
            ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        self.0.query(SET, &[&name, &value]).execute().await?;
        Ok(())
    }

    async fn stored(&mut self, name: &str) -> Result<Option<Stored>, Error> {
        Ok(self.value(name).await?.map(Stored::of))
    }

    /// Notes that a task runs.
    pub(crate) async fn note_run(&mut self, task: HostTask, at: Timestamp) -> Result<(), Error> {
        self.set_value(task.setting(), at.as_millis().to_string().into_bytes()).await
    }

    /// The instant of a task's last note; `None` if it has none.
    pub(crate) async fn last_run(&mut self, task: HostTask) -> Result<Option<Timestamp>, Error> {
        let Some(value) = self.value(task.setting()).await? else { return Ok(None) };
        let millis = str::from_utf8(&value).ok().and_then(|digits| digits.parse().ok());
        Ok(millis.map(Timestamp::from_millis))
    }

    /// The value, opened.
    pub(crate) async fn find(
        &mut self,
        sealer: &Sealer,
        name: &str,
    ) -> Result<Option<Result<Zeroizing<Vec<u8>>, NotOpened>>, Error> {
        Ok(self.stored(name).await?.map(|stored| open(sealer, name, stored)))
    }

    /// Stores a value, in place of an earlier one if there is one.
    pub(crate) async fn set(&mut self, sealer: &Sealer, name: &str, value: &[u8]) -> Result<(), Error> {
        let stored = sealer.seal(&AssociatedData::setting(name), value);
        self.set_value(name, stored.map_or_else(|| value.to_vec(), String::into_bytes)).await
    }

    /// Seals a value with the current key, unless it is sealed with that. Returns true if the value
    /// was sealed again, `None` if it cannot be read.
    pub(crate) async fn reseal(&mut self, sealer: &Sealer, name: &str) -> Result<Option<bool>, Error> {
        let current = sealer.current_id()?;
        let Some(found) = self.stored(name).await? else { return Ok(Some(false)) };
        if matches!(&found, Stored::Sealed(text) if key_id(text) == Some(&current)) {
            return Ok(Some(false));
        }
        let value = match open(sealer, name, found) {
            Ok(value) => value,
            Err(cause) => {
                let error = AssociatedData::setting(name).bad_row(cause);
                tracing::error!(
                    error = &error as &dyn std::error::Error,
                    "setting not sealed again: it cannot be read"
                );
                return Ok(None);
            }
        };
        self.set(sealer, name, &value).await?;
        Ok(Some(true))
    }

    /// The key that the key of document URLs is sealed with: an id, `None` in clear, or a text that
    /// is no id.
    pub(super) async fn sealed_with(&mut self) -> Result<Option<Option<String>>, Error> {
        let stored = self.stored(DOCUMENT_URL_KEY).await?;
        Ok(stored.map(|stored| match stored {
            Stored::Clear(_) => None,
            Stored::Sealed(text) => Some(key_id(&text).unwrap_or_default().to_owned()),
        }))
    }

    /// Deletes the check values of keys that nothing is sealed with.
    pub(crate) async fn forget_keys(&mut self, used: impl Fn(&str) -> bool) -> Result<(), Error> {
        const NAMES: &str = "SELECT name FROM setting ORDER BY name";
        const DELETE: &str = "DELETE FROM setting WHERE name = $1";
        let names: Vec<String> = self.0.query(NAMES, &[]).all_scalars().await?;
        for name in names {
            if name.strip_prefix(KEY_CHECK).is_some_and(|id| !used(id)) {
                self.0.query(DELETE, &[&name]).execute().await?;
            }
        }
        Ok(())
    }
}

/// The name of a key's check value: nothing, sealed with that key, so that it opens only with the
/// same key.
pub(crate) fn key_check(id: &str) -> String {
    format!("{KEY_CHECK}{id}")
}
