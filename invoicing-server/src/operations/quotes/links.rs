//! The signing links of a quote: made, listed, revoked, and their ends.

use chrono::{Days, NaiveDate};
use invoicing_core::{ConflictReason, Quote, QuoteId, QuoteStatus, QuoteSummary, Timestamp};

use super::{Quotes, note};
use crate::error::Error;
use crate::records::{HistoryAction, SigningLinkRecord};
use crate::secret::{SIGNING_LINK, Secret};
use crate::store::{ChangeContext, CompanyTx, Tables};

/// Days between the end of the validity, or the decision if that is later, and the end of the
/// links.
const DAYS: Days = Days::new(30);
/// Maximum number of links of a quote that have neither ended nor been revoked.
const MAX_GOOD: i64 = 50;

impl Quotes<'_> {
    /// The token of a link with which the client can see, sign and decline the quote:
    /// [`token.reveal()`](Secret::reveal) is its text, the input of
    /// [`SigningLinks`](crate::SigningLinks). It is shown once; each call makes another link. A
    /// link ends 30 days after `validUntil`, or after the acceptance or refusal if that is later.
    ///
    /// # Errors
    /// [`Error::Conflict`] for a quote that was never sent or accepted, for one whose links have
    /// ended, and beyond 50 good links.
    pub async fn create_signing_link(&self, id: QuoteId) -> Result<Secret, Error> {
        let token = Secret::generate(SIGNING_LINK, self.0.env());
        let hash = token.sha256();
        let changed = self.0.write([], async move |mut tx| {
            let quote = tx.summary_to_change::<Quote>(id).await?;
            if quote.sent_at.is_none() && quote.status != QuoteStatus::Accepted {
                return Err(ConflictReason::NoSigningLink.into());
            }
            let (now, ends_at) = (tx.change.now, links_end(&quote, &tx.change));
            if ends_at <= now {
                return Err(ConflictReason::SigningLinksEnded.into());
            }
            if tx.signatures().count_good_links(id, now).await? >= MAX_GOOD {
                return Err(ConflictReason::TooManySigningLinks { max: MAX_GOOD }.into());
            }
            tx.signatures().insert_link(id, &hash, now, ends_at).await?;
            note(&mut tx, HistoryAction::SigningLinkMade, &quote).await
        });
        let inserted = self.0.operation("quotes.create_signing_link", changed);
        inserted.await?;
        Ok(token)
    }

    /// The signing links of a quote, oldest first; also those that have ended or were revoked.
    pub async fn signing_links(&self, id: QuoteId) -> Result<Vec<SigningLinkRecord>, Error> {
        let found = self.0.read(async move |mut tx| {
            tx.quotes().check_exists(id).await?;
            tx.signatures().links(id).await
        });
        self.0.operation("quotes.signing_links", found).await
    }

    /// Revokes a signing link for good, by [`SigningLinkRecord::token_hash`]. A signature or
    /// refusal that is under way but not stored yet is rejected. Revoking it again changes nothing.
    pub async fn revoke_signing_link(&self, id: QuoteId, token_hash: &[u8]) -> Result<(), Error> {
        let token_hash = <[u8; 32]>::try_from(token_hash).map_err(|_| Error::NotFound)?;
        let changed = self.0.write([], async move |mut tx| {
            let now = tx.change.now;
            let is_revoked = tx.signatures().revoke_link(id, &token_hash, now).await?;
            let quote = tx.summary_to_change::<Quote>(id).await?;
            if is_revoked {
                note(&mut tx, HistoryAction::SigningLinkRevoked, &quote).await?;
            }
            Ok(())
        });
        self.0.operation("quotes.revoke_signing_link", changed).await
    }
}

/// Refuses a decision through a link that was revoked meanwhile, like one through an unknown link.
pub(in crate::operations) async fn check_unrevoked(
    tx: &mut CompanyTx<'_>,
    id: QuoteId,
    token_hash: &[u8],
) -> Result<(), Error> {
    let token_hash = <[u8; 32]>::try_from(token_hash).map_err(|_| Error::NotFound)?;
    if tx.signatures().is_unrevoked(id, &token_hash).await? { Ok(()) } else { Err(Error::NotFound) }
}

/// Sets the end of the links of a quote by its state. Links that have ended stay so.
pub(in crate::operations) async fn extend_expiry(
    tx: &mut CompanyTx<'_>,
    changed: &QuoteSummary,
) -> Result<(), Error> {
    let (now, ends_at) = (tx.change.now, links_end(changed, &tx.change));
    tx.signatures().set_links_end(changed.id, ends_at, now).await
}

/// The end of the links of the quote: see [`DAYS`].
fn links_end(quote: &QuoteSummary, change: &ChangeContext) -> Timestamp {
    let decided_at = match quote.status {
        QuoteStatus::Accepted => quote.accepted_at,
        // No record holds the time of the refusal, so the last change stands for it. A later change
        // can only lengthen links that are made after it.
        QuoteStatus::Rejected => Some(quote.updated_at.min(change.now)),
        _ => None,
    };
    let decided_on = decided_at.map(|at| change.date_of(at));
    // An imported quote may have neither validity nor decision.
    let last_day = quote.valid_until.max(decided_on).unwrap_or_else(|| change.date_of(quote.created_at));
    change.end_of(last_day.checked_add_days(DAYS).unwrap_or(NaiveDate::MAX))
}
