//! A company at work: random operations of its host, and the versions of its records that they make.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use chrono::{Days, NaiveDate};
use invoicing_core::{ClientId, InvoiceId, NewClient, NewQuote, Quantity, Quote, QuoteId, Timestamp};
use invoicing_server::{CompanyHandle, Error, Invoicing, ManualClock};
use invoicing_tests::{World, new_quote};
use proptest::collection::{SizeRange, vec};
use proptest::prelude::any;
use proptest::sample::select;
use proptest::strategy::Strategy;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::api::{DAY, payment};

/// A step of a host, or of its clock.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    AddClient,
    ChangeClient,
    AddQuote,
    EditQuote,
    LinkQuote,
    Send,
    Accept,
    Reject,
    Convert,
    Issue,
    Pay,
    Cancel,
    Sweep,
    ClockAhead,
    ClockBack,
}

impl Act {
    const ALL: [Self; 15] = [
        Self::AddClient,
        Self::ChangeClient,
        Self::AddQuote,
        Self::EditQuote,
        Self::LinkQuote,
        Self::Send,
        Self::Accept,
        Self::Reject,
        Self::Convert,
        Self::Issue,
        Self::Pay,
        Self::Cancel,
        Self::Sweep,
        Self::ClockAhead,
        Self::ClockBack,
    ];
}

/// Random acts, each on a random record.
pub(crate) fn acts(count: impl Into<SizeRange>) -> impl Strategy<Value = Vec<(Act, u16)>> {
    vec((select(Act::ALL.as_slice()), any::<u16>()), count)
}

/// The order of [`LISTS`](crate::support::api::LISTS).
const QUOTE: usize = 0;
const INVOICE: usize = 1;
const CLIENT: usize = 2;

pub(crate) struct Workload {
    invoicing: Invoicing,
    clock: Arc<ManualClock>,
    company: CompanyHandle,
    clients: Vec<ClientId>,
    quotes: Vec<QuoteId>,
    invoices: Vec<InvoiceId>,
    /// Makes every change a real one.
    counter: i32,
    /// `updatedAt` by `id`, for each of the lists.
    pub(crate) versions: [BTreeMap<String, String>; 3],
    /// The stamp of every change, in their order.
    pub(crate) stamps: Vec<String>,
}

impl Workload {
    /// Opens with one client, one quote and one invoice.
    pub(crate) async fn open(world: &World, company: &CompanyHandle) -> Self {
        let mut workload = Self {
            invoicing: world.invoicing.clone(),
            clock: Arc::clone(&world.clock),
            company: company.clone(),
            clients: Vec::new(),
            quotes: Vec::new(),
            invoices: Vec::new(),
            counter: 0,
            versions: Default::default(),
            stamps: Vec::new(),
        };
        for act in [Act::AddClient, Act::AddQuote, Act::Accept, Act::Convert, Act::AddQuote] {
            workload.act((act, 0)).await;
        }
        workload
    }

    /// So many more records in one of the lists.
    pub(crate) async fn grow(&mut self, list: usize, count: usize) {
        for _ in 0..count {
            match list {
                QUOTE => self.act((Act::AddQuote, 0)).await,
                CLIENT => self.act((Act::AddClient, 0)).await,
                _ => {
                    self.act((Act::AddQuote, 0)).await;
                    let newest = u16::try_from(self.quotes.len() - 1).expect("few quotes");
                    self.act((Act::Accept, newest)).await;
                    self.act((Act::Convert, newest)).await;
                }
            }
        }
    }

    pub(crate) async fn run(&mut self, acts: &[(Act, u16)]) {
        for act in acts {
            self.act(*act).await;
        }
    }

    /// One act; what the state of the record does not allow does not happen.
    pub(crate) async fn act(&mut self, (act, pick): (Act, u16)) {
        self.counter += 1;
        match act {
            Act::AddClient | Act::ChangeClient => self.act_on_clients(act, pick).await,
            Act::Convert | Act::Issue | Act::Pay | Act::Cancel => self.act_on_invoices(act, pick).await,
            Act::Sweep => {
                self.clock.advance(3 * DAY);
                self.invoicing.sweep().await.expect("swept");
                self.look_again().await;
            }
            Act::ClockAhead => self.move_clock(i64::from(self.counter % 3)),
            Act::ClockBack => self.move_clock(-1_000 * i64::from(self.counter % 5)),
            _ => self.act_on_quotes(act, pick).await,
        }
    }

    async fn act_on_clients(&mut self, act: Act, pick: u16) {
        let fields =
            NewClient { city: Some(format!("Ville {}", self.counter)), ..NewClient::named("Lefèvre") };
        let clients = self.company.clients();
        let client = match (act, one(&self.clients, pick)) {
            (Act::ChangeClient, Some(id)) => clients.change(id, &fields).await.expect("changed"),
            _ => clients.create(&fields).await.expect("created"),
        };
        keep(&mut self.clients, client.id);
        self.saw(CLIENT, client.id, client.updated_at);
    }

    async fn act_on_quotes(&mut self, act: Act, pick: u16) {
        let quotes = self.company.quotes();
        let target = one(&self.quotes, pick);
        let result = match (act, target) {
            (Act::EditQuote, Some(id)) => quotes.edit(id, &self.content(pick)).await,
            (Act::LinkQuote, Some(id)) => {
                let external_id = (self.counter % 4 > 0).then(|| format!("crm-{}", self.counter % 7));
                quotes.link(id, external_id.as_deref()).await.expect("linked");
                quotes.get(id).await
            }
            (Act::Send, Some(id)) => quotes.send(id, Some(self.soon())).await,
            (Act::Accept, Some(id)) => quotes.accept(id).await,
            (Act::Reject, Some(id)) => quotes.reject(id).await,
            _ => quotes.create(&self.content(pick)).await,
        };
        if let Some(quote) = done::<Quote>(result) {
            keep(&mut self.quotes, quote.summary.id);
            self.saw(QUOTE, quote.summary.id, quote.summary.updated_at);
        }
    }

    async fn act_on_invoices(&mut self, act: Act, pick: u16) {
        let invoices = self.company.invoices();
        let result = match (act, one(&self.invoices, pick)) {
            (Act::Issue, Some(id)) => invoices.issue(id, Some(self.soon())).await,
            (Act::Pay, Some(id)) => invoices.pay(id, &payment("300")).await.map(|paid| paid.invoice),
            (Act::Cancel, Some(id)) => invoices.cancel(id).await,
            _ => match one(&self.quotes, pick) {
                Some(quote) => invoices.convert(quote).await,
                None => return,
            },
        };
        if let Some(invoice) = done(result) {
            keep(&mut self.invoices, invoice.summary.id);
            self.saw(INVOICE, invoice.summary.id, invoice.summary.updated_at);
        }
    }

    /// Reads every version anew: a sweep, or another writer, may have changed any of them.
    pub(crate) async fn look_again(&mut self) {
        let mut found = Vec::new();
        for id in &self.quotes {
            let quote = self.company.quotes().get(*id).await.expect("a quote");
            found.push((quote.summary.updated_at, QUOTE, id.to_string()));
        }
        for id in &self.invoices {
            let invoice = self.company.invoices().get(*id).await.expect("an invoice");
            found.push((invoice.summary.updated_at, INVOICE, id.to_string()));
        }
        found.sort();
        let known = self.stamps.len();
        for (at, list, id) in found {
            self.saw(list, id, at);
        }
        // Records that one transaction changed share its stamp.
        let mut new = self.stamps.split_off(known);
        new.dedup();
        self.stamps.append(&mut new);
    }

    fn saw(&mut self, list: usize, id: impl Display, at: Timestamp) {
        let at = at.to_string();
        let before = self.versions[list].insert(id.to_string(), at.clone());
        if before.as_ref() != Some(&at) {
            self.stamps.push(at);
        }
    }

    fn content(&self, pick: u16) -> NewQuote {
        let mut content = new_quote(one(&self.clients, pick).expect("a workload has a client"));
        content.lines[0].quantity = Quantity::from(self.counter + 10);
        content
    }

    /// A day on which something may end, so that sweeps find it.
    fn soon(&self) -> NaiveDate {
        let last = self.stamps.last().map_or(Timestamp::EARLIEST, |at| crate::support::api::at(at));
        let now = self.invoicing.env().now().max(last);
        now.to_chrono().date_naive() + Days::new(2)
    }

    fn move_clock(&self, millis: i64) {
        self.clock.set(self.invoicing.env().now().plus_millis(millis));
    }
}

fn one<T: Copy>(all: &[T], pick: u16) -> Option<T> {
    (!all.is_empty()).then(|| all[usize::from(pick) % all.len()])
}

fn keep<T: PartialEq>(all: &mut Vec<T>, id: T) {
    if !all.contains(&id) {
        all.push(id);
    }
}

fn done<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(record) => Some(record),
        Err(Error::Conflict(_)) => None,
        Err(error) => panic!("{error:?}"),
    }
}

/// The steps of each writer, again and again: no sweep, which would move the records of the others.
const ROUND: [Act; 12] = [
    Act::AddQuote,
    Act::LinkQuote,
    Act::EditQuote,
    Act::ChangeClient,
    Act::Send,
    Act::LinkQuote,
    Act::Accept,
    Act::Convert,
    Act::AddClient,
    Act::Issue,
    Act::Pay,
    Act::Reject,
];

/// Starts writers that make so many changes each. Each ends with the versions that it made; the receiver shows how many
/// changes there are, and is closed when the last writer is done.
pub(crate) fn write_beside(
    world: &Arc<World>,
    writers: usize,
    changes: u16,
) -> (JoinSet<[BTreeMap<String, String>; 3]>, watch::Receiver<usize>) {
    let (made, seen) = watch::channel(0);
    let made = Arc::new(made);
    let mut tasks = JoinSet::new();
    for writer in 0..writers {
        let (world, made) = (Arc::clone(world), Arc::clone(&made));
        tasks.spawn(async move {
            let mut workload = Workload::open(&world, &world.company).await;
            for n in 0..changes {
                let act = ROUND[(usize::from(n) * 5 + writer) % ROUND.len()];
                workload.act((act, n * 7)).await;
                made.send_modify(|made| *made += 1);
            }
            workload.versions
        });
    }
    (tasks, seen)
}
