//! The description of each endpoint. An endpoint without a description does not compile.

use http::StatusCode;
use serde_json::{Value, json};

use super::headers::{Header, RATE_LIMIT};
use crate::api::routes::Endpoint;

/// The tag of an endpoint, with the text above its endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    Quotes,
    Invoices,
    CreditNotes,
    Clients,
    Documents,
    Reference,
}

impl Tag {
    pub(super) const ALL: [Self; 6] =
        [Self::Quotes, Self::Invoices, Self::CreditNotes, Self::Clients, Self::Documents, Self::Reference];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Quotes => "Quotes",
            Self::Invoices => "Invoices",
            Self::CreditNotes => "Credit notes",
            Self::Clients => "Clients",
            Self::Documents => "Documents",
            Self::Reference => "Reference",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Quotes => {
                "Offers to clients, from DRAFT over SENT to ACCEPTED, REJECTED or EXPIRED. They are written in the product; an \
                 integration reads them, links them to its own records, and fetches their frozen PDF."
            }
            Self::Invoices => {
                "Made from accepted quotes, from DRAFT over SENT to PAID, with OVERDUE and CANCELED beside."
            }
            Self::CreditNotes => {
                "Credit notes take back an issued invoice, in whole or in part. Issued at once; they never change. Their amounts \
                 are positive."
            }
            Self::Clients => {
                "Customers of the company. The one kind of record that an integration can create."
            }
            Self::Documents => "Frozen PDF documents behind signed URLs.",
            Self::Reference => "This description of the API.",
        }
    }

    pub(super) fn object(self) -> Value {
        json!({"name": self.name(), "description": self.text()})
    }
}

/// The description of an endpoint.
pub(super) struct Description {
    pub(super) id: &'static str,
    pub(super) tag: Tag,
    pub(super) summary: &'static str,
    pub(super) text: &'static str,
    /// The schema of the request body.
    pub(super) body: Option<&'static str>,
    /// The successful responses, and responses without a body.
    pub(super) answers: &'static [AnswerSpec],
    /// Requests that a client can send next.
    pub(super) links: &'static [Link],
}

/// A link from a successful answer to another request.
pub(super) struct Link {
    /// The operation of the other request.
    pub(super) to: &'static str,
    /// The parameter of that operation, and the place of its value in the answer.
    pub(super) parameter: (&'static str, &'static str),
}

const fn link(to: &'static str, parameter: &'static str, value: &'static str) -> Link {
    Link { to, parameter: (parameter, value) }
}

const FIRST_ITEM: &str = "$response.body#/data/0/id";

/// From the first quote of a list.
const OF_QUOTES: &[Link] = &[
    link("getQuote", "id", FIRST_ITEM),
    link("linkQuote", "id", FIRST_ITEM),
    link("getQuoteDocument", "id", FIRST_ITEM),
];
/// From the first invoice of a list.
const OF_INVOICES: &[Link] =
    &[link("getInvoice", "id", FIRST_ITEM), link("getInvoiceDocument", "id", FIRST_ITEM)];
/// From the first credit note of a list.
const OF_CREDIT_NOTES: &[Link] =
    &[link("getCreditNote", "id", FIRST_ITEM), link("getCreditNoteDocument", "id", FIRST_ITEM)];
/// From a credit note to its invoice.
const OF_CREDIT_NOTE: &[Link] = &[link("getInvoice", "id", "$response.body#/invoiceId")];
/// From an invoice to its quote.
const OF_INVOICE: &[Link] = &[link("getQuote", "id", "$response.body#/quoteId")];
/// From a linked quote.
const OF_LINK: &[Link] = &[link("getQuote", "id", "$response.body#/id")];
/// From a client that carries an `externalId`.
const OF_CLIENT: &[Link] = &[link("listClients", "externalId", "$response.body#/externalId")];

/// A response that is no error.
pub(super) struct AnswerSpec {
    pub(super) status: StatusCode,
    pub(super) text: &'static str,
    pub(super) content: ContentSpec,
    pub(super) headers: &'static [Header],
}

/// The body of a response.
#[derive(Clone, Copy)]
pub(super) enum ContentSpec {
    None,
    /// JSON of this schema.
    Json(&'static str),
    /// Any JSON object.
    AnyJson,
    Html,
    Pdf,
}

const fn answer(
    status: StatusCode,
    content: ContentSpec,
    headers: &'static [Header],
    text: &'static str,
) -> AnswerSpec {
    AnswerSpec { status, text, content, headers }
}

/// A 200 with JSON, as requests with a key have it.
const fn ok(schema: &'static str, text: &'static str) -> AnswerSpec {
    answer(StatusCode::OK, ContentSpec::Json(schema), &RATE_LIMIT, text)
}

pub(super) const fn describe(endpoint: Endpoint) -> Description {
    match endpoint {
        Endpoint::ListQuotes => LIST_QUOTES,
        Endpoint::GetQuote => GET_QUOTE,
        Endpoint::LinkQuote => LINK_QUOTE,
        Endpoint::QuoteDocument => QUOTE_DOCUMENT,
        Endpoint::ListInvoices => LIST_INVOICES,
        Endpoint::GetInvoice => GET_INVOICE,
        Endpoint::InvoiceDocument => INVOICE_DOCUMENT,
        Endpoint::ListCreditNotes => LIST_CREDIT_NOTES,
        Endpoint::GetCreditNote => GET_CREDIT_NOTE,
        Endpoint::CreditNoteDocument => CREDIT_NOTE_DOCUMENT,
        Endpoint::ListClients => LIST_CLIENTS,
        Endpoint::CreateClient => CREATE_CLIENT,
        Endpoint::FrozenDocument => FROZEN_DOCUMENT,
        Endpoint::OpenApi => OPENAPI,
        Endpoint::Docs => DOCS,
    }
}

const LIST_QUOTES: Description = Description {
    id: "listQuotes",
    tag: Tag::Quotes,
    summary: "List quotes",
    text: "The quotes of the company, a page at a time. Filters combine with AND. To follow changes, see *Catching up* in the \
           introduction.",
    body: None,
    answers: &[ok("QuotePage", "A page of quotes. It is empty where none matches.")],
    links: OF_QUOTES,
};

const GET_QUOTE: Description = Description {
    id: "getQuote",
    tag: Tag::Quotes,
    summary: "Get a quote",
    text: "One quote in full: with its lines, the retention, the VAT by rate and the signature. Fetch it when a webhook names \
           its `id`.",
    body: None,
    answers: &[ok("Quote", "The quote.")],
    links: &[],
};

const LINK_QUOTE: Description = Description {
    id: "linkQuote",
    tag: Tag::Quotes,
    summary: "Link a quote",
    text: "Stores your identifier with the quote, or removes it with `null`. Works in every state, and changes nothing but \
           `externalId` and `updatedAt`. So your own link makes the quote appear again in lists with `since`; linking it with \
           the same identifier again changes nothing. Any other property is refused. Safe to repeat.",
    body: Some("NewQuoteLink"),
    answers: &[ok("QuoteLink", "The link as it is stored now.")],
    links: OF_LINK,
};

const QUOTE_DOCUMENT: Description = Description {
    id: "getQuoteDocument",
    tag: Tag::Quotes,
    summary: "Get a URL to the PDF of a quote",
    text: "A signed URL to the frozen PDF: the copy that was made when the quote was sent or signed, never a fresh rendering. \
           Ask for a URL when you need it, download at once, and check `sha256`. A quote that was never sent has none: 409 \
           `document_unavailable`.",
    body: None,
    answers: &[ok("DocumentLink", "The URL, and how to recognise the document.")],
    links: &[],
};

const LIST_INVOICES: Description = Description {
    id: "listInvoices",
    tag: Tag::Invoices,
    summary: "List invoices",
    text: "The invoices of the company, a page at a time. Filters combine with AND. To follow changes, see *Catching up* in \
           the introduction.",
    body: None,
    answers: &[ok("InvoicePage", "A page of invoices. It is empty where none matches.")],
    links: OF_INVOICES,
};

const GET_INVOICE: Description = Description {
    id: "getInvoice",
    tag: Tag::Invoices,
    summary: "Get an invoice",
    text: "One invoice in full: with its lines, the VAT by rate, and its credit notes.",
    body: None,
    answers: &[ok("Invoice", "The invoice.")],
    links: OF_INVOICE,
};

const INVOICE_DOCUMENT: Description = Description {
    id: "getInvoiceDocument",
    tag: Tag::Invoices,
    summary: "Get a URL to the PDF of an invoice",
    text: "A signed URL to the PDF that was frozen when the invoice was issued. With `documentFormat` `FACTUR_X` it carries the \
           invoice as XML. Ask for a URL when you need it, download at once, and check `sha256`. A draft has none, nor has an \
           invoice that was issued without a renderer of invoices: 409 `document_unavailable`.",
    body: None,
    answers: &[ok("DocumentLink", "The URL, and how to recognise the document.")],
    links: &[],
};

const LIST_CREDIT_NOTES: Description = Description {
    id: "listCreditNotes",
    tag: Tag::CreditNotes,
    summary: "List credit notes",
    text: "The credit notes of the company, a page at a time. To follow changes, see *Catching up* in the introduction.",
    body: None,
    answers: &[ok("CreditNotePage", "A page of credit notes. It is empty where there are none.")],
    links: OF_CREDIT_NOTES,
};

const GET_CREDIT_NOTE: Description = Description {
    id: "getCreditNote",
    tag: Tag::CreditNotes,
    summary: "Get a credit note",
    text: "One credit note in full: with its lines and the VAT by rate.",
    body: None,
    answers: &[ok("CreditNote", "The credit note.")],
    links: OF_CREDIT_NOTE,
};

const CREDIT_NOTE_DOCUMENT: Description = Description {
    id: "getCreditNoteDocument",
    tag: Tag::CreditNotes,
    summary: "Get a URL to the PDF of a credit note",
    text: "A signed URL to the PDF that was frozen when the credit note was issued. Ask for a URL when you need it, download at \
           once, and check `sha256`. A credit note that was issued without a renderer of invoices has none: 409 \
           `document_unavailable`.",
    body: None,
    answers: &[ok("DocumentLink", "The URL, and how to recognise the document.")],
    links: &[],
};

const LIST_CLIENTS: Description = Description {
    id: "listClients",
    tag: Tag::Clients,
    summary: "List clients",
    text: "The clients of the company, a page at a time. Filters combine with AND.",
    body: None,
    answers: &[ok("ClientPage", "A page of clients. It is empty where none matches.")],
    links: &[],
};

const CREATE_CLIENT: Description = Description {
    id: "createClient",
    tag: Tag::Clients,
    summary: "Create a client",
    text: "Creates a client, or finds it: where `externalId` is known already, the stored client is answered with 200, \
           unchanged, even where the body differs. Of any number of simultaneous requests with one `externalId`, one is \
           answered 201 and the others 200. So a request with `externalId` is safe to repeat. One without creates a client \
           each time.",
    body: Some("NewClient"),
    answers: &[
        ok("Client", "A client with this `externalId` is there already. Nothing was created or changed."),
        answer(StatusCode::CREATED, ContentSpec::Json("Client"), &RATE_LIMIT, "The client was created."),
    ],
    links: OF_CLIENT,
};

const FROZEN_DOCUMENT: Description = Description {
    id: "downloadDocument",
    tag: Tag::Documents,
    summary: "Download a document",
    text: "The bytes behind the `url` of a document link. Use that URL as it is: it is its own permission, needs no key, counts in \
           no quota, and works for {{url_minutes}} minutes. After that, or when it was altered, it is answered with 404. With \
           `Range` a part can be fetched. A host may let its document store serve the bytes; then the URL leads there.",
    body: None,
    answers: DOWNLOAD,
    links: &[],
};

const OPENAPI: Description = Description {
    id: "getOpenApi",
    tag: Tag::Reference,
    summary: "Get this document",
    text: "This description of the API, as OpenAPI 3.1. Needs no key and counts in no quota. A host can switch it off; then it \
           is answered with 404.",
    body: None,
    answers: &[
        answer(StatusCode::OK, ContentSpec::AnyJson, OF_DOCUMENT, "The document."),
        answer(StatusCode::NOT_MODIFIED, ContentSpec::None, KNOWN_DOCUMENT, "It is the one that you have."),
    ],
    links: &[],
};

const DOCS: Description = Description {
    id: "getReference",
    tag: Tag::Reference,
    summary: "Get the reference page",
    text: "The same description as a page for people. Needs no key and counts in no quota. A host can switch it off; then it is \
           answered with 404.",
    body: None,
    answers: &[
        answer(StatusCode::OK, ContentSpec::Html, OF_PAGE, "The page."),
        answer(StatusCode::NOT_MODIFIED, ContentSpec::None, KNOWN_PAGE, "It is the one that you have."),
    ],
    links: &[],
};

const KNOWN_DOCUMENT: &[Header] = &[Header::ETag, Header::Vary, Header::AnyOrigin];
const OF_DOCUMENT: &[Header] = &[Header::ETag, Header::Vary, Header::AnyOrigin, Header::ContentEncoding];
const KNOWN_PAGE: &[Header] = &[
    Header::ETag,
    Header::Vary,
    Header::AnyOrigin,
    Header::NoSniff,
    Header::SecurityPolicy,
    Header::NoReferrer,
];
const OF_PAGE: &[Header] = &[
    Header::ETag,
    Header::Vary,
    Header::AnyOrigin,
    Header::ContentEncoding,
    Header::NoSniff,
    Header::SecurityPolicy,
    Header::NoReferrer,
];

const DOWNLOAD: &[AnswerSpec] = &[
    answer(
        StatusCode::OK,
        ContentSpec::Pdf,
        &[Header::ETag, Header::AcceptRanges, Header::ContentDisposition, Header::NoSniff],
        "The whole document.",
    ),
    answer(
        StatusCode::PARTIAL_CONTENT,
        ContentSpec::Pdf,
        &[
            Header::ETag,
            Header::AcceptRanges,
            Header::ContentRange,
            Header::ContentDisposition,
            Header::NoSniff,
        ],
        "The part that `Range` asks for.",
    ),
    answer(StatusCode::NOT_MODIFIED, ContentSpec::None, &[Header::ETag], "It is the document that you have."),
    answer(
        StatusCode::RANGE_NOT_SATISFIABLE,
        ContentSpec::None,
        &[Header::ETag, Header::AcceptRanges, Header::ContentRange],
        "`Range` begins behind the end of the document.",
    ),
];
