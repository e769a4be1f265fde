//! The telemetry of a running service for its host.

mod causes;
mod metrics;
