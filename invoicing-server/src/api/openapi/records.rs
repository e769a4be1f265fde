//! The schemas of the records, and of the bodies that callers send.

use invoicing_core::internal::{LONG_TEXT, SHORT_TEXT};
use invoicing_core::{ClientType, InvoiceStatus, MAX_PAGE_LIMIT, ProjectStatus, QuoteStatus};
use serde_json::{Map, Value, json};

use super::schema::Type::{
    Boolean, Component, Date, Decimal, Entered as EnteredText, Instant, Integer, ListOf, OrNull, Pattern,
    Text, Uuid, Word,
};
use super::schema::{
    Entered, Member, TEXT_PATTERN, always, object, open_words, refused, sometimes, unassignable,
};

/// A text that is more than white space.
const NAME: Entered = Entered { min: 1, max: SHORT_TEXT, pattern: TEXT_PATTERN };
const SHORT: Entered = Entered { min: 0, max: SHORT_TEXT, pattern: concat!("^[^", refused!(), "]*$") };
/// A text that may have line breaks and tabs.
const LONG: Entered = Entered {
    min: 0,
    max: LONG_TEXT,
    pattern: concat!(r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f", unassignable!(), "]*$"),
};
const EMAIL: Entered = Entered {
    min: 0,
    max: SHORT_TEXT,
    pattern: concat!(r"^([^@\s", refused!(), r"]+@[^@\s", refused!(), "]+)?$"),
};

/// Nine digits; a pattern cannot express the check digit.
const SIREN: Entered = Entered { min: 0, max: SHORT_TEXT, pattern: "^ *(([0-9] *){9})?$" };
const VAT_NUMBER: Entered =
    Entered { min: 0, max: SHORT_TEXT, pattern: "^ *([A-Za-z] *[A-Za-z] *([0-9A-Za-z] *){2,13})?$" };
const ELECTRONIC: Entered = Entered { min: 0, max: SHORT_TEXT, pattern: r"^ *[0-9A-Za-z+_.\-]{0,125} *$" };
const COUNTRY_CODE: Entered = Entered { min: 0, max: SHORT_TEXT, pattern: "^ *([A-Za-z] *[A-Za-z] *)?$" };

const SHA256: &str = "^[0-9a-f]{64}$";
const FINGERPRINT: &str = "^sha256:[0-9a-f]{64}$";

pub(super) const LINES: Member =
    sometimes("lines", ListOf(&Component("Line")), "The lines, only with `include=lines`.");

pub(super) const LINES_OF_DETAIL: Member = always(
    "lines",
    ListOf(&Component("Line")),
    "The lines, in the order of the document. At most {{max_lines}}.",
);

pub(super) const VAT_BREAKDOWN: Member = always(
    "vatBreakdown",
    ListOf(&Component("VatShare")),
    "One entry per VAT rate of the lines, lowest rate first.",
);

/// A quote in a list.
const QUOTE: &[Member] = &[
    always("id", Uuid, "Identifier of the quote. Time-ordered (UUID version 7)."),
    always(
        "number",
        Text,
        "Number for humans, such as `DEV-2026-0042`. Unique per company, without gaps in a year.",
    ),
    always("status", Component("QuoteStatus"), "State of the quote."),
    always(
        "externalId",
        OrNull(&Text),
        "Your identifier for the quote, set with `PATCH /api/v1/quotes/{id}`. `null` means not linked. Not unique: one deal \
         of yours may own several quotes.",
    ),
    always("clientId", Uuid, "The client that the quote is made out to."),
    always("clientName", Text, "Name of the client when the quote was made."),
    always("clientEmail", OrNull(&Text), "E-mail address of the client when the quote was made."),
    always(
        "totalHT",
        Decimal,
        "Total without VAT, in `currency`. At most two decimals: read it as a decimal.",
    ),
    always("totalTTC", Decimal, "Total with VAT, in `currency`. At most two decimals: read it as a decimal."),
    always("tvaRate", Decimal, TVA_RATE),
    always("currency", Text, "Currency of all amounts, as an ISO 4217 code."),
    always(
        "validUntil",
        OrNull(&Date),
        "Last day on which it can be signed, in the company's time zone. `null` if none was set: sending sets one. So it may be \
         `null` in DRAFT, and for good in a quote that was accepted, discarded or imported without being sent.",
    ),
    always("createdAt", Instant, "When the record was created."),
    always("updatedAt", Instant, UPDATED_AT),
    always("sentAt", OrNull(&Instant), "When it was last sent to the client. `null` if it never was."),
    always(
        "signedAt",
        OrNull(&Instant),
        "When the client signed through the public link. `null` where it was not signed.",
    ),
    always(
        "acceptedAt",
        OrNull(&Instant),
        "When it was accepted, by signature or by hand. `null` if it is not.",
    ),
    always("signedByName", OrNull(&Text), "Name of the signer."),
    always("signedByEmail", OrNull(&Text), "E-mail address of the signer."),
];

pub(super) const TVA_RATE: &str = "VAT rate in percent. Where the lines have several rates, it is the blended rate: the VAT of all lines \
                        over `totalHT`, rounded to two decimals. `vatBreakdown` has each rate.";

pub(super) const UPDATED_AT: &str = "When the record was last modified: what `since` compares. Each visible change moves it, your own \
                          `PATCH` too. Among the records of a company it only ever grows.";

/// Members of the detail of a quote that a list lacks, besides the lines.
const QUOTE_DETAIL: &[Member] = &[
    always("retentionRate", Decimal, "Retention (retenue de garantie) in percent, from 0 to 5."),
    always("retentionAmount", Decimal, "What the client holds back of `totalTTC`, at most two decimals."),
    VAT_BREAKDOWN,
    always(
        "signature",
        OrNull(&Component("Signature")),
        "The electronic signature; `null` until the client has signed.",
    ),
    ORDER_NUMBER,
];

const ORDER_NUMBER: Member = always(
    "orderNumber",
    OrNull(&Text),
    "Number of the client's order, if there is one. At most 50 characters.",
);

const SIGNATURE: &[Member] = &[
    always("signedAt", Instant, "When the client signed."),
    always("signedByName", Text, "Name of the signer."),
    always("signedByEmail", Text, "E-mail address of the signer."),
    always("acceptedText", Text, "The text that the signer agreed to."),
    always(
        "proofFingerprint",
        Pattern(FINGERPRINT),
        "Binds the signature to the document: `sha256:` and the SHA-256 of the canonical JSON (RFC 8785) of `quoteId`, \
         `number`, `documentSha256` (of the PDF that was sent), `acceptedText`, `signedByName`, `signedByEmail` and \
         `signedAt`, in 64 lowercase hex digits.",
    ),
];

const LINE: &[Member] = &[
    always("description", Text, "The work or the goods."),
    always("quantity", Decimal, "How much, at most four decimals. Negative on a discount line."),
    always("unit", OrNull(&Text), "Unit of the quantity as it was entered, such as `m2`, `h` or `forfait`."),
    always("unitPrice", Decimal, "Price of one unit without VAT, at most four decimals, never negative."),
    always("totalHT", Decimal, "`quantity` × `unitPrice`, rounded to cents, halves away from zero."),
    always("tvaRate", Decimal, "VAT rate of the line in percent."),
    always("lot", OrNull(&Text), "Lot (trade package) that the line belongs to."),
    always("section", OrNull(&Text), "Section within the lot."),
];

const VAT_SHARE: &[Member] = &[
    always("tvaRate", Decimal, "VAT rate in percent."),
    always("baseHT", Decimal, "Sum of the lines at this rate, without VAT."),
    always("amountTVA", Decimal, "VAT on that sum, rounded to cents."),
];

/// An invoice in a list.
const INVOICE: &[Member] = &[
    always("id", Uuid, "Identifier of the invoice. Time-ordered (UUID version 7)."),
    always(
        "number",
        OrNull(&Text),
        "Number for humans, such as `FAC-2026-0042`. `null` in DRAFT, and for good if the invoice was cancelled as a DRAFT.",
    ),
    always("status", Component("InvoiceStatus"), "State of the invoice."),
    always("type", Component("InvoiceType"), INVOICE_TYPE),
    always("quoteId", OrNull(&Uuid), QUOTE_ID),
    always("clientId", Uuid, "The client that the invoice is made out to."),
    always("clientName", Text, "Name of the client as on the quote."),
    always("clientEmail", OrNull(&Text), "E-mail address of the client as on the quote."),
    always(
        "issueDate",
        OrNull(&Date),
        "Day of issue in the company's time zone. `null` if it has not been issued: in DRAFT, and for good if it was cancelled \
         as a DRAFT.",
    ),
    always(
        "dueDate",
        OrNull(&Date),
        "Last day for paying, in the company's time zone. `null` if it has not been issued, as `issueDate`.",
    ),
    always("suppliedOn", OrNull(&Date), "Day of the supply. `null` if it is the day of issue."),
    always(
        "periodStart",
        OrNull(&Date),
        "First day of the period that the invoice is about, if it is about one.",
    ),
    always("periodEnd", OrNull(&Date), "Last day of this period."),
    always("documentFormat", OrNull(&Component("DocumentFormat")), DOCUMENT_FORMAT),
    always("position", OrNull(&Integer), "`null` in this version. Reserved for progress invoices."),
    always("progressRate", OrNull(&Decimal), "`null` in this version. Reserved for progress invoices."),
    always(
        "totalHT",
        Decimal,
        "Total without VAT, in `currency`. At most two decimals: read it as a decimal.",
    ),
    always("totalTTC", Decimal, "Total with VAT, in `currency`. At most two decimals: read it as a decimal."),
    always("tvaRate", Decimal, TVA_RATE),
    always("currency", Text, "Currency of all amounts, as an ISO 4217 code."),
    always("amountCredited", Decimal, "Sum of the credit notes on the invoice, with VAT."),
    always(
        "amountWrittenOff",
        Decimal,
        "0 in this version. Reserved for small differences that are written off.",
    ),
    always("retentionRate", Decimal, "Retention (retenue de garantie) in percent, from 0 to 5."),
    always("retentionAmount", Decimal, "What the client holds back of `totalTTC` − `amountCredited`."),
    always(
        "retentionReleaseDate",
        OrNull(&Date),
        "`null` in this version. Reserved for the release of the retention.",
    ),
    always("retentionDue", Decimal, "What of `retentionAmount` is not paid yet. 0 in CANCELED."),
    always(
        "amountPaid",
        Decimal,
        "Sum of the valid payments, less what was refunded. A reversed payment does not count.",
    ),
    always(
        "amountDue",
        Decimal,
        "What is still to be paid now: `totalTTC` − `amountCredited` − `retentionAmount` − `amountPaid` − \
         `amountWrittenOff`, at least 0. A CANCELED invoice owes nothing: 0.",
    ),
    always("amountOverpaid", Decimal, "What was paid beyond `totalTTC` − `amountCredited`."),
    always("paidAt", OrNull(&Instant), "When it was paid in full. `null` if it is not PAID."),
    always("canceledAt", OrNull(&Instant), "When it was cancelled. `null` if it was not."),
    always("createdAt", Instant, "When the record was created."),
    always("updatedAt", Instant, UPDATED_AT),
];

/// Members of the detail of an invoice that a list lacks, besides lines and VAT.
const INVOICE_DETAIL: [&Member; 3] = [&DEDUCTIONS, &CREDIT_NOTES, &ORDER_NUMBER];

const DEDUCTIONS: Member =
    always("deductions", ListOf(&Component("Deduction")), "Empty in this version. Reserved for deposits.");

const CREDIT_NOTES: Member = always(
    "creditNotes",
    ListOf(&Component("CreditNoteReference")),
    "The credit notes on the invoice, oldest first.",
);

pub(super) const DOCUMENT_FORMAT: &str =
    "Format of the frozen document. `null` if there is none: in DRAFT, and if the service makes none.";

pub(super) const INVOICE_TYPE: &str = "Kind of the invoice. More may be added.";

/// A text that the data of events have too.
pub(super) const QUOTE_ID: &str = "The quote that the invoice was converted from. Today each invoice has one; be ready for `null`, for \
                                  invoices that come from elsewhere.";

const CLIENT: &[Member] = &[
    always("id", Uuid, "Identifier of the client. Time-ordered (UUID version 7)."),
    always("name", Text, "Name."),
    always("email", OrNull(&Text), "E-mail address."),
    always("phone", OrNull(&Text), "Telephone number, as it was entered."),
    always("address", OrNull(&Text), "Street address. May have line breaks."),
    always("city", OrNull(&Text), "City."),
    always("zipCode", OrNull(&Text), "Postal code."),
    always("type", OrNull(&Component("ClientType")), "Private person or business."),
    always("notes", OrNull(&Text), "Notes."),
    always("externalId", OrNull(&Text), "Your identifier for the client, unique per company."),
    always("siren", OrNull(&Text), "SIREN of a business."),
    always("vatNumber", OrNull(&Text), "Intra-community VAT number of a business."),
    always("electronicAddress", OrNull(&Text), ELECTRONIC_ADDRESS),
    always("country", OrNull(&Text), COUNTRY),
    always("billingAddress", OrNull(&Component("BillingAddress")), BILLING_ADDRESS),
    always("createdAt", Instant, "When the record was created."),
    always("updatedAt", Instant, UPDATED_AT),
];

const NEW_CLIENT: &[Member] = &[
    always("name", EnteredText(&NAME), "Name: 1 to {{short_text}} characters that are not all white space."),
    sometimes("email", OrNull(&EnteredText(&EMAIL)), "E-mail address: one `@` with text on both sides."),
    sometimes("phone", OrNull(&EnteredText(&SHORT)), "Telephone number, stored as it is entered."),
    sometimes("address", OrNull(&EnteredText(&LONG)), "Street address. May have line breaks."),
    sometimes("city", OrNull(&EnteredText(&SHORT)), "City."),
    sometimes("zipCode", OrNull(&EnteredText(&SHORT)), "Postal code, as text: it may begin with 0."),
    sometimes("type", Component("NewClientType"), "Private person or business."),
    sometimes("notes", OrNull(&EnteredText(&LONG)), "Notes. May have line breaks. The API shows them."),
    sometimes("externalId", OrNull(&EnteredText(&NAME)), EXTERNAL_ID),
    sometimes(
        "siren",
        OrNull(&EnteredText(&SIREN)),
        "SIREN of a business: 9 digits, the last one a check digit. Spaces do not count.",
    ),
    sometimes(
        "vatNumber",
        OrNull(&EnteredText(&VAT_NUMBER)),
        "Intra-community VAT number of a business, such as `FR44732829320`. The key of a French one is checked.",
    ),
    sometimes("electronicAddress", OrNull(&EnteredText(&ELECTRONIC)), ELECTRONIC_ADDRESS),
    sometimes("country", OrNull(&EnteredText(&COUNTRY_CODE)), COUNTRY),
    sometimes("billingAddress", OrNull(&Component("NewBillingAddress")), BILLING_ADDRESS),
];

const BILLING: &[Member] = &[
    always("address", OrNull(&Text), "Street address. May have line breaks."),
    always("zipCode", OrNull(&Text), "Postal code."),
    always("city", OrNull(&Text), "City."),
    always("country", OrNull(&Text), COUNTRY),
];

const NEW_BILLING: &[Member] = &[
    sometimes("address", OrNull(&EnteredText(&LONG)), "Street address. May have line breaks."),
    sometimes("zipCode", OrNull(&EnteredText(&SHORT)), "Postal code, as text: it may begin with 0."),
    sometimes("city", OrNull(&EnteredText(&SHORT)), "City."),
    sometimes("country", OrNull(&EnteredText(&COUNTRY_CODE)), COUNTRY),
];

const BILLING_ADDRESS: &str = "Address that invoices are made out to. `null` is the address of the client.";

const ELECTRONIC_ADDRESS: &str = "Address in the French directory of e-invoicing, if it is not the SIREN: letters, digits, `+`, `-`, \
                                  `_` and `.`.";

const COUNTRY: &str = "Country of the address, two letters (ISO 3166-1). `null` is the one that the address names, else France, \
                       unless the postal code has another form.";

const EXTERNAL_ID: &str = "Your identifier for the client. It makes the creation idempotent: where it is known already, the \
                           stored client is returned with 200, unchanged, and nothing is created. An empty text is refused.";

const LINK: &[Member] = &[
    always("id", Uuid, "The quote."),
    always("externalId", OrNull(&Text), "Your identifier as it is stored now. `null` means not linked."),
];

const NEW_LINK: &[Member] = &[always(
    "externalId",
    OrNull(&EnteredText(&NAME)),
    "Your identifier for the quote, or `null` to unlink it. An empty text is refused.",
)];

const DOCUMENT_LINK: &[Member] = &[
    always(
        "url",
        Text,
        "Where the PDF can be downloaded. The URL is the permission: send it without your key. It counts in no quota.",
    ),
    always("expiresAt", Instant, "When the URL ceases to work, {{url_minutes}} minutes after it was made."),
    always("type", Word("pdf"), "The kind of document."),
    always("fileName", Text, "A name for the file, such as `DEV-2026-0042.pdf`."),
    always("contentType", Word("application/pdf"), "The media type."),
    always("sizeBytes", Integer, "Size of the document."),
    always(
        "sha256",
        Pattern(SHA256),
        "SHA-256 of the document in 64 lowercase hex digits, to check the download.",
    ),
];

const PAGINATION: &[Member] = &[
    always("limit", Integer, "Maximum number of records of this page."),
    always("offset", Integer, "How many records come before this page."),
    always(
        "hasMore",
        Boolean,
        "Whether at least one record follows this page. Read on with `offset` + `limit` until it is `false`.",
    ),
];

/// Every schema of a record, by name.
pub(super) fn schemas() -> Map<String, Value> {
    let mut schemas = Map::new();
    let mut add = |name: &str, schema: Value| schemas.insert(name.to_owned(), schema);
    let item = |summary: &'static [Member]| summary.iter().chain([&LINES]);
    add("QuotePage", page("quotes", "QuoteItem"));
    add("QuoteItem", object("A quote in a list.", item(QUOTE)));
    let detail = QUOTE.iter().chain([&LINES_OF_DETAIL]).chain(QUOTE_DETAIL);
    add("Quote", object("A quote in full.", detail));
    add(
        "QuoteStatus",
        open_words("State of a quote. More may be added: keep a word that you do not know.", quote_words()),
    );
    add("Signature", object("The electronic signature of a quote.", SIGNATURE));
    add("QuoteLink", object("The link of a quote to your system.", LINK));
    add("NewQuoteLink", closed(object("The new link of a quote.", NEW_LINK)));
    add("DocumentLink", object("A URL to a frozen PDF.", DOCUMENT_LINK));
    add("InvoicePage", page("invoices", "InvoiceItem"));
    add("InvoiceItem", object("An invoice in a list.", item(INVOICE)));
    let detail = INVOICE.iter().chain([&LINES_OF_DETAIL, &VAT_BREAKDOWN]).chain(INVOICE_DETAIL);
    add("Invoice", object("An invoice in full.", detail));
    let words = "State of an invoice. More may be added: keep a word that you do not know.";
    add("InvoiceStatus", open_words(words, invoice_words()));
    add("Line", object(LINE_TEXT, LINE));
    add("VatShare", object("What one VAT rate contributes to a document.", VAT_SHARE));
    add("ClientPage", page("clients", "Client"));
    add("Client", object("A client: a customer of the company.", CLIENT));
    add("BillingAddress", object("An address that invoices are made out to.", BILLING));
    add("ClientType", open_words("Kind of a client. More may be added.", client_words()));
    add("NewClient", closed(object(NEW_CLIENT_TEXT, NEW_CLIENT)));
    add("NewBillingAddress", closed(object(NEW_BILLING_TEXT, NEW_BILLING)));
    add("NewClientType", new_client_type());
    add("Pagination", object("Where a page stands in its list.", PAGINATION));
    add("ProjectStatus", open_words("State of a project. More may be added.", project_words()));
    schemas
}

const LINE_TEXT: &str = "A line of a quote, an invoice or a credit note, as the client sees it. Internal costs, private notes and names of \
                         subcontractors are never part of the API.";

const NEW_CLIENT_TEXT: &str = "A client to be created. An empty optional text is read as `null`. An unknown property is \
                               refused, so that a typing error cannot lose your `externalId`.";

const NEW_BILLING_TEXT: &str = "An address that invoices are made out to, if it is not that of the client. One without \
                                any text is read as `null`.";

/// The envelope of a list.
pub(super) fn page(what: &str, item: &str) -> Value {
    let mut page = json!({
        "type": "object",
        "description": format!("A page of {what}. There is no total: read on while `pagination.hasMore` is `true`."),
        "properties": {
            "data": {"type": "array", "maxItems": MAX_PAGE_LIMIT, "description": format!("The {what} of this page.")},
            "pagination": {"$ref": "#/components/schemas/Pagination", "description": "Where the page stands in its list."},
            "asOf": {"type": "string", "format": "date-time"},
        },
        "required": ["data", "pagination", "asOf"],
    });
    page["properties"]["data"]["items"] = super::schema::component("schemas", item);
    page["properties"]["asOf"]["description"] =
        "The last modification of the company in the same snapshot as the page. Store the one of the first page, and send it as \
         the `since` of your next pass."
            .into();
    page
}

/// A schema of a body that callers send, which must not have unknown members.
fn closed(mut schema: Value) -> Value {
    schema["additionalProperties"] = false.into();
    schema
}

/// The words of a request are closed; an empty text is read as `null`, as any optional text.
fn new_client_type() -> Value {
    let words = ClientType::ALL.iter().map(|word| Value::from(word.as_str()));
    let words: Vec<_> = words.chain(["".into(), Value::Null]).collect();
    json!({"description": "Private person or business.", "type": ["string", "null"], "enum": words})
}

/// The words of an enum with a description each. A word without one is a bug that a test of this
/// module finds.
pub(super) fn words<T: Copy>(
    all: &'static [T],
    word: fn(T) -> &'static str,
    text: fn(T) -> &'static str,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    all.iter().map(move |value| (word(*value), text(*value)))
}

fn quote_words() -> impl Iterator<Item = (&'static str, &'static str)> {
    words(QuoteStatus::ALL, QuoteStatus::as_str, |status| match status {
        QuoteStatus::Draft => "Being written; only here its content can change. Has no document yet.",
        QuoteStatus::Sent => "With the client. Content locked, document frozen.",
        QuoteStatus::Accepted => "Signed by the client, or marked accepted. Final.",
        QuoteStatus::Rejected => "Declined by the client, or discarded as a draft.",
        QuoteStatus::Expired => "Past its `validUntil`. May be sent again.",
        _ => "",
    })
}

fn invoice_words() -> impl Iterator<Item = (&'static str, &'static str)> {
    words(InvoiceStatus::ALL, InvoiceStatus::as_str, |status| match status {
        InvoiceStatus::Draft => "Converted from a quote, not issued yet. Has no number.",
        InvoiceStatus::Sent => "Issued. An amount is due, unless it has been credited since.",
        InvoiceStatus::Paid => "Nothing is due. A reversed payment leads back to SENT or OVERDUE.",
        InvoiceStatus::Overdue => "Past its `dueDate`. An amount is due, unless it has been credited since.",
        InvoiceStatus::Canceled => {
            "Cancelled, or credited in full without a payment that is left to refund. Keeps the number that it was issued with."
        }
        _ => "",
    })
}

fn client_words() -> impl Iterator<Item = (&'static str, &'static str)> {
    words(ClientType::ALL, ClientType::as_str, |kind| match kind {
        ClientType::Particulier => "A private person.",
        ClientType::Professionnel => "A business.",
        _ => "",
    })
}

fn project_words() -> impl Iterator<Item = (&'static str, &'static str)> {
    words(ProjectStatus::ALL, ProjectStatus::as_str, |status| match status {
        ProjectStatus::Open => "Work goes on.",
        ProjectStatus::Completed => {
            "Work is done. A project may be completed again after it was opened again."
        }
        ProjectStatus::Canceled => "Given up.",
        _ => "",
    })
}
