//! Holds the modules of `invoicing-server` against the table in `docs/design.md`: each module names only what its row
//! allows, every row leads downwards, and nothing is allowed that is not needed.
//!
//! Counted are the paths outside of test code, those in the bodies of macros included: `use`, `crate::`, `super::`,
//! `self::`, `$crate::`, and what begins with a child or an import. A name that another module exports counts for both,
//! the module that exports it and the one that declares it.

mod graph;
mod source;
mod table;

mod tests;
