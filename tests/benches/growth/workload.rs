//! The quotes, and what happens with them.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;
use invoicing_core::{
    ClientId, EventKind, InvoiceId, NewClient, NewCreditNote, Plan, QuoteId, Timestamp, money,
};
use invoicing_server::{
    CompanyHandle, DocumentInput, DocumentRenderer, Error, Invoicing, InvoicingBuilder, MemoryStore,
    NewPayment, NewWebhook, PaymentSource, RenderError, Settings, TargetPolicy,
};
use invoicing_tests::{new_company, new_quote};

/// Quotes that are made at the same time.
const AT_ONCE: usize = 64;
/// Companies with half of all quotes.
const OTHERS: u64 = 100;

/// Documents of a few bytes, as their rendering is no part of what is measured.
struct ShortDocuments;

impl DocumentRenderer for ShortDocuments {
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
        Ok(format!("%PDF-1.7 {}\n", input.record.number()).into_bytes())
    }
}

/// With documents of a few bytes in memory.
pub(crate) fn short_documents(builder: InvoicingBuilder) -> InvoicingBuilder {
    builder.document_store(Arc::new(MemoryStore::new())).renderer(Arc::new(ShortDocuments))
}

pub(crate) struct Workload {
    pub(crate) invoicing: Invoicing,
    pub(crate) company: CompanyHandle,
    pub(crate) client: ClientId,
    /// An instant when half of the quotes had been made.
    pub(crate) middle: Timestamp,
    others: Vec<(CompanyHandle, ClientId)>,
    made: u64,
    quotes: Vec<QuoteId>,
    invoices: Vec<InvoiceId>,
}

impl Workload {
    pub(crate) async fn open(builder: InvoicingBuilder) -> Self {
        let target = TargetPolicy { allow_http: true, allow_private: true };
        let settings = Settings { target, ..Settings::default() };
        let invoicing = builder.settings(settings).open().await.expect("the service opens");
        let (company, client) = open_company(&invoicing).await;
        let mut others = Vec::new();
        for _ in 0..OTHERS {
            others.push(open_company(&invoicing).await);
        }
        let middle = invoicing.env().now();
        let (made, quotes, invoices) = (0, Vec::new(), Vec::new());
        Self { invoicing, company, client, middle, others, made, quotes, invoices }
    }

    /// Makes quotes until there are so many.
    pub(crate) async fn grow_to(&mut self, size: u64) {
        for end in [u64::midpoint(self.made, size), size] {
            let this = &*self;
            let one = |number| async move { this.make(number).await.expect("a quote and what follows") };
            let made: Vec<_> =
                stream::iter(self.made..end).map(one).buffer_unordered(AT_ONCE).collect().await;
            for (quote, invoice) in made.into_iter().flatten() {
                self.quotes.push(quote);
                self.invoices.extend(invoice);
            }
            self.made = end;
            if end < size {
                self.middle = self.invoicing.env().now();
            }
        }
    }

    /// One of the company's quotes.
    pub(crate) fn some_quote(&self, call: usize) -> QuoteId {
        self.quotes[call * 7_919 % self.quotes.len()]
    }

    /// One of the company's invoices.
    pub(crate) fn some_invoice(&self, call: usize) -> InvoiceId {
        self.invoices[call * 7_919 % self.invoices.len()]
    }

    /// Makes a quote: two of three are sent, one of three is accepted, one of six is invoiced and partly paid, one of
    /// twelve is credited. Returns the quote of the measured company, and its invoice.
    async fn make(&self, number: u64) -> Result<Option<(QuoteId, Option<InvoiceId>)>, Error> {
        let (turn, is_measured) = (number / 2, number.is_multiple_of(2));
        let (company, mut client) = if is_measured {
            (&self.company, self.client)
        } else {
            let (company, client) = &self.others[usize::try_from(turn % OTHERS).expect("a few")];
            (company, *client)
        };
        let (quotes, invoices) = (company.quotes(), company.invoices());
        if turn.is_multiple_of(10) {
            let new = NewClient::named(format!("Zoé Lefèvre {turn}")).external_id(format!("crm-{turn}"));
            client = company.clients().create(&new).await?.id;
        }
        let quote = quotes.create(&new_quote(client)).await?.summary.id;
        if !turn.is_multiple_of(3) {
            quotes.send(quote, None).await?;
        }
        if turn % 3 == 1 {
            quotes.accept(quote).await?;
        }
        let mut invoice = None;
        if turn % 6 == 1 {
            let id = invoices.convert(quote).await?.summary.id;
            invoices.issue(id, None).await?;
            invoices.pay(id, &NewPayment::new(money!(10), PaymentSource::Bank)).await?;
            invoice = Some(id);
            if turn % 12 == 1 {
                invoices.credit(id, &NewCreditNote::of_remaining("Erreur")).await?;
            }
        }
        Ok(is_measured.then_some((quote, invoice)))
    }
}

/// A company whose webhook is off: its deliveries are skipped.
async fn open_company(invoicing: &Invoicing) -> (CompanyHandle, ClientId) {
    let new = new_company("Martin Peinture", Plan::Team);
    let company = invoicing.company(invoicing.companies().create(&new).await.expect("a company").id);
    let webhook = NewWebhook { url: "http://127.0.0.1/hook".to_owned(), events: EventKind::ALL.to_vec() };
    let webhook = company.webhooks().register(&webhook).await.expect("a webhook").webhook.id;
    company.webhooks().disable(webhook).await.expect("it is off");
    let new = NewClient { email: Some("lea@exemple.fr".into()), ..NewClient::named("Léa Lefèvre") };
    let client = company.clients().create(&new).await.expect("a client").id;
    (company, client)
}
