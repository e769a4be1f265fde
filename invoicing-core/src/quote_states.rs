//! The states of a quote (QUOTE-1 to QUOTE-9): pure functions from a record and an instant to the new record with
//! its events.
//!
//! `at` is the modification stamp that the transaction assigned; `today` is its date in the company's time zone.

use chrono::NaiveDate;

use crate::client::check_external_id;
use crate::date::{check_date, days_after};
use crate::text::{LONG_TEXT, SHORT_TEXT, check_email, required_text};
use crate::{
    Changed, Client, Conflict, Event, EventKind, Invalid, Line, Percent, Quote, QuoteHead, QuoteId,
    QuoteStatus, QuoteTerms, Refusal, SignatureBlock, Timestamp, Totals, retention_amount,
};

/// How long a quote can be signed where nobody says otherwise, in days after sending.
pub const VALIDITY_DAYS: u64 = 30;

/// What a new quote is made of, besides its content.
#[derive(Debug, Clone, Copy)]
pub struct QuoteOrigin<'a> {
    /// The id, made by the service.
    pub id: QuoteId,
    /// The number, allocated in the same transaction.
    pub number: &'a str,
    /// ISO 4217 code.
    pub currency: &'a str,
    /// The modification stamp of the creation.
    pub at: Timestamp,
}

/// The state in which an imported quote arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuoteImport {
    /// Any state.
    pub status: QuoteStatus,
    /// When it was sent; the import's instant where the state needs one.
    pub sent_at: Option<Timestamp>,
    /// When it was accepted; the import's instant where the state needs one.
    pub accepted_at: Option<Timestamp>,
}

/// What the signer submitted.
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
    /// Trims, normalises and checks the fields.
    pub fn check(&self) -> Result<Self, Invalid> {
        let signed_by_email = required_text("signedByEmail", &self.signed_by_email, SHORT_TEXT)?;
        check_email("signedByEmail", &signed_by_email)?;
        Ok(Self {
            signed_by_name: required_text("signedByName", &self.signed_by_name, SHORT_TEXT)?,
            signed_by_email,
            accepted_text: required_text("acceptedText", &self.accepted_text, LONG_TEXT)?,
        })
    }
}

impl Quote {
    /// A new draft.
    pub fn draft(
        origin: QuoteOrigin<'_>,
        client: &Client,
        lines: Vec<Line>,
        retention_rate: Percent,
        valid_until: Option<NaiveDate>,
    ) -> Result<Changed<Self>, Invalid> {
        let quote = Self::compose(origin, client, lines, retention_rate, valid_until)?;
        Ok(Self::created(quote))
    }

    /// A quote that was made elsewhere and starts in the state it had there. It emits only `quote.created`.
    ///
    /// # Errors
    /// [`Invalid`] when a date does not go with the state.
    pub fn import(
        origin: QuoteOrigin<'_>,
        client: &Client,
        lines: Vec<Line>,
        retention_rate: Percent,
        valid_until: Option<NaiveDate>,
        import: &QuoteImport,
        today: NaiveDate,
    ) -> Result<Changed<Self>, Invalid> {
        use QuoteStatus::{Accepted, Draft, Sent};
        let mut quote = Self::compose(origin, client, lines, retention_rate, valid_until)?;
        let head = &mut quote.head;
        head.status = import.status;
        match import.status {
            Draft if import.sent_at.is_some() => {
                return Err(Invalid::new("sentAt", "does not go with a DRAFT"));
            }
            Draft => {}
            _ => head.sent_at = Some(import.sent_at.unwrap_or(origin.at)),
        }
        // Only what can still be signed needs a last day; an invented one would say that an EXPIRED quote has not.
        if import.status == Sent && valid_until.is_none() {
            head.valid_until = Some(days_after("validUntil", today, VALIDITY_DAYS)?);
        }
        match import.status {
            Accepted => head.accepted_at = Some(import.accepted_at.unwrap_or(origin.at)),
            _ if import.accepted_at.is_some() => {
                return Err(Invalid::new("acceptedAt", "goes only with an ACCEPTED quote"));
            }
            _ => {}
        }
        Ok(Self::created(quote))
    }

    fn created(quote: Self) -> Changed<Self> {
        let event = Event::quote(EventKind::QuoteCreated, &quote, quote.created_at);
        Changed { record: quote, events: vec![event] }
    }

    fn compose(
        origin: QuoteOrigin<'_>,
        client: &Client,
        lines: Vec<Line>,
        retention_rate: Percent,
        valid_until: Option<NaiveDate>,
    ) -> Result<Self, Invalid> {
        let totals = Totals::of(&lines)?;
        let valid_until = valid_until.map(|day| check_date("validUntil", day)).transpose()?;
        let head = QuoteHead {
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
            created_at: origin.at,
            updated_at: origin.at,
            sent_at: None,
            signed_at: None,
            accepted_at: None,
            signed_by_name: None,
            signed_by_email: None,
        };
        let terms = QuoteTerms {
            retention_rate,
            retention_amount: retention_amount(totals.total_ttc, retention_rate)?,
            vat_breakdown: totals.vat_breakdown,
            signature: None,
        };
        Ok(Self { head, lines, terms })
    }

    /// A draft with new content. Content that is what it was moves nothing, `updated_at` included.
    pub fn edit(
        &self,
        client: &Client,
        lines: Vec<Line>,
        retention_rate: Percent,
        valid_until: Option<NaiveDate>,
        at: Timestamp,
    ) -> Result<Changed<Self>, Refusal> {
        self.require("edited", &[QuoteStatus::Draft])?;
        let head = &self.head;
        let origin = QuoteOrigin { id: head.id, number: &head.number, currency: &head.currency, at };
        let mut quote = Self::compose(origin, client, lines, retention_rate, valid_until)?;
        quote.head.created_at = head.created_at;
        quote.head.external_id.clone_from(&head.external_id);
        quote.head.updated_at = head.updated_at;
        if quote != *self {
            quote.head.updated_at = at;
        }
        Ok(Changed::silent(quote))
    }

    /// DRAFT → SENT, and EXPIRED or REJECTED → SENT with a new validity. `sent_at` is the date that the frozen
    /// document shows.
    pub fn send(
        &self,
        valid_until: Option<NaiveDate>,
        sent_at: Timestamp,
        at: Timestamp,
        today: NaiveDate,
    ) -> Result<Changed<Self>, Refusal> {
        use QuoteStatus::{Draft, Expired, Rejected, Sent};
        self.require("sent", &[Draft, Expired, Rejected])?;
        if self.lines.is_empty() {
            return Err(Conflict::new("a quote without lines cannot be sent").into());
        }
        // Sent again, the old validity is over; a draft may bring its own.
        let own = (self.status == Draft).then_some(self.valid_until).flatten();
        let valid_until = match valid_until.or(own) {
            Some(day) => check_date("validUntil", day)?,
            None => days_after("validUntil", today, VALIDITY_DAYS)?,
        };
        if valid_until < today {
            return Err(Invalid::new("validUntil", "must not be in the past").into());
        }
        let mut quote = self.touched(Sent, at);
        quote.head.sent_at = Some(sent_at);
        quote.head.valid_until = Some(valid_until);
        Ok(Changed::silent(quote))
    }

    /// Whether the public link can be signed on that day.
    pub fn check_signable(&self, today: NaiveDate) -> Result<(), Conflict> {
        self.require("signed", &[QuoteStatus::Sent])?;
        match self.valid_until {
            Some(day) if day < today => Err(Conflict::new("the quote's validity has ended")),
            _ => Ok(()),
        }
    }

    /// SENT → ACCEPTED by the client's signature: `quote.signed` and `quote.accepted` with the same timestamp.
    pub fn sign(
        &self,
        signature: SignatureBlock,
        at: Timestamp,
        today: NaiveDate,
    ) -> Result<Changed<Self>, Conflict> {
        self.check_signable(today)?;
        let mut quote = self.touched(QuoteStatus::Accepted, at);
        quote.head.signed_at = Some(signature.signed_at);
        quote.head.accepted_at = Some(signature.signed_at);
        quote.head.signed_by_name = Some(signature.signed_by_name.clone());
        quote.head.signed_by_email = Some(signature.signed_by_email.clone());
        quote.terms.signature = Some(signature);
        let events = [EventKind::QuoteSigned, EventKind::QuoteAccepted];
        let events = events.map(|kind| Event::quote(kind, &quote, at)).to_vec();
        Ok(Changed { record: quote, events })
    }

    /// DRAFT, SENT, REJECTED or EXPIRED → ACCEPTED by hand: `quote.accepted`.
    pub fn accept(&self, at: Timestamp) -> Result<Changed<Self>, Conflict> {
        use QuoteStatus::{Accepted, Draft, Expired, Rejected, Sent};
        self.require("accepted", &[Draft, Sent, Rejected, Expired])?;
        let mut quote = self.touched(Accepted, at);
        quote.head.accepted_at = Some(at);
        let event = Event::quote(EventKind::QuoteAccepted, &quote, at);
        Ok(Changed { record: quote, events: vec![event] })
    }

    /// SENT → REJECTED.
    pub fn reject(&self, at: Timestamp) -> Result<Changed<Self>, Conflict> {
        self.require("rejected", &[QuoteStatus::Sent])?;
        Ok(Changed::silent(self.touched(QuoteStatus::Rejected, at)))
    }

    /// SENT → EXPIRED where the validity has ended; `None` where it has not.
    pub fn expire(&self, at: Timestamp, today: NaiveDate) -> Option<Changed<Self>> {
        let ended = self.status == QuoteStatus::Sent && self.valid_until.is_some_and(|day| day < today);
        ended.then(|| Changed::silent(self.touched(QuoteStatus::Expired, at)))
    }

    /// The quote linked to an identifier of the caller's system, or unlinked; `None` where that is so already.
    pub fn link(&self, external_id: Option<&str>, at: Timestamp) -> Result<Option<Changed<Self>>, Invalid> {
        let external_id = check_external_id(external_id)?;
        if external_id == self.external_id {
            return Ok(None);
        }
        let mut quote = self.touched(self.status, at);
        quote.head.external_id = external_id;
        Ok(Some(Changed::silent(quote)))
    }

    fn require(&self, done: &str, allowed: &[QuoteStatus]) -> Result<(), Conflict> {
        if allowed.contains(&self.status) {
            return Ok(());
        }
        Err(Conflict::new(format!("a quote in {} cannot be {done}", self.status)))
    }

    fn touched(&self, status: QuoteStatus, at: Timestamp) -> Self {
        let mut quote = self.clone();
        quote.head.status = status;
        quote.head.updated_at = at;
        quote
    }
}

#[cfg(test)]
mod tests;
