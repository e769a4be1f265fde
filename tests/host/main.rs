//! The contract of the host operations and of the deliveries, rule by rule.

mod smoke;
