//! Reading one JSON object into a summary and the members that stand beside it.
//!
//! serde's `flatten` first reads the whole object into a tree. Here the summary's own `Deserialize` is given a view of
//! the object from which the members beside it are taken as they come by: nothing is buffered, names are not copied,
//! and an error keeps its path. Writing is left to `flatten`, which makes no tree there.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::Line;

/// Members that stand beside a summary in the same object.
pub(crate) trait Beside<'de>: Default {
    /// Their names; no name of the summary is among them.
    const NAMES: &'static [&'static str];

    /// Reads the value of the member that has this place in [`NAMES`](Self::NAMES).
    fn take<A: MapAccess<'de>>(&mut self, place: usize, map: &mut A) -> Result<(), A::Error>;
}

/// The lines of a list item, which are there only where the request asked for them.
#[derive(Default)]
pub(crate) struct LinesBeside {
    pub(crate) lines: Slot<Option<Vec<Line>>>,
}

impl<'de> Beside<'de> for LinesBeside {
    const NAMES: &'static [&'static str] = &["lines"];

    fn take<A: MapAccess<'de>>(&mut self, _: usize, map: &mut A) -> Result<(), A::Error> {
        self.lines.fill("lines", map)
    }
}

/// Reads an object into its summary and what stands beside it.
pub(crate) fn deserialize<'de, D, H, B>(deserializer: D) -> Result<(H, B), D::Error>
where
    D: Deserializer<'de>,
    H: Deserialize<'de>,
    B: Beside<'de>,
{
    deserializer.deserialize_map(Object(PhantomData))
}

/// A member beside the summary, as far as it has been read.
pub(crate) struct Slot<T>(Option<T>);

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Slot<T> {
    /// Reads the member's value, once.
    pub(crate) fn fill<'de, A>(&mut self, name: &'static str, map: &mut A) -> Result<(), A::Error>
    where
        T: Deserialize<'de>,
        A: MapAccess<'de>,
    {
        if self.0.is_some() {
            return Err(A::Error::duplicate_field(name));
        }
        self.0 = Some(map.next_value()?);
        Ok(())
    }

    /// The member, or an error that names it.
    pub(crate) fn required<E: Error>(self, name: &'static str) -> Result<T, E> {
        self.0.ok_or_else(|| E::missing_field(name))
    }
}

impl<T> Slot<Option<T>> {
    /// The member; one that is missing is unset.
    pub(crate) fn optional(self) -> Option<T> {
        self.0.flatten()
    }
}

struct Object<H, B>(PhantomData<(H, B)>);

impl<'de, H: Deserialize<'de>, B: Beside<'de>> Visitor<'de> for Object<H, B> {
    type Value = (H, B);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(H, B), A::Error> {
        let mut beside = B::default();
        let summary = H::deserialize(MapAccessDeserializer::new(View { map, beside: &mut beside }))?;
        Ok((summary, beside))
    }
}

/// The object as the summary sees it.
struct View<'a, A, B> {
    map: A,
    beside: &'a mut B,
}

impl<'de, A: MapAccess<'de>, B: Beside<'de>> MapAccess<'de> for View<'_, A, B> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        // The seed is used up by the first name that is the summary's.
        let mut seed = Some(seed);
        loop {
            match self.map.next_key_seed(Name { beside: B::NAMES, seed: &mut seed })? {
                None => return Ok(None),
                Some(Member::Head(key)) => return Ok(Some(key)),
                Some(Member::Beside(place)) => self.beside.take(place, &mut self.map)?,
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

enum Member<K> {
    Head(K),
    Beside(usize),
}

/// Reads a name, and says whose it is.
struct Name<'a, K> {
    beside: &'static [&'static str],
    seed: &'a mut Option<K>,
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Name<'_, K> {
    type Value = Member<K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for Name<'_, K> {
    type Value = Member<K::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        if let Some(place) = self.beside.iter().position(|known| *known == name) {
            return Ok(Member::Beside(place));
        }
        let seed = self.seed.take().ok_or_else(|| E::custom("a name was read twice"))?;
        seed.deserialize(StrDeserializer::new(name)).map(Member::Head)
    }
}

#[cfg(test)]
mod tests;
