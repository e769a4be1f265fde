//! [`Store`]: the records of the fake server.

use bytes::Bytes;
use invoicing_core::{
    InvoiceDetail, InvoiceSummary, Line, Money, NewClient, Percent, QuoteDetail, QuoteSummary, Timestamp,
    VatShare,
};
use uuid::Uuid;

use crate::{Client, ClientId, Invoice, InvoiceId, InvoiceStatus, OpenEnum, Quote, QuoteId, QuoteStatus};

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
        let NewClient { name, email, phone, address, city, zip_code, r#type, notes, external_id } = new;
        self.clients.push(Client {
            id,
            name,
            email,
            phone,
            address,
            city,
            zip_code,
            r#type: r#type.map(OpenEnum::Known),
            notes,
            external_id,
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
            quote_id: Some(quote.summary.id),
            client_id: quote.summary.client_id,
            client_name: quote.summary.client_name.clone(),
            client_email: quote.summary.client_email.clone(),
            issue_date: None,
            due_date: None,
            total_ht: quote.summary.total_ht,
            total_ttc: quote.summary.total_ttc,
            tva_rate: quote.summary.tva_rate,
            currency: quote.summary.currency.clone(),
            retention_rate: Percent::ZERO,
            retention_amount: Money::ZERO,
            retention_due: Money::ZERO,
            amount_paid: Money::ZERO,
            amount_due: quote.summary.total_ttc,
            amount_overpaid: Money::ZERO,
            paid_at: None,
            canceled_at: None,
            created_at: now,
            updated_at: now,
        };
        let detail = InvoiceDetail { vat_breakdown: quote.detail.vat_breakdown };
        self.invoices.push(Invoice { summary, lines: quote.lines, detail });
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

    /// The frozen document of a quote. A draft has none.
    pub(super) fn document(&self, id: QuoteId) -> Option<Bytes> {
        let quote = self.quotes.iter().find(|quote| quote.summary.id == id)?;
        let is_draft = quote.summary.status == QuoteStatus::Draft;
        (!is_draft).then(|| Bytes::from(format!("%PDF-1.7\n% {}\n%%EOF\n", quote.summary.number)))
    }

    fn id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(FIRST_ID + self.ids)
    }
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
