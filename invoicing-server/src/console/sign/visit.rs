//! A request behind a signing link.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use invoicing_core::QuoteId;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::paper::{Paper, Sheet};
use crate::Error;
use crate::company_slots::Slot;
use crate::console::Language;
use crate::console::error::PageError;
use crate::console::form::Form;
use crate::http::byte_budget::ByteReservation;
use crate::http::capacity::Capacity;
use crate::http::error::ApiError;
use crate::operations::{CompanyHandle, ShownQuote, Signature, SigningLinks};
use crate::store::rows::LARGE_LINES;

/// How often the bytes of a quote are in memory at most.
const COPIES: usize = 4;
/// How long a page may wait for those before it.
const PAGE_WAIT: Duration = Duration::from_secs(4);
/// How long a signature may wait for others of its quote or its company.
const SIGNATURE_WAIT: Duration = Duration::from_secs(15);

/// A request whose token is known.
pub(in crate::console) struct Visit<'r> {
    pub(in crate::console) links: SigningLinks,
    pub(in crate::console) token: &'r str,
    /// The company and the quote of the token.
    pub(in crate::console) company: CompanyHandle,
    pub(in crate::console) quote: QuoteId,
    pub(in crate::console) capacity: &'r Capacity,
    pub(in crate::console) language: Language,
    /// Where the console is: links begin with it.
    pub(in crate::console) prefix: &'r str,
    /// The memory that the request and its answer take.
    pub(in crate::console) reservation: &'r ByteReservation,
    /// The fields of the form, or of the query.
    pub(in crate::console) form: Form,
    /// The client's address, where the host says it.
    pub(in crate::console) ip: Option<IpAddr>,
    pub(in crate::console) user_agent: Option<String>,
}

impl Visit<'_> {
    /// The address of a page behind the link: `""` is the signing page.
    pub(in crate::console) fn link(&self, path: impl AsRef<str>) -> String {
        format!("{}/sign/{}{}", self.prefix, self.token, path.as_ref())
    }

    pub(super) fn pick<'t>(&self, english: &'t str, french: &'t str) -> &'t str {
        self.language.pick(english, french)
    }

    /// A place among the pages that are made. Waits for those before it, in order, so that none is shut out.
    pub(super) async fn place(&self) -> Result<Slot, PageError> {
        let place = timeout(PAGE_WAIT, self.capacity.pages.acquire(self.company.id())).await;
        Ok(place.map_err(|_| ApiError::Overloaded)??)
    }

    /// What the page shows, but for the lines. To be called with a [place](Self::place).
    pub(super) async fn shown(&self) -> Result<Arc<ShownQuote>, PageError> {
        Ok(Arc::new(self.company.shown_quote(self.quote).await?))
    }

    /// The part of the document that the query names, the first one where it names none.
    pub(super) async fn sheet(&self, place: Slot, shown: &Arc<ShownQuote>) -> Result<Sheet, PageError> {
        let bytes = self.company.lines_bytes(self.quote).await?;
        if bytes > LARGE_LINES {
            self.reservation.cover(bytes.saturating_mul(COPIES))?;
        }
        let unread = self.company.unread_quote(self.quote).await?;
        let wanted = self.form.text("part").parse::<usize>().unwrap_or(1).saturating_sub(1);
        let (id, shown) = (self.quote, Arc::clone(shown));
        // Long where there are many lines.
        let made = spawn_blocking(move || {
            let quote = unread.read(id)?;
            // With the place, which is held to the end of the work also when the caller has gone.
            Ok::<_, Error>(Paper::of(shown.input_of(&quote)).sheet(wanted, place)?)
        });
        Ok(made.await.map_err(Error::internal)??)
    }

    /// Signs, after the signatures of the same quote that are under way, and where the company has its share of signatures
    /// after one of these.
    pub(super) async fn sign(&self, signature: &Signature) -> Result<(), Error> {
        let capacity = self.capacity;
        let turn = async {
            let of_quote = capacity.signed_quotes.acquire(self.quote).await?;
            Ok::<_, Error>((of_quote, capacity.signatures.acquire(self.company.id()).await?))
        };
        let _turn = timeout(SIGNATURE_WAIT, turn).await.map_err(|_| Error::Overloaded)??;
        self.links.sign(self.token, signature).await.map(drop)
    }
}
