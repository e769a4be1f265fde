//! The names of a database: tables, columns, indexes, views, functions.

use std::collections::BTreeSet;

/// Adds the names that a migration creates, and takes away those that it drops.
pub(super) fn migrate(names: &mut BTreeSet<String>, migration: &str) {
    let mut is_in_table = false;
    for line in migration.lines() {
        let code = line.split("--").next().unwrap_or_default();
        let words = code.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        is_in_table = matches!(words[..], ["CREATE", "TABLE", ..]) || is_in_table && !line.starts_with(')');
        match words[..] {
            ["CREATE", "OR", "REPLACE", _, name, ..]
            | ["CREATE", "UNIQUE", _, name, ..]
            | ["CREATE", _, name, ..]
            | ["ALTER", "TABLE", _, "ADD", "COLUMN", name, ..] => names.insert(name.to_owned()),
            [name, ..] if is_in_table && !name.contains(char::is_uppercase) => names.insert(name.to_owned()),
            ["DROP", _, name, ..] => names.remove(name),
            _ => false,
        };
    }
}
