//! The doubts about a payment that a person enters, which the form asks about before it enters it.

use invoicing_core::InvoiceSummary;
use maud::{Markup, html};
use rust_decimal::Decimal;

use super::change::Change;
use crate::console::figures::Figures;
use crate::console::layout::notice;
use crate::console::request::PageRequest;
use crate::operations::NewPayment;
use crate::records::Payment;

/// The field with the answer to the doubts.
pub(super) const CONFIRMED: &str = "confirmed";

/// The unusual sides of a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Doubts {
    /// It is more than what is left of the invoice, retention included: this.
    is_beyond: Option<Decimal>,
    /// One with the same reference and amount was entered on this day.
    is_repeated: bool,
}

impl Doubts {
    pub(super) fn of(
        request: &PageRequest<'_>,
        change: Change,
        invoice: &InvoiceSummary,
        payments: &[Payment],
        new: &NewPayment,
    ) -> Self {
        let InvoiceSummary { total_ttc, amount_credited, amount_paid, .. } = invoice;
        let left = (total_ttc.get() - amount_credited.get() - amount_paid.get()).max(Decimal::ZERO);
        let is_payment = change == Change::Pay;
        let amount = if is_payment { new.amount.get() } else { -new.amount.get() };
        let (clock, reference) = (request.clock(), new.reference.as_deref());
        let is_same = |payment: &Payment| {
            payment.reversed_at.is_none()
                && payment.amount.get() == amount
                && payment.reference.as_deref() == reference
                && clock.is_same_day(payment.recorded_at, request.now)
        };
        Self {
            is_beyond: (is_payment && amount > left).then_some(left),
            is_repeated: payments.iter().any(is_same),
        }
    }

    pub(super) const fn is_none(self) -> bool {
        self.is_beyond.is_none() && !self.is_repeated
    }

    /// The answer that confirms this very payment in spite of these doubts. Fields of forms are
    /// trimmed, so it ends without a space.
    pub(super) fn answer(self, payment: &NewPayment) -> String {
        let (beyond, repeated) = (self.is_beyond.is_some(), self.is_repeated);
        let reference = payment.reference.as_deref().unwrap_or_default();
        format!("{} {beyond} {repeated} {reference}", payment.amount).trim_end().to_owned()
    }

    /// The doubts, with the box that confirms the payment, which is not checked beforehand.
    pub(super) fn ask(
        self,
        request: &PageRequest<'_>,
        invoice: &InvoiceSummary,
        payment: &NewPayment,
    ) -> Markup {
        let figures = Figures::new(request.language, &invoice.currency);
        let question = html! {
            p { (request.pick("Nothing has been entered yet.", "Rien n’a encore été saisi.")) }
            @if let Some(left) = self.is_beyond {
                p {
                    (request.pick("This is more than what is left of the invoice:", "C’est plus que ce qui reste de la facture :")) " "
                    (figures.amount(left)) "."
                }
            }
            @if self.is_repeated {
                p { (if payment.reference.is_some() { request.pick(
                    "The same amount with the same reference was already entered today.",
                    "Le même montant avec la même référence a déjà été saisi aujourd’hui.",
                ) } else { request.pick(
                    "The same amount without a reference was already entered today.",
                    "Le même montant sans référence a déjà été saisi aujourd’hui.",
                ) }) }
            }
        };
        html! {
            (notice("error", &question))
            label.choice {
                input type="checkbox" name=(CONFIRMED) value=(self.answer(payment)) autocomplete="off";
                span {
                    (request.pick("Yes, enter", "Oui, saisir")) " " (figures.amount(payment.amount.get()))
                }
            }
        }
    }
}
