//! The webhook dispatcher: from committed deliveries to recorded attempts.

pub mod target;
pub mod transport;
