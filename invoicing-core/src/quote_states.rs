//! The states of a quote: pure functions from a record and an instant to the new record with
//! its events.
//!
//! `stamp` is the modification stamp that the transaction assigned. `at` adds the clock's instant,
//! if the change is dated. `today` is the clock's date in the company's time zone.

use chrono::NaiveDate;

use crate::client::check_external_id;
use crate::date::{check_date, days_after};
use crate::text::{LONG_TEXT, optional_order_number, required_text, signer_email, signer_name};
use crate::totals::retention_amount;
use crate::{
    ChangeTime, Changed, Client, Conflict, ConflictReason, DomainError, Event, EventKind, Invalid, Line,
    Quote, QuoteDetail, QuoteId, QuoteStatus, QuoteSummary, QuoteTerms, Rule, SignatureBlock, Timestamp,
    Totals,
};

/// Days after sending in which a quote can be signed, unless the caller sets a date.
pub const DEFAULT_VALIDITY_DAYS: u64 = 30;

/// Longest time by which the clock of another system may be ahead, in milliseconds.
const CLOCK_DRIFT_MS: i64 = 60_000;

/// The identity of a new quote: all fields besides its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuoteCreation<'a> {
    /// The id, made by the service.
    pub id: QuoteId,
    /// The number, allocated in the same transaction.
    pub number: &'a str,
    /// ISO 4217 code.
    pub currency: &'a str,
    /// Time of the creation.
    pub at: ChangeTime,
}

/// The state in which an imported quote arrives.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuoteImport {
    /// Any state.
    pub status: QuoteStatus,
    /// Instant of the sending. In a state that needs it, by default the import's instant, or that
    /// of the acceptance if it is earlier.
    pub sent_at: Option<Timestamp>,
    /// Instant of the acceptance, not before the sending. In a state that needs it, by default the
    /// import's instant.
    pub accepted_at: Option<Timestamp>,
}

impl QuoteImport {
    /// An import in this state, at the import's instant if the state needs one.
    pub const fn new(status: QuoteStatus) -> Self {
        Self { status, sent_at: None, accepted_at: None }
    }

    /// Sets [`sent_at`](Self#structfield.sent_at).
    pub fn sent_at(mut self, at: Timestamp) -> Self {
        self.sent_at = Some(at);
        self
    }

    /// Sets [`accepted_at`](Self#structfield.accepted_at).
    pub fn accepted_at(mut self, at: Timestamp) -> Self {
        self.accepted_at = Some(at);
        self
    }

    /// Checks that the dates match the state, are in order, and are not in the future.
    fn check(&self, now: Timestamp) -> Result<(), Invalid> {
        let Self { status, sent_at, accepted_at } = *self;
        if sent_at.is_some() && status == QuoteStatus::Draft {
            return Err(Invalid::new("sentAt", Rule::SentDraft));
        }
        if accepted_at.is_some() && status != QuoteStatus::Accepted {
            return Err(Invalid::new("acceptedAt", Rule::AcceptedOnly));
        }
        let latest = now.as_millis().saturating_add(CLOCK_DRIFT_MS);
        for (field, at) in [("sentAt", sent_at), ("acceptedAt", accepted_at)] {
            if at.is_some_and(|at| at.as_millis() > latest) {
                return Err(Invalid::new(field, Rule::InTheFuture));
            }
        }
        match (sent_at, accepted_at) {
            (Some(sent), Some(accepted)) if sent > accepted => {
                Err(Invalid::new("acceptedAt", Rule::BeforeSent { sent_at: sent }))
            }
            _ => Ok(()),
        }
    }
}

/// The evidence that a signer submits.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureEvidence {
    /// Name of the signer, 1 to 255 characters.
    pub signed_by_name: String,
    /// E-mail of the signer.
    pub signed_by_email: String,
    /// The text that the signer agreed to, 1 to 2,000 characters.
    pub accepted_text: String,
}

impl SignatureEvidence {
    /// The evidence of a signer with this name and e-mail, who agreed to this text.
    pub fn new(
        signed_by_name: impl Into<String>,
        signed_by_email: impl Into<String>,
        accepted_text: impl Into<String>,
    ) -> Self {
        Self {
            signed_by_name: signed_by_name.into(),
            signed_by_email: signed_by_email.into(),
            accepted_text: accepted_text.into(),
        }
    }

    /// Trims, normalises and checks the fields.
    pub fn check(&self) -> Result<Self, Invalid> {
        Ok(Self {
            signed_by_name: signer_name(&self.signed_by_name)?,
            signed_by_email: signer_email(&self.signed_by_email)?,
            accepted_text: required_text("acceptedText", &self.accepted_text, LONG_TEXT)?,
        })
    }
}

impl Quote {
    /// A new draft.
    pub fn draft(
        origin: QuoteCreation<'_>,
        client: &Client,
        lines: Vec<Line>,
        terms: &QuoteTerms,
    ) -> Result<Changed<Self>, Invalid> {
        let quote = Self::compose(origin, client, lines, terms)?;
        Ok(Self::created(quote))
    }

    /// A quote from another system, which starts in its state of that system. It emits only
    /// `quote.created`.
    ///
    /// # Errors
    /// [`Invalid`] when a date does not match the state, the other date or the clock, or a quote
    /// that was sent or accepted has no line.
    pub fn import(
        origin: QuoteCreation<'_>,
        client: &Client,
        lines: Vec<Line>,
        terms: &QuoteTerms,
        import: &QuoteImport,
        today: NaiveDate,
    ) -> Result<Changed<Self>, Invalid> {
        use QuoteStatus::{Accepted, Draft, Sent};
        let now = origin.at.now;
        import.check(now)?;
        if lines.is_empty() && matches!(import.status, Sent | Accepted) {
            return Err(Invalid::new("lines", Rule::LinesOfQuote { status: import.status }));
        }
        let mut quote = Self::compose(origin, client, lines, terms)?;
        let summary = &mut quote.summary;
        summary.status = import.status;
        if import.status != Draft {
            let accepted_at = import.accepted_at.unwrap_or(now);
            summary.sent_at = Some(import.sent_at.unwrap_or(now.min(accepted_at)));
        }
        if import.status == Accepted {
            summary.accepted_at = import.accepted_at.or(summary.sent_at.max(Some(now)));
        }
        // Only a quote that can be signed needs a last day. An invented one could contradict
        // EXPIRED.
        if import.status == Sent && terms.valid_until.is_none() {
            summary.valid_until = Some(days_after("validUntil", today, DEFAULT_VALIDITY_DAYS)?);
        }
        Ok(Self::created(quote))
    }

    fn created(quote: Self) -> Changed<Self> {
        let event = Event::quote(EventKind::QuoteCreated, &quote, quote.summary.updated_at);
        Changed { record: quote, events: vec![event] }
    }

    fn compose(
        origin: QuoteCreation<'_>,
        client: &Client,
        lines: Vec<Line>,
        terms: &QuoteTerms,
    ) -> Result<Self, Invalid> {
        let totals = Totals::of(&lines)?;
        let QuoteTerms { retention_rate, valid_until, order_number } = terms;
        let valid_until = valid_until.map(|day| check_date("validUntil", day)).transpose()?;
        let summary = QuoteSummary {
            id: origin.id,
            number: origin.number.to_owned(),
            status: QuoteStatus::Draft,
            external_id: None,
            client_id: client.id,
            client_name: client.name.clone(),
            client_email: client.email.clone(),
            total_ht: totals.total_ht,
            total_ttc: totals.total_ttc,
            tva_rate: totals.tva_rate,
            currency: origin.currency.to_owned(),
            valid_until,
            created_at: origin.at.now,
            updated_at: origin.at.stamp,
            sent_at: None,
            signed_at: None,
            accepted_at: None,
            signed_by_name: None,
            signed_by_email: None,
        };
        let detail = QuoteDetail {
            retention_rate: *retention_rate,
            retention_amount: retention_amount(totals.total_ttc, *retention_rate)?,
            vat_breakdown: totals.vat_breakdown,
            signature: None,
            order_number: optional_order_number(order_number.as_deref())?,
        };
        Ok(Self { summary, lines, detail })
    }

    /// A draft with new content. Unchanged content changes nothing, `updated_at` included.
    pub fn edit(
        &self,
        client: &Client,
        lines: Vec<Line>,
        terms: &QuoteTerms,
        stamp: Timestamp,
    ) -> Result<Changed<Self>, DomainError> {
        self.require("edited", &[QuoteStatus::Draft])?;
        let summary = &self.summary;
        let at = ChangeTime { now: summary.created_at, stamp };
        let origin =
            QuoteCreation { id: summary.id, number: &summary.number, currency: &summary.currency, at };
        let mut quote = Self::compose(origin, client, lines, terms)?;
        quote.summary.external_id.clone_from(&summary.external_id);
        quote.summary.updated_at = summary.updated_at;
        if quote != *self {
            quote.summary.updated_at = stamp;
        }
        Ok(Changed::without_events(quote))
    }

    /// DRAFT → SENT, and EXPIRED or REJECTED → SENT with a new validity. `sent_at` is the date that
    /// the frozen document shows.
    pub fn send(
        &self,
        valid_until: Option<NaiveDate>,
        sent_at: Timestamp,
        stamp: Timestamp,
        today: NaiveDate,
    ) -> Result<Changed<Self>, DomainError> {
        use QuoteStatus::{Draft, Expired, Rejected, Sent};
        self.require("sent", &[Draft, Expired, Rejected])?;
        if self.lines.is_empty() {
            return Err(ConflictReason::NoLinesToSend.into());
        }
        // The validity of an earlier sending no longer applies, but that of a draft does.
        let own = (self.summary.status == Draft).then_some(self.summary.valid_until).flatten();
        let valid_until = match valid_until.or(own) {
            Some(day) => check_date("validUntil", day)?,
            None => days_after("validUntil", today, DEFAULT_VALIDITY_DAYS)?,
        };
        if valid_until < today {
            return Err(Invalid::new("validUntil", Rule::InThePast).into());
        }
        let mut quote = self.modified(Sent, stamp);
        quote.summary.sent_at = Some(sent_at);
        quote.summary.valid_until = Some(valid_until);
        Ok(Changed::without_events(quote))
    }

    /// Checks that a signature that was submitted on this day is valid. The quote may have expired
    /// since: its document is rendered before the signature is stored.
    pub fn check_signable(&self, submitted_on: NaiveDate) -> Result<(), Conflict> {
        use QuoteStatus::{Expired, Sent};
        self.require("signed", &[Sent, Expired])?;
        let is_valid = match self.summary.valid_until {
            Some(day) => day >= submitted_on,
            None => self.summary.status == Sent,
        };
        if is_valid { Ok(()) } else { Err(ConflictReason::ValidityEnded.into()) }
    }

    /// SENT → ACCEPTED by the client's signature: `quote.signed` and `quote.accepted` with the same
    /// timestamp. A quote that expired after the day of the submission can be signed too.
    pub fn sign(
        &self,
        signature: SignatureBlock,
        stamp: Timestamp,
        submitted_on: NaiveDate,
    ) -> Result<Changed<Self>, Conflict> {
        self.check_signable(submitted_on)?;
        let mut quote = self.modified(QuoteStatus::Accepted, stamp);
        quote.summary.signed_at = Some(signature.signed_at);
        quote.summary.accepted_at = Some(signature.signed_at);
        quote.summary.signed_by_name = Some(signature.signed_by_name.clone());
        quote.summary.signed_by_email = Some(signature.signed_by_email.clone());
        quote.detail.signature = Some(signature);
        let events = [EventKind::QuoteSigned, EventKind::QuoteAccepted];
        let events = events.map(|kind| Event::quote(kind, &quote, stamp)).to_vec();
        Ok(Changed { record: quote, events })
    }

    /// DRAFT, SENT, REJECTED or EXPIRED → ACCEPTED by hand: `quote.accepted`. Needs at least one
    /// line.
    pub fn accept(&self, at: ChangeTime) -> Result<Changed<Self>, Conflict> {
        use QuoteStatus::{Accepted, Draft, Expired, Rejected, Sent};
        self.require("accepted", &[Draft, Sent, Rejected, Expired])?;
        if self.lines.is_empty() {
            return Err(ConflictReason::NoLinesToAccept.into());
        }
        let mut quote = self.modified(Accepted, at.stamp);
        quote.summary.accepted_at = Some(at.now);
        let event = Event::quote(EventKind::QuoteAccepted, &quote, at.stamp);
        Ok(Changed { record: quote, events: vec![event] })
    }

    /// SENT → REJECTED, declined. DRAFT → REJECTED, discarded: its number stays taken.
    pub fn reject(&self, stamp: Timestamp) -> Result<Changed<Self>, Conflict> {
        self.require("rejected", &[QuoteStatus::Draft, QuoteStatus::Sent])?;
        Ok(Changed::without_events(self.modified(QuoteStatus::Rejected, stamp)))
    }

    /// SENT → EXPIRED if the validity has ended; `None` if it has not.
    pub fn expire(&self, stamp: Timestamp, today: NaiveDate) -> Option<Changed<Self>> {
        self.summary.expire(stamp, today).map(|summary| self.with_summary(summary))
    }

    /// Sets or removes the identifier of the caller's system. `None` if the identifier stays the
    /// same.
    pub fn link(
        &self,
        external_id: Option<&str>,
        stamp: Timestamp,
    ) -> Result<Option<Changed<Self>>, Invalid> {
        Ok(self.summary.link(external_id, stamp)?.map(|summary| self.with_summary(summary)))
    }

    fn require(&self, done: &'static str, allowed: &[QuoteStatus]) -> Result<(), Conflict> {
        if allowed.contains(&self.summary.status) {
            return Ok(());
        }
        Err(ConflictReason::QuoteStatus { status: self.summary.status, done }.into())
    }

    fn with_summary(&self, summary: QuoteSummary) -> Changed<Self> {
        Changed::without_events(Self { summary, ..self.clone() })
    }

    fn modified(&self, status: QuoteStatus, stamp: Timestamp) -> Self {
        let mut quote = self.clone();
        quote.summary.status = status;
        quote.summary.updated_at = stamp;
        quote
    }
}

/// The changes that do not need the lines, which may be large.
impl QuoteSummary {
    /// True if the quote was accepted with its creation, as for an invoice without an offer: the
    /// client never saw it.
    pub fn was_accepted_at_once(&self) -> bool {
        self.sent_at.is_none() && self.accepted_at == Some(self.created_at)
    }

    /// The same as [`Quote::expire`].
    pub fn expire(&self, stamp: Timestamp, today: NaiveDate) -> Option<Self> {
        let ended = self.status == QuoteStatus::Sent && self.valid_until.is_some_and(|day| day < today);
        ended.then(|| Self { status: QuoteStatus::Expired, updated_at: stamp, ..self.clone() })
    }

    /// The same as [`Quote::link`].
    pub fn link(&self, external_id: Option<&str>, stamp: Timestamp) -> Result<Option<Self>, Invalid> {
        let external_id = check_external_id(external_id)?;
        let changes = external_id != self.external_id;
        Ok(changes.then(|| Self { external_id, updated_at: stamp, ..self.clone() }))
    }
}

#[cfg(test)]
mod tests;
