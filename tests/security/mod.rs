//! Tenants kept apart, hostile input, and secrets at rest. What is printed and logged is tested in `redaction`.

mod fuzz_seeds;
mod hostile_input;
mod sealed_secrets;
mod tenants;
