//! Placeholder.

mod documents;
