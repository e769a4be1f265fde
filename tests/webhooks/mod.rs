//! Webhooks and their deliveries.

mod deliveries;
mod dispatcher;
mod management;
mod target;
