//! The queries of lists.

use std::fmt;
use std::str::FromStr;

use invoicing_core::internal::search_words;
use invoicing_core::{
    DeliveryStatus, Event, EventId, EventKind, Invalid, InvoiceStatus, QuoteId, QuoteStatus, Rule, Timestamp,
};
use uuid::Uuid;

/// The requested part of a list.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageWindow {
    /// Maximum number of items, 1 to 100.
    pub limit: u32,
    /// Number of items to pass over.
    pub offset: u64,
    /// Only records modified at or after this instant; then the list is ordered by modification.
    pub since: Option<Timestamp>,
}

impl Default for PageWindow {
    fn default() -> Self {
        Self { limit: invoicing_core::DEFAULT_PAGE_LIMIT, offset: 0, since: None }
    }
}

impl PageWindow {
    /// Sets [`limit`](Self#structfield.limit).
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    /// Sets [`offset`](Self#structfield.offset).
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    /// Sets [`since`](Self#structfield.since).
    pub fn since(mut self, at: Timestamp) -> Self {
        self.since = Some(at);
        self
    }
}

/// Checks that a page may have this many items.
pub(crate) fn check_limit(limit: u32, max: u32) -> Result<(), Invalid> {
    if (1..=max).contains(&limit) {
        return Ok(());
    }
    Err(Invalid::new("limit", Rule::IntegerFrom { min: 1, max: max.into() }))
}

/// A list of documents with a status: a [`QuoteQuery`] or an [`InvoiceQuery`].
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageQuery<S> {
    /// Only records in this status.
    pub status: Option<S>,
    /// True if each item carries its lines.
    pub include_lines: bool,
    /// The requested part.
    pub window: PageWindow,
}

/// A list of quotes.
pub type QuoteQuery = PageQuery<QuoteStatus>;

/// A list of invoices.
pub type InvoiceQuery = PageQuery<InvoiceStatus>;

impl<S> Default for PageQuery<S> {
    fn default() -> Self {
        Self { status: None, include_lines: false, window: PageWindow::default() }
    }
}

impl<S> PageQuery<S> {
    /// Sets [`status`](Self#structfield.status).
    pub fn status(mut self, status: S) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets [`include_lines`](Self#structfield.include_lines).
    pub fn include_lines(mut self, include: bool) -> Self {
        self.include_lines = include;
        self
    }

    /// Sets [`window`](Self#structfield.window).
    pub fn window(mut self, window: PageWindow) -> Self {
        self.window = window;
        self
    }
}

/// A list of credit notes, which have no status.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CreditNoteQuery {
    /// True if each item carries its lines.
    pub include_lines: bool,
    /// The requested part.
    pub window: PageWindow,
}

impl CreditNoteQuery {
    /// Sets [`include_lines`](Self#structfield.include_lines).
    pub fn include_lines(mut self, include: bool) -> Self {
        self.include_lines = include;
        self
    }

    /// Sets [`window`](Self#structfield.window).
    pub fn window(mut self, window: PageWindow) -> Self {
        self.window = window;
        self
    }
}

/// A credit note has no status.
impl From<&CreditNoteQuery> for PageQuery<&'static str> {
    fn from(query: &CreditNoteQuery) -> Self {
        Self { status: None, include_lines: query.include_lines, window: query.window }
    }
}

/// A list of clients. Filters combine with AND.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientQuery {
    /// A search text: each of its words must be in name, e-mail or city, regardless of case and
    /// accents.
    pub q: Option<String>,
    /// Exact lookup by the caller's identifier, in the form in which it is stored: trimmed,
    /// and in NFC.
    pub external_id: Option<String>,
    /// The requested part.
    pub window: PageWindow,
}

impl ClientQuery {
    /// Sets [`q`](Self#structfield.q).
    pub fn q(mut self, text: impl Into<String>) -> Self {
        self.q = Some(text.into());
        self
    }

    /// Sets [`external_id`](Self#structfield.external_id).
    pub fn external_id(mut self, id: impl Into<String>) -> Self {
        self.external_id = Some(id.into());
        self
    }

    /// Sets [`window`](Self#structfield.window).
    pub fn window(mut self, window: PageWindow) -> Self {
        self.window = window;
        self
    }

    /// The words of `q` in the form of the search column: the longest word, which the fewest
    /// records have, and the others. The first is empty if there is no `q`.
    pub(crate) fn words(&self) -> (String, Vec<String>) {
        let Some(q) = &self.q else { return Default::default() };
        let mut words = search_words(q);
        words.sort_unstable_by_key(|word| std::cmp::Reverse(word.len()));
        words.dedup();
        // A `q` of accents only must find nothing, not everything. No searched text has the control
        // character of `NOWHERE`.
        let others = words.split_off(words.len().min(1));
        (words.pop().unwrap_or_else(|| NOWHERE.to_owned()), others)
    }
}

/// A text that no record contains.
pub(crate) const NOWHERE: &str = "\u{1}";

/// A kind of recorded events: a kind that webhooks subscribe to, or the test of a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordedKind {
    /// `quote.created`, ….
    Event(EventKind),
    /// `ping`.
    Ping,
}

impl RecordedKind {
    /// The text of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Event(kind) => kind.as_str(),
            Self::Ping => Event::PING,
        }
    }
}

impl From<EventKind> for RecordedKind {
    fn from(kind: EventKind) -> Self {
        Self::Event(kind)
    }
}

impl fmt::Display for RecordedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RecordedKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text == Event::PING { Ok(Self::Ping) } else { text.parse().map(Self::Event) }
    }
}

/// A list of deliveries to a webhook. Filters combine with AND.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliveryQuery {
    /// Only deliveries in this state.
    pub status: Option<DeliveryStatus>,
    /// Only deliveries of events of this kind.
    pub kind: Option<RecordedKind>,
    /// Only deliveries of events from this instant on.
    pub from: Option<Timestamp>,
    /// Only deliveries of events before this instant.
    pub until: Option<Timestamp>,
    /// Only deliveries of events before this one: [`DeliveryPage::next`](crate::DeliveryPage::next)
    /// of the page before.
    pub before: Option<EventId>,
}

impl DeliveryQuery {
    /// Sets [`status`](Self#structfield.status).
    pub fn status(mut self, status: DeliveryStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets [`kind`](Self#structfield.kind).
    pub fn kind(mut self, kind: impl Into<RecordedKind>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Sets [`from`](Self#structfield.from).
    pub fn from(mut self, at: Timestamp) -> Self {
        self.from = Some(at);
        self
    }

    /// Sets [`until`](Self#structfield.until).
    pub fn until(mut self, at: Timestamp) -> Self {
        self.until = Some(at);
        self
    }

    /// Sets [`before`](Self#structfield.before).
    pub fn before(mut self, event: EventId) -> Self {
        self.before = Some(event);
        self
    }

    /// The range of the ids of its events: from the first one on, and before the second. Ids begin
    /// with the timestamp.
    pub(crate) fn ids(&self) -> (EventId, EventId) {
        let from = self.from.map_or(EventId(Uuid::nil()), first_id);
        let until = self.until.map_or(AFTER_ALL, first_id);
        (from, self.before.map_or(until, |before| before.min(until)))
    }
}

/// A list of events.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventQuery {
    /// Only events of this kind.
    pub kind: Option<RecordedKind>,
    /// Only events before this one: [`EventPage::next`](crate::EventPage::next) of the page before.
    pub before: Option<EventId>,
}

impl EventQuery {
    /// Sets [`kind`](Self#structfield.kind).
    pub fn kind(mut self, kind: impl Into<RecordedKind>) -> Self {
        self.kind = Some(kind.into());
        self
    }

    /// Sets [`before`](Self#structfield.before).
    pub fn before(mut self, event: EventId) -> Self {
        self.before = Some(event);
        self
    }
}

/// A list of changes.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HistoryQuery {
    /// Only changes of the record with this identifier.
    pub subject: Option<Uuid>,
    /// Only changes before the one with this number:
    /// [`HistoryPage::next`](crate::HistoryPage::next) of the page before.
    pub before: Option<i64>,
}

impl HistoryQuery {
    /// Sets [`subject`](Self#structfield.subject).
    pub fn subject(mut self, id: Uuid) -> Self {
        self.subject = Some(id);
        self
    }

    /// Sets [`before`](Self#structfield.before).
    pub fn before(mut self, number: i64) -> Self {
        self.before = Some(number);
        self
    }
}

/// A search for quotes. Filters combine with AND.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuoteSearch {
    /// A search text: each of its words must be in number, name or e-mail of the client, or
    /// external id, regardless of case and accents.
    pub q: Option<String>,
    /// Only quotes in this status.
    pub status: Option<QuoteStatus>,
    /// Only quotes behind this one: [`QuotePage::next`](crate::QuotePage::next) of the page before.
    pub after: Option<QuoteId>,
}

impl QuoteSearch {
    /// Sets [`q`](Self#structfield.q).
    pub fn q(mut self, text: impl Into<String>) -> Self {
        self.q = Some(text.into());
        self
    }

    /// Sets [`status`](Self#structfield.status).
    pub fn status(mut self, status: QuoteStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets [`after`](Self#structfield.after).
    pub fn after(mut self, quote: QuoteId) -> Self {
        self.after = Some(quote);
        self
    }

    /// The words of `q`, folded like the searched texts; `None` if `q` is empty. A `q` of accents
    /// only has no word, and finds nothing.
    pub(crate) fn words(&self) -> Option<Vec<String>> {
        let text = self.q.as_deref().map(str::trim).filter(|text| !text.is_empty())?;
        Some(search_words(text))
    }
}

/// An id after the ids of all events.
pub(crate) const AFTER_ALL: EventId = EventId(Uuid::max());

/// The lowest id of this timestamp: at or before the ids of all events with it, and after the ids
/// of all earlier events.
fn first_id(at: Timestamp) -> EventId {
    let millis = u64::try_from(at.as_millis()).unwrap_or(0);
    EventId(uuid::Builder::from_unix_timestamp_millis(millis, &[0; 10]).into_uuid())
}
