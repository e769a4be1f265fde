//! Tenants kept apart, hostile input, and secrets at rest. Printed and logged texts are tested in `redaction`.

#[cfg(unix)]
mod file_modes;
mod fuzz_seeds;
mod hostile_input;
mod sealed_secrets;
mod tenants;
