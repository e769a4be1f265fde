//! The method and the origin of a payment.

use strum::{Display, IntoStaticStr, VariantArray};

/// The method of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "camelCase")]
#[non_exhaustive]
pub enum PaymentMethod {
    /// Bank transfer.
    Transfer,
    /// Payment card.
    Card,
    /// Cheque.
    Cheque,
    /// Cash.
    Cash,
    /// Direct debit.
    DirectDebit,
    /// Any other way.
    Other,
}

/// The origin of the entry of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
#[non_exhaustive]
pub enum PaymentSource {
    /// Marked paid by hand: the remaining amount.
    Manual,
    /// Entered by hand.
    Entered,
    /// Paid online.
    Online,
    /// Found by bank reconciliation.
    Bank,
}
