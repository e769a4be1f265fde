//! What a list is asked for.

use invoicing_core::{Timestamp, fold_for_search};

/// The part of a list that is asked for.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageWindow {
    /// Most items, 1 to 100.
    pub limit: u32,
    /// How many items to pass over.
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

/// A list of quotes or invoices.
#[must_use]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageQuery<S> {
    /// Only records in this status.
    pub status: Option<S>,
    /// Whether each item carries its lines.
    pub include_lines: bool,
    /// The part that is asked for.
    pub window: PageWindow,
}

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

/// A list of clients. Filters combine with AND.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientQuery {
    /// Looked for in name, e-mail and city, blind to case and accents.
    pub q: Option<String>,
    /// Exact lookup by the caller's identifier.
    pub external_id: Option<String>,
    /// The part that is asked for.
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

    /// `q` as the search column holds texts; empty where there is no `q`.
    pub(crate) fn folded(&self) -> String {
        match self.q.as_deref().map(fold_for_search) {
            // Nothing but accents: must find nothing, not everything. No searched text has a control character, and
            // PostgreSQL takes no argument with a NUL.
            Some(folded) if folded.is_empty() || folded.contains('\0') => NOWHERE.to_owned(),
            folded => folded.unwrap_or_default(),
        }
    }
}

/// A text that no record contains.
pub(crate) const NOWHERE: &str = "\u{1}";
