//! The history of a company: its changes and their authors.

use invoicing_core::{OpenEnum, Timestamp};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};
use uuid::Uuid;

/// The kind of a change. Its text is stored, and never changes. The word before the dot names the
/// record that [`HistoryRecord::subject`] identifies, unless a variant names another one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, IntoStaticStr, VariantArray,
)]
#[non_exhaustive]
pub enum HistoryAction {
    /// The company has another plan: the detail is the plan.
    #[strum(serialize = "company.plan_set")]
    CompanyPlanSet,
    /// The details of the company that documents show were changed.
    #[strum(serialize = "company.identity_set")]
    CompanyIdentitySet,
    /// The automatic conversion was switched: the detail is `on` or `off`.
    #[strum(serialize = "company.automatic_invoicing_set")]
    CompanyAutomaticInvoicingSet,
    /// A client was created: the detail is the name, as for a change.
    #[strum(serialize = "client.created")]
    ClientCreated,
    /// A client was changed.
    #[strum(serialize = "client.changed")]
    ClientChanged,
    /// A draft was created: the detail is its number, as for every change of a quote.
    #[strum(serialize = "quote.created")]
    QuoteCreated,
    /// A quote was imported in a later state.
    #[strum(serialize = "quote.imported")]
    QuoteImported,
    /// A draft got new content, or new internal details.
    #[strum(serialize = "quote.edited")]
    QuoteEdited,
    /// A quote was sent.
    #[strum(serialize = "quote.sent")]
    QuoteSent,
    /// A quote was marked accepted by hand.
    #[strum(serialize = "quote.accepted")]
    QuoteAccepted,
    /// A quote was marked rejected by hand, or a draft discarded.
    #[strum(serialize = "quote.rejected")]
    QuoteRejected,
    /// The client declined a quote through its signing link: the detail is its number and, behind
    /// `: `, the reason that was given.
    #[strum(serialize = "quote.declined")]
    QuoteDeclined,
    /// The client signed a quote through its signing link, which accepts it.
    #[strum(serialize = "quote.signed")]
    QuoteSigned,
    /// A quote was linked to an identifier of another system, or unlinked.
    #[strum(serialize = "quote.linked")]
    QuoteLinked,
    /// A signing link of a quote was made: the subject is the quote, the detail its number.
    #[strum(serialize = "signing_link.made")]
    SigningLinkMade,
    /// A signing link of a quote was revoked: the subject is the quote, the detail its number.
    #[strum(serialize = "signing_link.revoked")]
    SigningLinkRevoked,
    /// A quote was converted to an invoice: the detail is the number of the quote.
    #[strum(serialize = "invoice.created")]
    InvoiceCreated,
    /// An invoice was issued: the detail is its number, as for every later change of the invoice.
    #[strum(serialize = "invoice.issued")]
    InvoiceIssued,
    /// A payment was entered: the detail is its amount.
    #[strum(serialize = "invoice.payment_entered")]
    InvoicePaymentEntered,
    /// A payment was reversed: the detail is its amount.
    #[strum(serialize = "invoice.payment_reversed")]
    InvoicePaymentReversed,
    /// An invoice was marked paid by hand.
    #[strum(serialize = "invoice.marked_paid")]
    InvoiceMarkedPaid,
    /// An invoice was cancelled: the detail is the number of the credit note that took it back; empty
    /// for a draft.
    #[strum(serialize = "invoice.canceled")]
    InvoiceCanceled,
    /// A credit note on an invoice was issued: the detail is the number of the credit note.
    #[strum(serialize = "invoice.credited")]
    InvoiceCredited,
    /// A part of what was overpaid was paid back: the detail is its amount.
    #[strum(serialize = "invoice.refunded")]
    InvoiceRefunded,
    /// The logo of the company's documents was set or removed.
    #[strum(serialize = "company.logo_set")]
    CompanyLogoSet,
    /// A project was opened: the detail is its name.
    #[strum(serialize = "project.created")]
    ProjectCreated,
    /// A project was moved: the detail is its new status.
    #[strum(serialize = "project.moved")]
    ProjectMoved,
    /// A webhook was registered: the detail is the target of its URL, without path and query, as
    /// for every change of a webhook that names no other detail.
    #[strum(serialize = "webhook.registered")]
    WebhookRegistered,
    /// A webhook got another URL or other events.
    #[strum(serialize = "webhook.changed")]
    WebhookChanged,
    /// A webhook was disabled.
    #[strum(serialize = "webhook.disabled")]
    WebhookDisabled,
    /// A webhook was enabled.
    #[strum(serialize = "webhook.enabled")]
    WebhookEnabled,
    /// A webhook got a new secret: the detail is the overlap in seconds.
    #[strum(serialize = "webhook.rotated")]
    WebhookRotated,
    /// The overlap of a rotation was ended early.
    #[strum(serialize = "webhook.overlap_ended")]
    WebhookOverlapEnded,
    /// A webhook was removed.
    #[strum(serialize = "webhook.removed")]
    WebhookRemoved,
    /// A test delivery was queued.
    #[strum(serialize = "webhook.pinged")]
    WebhookPinged,
    /// Skipped or failed deliveries were queued again: the subject is their webhook, the detail
    /// their number.
    #[strum(serialize = "deliveries.replayed")]
    DeliveriesReplayed,
    /// A key was issued: the detail is its label.
    #[strum(serialize = "key.issued")]
    KeyIssued,
    /// A key was revoked: the detail is its label.
    #[strum(serialize = "key.revoked")]
    KeyRevoked,
}

impl HistoryAction {
    /// All kinds.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its text.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A change, and the name of its author.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryRecord {
    /// Its place among the changes of the company, in the order of their commits. Numbers increase.
    pub number: i64,
    /// Instant of the change.
    pub at: Timestamp,
    /// The name that the host gave.
    pub actor: String,
    /// The kind of the change. A node of a later version may have made a change of a kind that this
    /// version lacks.
    pub action: OpenEnum<HistoryAction>,
    /// Identifier of the record that was changed.
    pub subject: Uuid,
    /// The detail that the page shows beside the action: see [`HistoryAction`]. Holds no secret.
    pub detail: String,
}

/// A part of the history of a company.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryPage {
    /// Latest first. May be fewer than the limit, or none, although a next page follows.
    pub items: Vec<HistoryRecord>,
    /// Start of the next page; `None` at the end.
    pub next: Option<i64>,
}
