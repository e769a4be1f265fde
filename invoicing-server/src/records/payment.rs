//! Payments on invoices.

use invoicing_core::{InvoiceId, Money, PaymentId, PaymentMethod, PaymentSource, Timestamp};
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
    /// The amount, above 0.
    pub amount: Money,
    /// The origin of the entry.
    pub source: PaymentSource,
    /// The method of the payment, if known.
    pub method: Option<PaymentMethod>,
    /// The payer's reference.
    pub reference: Option<String>,
    /// The identifier of the movement at the bank or the processor; the same one twice on one
    /// invoice is one payment, unless the first was reversed.
    pub movement_id: Option<String>,
    /// Instant of the recording.
    pub recorded_at: Timestamp,
    /// Instant of the reversal.
    pub reversed_at: Option<Timestamp>,
}
