//! Payments and refunds that are entered.

use http::StatusCode;
use invoicing_core::internal::{SHORT_TEXT, optional_text};
use invoicing_core::{Invalid, InvoiceId, InvoiceSummary, Money, PaymentMethod, PaymentSource};
use maud::{Markup, html};

use super::change::{Asked, Change, question, refused};
use super::doubts::{CONFIRMED, Doubts};
use super::words;
use crate::console::error::PageError;
use crate::console::inputs::{Choice, Input, InputKind, number, value, written};
use crate::console::layout::PageContent;
use crate::console::request::{Outcome, PageRequest, VERSION};
use crate::error::Error;
use crate::operations::{NewPayment, RecordedPayment};
use crate::records::Version;

/// `GET /invoices/{id}/pay`.
pub(in crate::console) async fn new_payment(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    open(request, Change::Pay).await
}

/// `GET /invoices/{id}/refund`.
pub(in crate::console) async fn new_refund(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    open(request, Change::Refund).await
}

/// `POST /invoices/{id}/pay`.
pub(in crate::console) async fn pay(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    enter(request, Change::Pay).await
}

/// `POST /invoices/{id}/refund`.
pub(in crate::console) async fn refund(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    enter(request, Change::Refund).await
}

async fn open(request: &PageRequest<'_>, change: Change) -> Result<PageContent, PageError> {
    let invoice = super::read(request, request.id()?).await?.summary;
    Ok(page(request, change, &Asked::of(&invoice), None))
}

/// Enters a payment or a refund. `confirmed`: the doubts that the person has answered.
async fn enter(request: &PageRequest<'_>, change: Change) -> Result<Outcome, PageError> {
    let id: InvoiceId = request.id()?;
    let entered = match payment(request) {
        Ok(payment) => {
            if let Some(question) = doubted(request, change, id, &payment).await? {
                return Ok(Outcome::Page(StatusCode::CONFLICT, question));
            }
            let invoices = request.company.invoices();
            match change {
                Change::Refund => invoices.refund(id, &payment).await,
                _ => invoices.pay(id, &payment).await,
            }
        }
        Err(invalid) => Err(invalid.into()),
    };
    let error = match entered {
        Ok(RecordedPayment { payment, .. }) => {
            let recorded = format!("/invoices/{id}?done=entered&payment={}#payments", payment.id);
            return Ok(Outcome::See(recorded));
        }
        Err(error) => error,
    };
    let invoice = super::read(request, id).await?.summary;
    refused(error, &invoice, |asked| page(request, change, asked, None))
}

/// The form again, if there are doubts about its payment that were not answered.
async fn doubted(
    request: &PageRequest<'_>,
    change: Change,
    id: InvoiceId,
    payment: &NewPayment,
) -> Result<Option<PageContent>, PageError> {
    // Read first: if the invoice is still the one that was shown, so are its payments.
    let payments = request.company.invoices().payments(id).await?;
    let invoice = super::read(request, id).await?.summary;
    // The operation refuses another one.
    if Version::from(invoice.updated_at) != Version::from(request.form.text(VERSION)) {
        return Ok(None);
    }
    let doubts = Doubts::of(request, change, &invoice, &payments, payment);
    let is_answered = doubts.is_none() || request.form.text(CONFIRMED) == doubts.answer(payment);
    Ok((!is_answered).then(|| page(request, change, &Asked::of(&invoice), Some((&doubts, payment)))))
}

/// The payment that the form names.
fn payment(request: &PageRequest<'_>) -> Result<NewPayment, Invalid> {
    let form = &request.form;
    let named = |invalid: Invalid| invalid.in_field("method");
    let amount: Money = number(request.figures(), form, "amount")?;
    let method: Option<PaymentMethod> =
        form.given("method").map(|method| method.parse().map_err(named)).transpose()?;
    // As it would be stored, so that a repetition is found.
    let reference = optional_text("reference", form.given("reference"), SHORT_TEXT)?;
    Ok(NewPayment { amount, source: PaymentSource::Entered, method, reference, movement_id: None })
}

fn page(
    request: &PageRequest<'_>,
    change: Change,
    asked: &Asked<'_>,
    doubted: Option<(&Doubts, &NewPayment)>,
) -> PageContent {
    let text = html! { p { (explanation(request, change)) } };
    let amount = written(request, &default(change, asked.invoice));
    let fields = html! {
        (fields(request, &amount, asked.error))
        @if let Some((doubts, payment)) = doubted { (doubts.ask(request, asked.invoice, payment)) }
    };
    question(request, change, asked, &["amount", "method", "reference"], &text, &fields)
}

/// The amount that the page proposes.
fn default(change: Change, invoice: &InvoiceSummary) -> Money {
    match change {
        Change::Refund => invoice.amount_overpaid,
        _ if invoice.amount_due.is_zero() => invoice.retention_due,
        _ => invoice.amount_due,
    }
}

fn explanation<'t>(request: &'t PageRequest<'_>, change: Change) -> &'t str {
    if change == Change::Refund {
        return request.pick(
            "Enter here what was paid back to the client. The service moves no money.",
            "Saisissez ici ce qui a été remboursé au client. Le service ne fait aucun virement.",
        );
    }
    request.pick(
        "When nothing is due any more, the invoice is paid. More than the amount due pays the retention first.",
        "Quand il ne reste rien à payer, la facture est payée. Au-delà du reste à payer, c’est la retenue qui est payée.",
    )
}

fn fields(request: &PageRequest<'_>, amount: &str, error: Option<&Error>) -> Markup {
    let amount = Input {
        kind: InputKind::Number,
        name: "amount",
        label: request.pick("Amount", "Montant"),
        value: value(request, "amount", amount),
        hint: "",
    };
    let reference = Input {
        kind: InputKind::Text,
        name: "reference",
        label: request.pick("Reference", "Référence"),
        value: value(request, "reference", ""),
        hint: request.pick(
            "Such as the number of the cheque. Payments may have the same one.",
            "Par exemple le numéro du chèque. Plusieurs paiements peuvent avoir la même.",
        ),
    };
    html! {
        (amount.show(request, error))
        (methods(request, error))
        (reference.show(request, error))
    }
}

fn methods(request: &PageRequest<'_>, error: Option<&Error>) -> Markup {
    let method = |method: &PaymentMethod| (method.as_str(), words::method(request.language, *method));
    let none = ("", request.pick("not stated", "non précisé"));
    let options: Vec<_> = [none].into_iter().chain(PaymentMethod::ALL.iter().map(method)).collect();
    let choice = Choice {
        name: "method",
        label: request.pick("Method", "Moyen de paiement"),
        options: &options,
        chosen: value(request, "method", ""),
    };
    choice.show(request, error)
}
