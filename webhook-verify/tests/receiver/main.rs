//! The receiver kit: statuses, the layer and the extractors, both inboxes, and each event handled exactly once.

#[cfg(test)]
mod exactly_once;
#[cfg(test)]
mod inboxes;
#[cfg(test)]
mod net;
#[cfg(test)]
mod statuses;
#[cfg(test)]
mod support;
#[cfg(test)]
mod wiring;
#[cfg(test)]
mod workers;
