//! The webhooks: one for each kind of event, and the test delivery.

use invoicing_core::{Event, EventKind};
use serde_json::{Map, Value, json};

use super::examples;
use super::records::QUOTE_ID;
use super::schema::Type::{Component, Date, Decimal, Instant, ListOf, OrNull, Text, Uuid, Word};
use super::schema::{Member, always, component, object, sometimes};

const QUOTE: &[Member] = &[
    always("id", Uuid, "The quote. Fetch its lines with `GET /api/v1/quotes/{id}`."),
    always("number", Text, "Number for humans, such as `DEV-2026-0042`."),
    always("status", Component("QuoteStatus"), "State of the quote at the event."),
    always("clientName", Text, "Name of the client."),
    always("clientEmail", OrNull(&Text), "E-mail address of the client."),
    always("totalHT", Decimal, "Total without VAT. At most two decimals: read it as a decimal."),
    always("totalTTC", Decimal, "Total with VAT. At most two decimals: read it as a decimal."),
    always("tvaRate", Decimal, "VAT rate in percent; blended where the lines have several rates."),
    sometimes("signedAt", Instant, "When the client signed. Left out where it was not signed."),
    sometimes("acceptedAt", Instant, "When the quote was accepted. Left out where it was not."),
    sometimes("signedByName", Text, "Name of the signer. Left out where it was not signed."),
    sometimes("signedByEmail", Text, "E-mail address of the signer. Left out where it was not signed."),
];

const INVOICE: &[Member] = &[
    always("id", Uuid, "The invoice. Fetch its lines with `GET /api/v1/invoices/{id}`."),
    always(
        "number",
        OrNull(&Text),
        "Number for humans, such as `FAC-2026-0042`. `null` in DRAFT, and for good if the invoice was cancelled as a DRAFT.",
    ),
    always("status", Component("InvoiceStatus"), "State of the invoice at the event."),
    always("type", Component("InvoiceType"), "Kind of the invoice."),
    always("quoteId", OrNull(&Uuid), QUOTE_ID),
    always("clientName", Text, "Name of the client."),
    always("clientEmail", OrNull(&Text), "E-mail address of the client."),
    always("totalHT", Decimal, "Total without VAT. At most two decimals: read it as a decimal."),
    always("totalTTC", Decimal, "Total with VAT. At most two decimals: read it as a decimal."),
    always("tvaRate", Decimal, "VAT rate in percent; blended where the lines have several rates."),
    always("amountPaid", Decimal, "Sum of the valid payments."),
    always("amountDue", Decimal, "What is still to be paid now."),
    always("issueDate", OrNull(&Date), "Day of issue. `null` if it has not been issued."),
    always("dueDate", OrNull(&Date), "Last day for paying. `null` if it has not been issued."),
];

const PAID_AT: Member = always("paidAt", Instant, "When the invoice was paid in full.");

const CREDIT_NOTE: &[Member] = &[
    always("id", Uuid, "The credit note. Fetch its lines with `GET /api/v1/credit-notes/{id}`."),
    always("number", Text, "Number for humans, such as `AVO-2026-0042`."),
    always("invoiceId", Uuid, "The invoice that is credited."),
    always("invoiceNumber", Text, "The number of this invoice."),
    always("clientName", Text, "Name of the client."),
    always("clientEmail", OrNull(&Text), "E-mail address of the client."),
    always("totalHT", Decimal, "What is credited without VAT. Positive."),
    always("totalTTC", Decimal, "What is credited with VAT. Positive."),
    always("tvaRate", Decimal, "VAT rate in percent; blended where the lines have several rates."),
    always("issueDate", Date, "Day of issue."),
];

const PROJECT: &[Member] = &[
    always("id", Uuid, "The project. The API has no projects: this is all that there is to know."),
    always("name", Text, "Name of the project."),
    always("status", Component("ProjectStatus"), "State of the project at the event."),
    always("clientName", OrNull(&Text), "Name of the client, where the project has one."),
    always("clientEmail", OrNull(&Text), "E-mail address of the client."),
    always("quoteIds", ListOf(&Uuid), "The quotes of the project."),
    always("completedAt", Instant, "When the project was completed."),
];

const PING: &[Member] = &[
    always("id", Uuid, "The webhook under test, as in `X-{{brand}}-Webhook-Id`."),
    always("message", Text, "For humans."),
];

/// A kind of delivery.
struct Delivery {
    /// The `event` of its body.
    event: &'static str,
    summary: &'static str,
    text: &'static str,
    /// The schema of `data`.
    data: &'static str,
}

/// Every kind of delivery.
fn deliveries() -> Vec<Delivery> {
    EventKind::ALL.iter().map(|kind| delivery(*kind)).chain([PING_DELIVERY]).collect()
}

const PING_DELIVERY: Delivery = Delivery {
    event: Event::PING,
    summary: "Test of a webhook",
    text: "Sent by the test button of the product, also to a disabled webhook. Nothing has happened. Answer 2xx.",
    data: "PingData",
};

fn delivery(kind: EventKind) -> Delivery {
    let event = kind.as_str();
    let (summary, text, data) = match kind {
        EventKind::QuoteCreated => (
            "A quote was created",
            "By hand, by AI or by an import. Most are in DRAFT; an imported one may be in any state.",
            "QuoteEventData",
        ),
        EventKind::QuoteSigned => (
            "A client signed a quote",
            "Through the public link. `quote.accepted` is sent as well, with the same `timestamp`; either may arrive first.",
            "QuoteEventData",
        ),
        EventKind::QuoteAccepted => (
            "A quote was accepted",
            "Each time that a quote moves to ACCEPTED: by signature, or marked by hand.",
            "QuoteEventData",
        ),
        EventKind::InvoiceCreated => (
            "An invoice was created",
            "By conversion of an accepted quote, by hand or automatic. The invoice is a DRAFT, and its `number` is `null`.",
            "InvoiceCreatedData",
        ),
        EventKind::InvoicePaid => (
            "An invoice was paid",
            "Each time that an invoice moves to PAID: its payments cover what is due. A partial payment sends nothing. After a \
             reversed payment, the next one that covers the invoice sends it again.",
            "InvoicePaidData",
        ),
        EventKind::ProjectCompleted => (
            "A project was completed",
            "Each time that a project moves to COMPLETED, also when it was completed before.",
            "ProjectEventData",
        ),
        EventKind::InvoiceIssued => (
            "An invoice was issued",
            "The invoice got its number and its document. Sent to webhooks that name it.",
            "InvoiceIssuedData",
        ),
        EventKind::CreditNoteIssued => (
            "A credit note was issued",
            "Also sent when an issued invoice is cancelled, to webhooks that name it.",
            "CreditNoteEventData",
        ),
        // A kind that is added needs a description; a test fails without one.
        _ => ("", "", ""),
    };
    Delivery { event, summary, text, data }
}

/// The webhooks, by the `event` of their bodies.
pub(super) fn webhooks() -> Map<String, Value> {
    deliveries()
        .into_iter()
        .map(|delivery| (delivery.event.to_owned(), json!({"post": delivery.operation()})))
        .collect()
}

/// The schemas of deliveries, by name.
pub(super) fn schemas() -> Map<String, Value> {
    let paid = || INVOICE.iter().chain([&PAID_AT]);
    let data = [
        ("QuoteEventData", object("Header and totals of a quote. Its lines are in the detail.", QUOTE)),
        (
            "InvoiceCreatedData",
            object("Header and totals of an invoice. Its lines are in the detail.", INVOICE),
        ),
        (
            "InvoicePaidData",
            object("Header and totals of a paid invoice. Its lines are in the detail.", paid()),
        ),
        (
            "InvoiceIssuedData",
            object("Header and totals of an issued invoice. Its lines are in the detail.", INVOICE),
        ),
        (
            "CreditNoteEventData",
            object("Header and totals of a credit note. Its lines are in the detail.", CREDIT_NOTE),
        ),
        ("ProjectEventData", object("A project.", PROJECT)),
        ("PingData", object("What a test delivery holds.", PING)),
    ];
    let data = data.map(|(name, schema)| (name.to_owned(), schema));
    deliveries().iter().map(|delivery| (delivery.schema_name(), delivery.envelope())).chain(data).collect()
}

impl Delivery {
    /// `QuoteCreatedEvent`.
    fn schema_name(&self) -> String {
        let words = self.event.split(['.', '_']).map(|word| word[..1].to_ascii_uppercase() + &word[1..]);
        words.chain(["Event".to_owned()]).collect()
    }

    fn envelope(&self) -> Value {
        let members = [
            always(
                "event",
                Word(self.event),
                "The kind of event. Answer 2xx to a kind that you do not know.",
            ),
            always(
                "timestamp",
                Instant,
                "When it happened: the `updatedAt` of the record after the change. Orders the events of a company.",
            ),
            always("data", Component(self.data), "The record at the event."),
        ];
        object(self.summary, &members)
    }

    fn operation(&self) -> Value {
        assert!(!self.text.is_empty(), "the event {} has no description", self.event);
        let event = self.schema_name();
        let id = format!("on{}", event.trim_end_matches("Event"));
        json!({
            "operationId": id,
            "tags": ["Webhooks"],
            "summary": self.summary,
            "description": self.text,
            "security": [],
            "parameters": HEADERS.iter().map(|header| header.parameter(self.event)).collect::<Vec<_>>(),
            "requestBody": {
                "required": true,
                "description": "The event. Verify the signature over these very bytes, before they are parsed.",
                "content": {
                    "application/json": {"schema": component("schemas", &event), "example": examples::event(self.event)},
                },
            },
            "responses": {
                "2XX": {"description": "Received. Answer within {{attempt_seconds}} s, before you do the work."},
                "4XX": {"description": "Not wanted: the delivery has failed and is not tried again, except after 429."},
                "5XX": {"description": "Not received: the delivery is tried again where an attempt is left: it has {{attempts}}."},
            },
        })
    }
}

/// A header of every delivery.
struct DeliveryHeader {
    name: &'static str,
    text: &'static str,
    schema: fn() -> Value,
}

const HEADERS: &[DeliveryHeader] = &[
    DeliveryHeader {
        name: "X-{{brand}}-Signature",
        text: "`t=<unix seconds>,v1=<hex>`. `v1` is the HMAC-SHA256 of the text of `t`, a dot and the raw body, in 64 lowercase hex digits; \
               the key is the whole secret, `whsec_` included, as bytes. While a rotation of the secret overlaps there are two `v1`: \
               one that matches is enough. Refuse a `t` that is more than {{tolerance_seconds}} s away from your clock.",
        schema: || json!({"type": "string", "pattern": "^t=[0-9]+(,v1=[0-9a-f]{64})+$"}),
    },
    DeliveryHeader {
        name: "X-{{brand}}-Webhook-Id",
        text: "The webhook (the endpoint that is registered), not the event. The same for all its deliveries.",
        schema: || json!({"type": "string", "format": "uuid"}),
    },
    DeliveryHeader {
        name: "X-{{brand}}-Event-Id",
        text: "The event: the same for each attempt, each webhook and a replay. The signature does not cover it, so deduplicate by \
               `event`, `data.id` and `timestamp` of the body.",
        schema: || json!({"type": "string", "format": "uuid"}),
    },
    DeliveryHeader {
        name: "User-Agent",
        text: "Names the sender and the version of its deliveries.",
        schema: || json!({"type": "string", "const": "{{brand}}-Webhook/1.0"}),
    },
];

impl DeliveryHeader {
    fn parameter(&self, event: &str) -> Value {
        // Recorded under the default brand.
        let example = examples::event_header(event, &self.name.replace("{{brand}}", "Service"));
        json!({"name": self.name, "in": "header", "required": true, "description": self.text, "schema": (self.schema)(), "example": example})
    }
}
