//! The quotes of the host's own list, with its search.
//!
//! The search reads the summary, so that no write pays for a column of searched texts. Summaries
//! are read newest first and compared here, in a bounded number.

use std::borrow::Cow;

use invoicing_core::{QuoteId, QuoteSummary, Timestamp, fold_for_search};
use serde::Deserialize;
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::Argument;
use super::quotes::QuoteTable;
use super::versions;
use crate::Error;
use crate::list_query::{QuoteSearch, check_limit};
use crate::records::QuotePage;

/// Number of quotes that a page looks at, and number of them that are read at once.
const LOOKED_AT: usize = 10_000;
const BATCH: u32 = 500;
/// Most quotes of a page.
const MOST: u32 = 100;

#[derive(FromRow)]
struct SummaryRow {
    id: Uuid,
    created_at: i64,
    record: String,
    version: i64,
}

/// The searched texts of a summary, of any version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Searched<'a> {
    #[serde(borrow)]
    number: Cow<'a, str>,
    #[serde(borrow)]
    client_name: Cow<'a, str>,
    #[serde(borrow)]
    client_email: Option<Cow<'a, str>>,
    #[serde(borrow)]
    external_id: Option<Cow<'a, str>>,
}

impl SummaryRow {
    fn read(&self) -> Result<QuoteSummary, Error> {
        versions::read(self.record.as_bytes(), self.version, self.id)
    }

    /// True if each of the words, which are folded, is a part of one of its texts.
    fn contains(&self, words: &[String]) -> Result<bool, Error> {
        let searched: Searched = serde_json::from_str(&self.record)
            .map_err(|cause| Error::bad_row("quote", "summary", self.id, cause))?;
        let Searched { number, client_name, client_email, external_id } = searched;
        let texts = [Some(number), Some(client_name), client_email, external_id];
        let texts: Vec<String> = texts.iter().flatten().map(|searched| fold_for_search(searched)).collect();
        let is_found = |word: &String| texts.iter().any(|text| text.contains(word));
        Ok(!words.is_empty() && words.iter().all(is_found))
    }
}

/// The quote behind which the next ones are read.
#[derive(Debug, Clone, Copy)]
struct SearchPlace {
    created_at: Timestamp,
    id: QuoteId,
}

impl QuoteTable<'_> {
    /// A page of the quotes that a search finds.
    pub(crate) async fn search(&mut self, search: &QuoteSearch, limit: u32) -> Result<QuotePage, Error> {
        check_limit(limit, MOST)?;
        let words = search.words();
        let mut place = self.place(search.after).await?;
        let (mut items, mut looked_at) = (Vec::new(), 0);
        let batch = if words.is_some() { BATCH } else { limit + 1 };
        loop {
            let rows = self.summaries(search, place, batch).await?;
            for row in &rows {
                if !words.as_deref().map_or(Ok(true), |words| row.contains(words))? {
                    continue;
                }
                if items.len() == limit as usize {
                    let next = items.last().map(|item: &QuoteSummary| item.id);
                    return Ok(QuotePage { items, next });
                }
                items.push(row.read()?);
            }
            looked_at += rows.len();
            match rows.last() {
                Some(last) if rows.len() == batch as usize => {
                    place = SearchPlace {
                        created_at: Timestamp::from_millis(last.created_at),
                        id: QuoteId(last.id),
                    };
                }
                _ => return Ok(QuotePage { items, next: None }),
            }
            if looked_at >= LOOKED_AT {
                return Ok(QuotePage { items, next: Some(place.id) });
            }
        }
    }

    async fn place(&mut self, after: Option<QuoteId>) -> Result<SearchPlace, Error> {
        const CREATED_AT: &str = "SELECT created_at FROM quote WHERE company_id = $1 AND id = $2";
        let Some(id) = after else {
            return Ok(SearchPlace {
                created_at: Timestamp::from_millis(i64::MAX),
                id: QuoteId(Uuid::max()),
            });
        };
        let created_at: Option<i64> = self.0.query(CREATED_AT, &[&id]).optional_scalar().await?;
        Ok(SearchPlace { created_at: Timestamp::from_millis(created_at.ok_or(Error::NotFound)?), id })
    }

    async fn summaries(
        &mut self,
        search: &QuoteSearch,
        behind: SearchPlace,
        limit: u32,
    ) -> Result<Vec<SummaryRow>, Error> {
        const NEWEST: &str = "
            SELECT id, created_at, summary || '}' AS record, version FROM quote
            WHERE company_id = $1 AND (created_at, id) < ($2, $3)
            ORDER BY created_at DESC, id DESC LIMIT $4";
        const NEWEST_IN_STATUS: &str = "
            SELECT id, created_at, summary || '}' AS record, version FROM quote
            WHERE company_id = $1 AND status = $5 AND (created_at, id) < ($2, $3)
            ORDER BY created_at DESC, id DESC LIMIT $4";
        let SearchPlace { created_at, id } = behind;
        let part: [&dyn Argument; 3] = [&created_at, &id, &limit];
        let query = match &search.status {
            None => self.0.query(NEWEST, &part),
            Some(status) => self.0.query(NEWEST_IN_STATUS, &[&part[..], &[status]].concat()),
        };
        Ok(query.fetch_all().await?)
    }
}
