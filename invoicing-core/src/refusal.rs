//! The reasons why an input or an operation is refused.
//!
//! Each has its English text here, which is the one on the wire. The pages of the service have
//! words of their own for each: their match is exhaustive, so a new reason does not compile without
//! them.

use std::borrow::Cow;

use chrono::NaiveDate;

use crate::{InvoiceStatus, ParseTimestampError, Plan, QuoteStatus, TargetError, Timestamp};

/// The rule that an input breaks. Its text ends a sentence that begins with the field. Amounts,
/// quantities and rates are the texts of [`Money`](crate::Money) and its like.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text of a rule says what it is")]
pub enum Rule {
    // Texts.
    #[error("must have at most {max} characters")]
    AtMostCharacters { max: usize },
    #[error("must have 1 to {max} characters")]
    Characters { max: usize },
    /// `code_point` need not be a character: JSON can write half of one. `position` counts the
    /// characters of the text as entered, from 1.
    #[error("must not contain U+{code_point:04X} (character {position})")]
    Character { code_point: u32, position: usize },
    #[error("must be an e-mail address")]
    Email,
    #[error("must have a domain with a dot")]
    EmailDomain,
    #[error("must be {0}")]
    Identifier(IdentifierKind),
    #[error("must have 14 digits")]
    Siret,
    #[error("must have at most 125 letters, digits, `+`, `-`, `_` and `.`, such as a SIREN")]
    ElectronicAddress,
    #[error("must be a colour such as #16486e")]
    Color,
    #[error("must be the ISO 4217 code of a currency with two decimals, such as EUR")]
    Currency,
    #[error("must be an IANA time zone such as Europe/Paris")]
    TimeZone,
    #[error("must be 64 lowercase hex digits")]
    Sha256,
    #[error(transparent)]
    Target(TargetError),

    // Choices.
    /// `choices`: the texts that are accepted, separated by spaces.
    #[error("must be one of {choices}")]
    OneOf { choices: String },
    #[error("must be one of the choices")]
    Choice,
    #[error("must name at least one event")]
    AtLeastOneEvent,
    #[error("must be a client of the company")]
    ClientOfCompany,
    #[error("must be quotes of the company")]
    QuotesOfCompany,

    // Numbers.
    #[error("must be a decimal number such as 12.5, not {given:?}")]
    DecimalNumber { given: String },
    /// A number of a form, whose notation depends on the language of the page.
    #[error("must be a number as the language of the page writes it")]
    NumberOfPage,
    #[error("must have at most {max} decimals, not as in {given}")]
    AtMostDecimals { max: u32, given: rust_decimal::Decimal },
    #[error("must be below {limit} in size, which {given} is not")]
    NumberSize { limit: rust_decimal::Decimal, given: rust_decimal::Decimal },
    #[error("is too large to compute")]
    TooLargeToCompute,
    #[error("must be an integer from {min} to {max}")]
    IntegerFrom { min: u64, max: u64 },
    #[error("must be above 0")]
    Above0,
    #[error("must not be 0")]
    Not0,
    #[error("must be between 0 and {max}")]
    Between0And { max: u32 },
    #[error("must be at most {limit} at this offset, as a page with lines has at most 16 MiB")]
    PageTooLarge { limit: usize },

    // Dates and times.
    #[error("must be a date between the years 0 and 9999")]
    DateOutOfRange,
    #[error("must be a date such as 2026-09-14")]
    Date,
    #[error("must be such as 2026-09-14T09:41")]
    LocalTime,
    #[error(transparent)]
    Instant(ParseTimestampError),
    #[error("must not be in the past")]
    InThePast,
    #[error("must not be in the future")]
    InTheFuture,
    #[error("must not be before {first}")]
    Before { first: &'static str },
    #[error("must not be before sentAt, {sent_at}")]
    BeforeSent { sent_at: Timestamp },
    #[error("must not be before the issue date, {issued}, which is never before that of the last invoice")]
    BeforeIssue { issued: NaiveDate },
    #[error("must be 0 to {max} hours")]
    Hours { max: u64 },
    #[error("must be at most {max} days")]
    AtMostDays { max: u64 },

    // Quotes and their lines.
    #[error("must have at most {max} lines")]
    AtMostLines { max: usize },
    #[error("must have at most 2 MiB of JSON together")]
    LinesTooLong,
    #[error("must not be negative; enter a discount as a negative quantity")]
    NegativePrice,
    #[error("must not add up to a total below 0")]
    TotalBelow0,
    #[error("add up to a total that {0}")]
    Total(Box<Rule>),
    #[error("blend to a VAT rate that is too large")]
    BlendedRate,
    #[error("must be 0, as the client owes the VAT (reverseCharge)")]
    RateOfReverseCharge,
    #[error("does not go with a DRAFT")]
    SentDraft,
    #[error("goes only with an ACCEPTED quote")]
    AcceptedOnly,
    #[error("must not be empty in a quote that is {status}")]
    LinesOfQuote { status: QuoteStatus },

    // Credit notes and refunds.
    #[error("must be empty if all that is left is credited")]
    AllAndItems,
    #[error("must name something to credit")]
    NothingToCredit,
    #[error("must be at most 5,000")]
    AtMostItems,
    #[error("must not credit more than is left, {left}")]
    MoreThanLeft { left: String },
    #[error("must add up to an amount above 0")]
    CreditAbove0,
    #[error("must not credit the whole total and leave a part of a rate")]
    LeavesPartOfRate,
    #[error("must be the index of a line of the invoice")]
    LineOfInvoice,
    #[error("must be a part of what is left, {left}")]
    PartOfQuantity { left: String },
    #[error("must be a VAT rate of the invoice")]
    RateOfInvoice,
    #[error("must credit at most {left} without VAT at the rate of {rate} %")]
    MoreThanLeftOfRate { left: String, rate: String },
    #[error("must be above 0 and not above what is overpaid, {overpaid}")]
    MoreThanOverpaid { overpaid: String },

    // Documents.
    #[error("has {sign} (character {position}), which no font of the document has")]
    NoGlyph { sign: String, position: usize },
    #[error("has more than {max} bytes, which no page can show")]
    TooLongToPrint { max: usize },
    #[error("has more than {max} characters in the place of one")]
    ClusterTooLong { max: usize },
    #[error("has nothing that can be seen")]
    Invisible,
    #[error("take too long to print")]
    TooSlowToPrint,
    #[error("fill more than {max} pages")]
    TooManyPages { max: usize },
    #[error("{0}")]
    Logo(LogoRule),
    /// `position`: the character of a field, counted from 1; `None` for the whole document.
    #[error("must not contain U+{code_point:04X}{}, which XML cannot hold", position_in_brackets(*position))]
    CharacterOfXml { code_point: u32, position: Option<usize> },
    #[error("must be an invoice or a credit note")]
    NoEInvoice,
    #[error("must not be 0 without a reason in law")]
    RateOf0,
    /// `article`: the article of law, or the rule of the standard for e-invoices, such as
    /// `BR-FR-10`. The reasons are sentences without their stops.
    #[error("breaks {article}: {english}")]
    Law { article: &'static str, english: String, french: String },
    #[error("cannot be ON, as legal data is missing: {gaps}")]
    EInvoicingOn { gaps: String },

    // Requests and pages.
    #[error("must be an identifier")]
    Uuid,
    #[error("must be what the page before has named")]
    Cursor,
    #[error("must not be given to an operation that changes no record there is")]
    VersionOfNothing,

    /// A rule of the host, such as that of its renderer. The service itself has none of these.
    #[error("{0}")]
    OfHost(Cow<'static, str>),
}

/// A number or an address that has a form of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text of a kind says what it is")]
pub enum IdentifierKind {
    #[error("a SIREN: 9 digits, the last one a check digit")]
    Siren,
    #[error("a VAT number such as FR44732829320, with a valid key")]
    VatNumber,
    #[error("an IBAN with valid check digits")]
    Iban,
    #[error("a BIC of 8 or 11 characters")]
    Bic,
    #[error("a country code of two letters, such as FR")]
    Country,
}

/// The rule that a logo breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text of a rule says what it is")]
pub enum LogoRule {
    #[error("must have at most 256 KiB")]
    Bytes,
    #[error("must be a PNG or a JPEG")]
    Format,
    #[error("must be a PNG or JPEG that can be decoded")]
    Damaged,
    #[error("must have at most 8 bits per channel")]
    Depth,
    #[error("must be in grey or RGB")]
    Colors,
    #[error("must have at most 1 megapixel")]
    Pixels,
    #[error("must have at most 256 KiB of pixels once they are compressed")]
    Incompressible,
    #[error("must have at most 65,535 pixels on a side")]
    Side,
    #[error("must be saved upright: its metadata (Exif) turn it, and documents keep none")]
    Turned,
}

fn position_in_brackets(position: Option<usize>) -> String {
    position.map_or_else(String::new, |position| format!(" (character {position})"))
}

impl From<TargetError> for Rule {
    fn from(error: TargetError) -> Self {
        Self::Target(error)
    }
}

impl From<ParseTimestampError> for Rule {
    fn from(error: ParseTimestampError) -> Self {
        Self::Instant(error)
    }
}

impl From<LogoRule> for Rule {
    fn from(rule: LogoRule) -> Self {
        Self::Logo(rule)
    }
}

/// The reason why the state of a record forbids an operation, as a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the text of a reason says what it is")]
pub enum ConflictReason {
    // Quotes.
    #[error("a quote in {status} cannot be {done}")]
    QuoteStatus { status: QuoteStatus, done: &'static str },
    #[error("a quote in {status} cannot be converted; it must be ACCEPTED")]
    NotAccepted { status: QuoteStatus },
    #[error("a quote without lines cannot be sent")]
    NoLinesToSend,
    #[error("a quote without lines cannot be accepted")]
    NoLinesToAccept,
    #[error("the quote's validity has ended")]
    ValidityEnded,
    /// `invoice`: its number, or its id while it has none.
    #[error("the quote has been converted to invoice {invoice}")]
    Converted { invoice: String },
    #[error("the quote was sent again since its document was shown")]
    SentAgain,
    #[error("a quote without a document has no signing link; send it first")]
    NoSigningLink,
    #[error("the signing links of the quote have ended")]
    SigningLinksEnded,
    #[error("a quote has at most {max} good signing links; revoke one first")]
    TooManySigningLinks { max: i64 },

    // Invoices, payments and credit notes.
    #[error("an invoice in {status} cannot be {done}")]
    InvoiceStatus { status: InvoiceStatus, done: &'static str },
    #[error("an invoice with payments cannot be cancelled; reverse them first")]
    HasPayments,
    #[error("the invoice is credited in full; refund what was paid")]
    CreditedInFull,
    #[error("the credit notes would exceed the invoice")]
    CreditedTooMuch,
    #[error("an invoice without a number cannot be credited")]
    NoNumber,
    #[error("the payment was refunded: its refund must be reversed first")]
    Refunded,
    #[error("the payment has been reversed already")]
    Reversed,
    #[error(
        "the movement {movement:?} is that of a payment of {known}; a payment of {amount} needs another one"
    )]
    KnownMovement { movement: String, known: String, amount: String },

    // Webhooks and keys.
    #[error("a company has at most {max} webhooks")]
    TooManyWebhooks { max: i64 },
    #[error("the webhook is disabled; enable it first")]
    WebhookDisabled,
    #[error("an overlap is under way already; end it first")]
    OverlapUnderWay,
    #[error("a webhook gets at most {max} tests a minute; try again soon")]
    TooManyTests { max: usize },
    #[error("a company has at most {max} active keys; revoke one first")]
    TooManyKeys { max: i64 },

    // Other records.
    #[error("automatic conversion is not part of the plan {plan}")]
    AutomaticInvoicing { plan: Plan },
    #[error("another client has this externalId")]
    ExternalIdTaken,
    #[error("a COMPLETED project cannot be CANCELED; open it first")]
    CompletedProject,
    /// `record`: with its article.
    #[error("{record} was changed meanwhile")]
    Changed { record: &'static str },
    #[error("the record keeps changing; try again")]
    KeepsChanging,
    #[error("the form was already carried out")]
    CarriedOut,

    // The service.
    #[error("a dispatcher of this service runs already")]
    DispatcherRuns,
    #[error("no sealing key is given")]
    NoSealingKey,
}
