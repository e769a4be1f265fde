//! API keys, plans and the quota: over the API, and as the host manages them.

mod key_management;
mod keys_and_quota;
mod moving_clock;
mod unknown_keys;
