//! [`Store`]: the records of the fake server.

use bytes::Bytes;
use invoicing_core::{
    CreditNoteDetail, CreditNoteSummary, InvoiceDetail, InvoiceSummary, Line, Money, NewClient, Percent,
    QuoteDetail, QuoteSummary, Timestamp, VatShare,
};
use uuid::Uuid;

use crate::{
    Client, ClientId, CreditNote, CreditNoteId, DocumentFormat, Invoice, InvoiceId, InvoiceStatus,
    InvoiceType, OpenEnum, Quote, QuoteId, QuoteStatus,
};

/// 2026-09-14T09:41:07.000Z, the time before the first change.
const START_MS: i64 = 1_789_378_867_000;
/// Ids count up from this one.
const FIRST_ID: u128 = 0x0192_35a0_0000_7000_8000_0000_0000_0000;

/// The records. They are plain values: a test can store any of them, including some beyond the contract.
///
/// The clock advances only by [`stamp`](Self::stamp), which every change calls: one millisecond per change.
#[derive(Debug, Clone, Default)]
pub struct Store {
    /// Quotes, in any order.
    pub quotes: Vec<Quote>,
    /// Invoices, in any order.
    pub invoices: Vec<Invoice>,
    /// Credit notes, in any order.
    pub credit_notes: Vec<CreditNote>,
    /// Clients, in any order.
    pub clients: Vec<Client>,
    stamps: i64,
    ids: u128,
}

impl Store {
    /// The next modification stamp, one millisecond after the last.
    pub fn stamp(&mut self) -> Timestamp {
        self.stamps += 1;
        self.last_stamp()
    }

    /// The last modification stamp: the `asOf` of the next list.
    pub fn last_stamp(&self) -> Timestamp {
        Timestamp::from_millis(START_MS + self.stamps)
    }

    /// Adds a client with these fields.
    pub fn add_client(&mut self, new: NewClient) -> ClientId {
        let (id, now) = (ClientId(self.id()), self.stamp());
        self.clients.push(Client {
            id,
            name: new.name,
            email: new.email,
            phone: new.phone,
            address: new.address,
            city: new.city,
            zip_code: new.zip_code,
            r#type: new.r#type.map(OpenEnum::Known),
            notes: new.notes,
            external_id: new.external_id,
            siren: new.siren,
            vat_number: new.vat_number,
            electronic_address: new.electronic_address,
            country: new.country,
            billing_address: new.billing_address,
            created_at: now,
            updated_at: now,
        });
        id
    }

    /// Adds a quote with this status and two lines, for the client added last. A client is added if there is none.
    ///
    /// Every quote except a draft has a document.
    pub fn add_quote(&mut self, status: QuoteStatus) -> QuoteId {
        if self.clients.is_empty() {
            self.add_client(NewClient::named("Dupont SARL"));
        }
        let (id, now) = (QuoteId(self.id()), self.stamp());
        let number = format!("DEV-2026-{:04}", self.quotes.len() + 1);
        let client = &self.clients[self.clients.len() - 1];
        let (sent, accepted) = (status != QuoteStatus::Draft, status == QuoteStatus::Accepted);
        let summary = QuoteSummary {
            id,
            number,
            status: OpenEnum::Known(status),
            external_id: None,
            client_id: client.id,
            client_name: client.name.clone(),
            client_email: client.email.clone(),
            total_ht: Money::from(400),
            total_ttc: Money::from(450),
            tva_rate: percent("12.5"),
            currency: "EUR".to_owned(),
            valid_until: None,
            created_at: now,
            updated_at: now,
            sent_at: sent.then_some(now),
            signed_at: None,
            accepted_at: accepted.then_some(now),
            signed_by_name: None,
            signed_by_email: None,
        };
        let detail = QuoteDetail {
            retention_rate: Percent::ZERO,
            retention_amount: Money::ZERO,
            vat_breakdown: shares(),
            signature: None,
            order_number: None,
        };
        self.quotes.push(Quote { summary, lines: lines(), detail });
        id
    }

    /// Adds an issued, unpaid invoice of this quote. `None` if the quote does not exist.
    pub fn add_invoice(&mut self, quote: QuoteId) -> Option<InvoiceId> {
        let quote = self.quote(quote)?.clone();
        let (id, now) = (InvoiceId(self.id()), self.stamp());
        let summary = InvoiceSummary {
            id,
            number: Some(format!("FAC-2026-{:04}", self.invoices.len() + 1)),
            status: OpenEnum::Known(InvoiceStatus::Sent),
            r#type: OpenEnum::Known(InvoiceType::Standard),
            quote_id: Some(quote.summary.id),
            client_id: quote.summary.client_id,
            client_name: quote.summary.client_name.clone(),
            client_email: quote.summary.client_email.clone(),
            issue_date: None,
            due_date: None,
            supplied_on: None,
            period_start: None,
            period_end: None,
            document_format: Some(OpenEnum::Known(DocumentFormat::Pdf)),
            position: None,
            progress_rate: None,
            total_ht: quote.summary.total_ht,
            total_ttc: quote.summary.total_ttc,
            tva_rate: quote.summary.tva_rate,
            currency: quote.summary.currency.clone(),
            amount_credited: Money::ZERO,
            amount_written_off: Money::ZERO,
            retention_rate: Percent::ZERO,
            retention_amount: Money::ZERO,
            retention_release_date: None,
            retention_due: Money::ZERO,
            amount_paid: Money::ZERO,
            amount_due: quote.summary.total_ttc,
            amount_overpaid: Money::ZERO,
            paid_at: None,
            canceled_at: None,
            created_at: now,
            updated_at: now,
        };
        let QuoteDetail { vat_breakdown, order_number, .. } = quote.detail;
        let (deductions, credit_notes) = (Vec::new(), Vec::new());
        let detail = InvoiceDetail { vat_breakdown, deductions, credit_notes, order_number };
        self.invoices.push(Invoice { summary, lines: quote.lines, detail });
        Some(id)
    }

    /// Adds a credit note of the whole of this invoice, which is CANCELED if nothing is paid.
    /// `None` if the invoice does not exist.
    pub fn add_credit_note(&mut self, invoice: InvoiceId) -> Option<CreditNoteId> {
        let Invoice { summary: source, lines, detail } = self.invoice(invoice)?.clone();
        let (id, now) = (CreditNoteId(self.id()), self.stamp());
        let summary = CreditNoteSummary {
            id,
            number: format!("AVO-2026-{:04}", self.credit_notes.len() + 1),
            invoice_id: invoice,
            invoice_number: source.number.unwrap_or_default(),
            quote_id: source.quote_id,
            client_id: source.client_id,
            client_name: source.client_name,
            client_email: source.client_email,
            issue_date: now.to_chrono().date_naive(),
            reason: "Travaux annulés".to_owned(),
            document_format: Some(OpenEnum::Known(DocumentFormat::Pdf)),
            total_ht: source.total_ht,
            total_ttc: source.total_ttc,
            tva_rate: source.tva_rate,
            currency: source.currency,
            created_at: now,
            updated_at: now,
        };
        let reference = summary.reference();
        let detail = CreditNoteDetail { vat_breakdown: detail.vat_breakdown };
        self.credit_notes.push(CreditNote { summary, lines, detail });
        let credited = self.invoice(invoice)?;
        credited.detail.credit_notes.push(reference);
        credit_in_full(&mut credited.summary, now);
        Some(id)
    }

    /// Finds a quote.
    pub fn quote(&mut self, id: QuoteId) -> Option<&mut Quote> {
        self.quotes.iter_mut().find(|quote| quote.summary.id == id)
    }

    /// Finds an invoice.
    pub fn invoice(&mut self, id: InvoiceId) -> Option<&mut Invoice> {
        self.invoices.iter_mut().find(|invoice| invoice.summary.id == id)
    }

    /// Finds a credit note.
    pub fn credit_note(&mut self, id: CreditNoteId) -> Option<&mut CreditNote> {
        self.credit_notes.iter_mut().find(|note| note.summary.id == id)
    }

    /// Finds a client.
    pub fn client(&mut self, id: ClientId) -> Option<&mut Client> {
        self.clients.iter_mut().find(|client| client.id == id)
    }

    /// Changes a quote and gives it the next stamp. `false` if it does not exist.
    pub fn change_quote(&mut self, id: QuoteId, change: impl FnOnce(&mut Quote)) -> bool {
        let now = self.stamp();
        let found = self.quote(id).map(|quote| {
            change(quote);
            quote.summary.updated_at = now;
        });
        found.is_some()
    }

    /// Changes an invoice and gives it the next stamp. `false` if it does not exist.
    pub fn change_invoice(&mut self, id: InvoiceId, change: impl FnOnce(&mut Invoice)) -> bool {
        let now = self.stamp();
        let found = self.invoice(id).map(|invoice| {
            change(invoice);
            invoice.summary.updated_at = now;
        });
        found.is_some()
    }

    /// Changes a client and gives it the next stamp. `false` if it does not exist.
    pub fn change_client(&mut self, id: ClientId, change: impl FnOnce(&mut Client)) -> bool {
        let now = self.stamp();
        let found = self.client(id).map(|client| {
            change(client);
            client.updated_at = now;
        });
        found.is_some()
    }

    /// Every record that may have a document: the name of its resource, its id, and its number if it has one.
    pub(super) fn documented(&self) -> impl Iterator<Item = (&'static str, Uuid, Option<&str>)> {
        let quotes = self.quotes.iter().map(|Quote { summary, .. }| {
            let has_document = summary.status != QuoteStatus::Draft;
            ("quotes", summary.id.0, has_document.then_some(&*summary.number))
        });
        let invoices = self.invoices.iter().map(|Invoice { summary, .. }| {
            let number = summary.document_format.as_ref().and(summary.number.as_deref());
            ("invoices", summary.id.0, number)
        });
        let credit_notes = self.credit_notes.iter().map(|CreditNote { summary, .. }| {
            let number = summary.document_format.as_ref().map(|_| &*summary.number);
            ("credit-notes", summary.id.0, number)
        });
        quotes.chain(invoices).chain(credit_notes)
    }

    fn id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(FIRST_ID + self.ids)
    }
}

/// The frozen document of the record with this number.
pub(super) fn frozen(number: &str) -> Bytes {
    Bytes::from(format!("%PDF-1.7\n% {number}\n%%EOF\n"))
}

fn credit_in_full(invoice: &mut InvoiceSummary<OpenEnum<InvoiceStatus>>, now: Timestamp) {
    invoice.amount_credited = invoice.total_ttc;
    // The amounts of the fake are far from any overflow.
    let _ = invoice.update_amounts();
    if invoice.amount_paid.is_zero() {
        invoice.status = OpenEnum::Known(InvoiceStatus::Canceled);
        invoice.canceled_at = Some(now);
        invoice.paid_at = None;
    }
    invoice.updated_at = now;
}

/// 300 at 10 % and 100 at 20 %.
fn lines() -> Vec<Line> {
    let line = |description: &str, quantity: i32, unit_price: i32, rate: i32| Line {
        description: description.to_owned(),
        quantity: quantity.into(),
        unit: Some("m2".to_owned()),
        unit_price: unit_price.into(),
        total_ht: Money::from(quantity * unit_price),
        tva_rate: rate.into(),
        lot: Some("Peinture".to_owned()),
        section: None,
    };
    vec![line("Murs, deux couches", 12, 25, 10), line("Boiseries", 4, 25, 20)]
}

fn shares() -> Vec<VatShare> {
    let share = |rate: i32, base: i32, vat: i32| VatShare {
        tva_rate: rate.into(),
        base_ht: base.into(),
        amount_tva: vat.into(),
    };
    vec![share(10, 300, 30), share(20, 100, 20)]
}

fn percent(text: &str) -> Percent {
    text.parse().unwrap_or_default()
}
