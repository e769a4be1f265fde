//! Webhooks and their deliveries.

mod bulk;
mod deliveries;
mod dispatcher;
mod management;
mod missed;
mod notices;
mod pages;
mod rotation;
mod target;
