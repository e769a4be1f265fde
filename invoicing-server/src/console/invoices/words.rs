//! States, kinds and payments of invoices, in words.

use invoicing_core::{InvoiceStatus, InvoiceType, OpenEnum, PaymentMethod};
use maud::{Markup, html};

use crate::console::Language;
use crate::console::layout::entered;
use crate::console::request::PageRequest;

/// The number of an invoice. A draft has none.
pub(in crate::console) fn name(request: &PageRequest<'_>, number: Option<&str>) -> Markup {
    let unnamed = request.pick("Invoice without a number", "Facture sans numéro");
    entered(number.unwrap_or(unnamed))
}

/// The state of an invoice.
pub(in crate::console) fn state(language: Language, status: InvoiceStatus) -> Markup {
    let kind = match status {
        InvoiceStatus::Paid => "good",
        InvoiceStatus::Overdue => "bad",
        InvoiceStatus::Sent => "wait",
        _ => "",
    };
    html! { span class={ "state " (kind) } { (status_name(language, status)) } }
}

/// A status, for a filter.
pub(super) fn status_name(language: Language, status: InvoiceStatus) -> &'static str {
    match status {
        InvoiceStatus::Draft => language.pick("Draft", "Brouillon"),
        InvoiceStatus::Sent => language.pick("Issued", "Émise"),
        InvoiceStatus::Paid => language.pick("Paid", "Payée"),
        InvoiceStatus::Overdue => language.pick("Overdue", "En retard"),
        InvoiceStatus::Canceled => language.pick("Cancelled", "Annulée"),
        // A status that only a later version has.
        other => other.as_str(),
    }
}

/// The kind of an invoice.
pub(super) fn kind(language: Language, kind: &OpenEnum<InvoiceType>) -> String {
    let name = match kind.known() {
        Some(InvoiceType::Standard) => language.pick("Invoice", "Facture"),
        Some(InvoiceType::Deposit) => language.pick("Deposit invoice", "Facture d’acompte"),
        Some(InvoiceType::Progress) => language.pick("Progress invoice", "Facture de situation"),
        _ => return kind.to_string(),
    };
    name.to_owned()
}

/// The method of a payment.
pub(super) fn method(language: Language, method: PaymentMethod) -> &'static str {
    match method {
        PaymentMethod::Transfer => language.pick("Bank transfer", "Virement"),
        PaymentMethod::Card => language.pick("Card", "Carte"),
        PaymentMethod::Cheque => language.pick("Cheque", "Chèque"),
        PaymentMethod::Cash => language.pick("Cash", "Espèces"),
        PaymentMethod::DirectDebit => language.pick("Direct debit", "Prélèvement"),
        PaymentMethod::Other => language.pick("Other", "Autre"),
        // A method that only a later version has.
        other => other.as_str(),
    }
}
