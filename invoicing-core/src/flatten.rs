//! Deserialises one JSON object into a summary and the members beside it.
//!
//! serde's `flatten` first reads the whole object into a tree. This module lets the summary's
//! `Deserialize` read a view of the object, and reads the other members as they occur. It buffers
//! no value and copies no name, and an error keeps its path. Serialisation uses `flatten`, which
//! builds no tree.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::Line;

/// The members beside a summary in the same object.
pub(crate) trait SideMembers<'de>: Default {
    /// Their names, none of which is a name of the summary.
    const NAMES: &'static [&'static str];

    /// Reads the value of the member with this index in [`NAMES`](Self::NAMES).
    fn read<A: MapAccess<'de>>(&mut self, index: usize, map: &mut A) -> Result<(), A::Error>;
}

/// The lines of a list item, present only on request.
#[derive(Default)]
pub(crate) struct LinesMember {
    pub(crate) lines: Member<Option<Vec<Line>>>,
}

impl<'de> SideMembers<'de> for LinesMember {
    const NAMES: &'static [&'static str] = &["lines"];

    fn read<A: MapAccess<'de>>(&mut self, _: usize, map: &mut A) -> Result<(), A::Error> {
        self.lines.fill("lines", map)
    }
}

/// Deserialises an object into its summary and the members beside it.
pub(crate) fn deserialize<'de, D, H, B>(deserializer: D) -> Result<(H, B), D::Error>
where
    D: Deserializer<'de>,
    H: Deserialize<'de>,
    B: SideMembers<'de>,
{
    deserializer.deserialize_map(Object(PhantomData))
}

/// A member that may have been read.
pub(crate) struct Member<T>(Option<T>);

impl<T> Default for Member<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Member<T> {
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

impl<T> Member<Option<T>> {
    /// The member; a missing one is `None`.
    pub(crate) fn optional(self) -> Option<T> {
        self.0.flatten()
    }
}

struct Object<H, B>(PhantomData<(H, B)>);

impl<'de, H: Deserialize<'de>, B: SideMembers<'de>> Visitor<'de> for Object<H, B> {
    type Value = (H, B);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(H, B), A::Error> {
        let mut side = B::default();
        let summary = H::deserialize(MapAccessDeserializer::new(View { map, side: &mut side }))?;
        Ok((summary, side))
    }
}

/// The view of the object for the summary.
struct View<'a, A, B> {
    map: A,
    side: &'a mut B,
}

impl<'de, A: MapAccess<'de>, B: SideMembers<'de>> MapAccess<'de> for View<'_, A, B> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        // The first name of the summary consumes the seed.
        let mut seed = Some(seed);
        loop {
            match self.map.next_key_seed(Name { side: B::NAMES, seed: &mut seed })? {
                None => return Ok(None),
                Some(Key::Summary(key)) => return Ok(Some(key)),
                Some(Key::Side(index)) => self.side.read(index, &mut self.map)?,
            }
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

enum Key<K> {
    Summary(K),
    Side(usize),
}

/// Reads a name, and the part to which it belongs.
struct Name<'a, K> {
    side: &'static [&'static str],
    seed: &'a mut Option<K>,
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Name<'_, K> {
    type Value = Key<K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for Name<'_, K> {
    type Value = Key<K::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        if let Some(index) = self.side.iter().position(|known| *known == name) {
            return Ok(Key::Side(index));
        }
        let seed = self.seed.take().ok_or_else(|| E::custom("a name was read twice"))?;
        seed.deserialize(StrDeserializer::new(name)).map(Key::Summary)
    }
}

#[cfg(test)]
mod tests;
