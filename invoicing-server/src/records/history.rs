//! The history of a company: who changed what.

use invoicing_core::{OpenEnum, Timestamp};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};
use uuid::Uuid;

/// What was done. Its text is stored, and never changes. The word before the dot names what
/// [`HistoryRecord::subject`] identifies, unless another is named here.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, IntoStaticStr, VariantArray,
)]
#[non_exhaustive]
pub enum HistoryAction {
    /// The company has another plan: the detail is the plan.
    #[strum(serialize = "company.plan_set")]
    CompanyPlanSet,
    /// Documents say something else about the company.
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
    /// A draft was created: the detail is its number, as for everything that is done to a quote.
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
    /// The client declined a quote through its signing link: the detail is its number and, behind `: `, the reason that was
    /// given.
    #[strum(serialize = "quote.declined")]
    QuoteDeclined,
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
    /// An invoice was issued: the detail is its number, as for everything that is done to it from then on.
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
    /// An invoice was cancelled.
    #[strum(serialize = "invoice.canceled")]
    InvoiceCanceled,
    /// A project was opened: the detail is its name.
    #[strum(serialize = "project.created")]
    ProjectCreated,
    /// A project was moved: the detail is its new status.
    #[strum(serialize = "project.moved")]
    ProjectMoved,
    /// A webhook was registered: the detail says where its URL leads, without path and query, as it does wherever no other
    /// is named.
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
    /// Skipped or failed deliveries were queued again: the subject is their webhook, the detail how many.
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
    /// All of them.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its text.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A change, and the name of who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryRecord {
    /// Its place among the changes of the company, in the order of their commits. Increases.
    pub number: i64,
    /// When it was made.
    pub at: Timestamp,
    /// The name that the host gave.
    pub actor: String,
    /// What was done. A node of a later version may have done what this one does not know.
    pub action: OpenEnum<HistoryAction>,
    /// Identifier of the record that was changed.
    pub subject: Uuid,
    /// What the page says beside it: see [`HistoryAction`]. Holds no secret.
    pub detail: String,
}

/// A part of the history of a company.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistoryPage {
    /// Latest first. May be fewer than asked for, also none, where a next page follows.
    pub items: Vec<HistoryRecord>,
    /// Where the next page goes on; `None` at the end.
    pub next: Option<i64>,
}
