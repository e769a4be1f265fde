//! The data of a document of any kind, in one shape: quote, invoice or credit note.
//!
//! The texts of the page, the HTML of the pages, and the XML of an invoice are made from it.

use chrono::NaiveDate;
use invoicing_core::{
    ClientType, Company, CreditNote, Deduction, Invoice, InvoiceStatus, InvoiceSummary, Line, Money,
    OperationNature, Percent, Quote, SignatureBlock, Timestamp, VatShare,
};
use rust_decimal::Decimal;
use uuid::Uuid;

use crate::documents::facts::is_business;
use crate::documents::territory::Territory;
use crate::documents::vat_exemption::VatExemption;
use crate::documents::{
    Buyer, DocumentFacts, DocumentInput, DocumentKind, DocumentLogo, DocumentRef, Parties, RenderDeadline,
    SentCopy,
};

/// The data that a document shows.
#[derive(Debug, Clone)]
pub(crate) struct DocumentView<'a> {
    pub(crate) kind: DocumentKind,
    pub(crate) id: Uuid,
    pub(crate) number: &'a str,
    pub(crate) company: &'a Company,
    pub(crate) client: ClientView<'a>,
    /// The client's record, without the name and the e-mail that the document has.
    pub(crate) buyer: &'a Buyer,
    pub(crate) work_site: Option<&'a str>,
    /// The number of the client's order.
    pub(crate) order_number: Option<&'a str>,
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
    /// The place of the client, on which VAT depends.
    pub(crate) territory: Territory,
    /// The reason for charging no VAT.
    pub(crate) exemption: Option<VatExemption>,
    pub(crate) housing_works: bool,
    pub(crate) logo: Option<&'a DocumentLogo>,
    /// The parts that only a quote has; `None` on an invoice or a credit note.
    pub(crate) offer: Option<Offer<'a>>,
    /// The parts that only an invoice or a credit note has; `None` on a quote.
    pub(crate) issued: Option<Issued<'a>>,
    pub(crate) deadline: RenderDeadline<'a>,
}

/// The client as a document names it.
#[derive(Debug, Clone)]
pub(crate) struct ClientView<'a> {
    pub(crate) name: &'a str,
    pub(crate) email: Option<&'a str>,
    pub(crate) phone: Option<&'a str>,
    /// Street, postal code, town and country, lines separated by `\n`.
    pub(crate) address: Option<String>,
    /// The address that invoices are made out to, if it is another one.
    pub(crate) billing_address: Option<String>,
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
pub(crate) struct Issued<'a> {
    pub(crate) quote_number: Option<&'a str>,
    /// Last day for paying; `None` on a credit note.
    pub(crate) due_date: Option<NaiveDate>,
    /// The day of issue of an invoice that is paid with its issue, as a whole.
    pub(crate) paid_on: Option<NaiveDate>,
    /// Day of the supply, if it is not the date of the document; always that of the invoice on a
    /// credit note.
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

impl<'a> ClientView<'a> {
    /// The client of a document, without the name and the e-mail that its record has.
    fn of(buyer: &'a Buyer) -> Self {
        let address = buyer.postal_address();
        let billing = buyer.billing_parts().and_then(|billing| billing.printed());
        Self {
            name: "",
            email: None,
            phone: buyer.phone.as_deref(),
            billing_address: billing.filter(|billing| Some(billing) != address.as_ref()),
            address,
            r#type: buyer.r#type,
            siren: buyer.siren.as_deref(),
            vat_number: buyer.vat_number.as_deref(),
        }
    }

    /// True for a business, as in [`Buyer::is_business`].
    pub(crate) fn is_business(&self) -> bool {
        is_business(self.r#type, self.siren, self.vat_number)
    }

    fn named(self, name: &'a str, email: Option<&'a str>) -> Self {
        Self { name, email, ..self }
    }
}

/// True if an invoice that is being issued is paid as a whole, without a retention.
fn is_paid(invoice: &InvoiceSummary) -> bool {
    invoice.status == InvoiceStatus::Paid
        && invoice.retention_amount.is_zero()
        && !invoice.total_ttc.is_zero()
}

impl<'a> Issued<'a> {
    fn of(input: &DocumentInput<'a>) -> Self {
        Self {
            quote_number: input.facts.quote_number.as_deref(),
            due_date: None,
            paid_on: None,
            supplied_on: None,
            period: None,
            deductions: &[],
            credited: None,
            factur_x: input.factur_x,
        }
    }
}

impl<'a> DocumentView<'a> {
    /// The view of a document.
    pub(crate) fn of(input: &DocumentInput<'a>) -> Self {
        let view = Self::without_record(input);
        match input.record {
            DocumentRef::Quote { quote, sent_copy } => {
                let offer = Offer {
                    valid_until: quote.summary.valid_until,
                    signature: quote.detail.signature.as_ref(),
                    sent_copy,
                };
                view.with_quote(quote, input.facts.quote_date, offer)
            }
            DocumentRef::Invoice(invoice) => view.with_invoice(invoice, Issued::of(input)),
            DocumentRef::CreditNote { note, invoice_date, supplied_on, order_number } => {
                let issued = Issued { supplied_on: Some(supplied_on), ..Issued::of(input) };
                Self { order_number, ..view }.with_credit_note(note, invoice_date, issued)
            }
        }
    }

    /// The issued invoice, if its document asks for a payment.
    pub(crate) fn asking(&self) -> Option<&Issued<'a>> {
        let asks = |issued: &&Issued<'_>| issued.paid_on.is_none() && !self.total_ttc.is_zero();
        self.issued.as_ref().filter(|_| self.kind == DocumentKind::Invoice).filter(asks)
    }

    /// The total with VAT without the retention.
    pub(crate) fn net(&self) -> Decimal {
        self.total_ttc.get() - self.retention_amount.get()
    }

    /// The parts that every kind takes from the facts, and blanks in place of the record's.
    fn without_record(input: &DocumentInput<'a>) -> Self {
        let DocumentInput { record, facts, logo, deadline, .. } = *input;
        let DocumentFacts { parties: Parties { seller, buyer }, work_site, .. } = facts;
        let territory = buyer.territory();
        Self {
            kind: record.kind(),
            id: Uuid::nil(),
            number: record.number(),
            company: seller,
            client: ClientView::of(buyer),
            buyer,
            work_site: work_site.as_deref(),
            order_number: None,
            issued_on: NaiveDate::default(),
            created_at: None,
            lines: &[],
            currency: "",
            total_ht: Money::ZERO,
            total_ttc: Money::ZERO,
            vat_breakdown: &[],
            retention_rate: Percent::ZERO,
            retention_amount: Money::ZERO,
            operations: facts.operations,
            territory,
            exemption: VatExemption::of(&seller.identity, territory, facts.reverse_charge),
            housing_works: facts.housing_works,
            logo,
            offer: None,
            issued: None,
            deadline,
        }
    }

    fn with_quote(self, quote: &'a Quote, date: Option<NaiveDate>, offer: Offer<'a>) -> Self {
        let (head, detail) = (&quote.summary, &quote.detail);
        Self {
            id: head.id.0,
            client: self.client.named(&head.client_name, head.client_email.as_deref()),
            order_number: detail.order_number.as_deref(),
            issued_on: date.unwrap_or_default(),
            created_at: offer.signature.map(|signature| signature.signed_at).or(head.sent_at),
            lines: &quote.lines,
            currency: &head.currency,
            total_ht: head.total_ht,
            total_ttc: head.total_ttc,
            vat_breakdown: &detail.vat_breakdown,
            retention_rate: detail.retention_rate,
            retention_amount: detail.retention_amount,
            offer: Some(offer),
            ..self
        }
    }

    fn with_invoice(self, invoice: &'a Invoice, issued: Issued<'a>) -> Self {
        let (head, detail) = (&invoice.summary, &invoice.detail);
        let issued = Issued {
            due_date: head.due_date,
            paid_on: head.issue_date.filter(|_| is_paid(head)),
            supplied_on: head.supplied_on,
            period: head.period_start.zip(head.period_end),
            deductions: &detail.deductions,
            ..issued
        };
        Self {
            id: head.id.0,
            client: self.client.named(&head.client_name, head.client_email.as_deref()),
            order_number: detail.order_number.as_deref(),
            issued_on: head.issue_date.unwrap_or_default(),
            lines: &invoice.lines,
            currency: &head.currency,
            total_ht: head.total_ht,
            total_ttc: head.total_ttc,
            vat_breakdown: &detail.vat_breakdown,
            retention_rate: head.retention_rate,
            retention_amount: head.retention_amount,
            issued: Some(issued),
            ..self
        }
    }

    fn with_credit_note(self, note: &'a CreditNote, invoice_date: NaiveDate, issued: Issued<'a>) -> Self {
        let head = &note.summary;
        let credited =
            Credited { number: &head.invoice_number, issue_date: invoice_date, reason: &head.reason };
        Self {
            id: head.id.0,
            client: self.client.named(&head.client_name, head.client_email.as_deref()),
            issued_on: head.issue_date,
            lines: &note.lines,
            currency: &head.currency,
            total_ht: head.total_ht,
            total_ttc: head.total_ttc,
            vat_breakdown: &note.detail.vat_breakdown,
            issued: Some(Issued { credited: Some(credited), ..issued }),
            ..self
        }
    }
}
