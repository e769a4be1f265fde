//! Operations of one company that come all at once, some of them refused: before they have written anything, or after.
//! The answer of each caller is compared with the stored state.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use futures_util::future::join_all;
use invoicing_core::{
    Client, ClientId, InvoiceId, InvoiceItem, InvoiceStatus, NewClient, NewLine, NewQuote, Page, QuoteId,
    QuoteItem, QuoteStatus, Timestamp,
};
use invoicing_server::{
    ClientQuery, CompanyHandle, Env, Error, EventRecord, InvoiceQuery, NewPayment, PageWindow, PaymentSource,
    QuoteQuery,
};

/// How many callers come at once.
const CALLERS: usize = 64;
/// Before any date on which a test runs.
const LONG_AGO: &str = "2020-01-01";

/// The wish of a caller. Equal ones are for the same thing, which only one of them gets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Operation {
    CreateClient(String),
    /// For a client that has none.
    CreateQuote(ClientId),
    Reject(QuoteId),
    Issue(InvoiceId),
    /// With the id of its movement, on an invoice that others pay too.
    Pay(InvoiceId, String),
    /// Refused before anything is written: no such client.
    CreateForUnknown(ClientId),
    /// Refused before anything is written: another client has the `externalId`.
    TakeExternalId(ClientId, String),
    /// Refused after a number was allocated: issued already, and not changed since that instant.
    IssueAgain(InvoiceId, Timestamp),
    /// Refused after a number was allocated: due before it is issued.
    IssueTooLate(InvoiceId),
}

/// The answer to a caller about a change.
#[derive(Debug)]
pub struct Done {
    /// `client`, `quote` or `invoice`.
    pub kind: &'static str,
    /// The record.
    pub id: String,
    /// Its status; empty for a client.
    pub status: String,
    /// The stamp of the change.
    pub stamp: Timestamp,
    /// The kinds of the events that it emitted.
    pub events: &'static [&'static str],
}

/// The answers to the callers of one operation.
#[derive(Debug, Default, Clone, Copy)]
struct Told {
    done: usize,
    refused: usize,
    unavailable: usize,
}

/// The stored state of a company.
struct Stored {
    company: CompanyHandle,
    clients: Vec<Client>,
    quotes: Vec<QuoteItem>,
    invoices: Vec<InvoiceItem>,
    events: Vec<EventRecord>,
}

/// The operations, one per caller.
#[derive(Debug)]
pub struct Batch {
    operations: Vec<Operation>,
}

impl Batch {
    /// Every third operation is refused before it has written anything, every fifth of the others after it has.
    /// `name`: no other batch of the company has it.
    pub async fn prepare(company: &CompanyHandle, name: &str) -> Self {
        let maker = Maker { company, name };
        let known = maker.client("known").await;
        let taken = NewClient::named(format!("{name} owner")).external_id(name);
        company.clients().create(&taken).await.expect("a client");
        let draft = maker.invoice("too late").await;
        let issued = maker.issued("again").await;
        let paid = maker.issued("paid").await.0;
        let (mut operations, mut contested, mut turn) = (Vec::with_capacity(CALLERS), None, 0);
        for n in 0..CALLERS {
            operations.push(match (n % 3, n % 5) {
                (0, _) if n % 2 == 0 => Operation::CreateForUnknown(ClientId(Env::system().uuid())),
                (0, _) => Operation::TakeExternalId(known, name.to_owned()),
                (_, 0) if n % 2 == 0 => Operation::IssueAgain(issued.0, issued.1),
                (_, 0) => Operation::IssueTooLate(draft),
                _ => {
                    turn += 1;
                    maker.allowed(turn, paid, &mut contested).await
                }
            });
        }
        Self { operations }
    }

    /// All callers at once, through any node; what each was told.
    pub async fn run(&self, company: &CompanyHandle) -> Vec<Result<Done, Error>> {
        join_all(self.operations.iter().map(|operation| operation.run(company))).await
    }

    /// The answers are true: a change that was done is stored once, a refused one has left no trace, and an unavailable one is
    /// stored at most once. Returns the number of each.
    ///
    /// # Panics
    /// If they are not.
    pub async fn check(&self, company: &CompanyHandle, told: &[Result<Done, Error>]) -> [usize; 3] {
        let stored = Stored::read(company).await;
        stored.check_order();
        let stamps: BTreeSet<Timestamp> = told.iter().flatten().map(|done| done.stamp).collect();
        let mut all = HashMap::<&Operation, Told>::new();
        for (operation, told) in self.operations.iter().zip(told) {
            all.entry(operation).or_default().add(operation, told);
        }
        for (operation, told) in &all {
            stored.check(operation, *told).await;
        }
        let sum = |count: fn(&Told) -> usize| all.values().map(count).sum();
        let counts = [sum(|told| told.done), sum(|told| told.refused), sum(|told| told.unavailable)];
        assert_eq!(stamps.len(), counts[0], "two changes share a stamp");
        counts
    }
}

/// Makes what the operations of a batch begin with.
struct Maker<'a> {
    company: &'a CompanyHandle,
    name: &'a str,
}

impl Maker<'_> {
    async fn client(&self, what: &str) -> ClientId {
        // In a part of France without VAT.
        let client = NewClient::named(format!("{} {what}", self.name)).country("GF");
        self.company.clients().create(&client).await.expect("a client").id
    }

    async fn quote(&self, what: &str) -> QuoteId {
        let quote = quote_for(self.client(what).await);
        self.company.quotes().create(&quote).await.expect("a quote").summary.id
    }

    async fn invoice(&self, what: &str) -> InvoiceId {
        let quote = self.quote(what).await;
        self.company.quotes().accept(quote).await.expect("an accepted quote");
        self.company.invoices().convert(quote).await.expect("an invoice").summary.id
    }

    async fn issued(&self, what: &str) -> (InvoiceId, Timestamp) {
        let draft = self.invoice(what).await;
        let issued = self.company.invoices().issue(draft, None).await.expect("an issued invoice").summary;
        (issued.id, issued.updated_at)
    }

    /// An operation that is not refused, but for the second one that rejects a quote.
    async fn allowed(&self, turn: usize, paid: InvoiceId, contested: &mut Option<QuoteId>) -> Operation {
        let what = turn.to_string();
        match turn % 5 {
            0 => Operation::CreateClient(format!("{} {what}", self.name)),
            1 => Operation::CreateQuote(self.client(&what).await),
            2 => Operation::Issue(self.invoice(&what).await),
            3 => Operation::Pay(paid, what),
            _ => Operation::Reject(match contested.take() {
                Some(quote) => quote,
                None => *contested.insert(self.quote(&what).await),
            }),
        }
    }
}

/// Over 500.
fn quote_for(client: ClientId) -> NewQuote {
    NewQuote::empty(client).line(NewLine::new("Ravalement", 1, 500, 0))
}

impl Operation {
    async fn run(&self, company: &CompanyHandle) -> Result<Done, Error> {
        let (clients, quotes, invoices) = (company.clients(), company.quotes(), company.invoices());
        match self {
            Self::CreateClient(name) => Ok(Done::client(&clients.create(&NewClient::named(name)).await?)),
            Self::TakeExternalId(client, taken) => {
                let change = NewClient::named("x").external_id(taken);
                Ok(Done::client(&clients.change(*client, &change).await?))
            }
            Self::CreateQuote(client) | Self::CreateForUnknown(client) => {
                let quote = quotes.create(&quote_for(*client)).await?.summary;
                Ok(Done::quote(quote.id, quote.status, quote.updated_at, &["quote.created"]))
            }
            Self::Reject(quote) => {
                let quote = quotes.reject(*quote).await?.summary;
                Ok(Done::quote(quote.id, quote.status, quote.updated_at, &[]))
            }
            Self::Issue(invoice) | Self::IssueAgain(invoice, _) => {
                let invoice = invoices.issue(*invoice, None).await?.summary;
                Ok(Done::invoice(invoice.id, invoice.status, invoice.updated_at))
            }
            Self::IssueTooLate(invoice) => {
                let due = LONG_AGO.parse().expect("a date");
                let invoice = invoices.issue(*invoice, Some(due)).await?.summary;
                Ok(Done::invoice(invoice.id, invoice.status, invoice.updated_at))
            }
            Self::Pay(invoice, reference) => {
                let payment = NewPayment::new(1, PaymentSource::Bank).movement_id(reference);
                let invoice = invoices.pay(*invoice, &payment).await?.invoice.summary;
                Ok(Done::invoice(invoice.id, invoice.status, invoice.updated_at))
            }
        }
    }

    /// Whether a refusal is the one that is due.
    fn is_refused_like(&self, error: &Error) -> bool {
        match (self, error) {
            (Self::CreateForUnknown(_), Error::Invalid(invalid)) => invalid.field == "clientId",
            (Self::IssueTooLate(_), Error::Invalid(invalid)) => invalid.field == "dueDate",
            (
                Self::TakeExternalId(..) | Self::IssueAgain(..) | Self::Reject(_) | Self::Issue(_),
                Error::Conflict(_),
            ) => true,
            _ => false,
        }
    }

    /// How many callers may succeed.
    fn max(&self) -> usize {
        match self {
            Self::CreateForUnknown(_)
            | Self::TakeExternalId(..)
            | Self::IssueAgain(..)
            | Self::IssueTooLate(_) => 0,
            _ => 1,
        }
    }
}

impl Done {
    fn client(client: &Client) -> Self {
        let Client { id, updated_at, .. } = client;
        Self { kind: "client", id: id.to_string(), status: String::new(), stamp: *updated_at, events: &[] }
    }

    fn quote(id: QuoteId, status: QuoteStatus, stamp: Timestamp, events: &'static [&'static str]) -> Self {
        Self { kind: "quote", id: id.to_string(), status: status.to_string(), stamp, events }
    }

    fn invoice(id: InvoiceId, status: InvoiceStatus, stamp: Timestamp) -> Self {
        Self { kind: "invoice", id: id.to_string(), status: status.to_string(), stamp, events: &[] }
    }
}

impl Told {
    fn add(&mut self, operation: &Operation, told: &Result<Done, Error>) {
        match told {
            Ok(_) => self.done += 1,
            Err(Error::StorageUnavailable(_)) => self.unavailable += 1,
            Err(error) if operation.is_refused_like(error) => self.refused += 1,
            Err(error) => panic!("{operation:?}: {error:?}"),
        }
    }
}

impl Stored {
    async fn read(company: &CompanyHandle) -> Self {
        let (clients, quotes, invoices) = (company.clients(), company.quotes(), company.invoices());
        Self {
            clients: all(async |window| {
                clients.list(&ClientQuery { window, ..ClientQuery::default() }).await
            })
            .await,
            quotes: all(async |window| quotes.list(&QuoteQuery { window, ..QuoteQuery::default() }).await)
                .await,
            invoices: all(async |window| {
                invoices.list(&InvoiceQuery { window, ..InvoiceQuery::default() }).await
            })
            .await,
            events: company.events().list(None, u32::MAX).await.expect("the events"),
            company: company.clone(),
        }
    }

    /// How often an operation has happened.
    async fn count(&self, operation: &Operation) -> usize {
        match operation {
            Operation::CreateClient(name) => {
                self.clients.iter().filter(|client| client.name == *name).count()
            }
            Operation::TakeExternalId(id, _) => {
                self.clients.iter().filter(|client| client.id == *id && client.external_id.is_some()).count()
            }
            Operation::CreateQuote(client) | Operation::CreateForUnknown(client) => {
                self.quotes.iter().filter(|quote| quote.summary.client_id == *client).count()
            }
            Operation::Reject(id) => {
                let rejected = |quote: &&QuoteItem| quote.summary.status == QuoteStatus::Rejected;
                self.quotes.iter().filter(rejected).filter(|quote| quote.summary.id == *id).count()
            }
            Operation::Issue(id) | Operation::IssueTooLate(id) => {
                let issued = |invoice: &&InvoiceItem| invoice.summary.number.is_some();
                self.invoices.iter().filter(issued).filter(|invoice| invoice.summary.id == *id).count()
            }
            Operation::IssueAgain(id, at) => {
                let changed = |invoice: &&InvoiceItem| invoice.summary.updated_at != *at;
                self.invoices.iter().filter(changed).filter(|invoice| invoice.summary.id == *id).count()
            }
            Operation::Pay(id, movement) => {
                let payments = self.company.invoices().payments(*id).await.expect("the payments");
                payments.iter().filter(|payment| payment.movement_id.as_ref() == Some(movement)).count()
            }
        }
    }

    async fn check(&self, operation: &Operation, told: Told) {
        let found = self.count(operation).await;
        let Told { done, refused, unavailable } = told;
        let what = format!("{operation:?} is stored {found} times: {told:?}");
        assert!((done..=done + unavailable).contains(&found) && found <= operation.max(), "{what}");
        // Where the outcome of one caller is unknown, it may be the reason for the refusal of another.
        let callers = done + refused + unavailable;
        assert!(unavailable > 0 || refused == callers - operation.max(), "{what}");
        if let Operation::Pay(id, _) = operation {
            let payments = self.company.invoices().payments(*id).await.expect("the payments");
            let paid = self.invoices.iter().find(|invoice| invoice.summary.id == *id).expect("the invoice");
            let count = u32::try_from(payments.len()).expect("a few");
            assert_eq!(paid.summary.amount_paid, count.into(), "{operation:?}");
        }
    }

    /// Numbers have no gaps, numbers and stamps follow the order of the commits, and each record has its event once.
    fn check_order(&self) {
        let stamps = self.events.iter().map(|event| event.timestamp);
        assert!(stamps.is_sorted_by(|a, b| a < b), "events are not in the order of their stamps");
        let created = self.created("quote.created");
        assert_eq!(created.len(), self.quotes.len(), "an event per quote");
        assert_eq!(self.created("invoice.created").len(), self.invoices.len(), "an event per invoice");
        let quotes = self.quotes.iter().map(|quote| quote.summary.number.as_str());
        assert_gapless(quotes.collect());
        assert_gapless(
            self.invoices.iter().filter_map(|invoice| invoice.summary.number.as_deref()).collect(),
        );
        let mut numbers: Vec<(&str, Timestamp)> = Vec::with_capacity(self.quotes.len());
        for quote in &self.quotes {
            numbers.push((&quote.summary.number, created[&quote.summary.id.to_string()]));
        }
        numbers.sort_unstable();
        assert!(numbers.is_sorted_by(|a, b| a.1 < b.1), "numbers are not chronological");
    }

    /// The records of the events of a kind, with their stamps.
    fn created(&self, kind: &str) -> BTreeMap<String, Timestamp> {
        let mut created = BTreeMap::new();
        for event in self.events.iter().filter(|event| event.kind == kind) {
            let body: serde_json::Value = serde_json::from_str(&event.body).expect("JSON");
            let id = body["data"]["id"].as_str().expect("an id").to_owned();
            assert_eq!(created.insert(id, event.timestamp), None, "recorded twice: {}", event.body);
        }
        created
    }
}

/// That these are all numbers of one series from the first one on.
fn assert_gapless(mut numbers: Vec<&str>) {
    numbers.sort_unstable();
    for (place, number) in numbers.iter().enumerate() {
        assert!(number.ends_with(&format!("-{:04}", place + 1)), "a gap, or a number twice: {numbers:?}");
    }
}

/// Everything of a list, page by page.
async fn all<T>(page: impl AsyncFn(PageWindow) -> Result<Page<T>, Error>) -> Vec<T> {
    let mut all = Vec::new();
    loop {
        let window = PageWindow { limit: 100, offset: all.len() as u64, since: None };
        let Page { data, pagination, .. } = page(window).await.expect("a page");
        all.extend(data);
        if !pagination.has_more {
            return all;
        }
    }
}
