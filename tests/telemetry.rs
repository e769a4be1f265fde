//! What a host can see of a running service.

mod causes;
mod metrics;
