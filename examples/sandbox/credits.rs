//! The steps that give something back: credit notes and refunds.

use invoicing_core::{
    CreditNote, Invoice, InvoiceItem, InvoiceStatus, Money, NewCreditNote, Quantity, percent,
};
use invoicing_server::{Error, InvoiceQuery, NewPayment, PaymentMethod, PaymentSource};
use rust_decimal::Decimal;

use crate::business::{Business, Done};
use crate::catalogue::one_of;
use crate::steps::{RECENT, unless_invalid};

impl Business {
    /// Half of a line was not done.
    pub(crate) async fn credit_quantity(&mut self) -> Result<Option<Done>, Error> {
        let Some(invoice) = self.issued().await? else { return Ok(None) };
        let index = self.rng.usize(..invoice.lines.len());
        let half = Quantity::new(invoice.lines[index].quantity.get() / Decimal::TWO)?;
        let note = NewCreditNote::new("Travaux non réalisés").quantity(index, half);
        self.credit(&invoice, &note, "invoice.creditQuantity").await
    }

    /// The client was promised a lower price.
    pub(crate) async fn credit_reduction(&mut self) -> Result<Option<Done>, Error> {
        let Some(invoice) = self.issued().await? else { return Ok(None) };
        let Some(share) = one_of(&mut self.rng, &invoice.detail.vat_breakdown) else { return Ok(None) };
        let amount = share.base_ht.percent(percent!(5))?;
        let note = NewCreditNote::new("Retard sur le chantier").reduction("Remise", share.tva_rate, amount);
        self.credit(&invoice, &note, "invoice.creditReduction").await
    }

    /// Nothing of it was done.
    pub(crate) async fn credit_remaining(&mut self) -> Result<Option<Done>, Error> {
        let Some(invoice) = self.issued().await? else { return Ok(None) };
        let note = NewCreditNote::of_remaining("Travaux annulés");
        self.credit(&invoice, &note, "invoice.creditRemaining").await
    }

    /// Pays back all that was paid too much.
    pub(crate) async fn refund(&mut self) -> Result<Option<Done>, Error> {
        let query = InvoiceQuery::default().status(InvoiceStatus::Paid).window(RECENT);
        let mut paid: Vec<InvoiceItem> = self.company.invoices().list(&query).await?.data;
        paid.retain(|invoice| invoice.summary.amount_overpaid > Money::ZERO);
        let Some(invoice) = one_of(&mut self.rng, &paid) else { return Ok(None) };
        let movement = format!("RMB-{:08}", self.rng.u32(..100_000_000));
        let refund = NewPayment::new(invoice.summary.amount_overpaid, PaymentSource::Bank)
            .method(PaymentMethod::Transfer)
            .movement_id(movement);
        let refunded = self.company.invoices().refund(invoice.summary.id, &refund).await?;
        let ids = [("invoiceId", invoice.summary.id.0), ("paymentId", refunded.payment.id.0)];
        Ok(Some(Done::new("invoice.refund", ids)))
    }

    /// One that can be credited.
    async fn issued(&mut self) -> Result<Option<Invoice>, Error> {
        let status = if self.rng.bool() { InvoiceStatus::Sent } else { InvoiceStatus::Paid };
        let Some(invoice) = self.invoice(status).await? else { return Ok(None) };
        self.company.invoices().get(invoice.summary.id).await.map(Some)
    }

    async fn credit(
        &self,
        invoice: &Invoice,
        new: &NewCreditNote,
        name: &'static str,
    ) -> Result<Option<Done>, Error> {
        let credited = self.company.invoices().credit(invoice.summary.id, new).await;
        let done = |note: CreditNote| {
            Done::new(name, [("invoiceId", invoice.summary.id.0), ("creditNoteId", note.summary.id.0)])
        };
        Ok(unless_invalid(credited)?.map(done))
    }
}
