//! Issuing an invoice.

use invoicing_core::{
    DocumentFormat, EInvoicing, Invalid, Invoice, InvoiceDetail, InvoiceId, InvoiceStatus, InvoiceSummary,
};
use maud::{Markup, html};

use super::change::{Asked, Change, question, refused};
use crate::console::error::PageError;
use crate::console::inputs::{Input, InputKind, ORDER_NUMBER, date, order_number, value};
use crate::console::layout::PageContent;
use crate::console::readiness::checklist;
use crate::console::request::{Outcome, PageRequest};
use crate::error::Error;
use crate::operations::IssueOptions;
use crate::records::ReadinessGap;

/// The inputs of the form.
const INPUTS: [&str; 3] = ["dueDate", "suppliedOn", ORDER_NUMBER];

/// `GET /invoices/{id}/issue`.
pub(in crate::console) async fn confirm_issue(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let Invoice { summary, detail, .. } = super::read(request, request.id()?).await?;
    let outlook = outlook(request, &summary, &IssueOptions::default()).await?;
    Ok(page(request, &Asked::of(&summary), &detail, outlook.as_ref()))
}

/// `POST /invoices/{id}/issue`. `dueDate`: the last day for paying. `suppliedOn`: the day of the
/// supply, if it is not the day of issue. `orderNumber`: that of the client's order; empty for none.
pub(in crate::console) async fn issue(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let id: InvoiceId = request.id()?;
    let issued = match options(request) {
        Ok(options) => request.company.invoices().issue_with(id, &options).await,
        Err(invalid) => Err(invalid.into()),
    };
    let Err(error) = issued else { return Ok(Outcome::See(format!("/invoices/{id}?done=issued"))) };
    let Invoice { summary, detail, .. } = super::read(request, id).await?;
    // The gaps follow what was entered, unless it was refused: the form itself shows that.
    let is_gap = matches!(&error, Error::Invalid(invalid) if !INPUTS.contains(&&*invalid.field));
    let entered = options(request).ok().filter(|_| is_gap).unwrap_or_default();
    let outlook = outlook(request, &summary, &entered).await?;
    refused(error, &summary, |asked| page(request, asked, &detail, outlook.as_ref()))
}

fn options(request: &PageRequest<'_>) -> Result<IssueOptions, Invalid> {
    let (due_date, supplied_on) = (date(&request.form, "dueDate")?, date(&request.form, "suppliedOn")?);
    let order_number = request.form.values(ORDER_NUMBER).next().map(str::to_owned);
    Ok(IssueOptions { due_date, supplied_on, period: None, order_number })
}

/// The issue of a draft as it would be now.
struct Outlook {
    /// Everything that it would refuse.
    gaps: Vec<ReadinessGap>,
    /// True with e-invoicing ON, if the document would nevertheless be a PDF without XML.
    is_plain: bool,
    /// True if the client has another name or e-mail than the draft, which has them from its quote.
    client_has_changed: bool,
}

/// `None` for an invoice that is not a draft.
async fn outlook(
    request: &PageRequest<'_>,
    invoice: &InvoiceSummary,
    entered: &IssueOptions,
) -> Result<Option<Outlook>, PageError> {
    if invoice.status != InvoiceStatus::Draft {
        return Ok(None);
    }
    let (gaps, format) = request.company.invoices().readiness_with(invoice.id, entered).await?;
    let client = request.company.clients().get(invoice.client_id).await?;
    Ok(Some(Outlook {
        gaps,
        is_plain: request.record.identity.e_invoicing == EInvoicing::On && format == DocumentFormat::Pdf,
        client_has_changed: client.name != invoice.client_name || client.email != invoice.client_email,
    }))
}

fn page(
    request: &PageRequest<'_>,
    asked: &Asked<'_>,
    detail: &InvoiceDetail,
    outlook: Option<&Outlook>,
) -> PageContent {
    let text = html! {
        p { (request.pick(
            "The invoice gets its number and the date of today, and its document is frozen. It can no longer be changed; a credit \
             note corrects it. The service sends no e-mail.",
            "La facture reçoit son numéro et la date du jour, et son document est figé. Elle ne peut plus être modifiée ; un avoir la \
             corrige. Le service n’envoie pas d’e-mail.",
        )) }
        @if let Some(outlook) = outlook { (checklist(request, &outlook.gaps, Some(asked.invoice.client_id))) (hints(request, outlook)) }
    };
    question(request, Change::Issue, asked, &INPUTS, &text, &fields(request, asked, detail))
}

fn hints(request: &PageRequest<'_>, outlook: &Outlook) -> Markup {
    html! {
        @if outlook.is_plain {
            p.hint { (request.pick(
                "The document will be a plain PDF without electronic data: the client is abroad or in a place without electronic invoices, or is private and can be sent none.",
                "Le document sera un simple PDF, sans données électroniques : le client est à l’étranger ou dans un lieu sans facture électronique, ou c’est un particulier à qui l’on ne peut pas en envoyer.",
            )) }
        }
        @if outlook.client_has_changed {
            p.hint { (request.pick(
                "The invoice has the name and the e-mail of its quote. The client has other ones now.",
                "La facture reprend le nom et l’e-mail de son devis. Ceux du client ont changé depuis.",
            )) }
        }
    }
}

fn fields(request: &PageRequest<'_>, asked: &Asked<'_>, detail: &InvoiceDetail) -> Markup {
    let due_date = Input {
        kind: InputKind::Date,
        name: "dueDate",
        label: request.pick("Due date", "Échéance"),
        value: value(request, "dueDate", ""),
        hint: request.pick(
            "The last day for paying. If empty: 30 days from the date of the invoice. A business pays within 60 days of it.",
            "Dernier jour pour payer. Si vide : 30 jours après la date de la facture. Entre professionnels, 60 jours au plus après cette date.",
        ),
    };
    let supplied_on = Input {
        name: "suppliedOn",
        label: request.pick("Date of the supply", "Date de la prestation"),
        value: value(request, "suppliedOn", ""),
        hint: request.pick(
            "Only if it is not the date of the invoice, which is made when the supply is done.",
            "Seulement si ce n’est pas la date de la facture, qui se fait quand la prestation est réalisée.",
        ),
        ..due_date
    };
    html! {
        (due_date.show(request, asked.error))
        (supplied_on.show(request, asked.error))
        (order_number(request, detail.order_number.as_deref().unwrap_or_default(), asked.error))
    }
}
