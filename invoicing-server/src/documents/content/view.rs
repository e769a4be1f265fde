//! The data of a document of any kind, in one shape: quote, invoice or credit note.
//!
//! The texts of the page, the HTML of the pages, and the XML of an invoice are made from it.

use std::borrow::Cow;

use chrono::NaiveDate;
use invoicing_core::{
    ClientType, Company, CreditNote, Deduction, Invoice, Line, Money, OperationNature, Percent,
    SignatureBlock, Timestamp, VatShare,
};
use rust_decimal::Decimal;
use uuid::Uuid;

use super::french;
use crate::documents::billing::is_business;
use crate::documents::{
    BilledClient, BilledRecord, DocumentInput, DocumentLogo, InvoiceDocumentInput, RenderDeadline, SentCopy,
};

/// The kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentKind {
    Quote,
    Invoice,
    CreditNote,
}

/// The data that a document shows.
#[derive(Debug, Clone)]
pub(crate) struct DocumentView<'a> {
    pub(crate) kind: DocumentKind,
    pub(crate) id: Uuid,
    pub(crate) number: &'a str,
    pub(crate) company: &'a Company,
    pub(crate) client: ClientView<'a>,
    pub(crate) work_site: Option<&'a str>,
    /// Date of the document.
    pub(crate) issued_on: NaiveDate,
    /// Instant that the metadata of the file show.
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) lines: &'a [Line],
    pub(crate) currency: &'a str,
    pub(crate) total_ht: Money,
    pub(crate) total_ttc: Money,
    pub(crate) vat_breakdown: &'a [VatShare],
    pub(crate) retention_rate: Percent,
    pub(crate) retention_amount: Money,
    pub(crate) operations: OperationNature,
    pub(crate) reverse_charge: bool,
    pub(crate) logo: Option<&'a DocumentLogo>,
    /// The parts that only a quote has; `None` on an invoice or a credit note.
    pub(crate) offer: Option<Offer<'a>>,
    /// The parts that only an invoice or a credit note has; `None` on a quote.
    pub(crate) billing: Option<Billing<'a>>,
    pub(crate) deadline: RenderDeadline<'a>,
}

/// The client as a document names it.
#[derive(Debug, Clone)]
pub(crate) struct ClientView<'a> {
    pub(crate) name: &'a str,
    pub(crate) email: Option<&'a str>,
    pub(crate) phone: Option<&'a str>,
    /// Street, postal code and town, lines separated by `\n`.
    pub(crate) address: Option<Cow<'a, str>>,
    pub(crate) r#type: Option<ClientType>,
    pub(crate) siren: Option<&'a str>,
    pub(crate) vat_number: Option<&'a str>,
}

/// The parts of a quote.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub(crate) valid_until: Option<NaiveDate>,
    pub(crate) signature: Option<&'a SignatureBlock>,
    pub(crate) sent_copy: Option<SentCopy<'a>>,
}

/// The parts of an invoice or a credit note.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Billing<'a> {
    pub(crate) client: &'a BilledClient,
    pub(crate) quote_number: Option<&'a str>,
    /// Last day for paying; `None` on a credit note.
    pub(crate) due_date: Option<NaiveDate>,
    /// Day of the supply, if it is not the date of the document.
    pub(crate) supplied_on: Option<NaiveDate>,
    /// First and last day of the period that the document is about.
    pub(crate) period: Option<(NaiveDate, NaiveDate)>,
    /// The invoices whose amounts this one deducts.
    pub(crate) deductions: &'a [Deduction],
    /// The credited invoice, and the reason; `None` on an invoice.
    pub(crate) credited: Option<Credited<'a>>,
    /// The XML to embed.
    pub(crate) factur_x: Option<&'a [u8]>,
}

/// The invoice that a credit note is about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Credited<'a> {
    pub(crate) number: &'a str,
    pub(crate) issue_date: NaiveDate,
    pub(crate) reason: &'a str,
}

impl ClientView<'_> {
    /// True for a business, as in [`BilledClient::is_business`].
    pub(crate) fn is_business(&self) -> bool {
        is_business(self.r#type, self.siren, self.vat_number)
    }
}

/// The postal address, with the name of a country other than France as its last line.
fn address(client: &BilledClient) -> Option<String> {
    let address = client.postal_address();
    let country = client.country.as_deref().filter(|country| *country != "FR").map(french::country);
    let lines: Vec<&str> = address.as_deref().into_iter().chain(country).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

impl<'a> DocumentView<'a> {
    /// The total with VAT without the retention.
    pub(crate) fn net(&self) -> Decimal {
        self.total_ttc.get() - self.retention_amount.get()
    }

    /// The view of a quote.
    pub(crate) fn of_quote(input: &DocumentInput<'a>) -> Self {
        let DocumentInput { company, quote, client_address, client_phone, work_site, issued_on, .. } = *input;
        let (head, detail) = (&quote.summary, &quote.detail);
        let signature = detail.signature.as_ref();
        Self {
            kind: DocumentKind::Quote,
            id: head.id.0,
            number: &head.number,
            company,
            client: ClientView {
                name: &head.client_name,
                email: head.client_email.as_deref(),
                phone: client_phone,
                address: client_address.map(Cow::Borrowed),
                r#type: input.client_type,
                siren: input.client_siren,
                vat_number: input.client_vat_number,
            },
            work_site,
            issued_on,
            created_at: signature.map(|signature| signature.signed_at).or(head.sent_at),
            lines: &quote.lines,
            currency: &head.currency,
            total_ht: head.total_ht,
            total_ttc: head.total_ttc,
            vat_breakdown: &detail.vat_breakdown,
            retention_rate: detail.retention_rate,
            retention_amount: detail.retention_amount,
            operations: input.operations,
            reverse_charge: input.reverse_charge,
            logo: input.logo,
            offer: Some(Offer { valid_until: head.valid_until, signature, sent_copy: input.sent_copy }),
            billing: None,
            deadline: input.deadline,
        }
    }

    /// The view of an invoice or a credit note.
    pub(crate) fn of_billing(input: &InvoiceDocumentInput<'a>) -> Self {
        let particulars = input.particulars;
        let client = &particulars.client;
        let billing = Billing {
            client,
            quote_number: particulars.quote_number.as_deref(),
            due_date: None,
            supplied_on: None,
            period: None,
            deductions: &[],
            credited: None,
            factur_x: input.factur_x,
        };
        let shared = Shared { input, billing };
        match input.record {
            BilledRecord::Invoice(invoice) => shared.invoice(invoice),
            BilledRecord::CreditNote { note, invoice_date } => shared.credit_note(note, invoice_date),
        }
    }
}

/// The parts that the views of an invoice and of a credit note have in common.
struct Shared<'i, 'a> {
    input: &'i InvoiceDocumentInput<'a>,
    billing: Billing<'a>,
}

impl<'a> Shared<'_, 'a> {
    fn invoice(self, invoice: &'a Invoice) -> DocumentView<'a> {
        let head = &invoice.summary;
        let issued_on = head.issue_date.unwrap_or_default();
        let billing = Billing {
            due_date: head.due_date,
            supplied_on: head.supplied_on,
            period: head.period_start.zip(head.period_end),
            deductions: &invoice.detail.deductions,
            ..self.billing
        };
        DocumentView {
            kind: DocumentKind::Invoice,
            id: head.id.0,
            number: head.number.as_deref().unwrap_or_default(),
            company: &self.input.particulars.company,
            client: self.client(&head.client_name, head.client_email.as_deref()),
            work_site: self.input.particulars.work_site.as_deref(),
            issued_on,
            created_at: None,
            lines: &invoice.lines,
            currency: &head.currency,
            total_ht: head.total_ht,
            total_ttc: head.total_ttc,
            vat_breakdown: &invoice.detail.vat_breakdown,
            retention_rate: head.retention_rate,
            retention_amount: head.retention_amount,
            operations: self.input.particulars.operations,
            reverse_charge: self.input.particulars.reverse_charge,
            logo: self.input.logo,
            offer: None,
            billing: Some(billing),
            deadline: self.input.deadline,
        }
    }

    fn credit_note(self, note: &'a CreditNote, invoice_date: NaiveDate) -> DocumentView<'a> {
        let head = &note.summary;
        let credited =
            Credited { number: &head.invoice_number, issue_date: invoice_date, reason: &head.reason };
        DocumentView {
            kind: DocumentKind::CreditNote,
            id: head.id.0,
            number: &head.number,
            company: &self.input.particulars.company,
            client: self.client(&head.client_name, head.client_email.as_deref()),
            work_site: self.input.particulars.work_site.as_deref(),
            issued_on: head.issue_date,
            created_at: None,
            lines: &note.lines,
            currency: &head.currency,
            total_ht: head.total_ht,
            total_ttc: head.total_ttc,
            vat_breakdown: &note.detail.vat_breakdown,
            retention_rate: Percent::ZERO,
            retention_amount: Money::ZERO,
            operations: self.input.particulars.operations,
            reverse_charge: self.input.particulars.reverse_charge,
            logo: self.input.logo,
            offer: None,
            billing: Some(Billing { credited: Some(credited), ..self.billing }),
            deadline: self.input.deadline,
        }
    }

    fn client(&self, name: &'a str, email: Option<&'a str>) -> ClientView<'a> {
        let client = &self.input.particulars.client;
        ClientView {
            name,
            email,
            phone: client.phone.as_deref(),
            address: address(client).map(Cow::Owned),
            r#type: client.r#type,
            siren: client.siren.as_deref(),
            vat_number: client.vat_number.as_deref(),
        }
    }
}
