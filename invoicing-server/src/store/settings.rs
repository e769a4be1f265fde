//! What the service keeps about itself: a few values by name, sealed where a key is given.

use zeroize::Zeroizing;

use super::companies::one_row;
use super::connection::{Connection, on, run};
use crate::Error;
use crate::sealing::{AssociatedData, NotOpened, Sealer, is_sealed, key_id};

const FIND: &str = "SELECT value FROM setting WHERE name = $1";
const LIST: &str = "SELECT name, value FROM setting ORDER BY name";
const INSERT: &str = "INSERT INTO setting (name, value) VALUES ($1, $2)";
const SET: &str = "UPDATE setting SET value = $2 WHERE name = $1";
const REMOVE: &str = "DELETE FROM setting WHERE name = $1";

/// The key of document URLs: 32 bytes.
pub(crate) const DOCUMENT_URL_KEY: &str = "document_url_key";
/// Followed by a key's id: nothing, sealed with that key, to know it by.
const KEY_CHECK: &str = "sealing_key.";

/// A value as it is stored.
enum Stored {
    Clear(Zeroizing<Vec<u8>>),
    Sealed(String),
}

impl Stored {
    /// A value in clear has 32 bytes; a sealed one is a longer text.
    fn of(value: Vec<u8>) -> Self {
        match String::from_utf8(value) {
            Ok(text) if text.len() != 32 && is_sealed(&text) => Self::Sealed(text),
            Ok(text) => Self::Clear(Zeroizing::new(text.into_bytes())),
            Err(error) => Self::Clear(Zeroizing::new(error.into_bytes())),
        }
    }
}

async fn stored(connection: &mut Connection, name: &str) -> Result<Option<Stored>, Error> {
    let value: Option<Vec<u8>> = on!(connection, |c| sqlx::query_scalar(FIND).bind(name).fetch_optional(c))?;
    Ok(value.map(Stored::of))
}

fn open(sealer: &Sealer, name: &str, stored: Stored) -> Result<Zeroizing<Vec<u8>>, NotOpened> {
    match stored {
        Stored::Clear(value) => Ok(value),
        Stored::Sealed(text) => sealer.open(&AssociatedData::setting(name), &text),
    }
}

/// The value, opened.
pub(crate) async fn find(
    connection: &mut Connection,
    sealer: &Sealer,
    name: &str,
) -> Result<Option<Result<Zeroizing<Vec<u8>>, NotOpened>>, Error> {
    Ok(stored(connection, name).await?.map(|stored| open(sealer, name, stored)))
}

pub(crate) async fn insert(
    connection: &mut Connection,
    sealer: &Sealer,
    name: &str,
    value: &[u8],
) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(INSERT).bind(name).bind(sealed(sealer, name, value)).execute(c))?;
    Ok(())
}

pub(crate) async fn set(
    connection: &mut Connection,
    sealer: &Sealer,
    name: &str,
    value: &[u8],
) -> Result<(), Error> {
    let done =
        run!(connection, |c| sqlx::query(SET).bind(name).bind(sealed(sealer, name, value)).execute(c))?;
    one_row(done, "setting")
}

fn sealed(sealer: &Sealer, name: &str, value: &[u8]) -> Vec<u8> {
    sealer.seal(&AssociatedData::setting(name), value).map_or_else(|| value.to_vec(), String::into_bytes)
}

/// Seals a value with the current key where it is not. Whether it was to be done; `None` where it cannot be read.
pub(crate) async fn reseal(
    connection: &mut Connection,
    sealer: &Sealer,
    current: &str,
    name: &str,
) -> Result<Option<bool>, Error> {
    let Some(found) = stored(connection, name).await? else { return Ok(Some(false)) };
    if matches!(&found, Stored::Sealed(text) if key_id(text) == Some(current)) {
        return Ok(Some(false));
    }
    let value = match open(sealer, name, found) {
        Ok(value) => value,
        Err(cause) => {
            let error = AssociatedData::setting(name).bad_row(cause);
            tracing::error!(error = &error as &dyn std::error::Error, "a setting cannot be read");
            return Ok(None);
        }
    };
    set(connection, sealer, name, &value).await?;
    Ok(Some(true))
}

/// The keys that the secret settings are sealed with: an id, nothing for one in clear, or a text that is no id.
pub(super) async fn sealed_with(connection: &mut Connection) -> Result<Option<Option<String>>, Error> {
    let stored = stored(connection, DOCUMENT_URL_KEY).await?;
    Ok(stored.map(|stored| match stored {
        Stored::Clear(_) => None,
        Stored::Sealed(text) => Some(key_id(&text).unwrap_or_default().to_owned()),
    }))
}

/// Whether this is the key that has its id in this database. `None` for an id that has not been used.
pub(crate) async fn check_key(
    connection: &mut Connection,
    sealer: &Sealer,
    id: &str,
) -> Result<Option<bool>, Error> {
    Ok(find(connection, sealer, &check_name(id)).await?.map(|opened| opened.is_ok()))
}

/// Remembers the current key, so that another under its id is noticed.
pub(crate) async fn remember_key(
    connection: &mut Connection,
    sealer: &Sealer,
    id: &str,
) -> Result<(), Error> {
    insert(connection, sealer, &check_name(id), b"").await
}

/// Forgets keys that nothing is sealed with any more.
pub(crate) async fn forget_keys(
    connection: &mut Connection,
    used: impl Fn(&str) -> bool,
) -> Result<(), Error> {
    let rows: Vec<(String, Vec<u8>)> = on!(connection, |c| sqlx::query_as(LIST).fetch_all(c))?;
    for (name, _) in rows {
        if name.strip_prefix(KEY_CHECK).is_some_and(|id| !used(id)) {
            run!(connection, |c| sqlx::query(REMOVE).bind(name).execute(c))?;
        }
    }
    Ok(())
}

fn check_name(id: &str) -> String {
    format!("{KEY_CHECK}{id}")
}
