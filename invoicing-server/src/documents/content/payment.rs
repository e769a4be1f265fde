//! The amount to pay of an invoice, and the ways to pay it, at a glance.

use super::view::{DocumentView, Issued};
use super::{Text, french};

/// The heading above these texts.
pub(crate) const PAYMENT: &str = "Règlement";
/// The label of the day on which an invoice was paid with its issue.
pub(crate) const PAID: &str = "Acquittée le";

/// The payment of an invoice.
#[derive(Debug)]
pub(crate) struct Payment<'a> {
    /// Net amount and due date, each with its label.
    pub(crate) due: Vec<(&'static str, Text<'a>)>,
    /// The account, and the reference of the transfer.
    pub(crate) account: Vec<(&'static str, Text<'a>)>,
}

/// The payment of an invoice; `None` if the document asks for none.
pub(crate) fn payment<'a>(view: &DocumentView<'a>) -> Option<Payment<'a>> {
    let issued = view.asking()?;
    Some(Payment { due: due(view, issued), account: account(view) })
}

fn due<'a>(view: &DocumentView<'a>, issued: &Issued<'a>) -> Vec<(&'static str, Text<'a>)> {
    let until = issued.due_date.map(|day| ("Au plus tard le", Text::own(french::date(day))));
    [net(view)].into_iter().chain(until).collect()
}

/// The total without the retention, with its label.
pub(crate) fn net<'a>(view: &DocumentView<'a>) -> (&'static str, Text<'a>) {
    ("Net à payer", Text::of("currency", french::amount(view.net(), view.currency)))
}

fn account<'a>(view: &DocumentView<'a>) -> Vec<(&'static str, Text<'a>)> {
    let identity = &view.company.identity;
    let iban = identity.iban.as_deref().map(|iban| ("IBAN", Text::of("company.iban", french::iban(iban))));
    let bic = identity.bic.as_deref().map(|bic| ("BIC", Text::of("company.bic", bic)));
    let reference = ("Référence à rappeler", Text::of("number", view.number));
    iban.into_iter().chain(bic).chain([reference]).collect()
}
