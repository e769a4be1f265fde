//! Placeholder.

mod documents;
pub mod dispatch;
