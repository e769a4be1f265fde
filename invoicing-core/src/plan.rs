//! The subscriptions of companies.

use strum::{Display, IntoStaticStr, VariantArray};

/// The subscription of a company. Only [`Plan::Team`] may use the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[non_exhaustive]
pub enum Plan {
    /// The smallest plan.
    Starter,
    /// The plan with automatic conversion of accepted quotes.
    Pro,
    /// The plan with automatic conversion and the API.
    Team,
}

impl Plan {
    /// True if the plan includes the API.
    pub const fn has_api(self) -> bool {
        matches!(self, Self::Team)
    }

    /// True if the plan includes the automatic conversion of accepted quotes to invoices.
    pub const fn has_automatic_invoicing(self) -> bool {
        matches!(self, Self::Pro | Self::Team)
    }
}
