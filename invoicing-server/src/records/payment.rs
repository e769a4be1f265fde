//! Payments on invoices.

use invoicing_core::{InvoiceId, Money, PaymentId, Timestamp};
use serde::{Deserialize, Serialize};

/// A payment on an invoice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Payment {
    /// Identifier on the service's side.
    pub id: PaymentId,
    /// The invoice.
    pub invoice_id: InvoiceId,
    /// How much, above 0.
    pub amount: Money,
    /// Where the entry comes from.
    pub source: PaymentSource,
    /// How the client paid, where that is known.
    pub method: Option<PaymentMethod>,
    /// The payer's or the bank's reference; the same one twice on one invoice is one payment,
    /// unless the first was reversed.
    pub reference: Option<String>,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// When it was taken back.
    pub reversed_at: Option<Timestamp>,
}

/// How a client paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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

/// Where the entry of a payment comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
