//! The vocabulary of the schemas: members of records, and the JSON Schema (draft 2020-12) of their
//! types.

use serde_json::{Map, Value, json};

/// Private use and noncharacters, for a class of a pattern. The noncharacters of the
/// planes before the last two are left out: a pattern with all of them is longer than the rest.
macro_rules! unassignable {
    () => {
        concat!(r"\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff", "\u{f0000}-\u{10ffff}")
    };
}
/// Characters that a text on one line refuses, for a class of a pattern.
macro_rules! refused {
    () => {
        concat!(r"\u0000-\u001f\u007f-\u009f", unassignable!())
    };
}
pub(super) use {refused, unassignable};

/// At least one character that is neither white space nor refused.
pub(super) const TEXT_PATTERN: &str =
    concat!("^[^", refused!(), r"]*[^\s", refused!(), "][^", refused!(), "]*$");

/// A member of a record or of a request body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) name: &'static str,
    of: Type,
    text: &'static str,
    is_always_present: bool,
}

/// A member that is always there.
pub(super) const fn always(name: &'static str, of: Type, text: &'static str) -> Member {
    Member { name, of, text, is_always_present: true }
}

/// A member that may be left out.
pub(super) const fn sometimes(name: &'static str, of: Type, text: &'static str) -> Member {
    Member { name, of, text, is_always_present: false }
}

/// The type of a value on the wire.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    Text,
    Boolean,
    Integer,
    /// A number with exact decimals. No `multipleOf`: readers that compute in binary floats fail on
    /// it.
    Decimal,
    Uuid,
    Instant,
    Date,
    /// Exactly this text.
    Word(&'static str),
    /// A text of this regular expression.
    Pattern(&'static str),
    /// A text that a caller enters.
    Entered(&'static Entered),
    /// The component of this name.
    Component(&'static str),
    ListOf(&'static Type),
    OrNull(&'static Type),
}

/// The limits of a text that a caller enters.
#[derive(Debug)]
pub(super) struct Entered {
    /// Fewest characters. 0 if an empty text is read as `null`.
    pub(super) min: usize,
    /// Maximum number of characters.
    pub(super) max: usize,
    pub(super) pattern: &'static str,
}

impl Type {
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Boolean => json!({"type": "boolean"}),
            Self::Integer => json!({"type": "integer", "minimum": 0}),
            Self::Decimal => json!({"type": "number"}),
            Self::Uuid => json!({"type": "string", "format": "uuid"}),
            Self::Instant => json!({"type": "string", "format": "date-time"}),
            Self::Date => json!({"type": "string", "format": "date"}),
            Self::Word(word) => json!({"type": "string", "const": word}),
            Self::Pattern(pattern) => json!({"type": "string", "pattern": pattern}),
            Self::Entered(Entered { min, max, pattern }) => {
                json!({"type": "string", "minLength": min, "maxLength": max, "pattern": pattern})
            }
            Self::Component(name) => component("schemas", name),
            Self::ListOf(items) => json!({"type": "array", "items": items.schema()}),
            Self::OrNull(of) => or_null(of.schema()),
        }
    }
}

/// The same schema, or `null`. A reference takes no sibling `type`, as tools disagree on its
/// meaning.
fn or_null(mut schema: Value) -> Value {
    match schema.get("type").cloned() {
        Some(name) => {
            schema["type"] = json!([name, "null"]);
            schema
        }
        None => json!({"oneOf": [schema, {"type": "null"}]}),
    }
}

/// A reference to a component.
pub(super) fn component(section: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{section}/{name}")})
}

/// The schema of an object with these members, in this order.
pub(super) fn object<'m>(description: &str, members: impl IntoIterator<Item = &'m Member>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for member in members {
        let mut schema = member.of.schema();
        schema["description"] = member.text.into();
        properties.insert(member.name.to_owned(), schema);
        if member.is_always_present {
            required.push(member.name);
        }
    }
    json!({"type": "object", "description": description, "properties": properties, "required": required})
}

/// A set of words that may grow. A reader keeps an unknown word.
pub(super) fn open_words(
    description: &str,
    words: impl IntoIterator<Item = (&'static str, &'static str)>,
) -> Value {
    let words: Vec<_> = words.into_iter().collect();
    let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
    let texts: Map<_, _> = words.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect();
    json!({
        "description": description,
        "anyOf": [{"type": "string", "enum": names, "x-enumDescriptions": texts}, {"type": "string"}],
    })
}
