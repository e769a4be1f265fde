//! The reason why a webhook is disabled.

use strum::{Display, IntoStaticStr, VariantArray};

/// The reason why a webhook is disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum DisabledReason {
    /// Its owner has disabled it.
    Manual,
    /// 10 deliveries in a row ended failed.
    #[strum(serialize = "consecutive_failures")]
    Failures,
}
