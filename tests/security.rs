//! Tenants kept apart, hostile input, and secrets at rest. `redaction` tests printed and logged texts.

#[cfg(unix)]
mod file_modes;
mod fuzz_seeds;
mod hostile_input;
mod sealed_secrets;
mod tenants;
