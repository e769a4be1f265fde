//! Webhooks and their deliveries.

mod bulk;
mod deliveries;
mod dispatcher;
mod management;
mod pages;
mod rotation;
mod target;
