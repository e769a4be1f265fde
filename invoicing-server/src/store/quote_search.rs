//! The quotes of the host's own list, with its search.
//!
//! The search reads the summary, so that no write pays for a column of searched texts. Summaries
//! are read newest first and compared here, in a bounded number.

use std::borrow::Cow;

use invoicing_core::internal::fold_for_search;
use invoicing_core::{Quote, QuoteId};
use serde::Deserialize;
use uuid::Uuid;

use super::documents::StoredDocument;
use super::newest::NewestQuery;
use super::quotes::QuoteTable;
use crate::error::Error;
use crate::list_query::QuoteSearch;
use crate::records::QuotePage;

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

/// True if each of the words, which are folded, is a part of one of the texts of a summary.
fn contains(summary: &str, id: Uuid, words: &[String]) -> Result<bool, Error> {
    let searched: Searched =
        serde_json::from_str(summary).map_err(|cause| Error::bad_row("quote", "summary", id, cause))?;
    let Searched { number, client_name, client_email, external_id } = searched;
    let texts = [Some(number), Some(client_name), client_email, external_id];
    let texts: Vec<String> = texts.iter().flatten().map(|searched| fold_for_search(searched)).collect();
    let is_found = |word: &String| texts.iter().any(|text| text.contains(word));
    Ok(!words.is_empty() && words.iter().all(is_found))
}

impl QuoteTable<'_> {
    /// A page of the quotes that a search finds.
    pub(crate) async fn search(&mut self, search: &QuoteSearch, limit: u32) -> Result<QuotePage, Error> {
        let words = search.words();
        let has_words = |words: Vec<String>| move |summary: &str, id| contains(summary, id, &words);
        let has_words = words.map(has_words);
        let query = NewestQuery {
            status: search.status.map(Into::into),
            after: search.after.map(|quote| quote.0),
            limit,
            is_found: has_words.as_ref().map(|has_words| has_words as _),
        };
        let (items, next) = self.scope.newest(&Quote::statements().newest, query).await?;
        Ok(QuotePage { items, next: next.map(QuoteId) })
    }
}
