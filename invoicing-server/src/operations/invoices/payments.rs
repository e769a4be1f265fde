//! Payments on invoices: entered, refunded, reversed.

use invoicing_core::internal::{SHORT_TEXT, exact_number, optional_text};
use invoicing_core::{
    Conflict, ConflictReason, IntoExact, Invoice, InvoiceId, Money, PaymentId, PaymentMethod, PaymentSource,
};
use serde::Deserialize;

use super::{Invoices, update};
use crate::error::Error;
use crate::records::{HistoryAction, Payment};
use crate::store::{CompanyTx, Prefetch, Tables};

/// A payment as it is entered.
///
/// ```
/// use invoicing_server::{NewPayment, PaymentMethod, PaymentSource, money};
///
/// let deposit = NewPayment::new(money!(1_200.50), PaymentSource::Entered)
///     .method(PaymentMethod::Cheque)
///     .reference("CHQ 0412");
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewPayment {
    /// The amount, above 0.
    #[serde(deserialize_with = "exact_number")]
    pub amount: Money,
    /// The origin of the entry.
    pub source: PaymentSource,
    /// The method of the payment, if known.
    #[serde(default)]
    pub method: Option<PaymentMethod>,
    /// The payer's reference, at most 255 characters. Payments may have the same one, such as that
    /// which the document asks for.
    #[serde(default)]
    pub reference: Option<String>,
    /// The identifier of the movement at the bank or the processor, at most 255 characters. The
    /// same one twice on one invoice is one payment, unless the first was reversed. With another
    /// amount it is a conflict.
    #[serde(default)]
    pub movement_id: Option<String>,
}

impl NewPayment {
    /// A payment without method, reference and movement.
    pub fn new(amount: impl IntoExact<Money>, source: PaymentSource) -> Self {
        Self { amount: amount.into(), source, method: None, reference: None, movement_id: None }
    }

    /// Sets [`method`](Self#structfield.method).
    pub fn method(mut self, method: PaymentMethod) -> Self {
        self.method = Some(method);
        self
    }

    /// Sets [`reference`](Self#structfield.reference).
    pub fn reference(mut self, reference: impl Into<String>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Sets [`movement_id`](Self#structfield.movement_id).
    pub fn movement_id(mut self, id: impl Into<String>) -> Self {
        self.movement_id = Some(id.into());
        self
    }
}

/// A payment and the invoice after it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedPayment {
    /// The payment: the new one, or the one of the same movement.
    pub payment: Payment,
    /// The invoice.
    pub invoice: Invoice,
    /// True if the call has recorded the payment.
    pub created: bool,
}

/// The direction of a payment.
#[derive(Debug, Clone, Copy)]
enum Entry {
    Payment,
    /// Recorded with its amount negated.
    Refund,
}

impl Invoices<'_> {
    /// Records a payment. When nothing is due any more: PAID and `invoice.paid`. A payment of a
    /// [movement](NewPayment::movement_id) that the invoice already has changes nothing, unless
    /// that payment was reversed. Without a movement each call records a payment, so that equal
    /// instalments are as many payments. An amount above the one due is accepted: it pays the
    /// retention, and the part above `totalTTC` is shown as `amountOverpaid`.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the invoice has a payment of another amount of this movement, or
    /// takes no payment.
    pub async fn pay(&self, id: InvoiceId, payment: &NewPayment) -> Result<RecordedPayment, Error> {
        self.0.operation("invoices.pay", self.enter(id, payment, Entry::Payment)).await
    }

    /// Records that a part of what was overpaid was paid back; the amount of `refund` is positive,
    /// and the payment's is negative. An invoice that is credited in full and has no valid
    /// payment left is CANCELED. The movement has the meaning that it has in [`pay`](Self::pay).
    ///
    /// # Errors
    /// [`Error::Invalid`] for more than `amountOverpaid`; [`Error::Conflict`] when a payment of
    /// another amount has the movement, or the invoice takes none.
    pub async fn refund(&self, id: InvoiceId, refund: &NewPayment) -> Result<RecordedPayment, Error> {
        self.0.operation("invoices.refund", self.enter(id, refund, Entry::Refund)).await
    }

    async fn enter(
        &self,
        id: InvoiceId,
        entered: &NewPayment,
        entry: Entry,
    ) -> Result<RecordedPayment, Error> {
        let reference = optional_text("reference", entered.reference.as_deref(), SHORT_TEXT)?;
        let movement_id = optional_text("movementId", entered.movement_id.as_deref(), SHORT_TEXT)?;
        let entered = NewPayment { reference, movement_id, ..*entered };
        let known = self.preload(id).await?;
        self.0
            .write([Prefetch::Invoice(id)], async move |mut tx| {
                let invoice = tx.document_to_change(id, known).await?;
                let amount = match entry {
                    Entry::Payment => entered.amount,
                    Entry::Refund => Money::ZERO.minus(entered.amount)?,
                };
                if let Some(movement_id) = &entered.movement_id
                    && let Some(known) = tx.invoices().find_payment_of_movement(id, movement_id).await?
                {
                    same_amount(&known, amount, movement_id)?;
                    return Ok(RecordedPayment { payment: known, invoice, created: false });
                }
                let (changed, action) = match entry {
                    Entry::Payment => {
                        let paid = invoice.record_payment(entered.amount, tx.change.at())?;
                        (paid, HistoryAction::InvoicePaymentEntered)
                    }
                    Entry::Refund => {
                        let refunded = invoice.refund(entered.amount, tx.change.at())?;
                        (refunded, HistoryAction::InvoiceRefunded)
                    }
                };
                let new = NewPayment { amount, ..entered };
                let payment = insert_payment(&mut tx, id, new).await?;
                tx.note(action, id.0, &entered.amount).await?;
                let invoice = update(&mut tx, changed).await?;
                Ok(RecordedPayment { payment, invoice, created: true })
            })
            .await
    }

    /// Reverses a payment or a refund. A PAID invoice on which something is due again goes to SENT
    /// or OVERDUE. One that is credited in full and has no valid payment left is
    /// CANCELED.
    ///
    /// # Errors
    /// [`Error::Conflict`] when the payment has been reversed already, or refunded since.
    pub async fn reverse_payment(&self, id: InvoiceId, payment: PaymentId) -> Result<Invoice, Error> {
        let changed = async {
            let known = self.preload(id).await?;
            self.0
                .write([Prefetch::Invoice(id)], async move |mut tx| {
                    let invoice = tx.document_to_change(id, known).await?;
                    let mut payment = tx.invoices().find_payment(id, payment).await?;
                    if payment.reversed_at.is_some() {
                        return Err(ConflictReason::Reversed.into());
                    }
                    let reversed =
                        invoice.reverse_payment(payment.amount, tx.change.at(), tx.change.today())?;
                    payment.reversed_at = Some(tx.change.now);
                    tx.invoices().reverse_payment(&payment).await?;
                    tx.note(HistoryAction::InvoicePaymentReversed, id.0, &payment.amount).await?;
                    update(&mut tx, reversed).await
                })
                .await
        };
        self.0.operation("invoices.reverse_payment", changed).await
    }

    /// The payments on an invoice, oldest first, reversed ones included.
    pub async fn payments(&self, id: InvoiceId) -> Result<Vec<Payment>, Error> {
        let found = self.0.read(async move |mut tx| {
            tx.invoices().find_summary(id).await?;
            tx.invoices().payments(id).await
        });
        self.0.operation("invoices.payments", found).await
    }
}

/// Checks that a payment of a known movement has the amount of the recorded one. Otherwise one of
/// the two would be lost.
fn same_amount(known: &Payment, amount: Money, movement_id: &str) -> Result<(), Conflict> {
    if known.amount == amount {
        return Ok(());
    }
    let movement = movement_id.to_owned();
    let (known, amount) = (known.amount.to_string(), amount.to_string());
    Err(ConflictReason::KnownMovement { movement, known, amount }.into())
}

pub(super) async fn insert_payment(
    tx: &mut CompanyTx<'_>,
    invoice_id: InvoiceId,
    new: NewPayment,
) -> Result<Payment, Error> {
    let (id, recorded_at) = (PaymentId(tx.env().uuid()), tx.change.now);
    let NewPayment { amount, source, method, reference, movement_id } = new;
    let payment = Payment {
        id,
        invoice_id,
        amount,
        source,
        method,
        reference,
        movement_id,
        recorded_at,
        reversed_at: None,
    };
    tx.invoices().insert_payment(&payment).await?;
    Ok(payment)
}
