//! The quote: its record in the shapes of the contract.

use chrono::NaiveDate;
use serde::de::MapAccess;
use serde::{Deserialize, Deserializer, Serialize};

use crate::flatten::{self, Member, SideMembers};
use crate::setters::text_setters;
use crate::text::{LONG_TEXT, optional_text};
use crate::{
    ClientId, IntoExact, Invalid, Line, Money, NewLine, OperationNature, Percent, QuoteId, QuoteStatus, Rule,
    Timestamp, VatShare,
};

/// The fields of a quote that a list shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "S: Deserialize<'de>"))]
pub struct QuoteSummary<S = QuoteStatus> {
    /// Identifier on the service's side.
    pub id: QuoteId,
    /// Human-readable number, `DEV-2026-0042`.
    pub number: String,
    /// The state.
    pub status: S,
    /// Identifier from the caller's system. Not unique: one CRM deal may own several quotes.
    pub external_id: Option<String>,
    /// The client to whom the quote is made out.
    pub client_id: ClientId,
    /// The client's name when the quote was made.
    pub client_name: String,
    /// The client's e-mail when the quote was made.
    pub client_email: Option<String>,
    /// Total without VAT.
    #[serde(rename = "totalHT")]
    pub total_ht: Money,
    /// Total with VAT.
    #[serde(rename = "totalTTC")]
    pub total_ttc: Money,
    /// VAT rate in percent; blended if the lines have several.
    pub tva_rate: Percent,
    /// ISO 4217 code.
    pub currency: String,
    /// Last day on which the quote can be signed, in the company's time zone. Sending sets one if
    /// there is none.
    pub valid_until: Option<NaiveDate>,
    /// Instant of creation.
    pub created_at: Timestamp,
    /// Instant of the last change.
    pub updated_at: Timestamp,
    /// Instant of the last sending.
    pub sent_at: Option<Timestamp>,
    /// Instant of the client's signature.
    pub signed_at: Option<Timestamp>,
    /// Instant of the acceptance, by signature or by hand.
    pub accepted_at: Option<Timestamp>,
    /// The signer's name.
    pub signed_by_name: Option<String>,
    /// The signer's e-mail.
    pub signed_by_email: Option<String>,
}

/// The fields of a quote that only its detail shows, besides the lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuoteDetail {
    /// Percent, 0 to 5 (loi 71-584, art. 1).
    pub retention_rate: Percent,
    /// Part of `totalTTC` that is held back.
    pub retention_amount: Money,
    /// One share per VAT rate.
    pub vat_breakdown: Vec<VatShare>,
    /// The evidence, once the client has signed.
    pub signature: Option<SignatureBlock>,
    /// The number of the client's order, 1 to 50 characters.
    pub order_number: Option<String>,
}

/// The evidence of a signature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignatureBlock {
    /// Instant of the client's signature.
    pub signed_at: Timestamp,
    /// The signer's name.
    pub signed_by_name: String,
    /// The signer's e-mail.
    pub signed_by_email: String,
    /// The text that the signer agreed to.
    pub accepted_text: String,
    /// `sha256:` and 64 hex digits; see [`proof_fingerprint`](crate::proof_fingerprint).
    pub proof_fingerprint: String,
}

/// An item of a list of quotes; `lines` only with `include=lines`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuoteItem<S = QuoteStatus> {
    /// The fields of a list item.
    #[serde(flatten)]
    pub summary: QuoteSummary<S>,
    /// The lines, if the request included them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Vec<Line>>,
}

/// A quote in full, as in the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quote<S = QuoteStatus> {
    /// The fields of a list item.
    #[serde(flatten)]
    pub summary: QuoteSummary<S>,
    /// The lines.
    pub lines: Vec<Line>,
    /// Retention, VAT shares, signature and order number.
    #[serde(flatten)]
    pub detail: QuoteDetail,
}

impl<S> QuoteItem<S> {
    /// The lines; empty if the request did not include them.
    pub fn lines(&self) -> &[Line] {
        self.lines.as_deref().unwrap_or_default()
    }
}

impl<S> Quote<S> {
    /// The lines, as on an item of a list.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for QuoteItem<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (summary, flatten::LinesMember { lines }) = flatten::deserialize(deserializer)?;
        Ok(Self { summary, lines: lines.optional() })
    }
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for Quote<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (summary, side): (_, DetailMembers) = flatten::deserialize(deserializer)?;
        let detail = QuoteDetail {
            retention_rate: side.retention_rate.required("retentionRate")?,
            retention_amount: side.retention_amount.required("retentionAmount")?,
            vat_breakdown: side.vat_breakdown.required("vatBreakdown")?,
            signature: side.signature.optional(),
            order_number: side.order_number.optional(),
        };
        Ok(Self { summary, lines: side.lines.required("lines")?, detail })
    }
}

/// The members beside the summary, while they are read.
#[derive(Default)]
struct DetailMembers {
    lines: Member<Vec<Line>>,
    retention_rate: Member<Percent>,
    retention_amount: Member<Money>,
    vat_breakdown: Member<Vec<VatShare>>,
    signature: Member<Option<SignatureBlock>>,
    order_number: Member<Option<String>>,
}

impl<'de> SideMembers<'de> for DetailMembers {
    const NAMES: &'static [&'static str] =
        &["lines", "retentionRate", "retentionAmount", "vatBreakdown", "signature", "orderNumber"];

    fn read<A: MapAccess<'de>>(&mut self, index: usize, map: &mut A) -> Result<(), A::Error> {
        let name = Self::NAMES[index];
        match index {
            0 => self.lines.fill(name, map),
            1 => self.retention_rate.fill(name, map),
            2 => self.retention_amount.fill(name, map),
            3 => self.vat_breakdown.fill(name, map),
            4 => self.signature.fill(name, map),
            _ => self.order_number.fill(name, map),
        }
    }
}

/// The input of a quote, for a new quote or as the new content of a draft.
///
/// ```
/// # use invoicing_core::{ClientId, NewLine, NewQuote, quantity};
/// # fn quote(client_id: ClientId) -> NewQuote {
/// NewQuote::empty(client_id)
///     .line(NewLine::new("Paint", quantity!(12.5), 24, 10).unit("m2"))
///     .line(NewLine::new("Discount", -1, 50, 10))
///     .retention_rate(5)
/// # }
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewQuote {
    /// The client to whom the quote is made out.
    pub client_id: ClientId,
    /// The lines; a draft may have none yet.
    #[serde(default)]
    pub lines: Vec<NewLine>,
    /// Percent, 0 to 5.
    #[serde(default, deserialize_with = "crate::fixed::exact_number")]
    pub retention_rate: Percent,
    /// Last day on which the quote can be signed; sending sets one if this is missing.
    #[serde(default)]
    pub valid_until: Option<NaiveDate>,
    /// The number of the client's order, at most 50 characters.
    #[serde(default)]
    pub order_number: Option<String>,
    /// Work site, if it is not the client's address; at most 2,000 characters. Printed on the
    /// document; no part of the record in the API.
    #[serde(default)]
    pub work_site: Option<String>,
    /// The nature of the operations, if it is not that of the company. Printed on documents; no
    /// part of the record in the API.
    #[serde(default)]
    pub operations: Option<OperationNature>,
    /// True if the client owes the VAT, as for subcontracted building works (CGI, art. 283-2
    /// nonies); each line then has the rate 0. Printed on documents; no part of the record in the
    /// API.
    #[serde(default)]
    pub reverse_charge: bool,
    /// True if the works are in housing that was finished more than two years ago: the client states
    /// so for lines at a reduced rate of VAT (CGI, art. 278-0 bis A, 279-0 bis). If missing, the works
    /// for a private client are. Printed on documents; no part of the record in the API.
    #[serde(default)]
    pub housing_works: Option<bool>,
}

text_setters! { NewQuote: order_number work_site }

impl NewQuote {
    /// A quote without lines, retention or validity.
    pub const fn empty(client_id: ClientId) -> Self {
        Self {
            client_id,
            lines: Vec::new(),
            retention_rate: Percent::ZERO,
            valid_until: None,
            order_number: None,
            work_site: None,
            operations: None,
            reverse_charge: false,
            housing_works: None,
        }
    }

    /// Adds a line.
    pub fn line(mut self, line: NewLine) -> Self {
        self.lines.push(line);
        self
    }

    /// Adds lines.
    pub fn lines(mut self, lines: impl IntoIterator<Item = NewLine>) -> Self {
        self.lines.extend(lines);
        self
    }

    /// Sets [`retention_rate`](Self#structfield.retention_rate).
    pub fn retention_rate(mut self, rate: impl IntoExact<Percent>) -> Self {
        self.retention_rate = rate.into();
        self
    }

    /// Sets [`valid_until`](Self#structfield.valid_until).
    pub fn valid_until(mut self, day: NaiveDate) -> Self {
        self.valid_until = Some(day);
        self
    }

    /// Sets [`operations`](Self#structfield.operations).
    pub fn operations(mut self, nature: OperationNature) -> Self {
        self.operations = Some(nature);
        self
    }

    /// Sets [`reverse_charge`](Self#structfield.reverse_charge).
    pub fn reverse_charge(mut self, on: bool) -> Self {
        self.reverse_charge = on;
        self
    }

    /// Sets [`housing_works`](Self#structfield.housing_works).
    pub fn housing_works(mut self, are: bool) -> Self {
        self.housing_works = Some(are);
        self
    }

    /// The terms, for [`Quote::draft`] and [`Quote::edit`], which check them.
    pub fn terms(&self) -> QuoteTerms {
        QuoteTerms {
            retention_rate: self.retention_rate,
            valid_until: self.valid_until,
            order_number: self.order_number.clone(),
        }
    }

    /// Checks that no line has VAT if the client owes it.
    pub fn check_reverse_charge(&self) -> Result<(), Invalid> {
        let with_vat = self.lines.iter().position(|line| !line.tva_rate.is_zero());
        match with_vat {
            Some(index) if self.reverse_charge => {
                Err(Invalid::new(format!("lines[{index}].tvaRate"), Rule::RateOfReverseCharge))
            }
            _ => Ok(()),
        }
    }

    /// The work site, trimmed, normalised and checked.
    pub fn check_work_site(&self) -> Result<Option<String>, Invalid> {
        optional_text("workSite", self.work_site.as_deref(), LONG_TEXT)
    }
}

/// The terms of a quote that its record shows, besides the lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuoteTerms {
    /// Retention in percent, 0 to 5.
    pub retention_rate: Percent,
    /// Last day on which the quote can be signed.
    pub valid_until: Option<NaiveDate>,
    /// The number of the client's order, at most 50 characters.
    pub order_number: Option<String>,
}

/// The answer to linking a quote: `PATCH /quotes/:id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalLink {
    /// The quote.
    pub id: QuoteId,
    /// The present link; `None` if the quote has none.
    pub external_id: Option<String>,
}

#[cfg(test)]
mod tests;
