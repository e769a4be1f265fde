//! Tenants kept apart, hostile input, and secrets at rest. What is printed and logged is tested in `redaction`.

#[cfg(unix)]
mod file_modes;
mod fuzz_seeds;
mod hostile_input;
mod sealed_secrets;
mod tenants;
