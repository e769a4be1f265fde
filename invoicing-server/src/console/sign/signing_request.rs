//! A request behind a signing link.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::document_html::{DocumentHtml, Sheet};
use crate::company_slots::Slot;
use crate::console::Language;
use crate::console::error::PageError;
use crate::console::form::Form;
use crate::env::Env;
use crate::error::Error;
use crate::http::capacity::Capacity;
use crate::http::error::ApiError;
use crate::keyed_semaphore::Permit;
use crate::operations::{LinkedQuote, SignableQuote};

/// Longest wait of a page for the pages before it.
const PAGE_WAIT: Duration = Duration::from_secs(4);
/// Longest wait of a signature for others of its quote or its company.
const SIGNATURE_WAIT: Duration = Duration::from_secs(15);

/// A request whose token is known.
pub(in crate::console) struct SigningRequest<'r> {
    pub(in crate::console) linked: LinkedQuote,
    pub(in crate::console) token: &'r str,
    pub(in crate::console) capacity: &'r Capacity,
    pub(in crate::console) language: Language,
    /// The path of the console, with which links begin.
    pub(in crate::console) prefix: &'r str,
    /// The fields of the form, or of the query.
    pub(in crate::console) form: Form,
    pub(in crate::console) env: &'r Env,
    /// The client's address; `None` if the host does not pass it.
    pub(in crate::console) ip: Option<IpAddr>,
    pub(in crate::console) user_agent: Option<String>,
}

impl SigningRequest<'_> {
    /// The address of a page behind the link: `""` is the signing page.
    pub(in crate::console) fn link(&self, path: impl AsRef<str>) -> String {
        format!("{}/sign/{}{}", self.prefix, self.token, path.as_ref())
    }

    pub(super) fn pick<'t>(&self, english: &'t str, french: &'t str) -> &'t str {
        self.language.pick(english, french)
    }

    /// A slot to make a page. Waits for the pages before it, in order, so that none is shut out.
    pub(super) async fn place(&self) -> Result<Slot, PageError> {
        let place = timeout(PAGE_WAIT, self.capacity.pages.acquire(self.linked.company.id())).await;
        Ok(place.map_err(|_| ApiError::Overloaded)??)
    }

    /// The shown quote without its lines. To be called with a [slot](Self::place).
    pub(super) async fn shown(&self) -> Result<Arc<SignableQuote>, PageError> {
        Ok(Arc::new(self.linked.shown().await?))
    }

    /// The part of the document that the query names, the first one if it names none.
    pub(super) async fn sheet(&self, place: Slot, shown: &Arc<SignableQuote>) -> Result<Sheet, PageError> {
        let unread = self.linked.unread().await?;
        let wanted = self.form.text("part").parse::<usize>().unwrap_or(1).saturating_sub(1);
        let (id, shown) = (self.linked.id, Arc::clone(shown));
        // On a blocking thread, as many lines take long.
        let made = spawn_blocking(move || {
            let quote = unread.read(id)?;
            // Moves the slot here: it is held to the end of the work, even if the caller has gone.
            Ok::<_, Error>(DocumentHtml::of(shown.view_of(&quote)).sheet(wanted, place)?)
        });
        Ok(made.await.map_err(Error::internal)??)
    }

    /// A slot to sign. Waits for the signatures of the same quote that are under way, and for one of
    /// the company's if these use up its share.
    pub(super) async fn place_to_sign(&self) -> Result<(Permit, Slot), Error> {
        let capacity = self.capacity;
        let place = async {
            let of_quote = capacity.signed_quotes.acquire(self.linked.id).await?;
            Ok::<_, Error>((of_quote, capacity.signatures.acquire(self.linked.company.id()).await?))
        };
        timeout(SIGNATURE_WAIT, place).await.map_err(|_| Error::Overloaded)?
    }
}
