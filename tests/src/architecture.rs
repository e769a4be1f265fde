//! Holds the names in `docs/design.md` against the repository: each names something that exists. The
//! table of arrows has a test of its own.
//!
//! A name is a span of code, a word of a diagram that is written like code, or a box without a
//! label. It is found
//!
//! - among the files and folders: from those that the paragraph names before, from
//!   `invoicing-server/src`, from `invoicing-server`, or from the root;
//! - among the items of the crates: `Store` is a name, `Store::write` the end of a path;
//! - in the schema after all migrations: `report_…` is the beginning of a name;
//! - in `openapi.json`, if it is in camel case or begins with `/`;
//! - or among the features of `invoicing-server`.

mod document;
mod items;
mod repository;
mod schema;

mod tests;
