//! Which addresses a webhook may reach.

mod changes;
mod corpus;
mod policy;
mod support;
