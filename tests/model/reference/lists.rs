//! Pages: filter, sort, cut.

use serde_json::{Value, json};

use super::{Company, Millis, instant};

/// The query of a page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Page {
    pub(crate) status: Option<&'static str>,
    pub(crate) limit: Option<usize>,
    pub(crate) offset: Option<usize>,
    pub(crate) since: Option<Millis>,
    pub(crate) with_lines: bool,
    /// Folded form of the search text.
    pub(crate) search: Option<&'static str>,
    pub(crate) external: Option<&'static str>,
}

/// The sort keys of a record, and the record.
struct Row {
    created: Millis,
    updated: Millis,
    id: String,
    json: Value,
}

impl Company {
    pub(crate) fn quotes_page(&self, page: &Page) -> Value {
        let wanted =
            self.quotes.iter().filter(|quote| page.status.is_none_or(|status| quote.status == status));
        let rows = wanted.map(|quote| Row {
            created: quote.created,
            updated: quote.updated,
            id: quote.id.clone(),
            json: quote.item(page.with_lines),
        });
        self.page(page, rows.collect())
    }

    pub(crate) fn invoices_page(&self, page: &Page) -> Value {
        let wanted =
            self.invoices.iter().filter(|invoice| page.status.is_none_or(|status| invoice.status == status));
        let rows = wanted.map(|invoice| Row {
            created: invoice.created,
            updated: invoice.updated,
            id: invoice.id.clone(),
            json: invoice.item(page.with_lines),
        });
        self.page(page, rows.collect())
    }

    pub(crate) fn credit_notes_page(&self, page: &Page) -> Value {
        let rows = self.credit_notes().map(|note| Row {
            created: note.created,
            updated: note.updated,
            id: note.id.clone(),
            json: note.item(),
        });
        self.page(page, rows.collect())
    }

    pub(crate) fn clients_page(&self, page: &Page) -> Value {
        let wanted = self.clients.iter().filter(|client| {
            page.search.is_none_or(|folded| client.is_found_by(folded))
                && page.external.is_none_or(|external| client.external.as_deref() == Some(external))
        });
        let rows = wanted.map(|client| Row {
            created: client.created,
            updated: client.updated,
            id: client.id.clone(),
            json: client.json(),
        });
        self.page(page, rows.collect())
    }

    fn page(&self, page: &Page, mut rows: Vec<Row>) -> Value {
        match page.since {
            Some(since) => {
                rows.retain(|row| row.updated >= since);
                rows.sort_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
            }
            None => rows.sort_by(|a, b| (b.created, &b.id).cmp(&(a.created, &a.id))),
        }
        let (limit, offset) = (page.limit.unwrap_or(50), page.offset.unwrap_or(0));
        let has_more = rows.len() > offset + limit;
        let data: Vec<Value> = rows.into_iter().skip(offset).take(limit).map(|row| row.json).collect();
        json!({
            "data": data,
            "pagination": { "limit": limit, "offset": offset, "hasMore": has_more },
            "asOf": instant(self.last_stamp),
        })
    }
}
