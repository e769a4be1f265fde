//! The contract of the API, rule by rule, over the real service.

mod endpoints;
mod errors;
mod hostile;
mod keys_and_quota;
mod law;
mod lists;
mod records;
mod serving;
mod tenants;
mod wire;
