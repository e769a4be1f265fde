//! Webhooks and their deliveries.

mod answers;
mod bulk;
mod deliveries;
mod dispatcher;
mod gaps;
mod management;
mod missed;
mod notices;
mod pages;
mod rotation;
mod target;
