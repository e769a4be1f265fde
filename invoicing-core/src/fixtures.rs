//! Records for the tests of this crate: a client, lines with canaries in the fields that must never
//! leave, and documents in every state.

use chrono::NaiveDate;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::{
    ChangeTime, Changed, Client, ClientId, Costing, CreditNote, CreditNoteId, CreditNoteIssue,
    CreditableBalance, DocumentFormat, Invoice, InvoiceId, InvoiceIssue, InvoiceStatus, Line, NewClient,
    NewCreditNote, NewLine, Percent, PricedLines, Quote, QuoteCreation, QuoteId, QuoteStatus, QuoteTerms,
    SignatureBlock, Timestamp, UnitPrice, money, price_lines,
};

/// The instant of creation in milliseconds; the other instants of a record are a few milliseconds
/// later.
const START: i64 = 1_789_378_867_000;

/// A change whose stamp is the clock's instant.
pub(crate) fn time(millis: i64) -> ChangeTime {
    ChangeTime { now: at(millis), stamp: at(millis) }
}

/// The instant `millis` milliseconds after the creation.
pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(START + millis)
}

/// A date from its text.
pub(crate) fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// The date of [`at`].
pub(crate) fn today() -> NaiveDate {
    day("2026-09-14")
}

/// A time-ordered id with a number in it.
pub(crate) fn uuid(n: u128) -> Uuid {
    Uuid::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0000 + n)
}

/// A client with every field.
pub(crate) fn client() -> Client {
    let new = NewClient::named("Léa Martin")
        .r#type(crate::ClientType::Particulier)
        .email("lea@exemple.fr")
        .phone("01 23 45 67 89")
        .address("1 rue des Lilas")
        .zip_code("75001")
        .city("Paris")
        .notes("calls back")
        .external_id("crm-1");
    new.check().unwrap().create(ClientId(uuid(1)), time(0))
}

/// A line at this price, with canaries in every field that must not leave.
pub(crate) fn new_line(price: &str, rate: &str) -> NewLine {
    let costing = Costing::default()
        .labour_cost(money!(777.71))
        .material_cost(money!(888.82))
        .private_note("CANARY note")
        .subcontractor("CANARY subcontractor");
    NewLine::new("Paint the hall", 2, price.parse::<UnitPrice>().unwrap(), rate.parse::<Percent>().unwrap())
        .unit("m2")
        .lot("Painting")
        .section("Ground floor")
        .cost(costing)
}

/// Two lines at two rates, 300 without VAT and 340 with it.
pub(crate) fn priced() -> PricedLines {
    price_lines(&[new_line("50", "10"), new_line("100", "15")]).unwrap()
}

/// The client's part of [`priced`].
pub(crate) fn lines() -> Vec<Line> {
    priced().lines
}

/// True if a text holds a part of a costing.
pub(crate) fn holds_costing(text: &str) -> bool {
    let text = text.to_lowercase();
    ["canary", "777.71", "888.82", "costing", "labour", "material", "privatenote", "subcontractor"]
        .iter()
        .any(|word| text.contains(word))
}

pub(crate) fn origin() -> QuoteCreation<'static> {
    QuoteCreation { id: QuoteId(uuid(2)), number: "DEV-2026-0042", currency: "EUR", at: time(0) }
}

/// Terms without an order number.
pub(crate) fn terms(retention_rate: Percent, valid_until: Option<NaiveDate>) -> QuoteTerms {
    QuoteTerms { retention_rate, valid_until, order_number: None }
}

/// A draft with a retention of 5 %.
pub(crate) fn draft_quote() -> Quote {
    Quote::draft(origin(), &client(), lines(), &terms(Percent::from(5), None)).unwrap().record
}

pub(crate) fn signature(millis: i64) -> SignatureBlock {
    SignatureBlock {
        signed_at: at(millis),
        signed_by_name: "Léa Martin".into(),
        signed_by_email: "lea@exemple.fr".into(),
        accepted_text: "Bon pour accord".into(),
        proof_fingerprint: format!("sha256:{}", "ab".repeat(32)),
    }
}

/// A quote that moved to this state in the usual way; an ACCEPTED one is signed.
pub(crate) fn quote_in(status: QuoteStatus) -> Quote {
    let draft = draft_quote();
    let sent = draft.send(None, at(1), at(1), today()).unwrap().record;
    match status {
        QuoteStatus::Draft => draft,
        QuoteStatus::Sent => sent,
        QuoteStatus::Accepted => sent.sign(signature(2), at(2), today()).unwrap().record,
        QuoteStatus::Rejected => sent.reject(at(2)).unwrap().record,
        QuoteStatus::Expired => sent.expire(at(2), day("2027-01-01")).unwrap().record,
    }
}

/// An invoice of 340 with a retention of 17, so 323 to pay, that moved to this state in the usual
/// way.
pub(crate) fn invoice_in(status: InvoiceStatus) -> Invoice {
    let quote = quote_in(QuoteStatus::Accepted);
    let draft = Invoice::from_quote(InvoiceId(uuid(3)), &quote, time(3)).unwrap().record;
    let sent = draft.issue(InvoiceIssue::new("FAC-2026-0007", today()), time(4)).unwrap().record;
    match status {
        InvoiceStatus::Draft => draft,
        InvoiceStatus::Sent => sent,
        InvoiceStatus::Paid => sent.mark_paid(time(5)).unwrap().record,
        InvoiceStatus::Overdue => sent.mark_overdue(at(5), day("2027-01-01")).unwrap().record,
        InvoiceStatus::Canceled => credit_remaining(&sent, time(5)).1.record,
    }
}

/// An issued invoice of these lines.
pub(crate) fn issued_of(lines: &[NewLine]) -> Invoice {
    let lines = price_lines(lines).unwrap().lines;
    let quote = Quote::draft(origin(), &client(), lines, &QuoteTerms::default()).unwrap().record;
    let quote = quote.accept(time(1)).unwrap().record;
    let draft = Invoice::from_quote(InvoiceId(uuid(3)), &quote, time(2)).unwrap().record;
    draft.issue(InvoiceIssue::new("FAC-2026-0007", today()), time(3)).unwrap().record
}

/// The issue of the first credit note of the year.
pub(crate) fn note_one(at: ChangeTime) -> CreditNoteIssue<'static> {
    CreditNoteIssue {
        id: CreditNoteId(uuid(6)),
        number: "AVO-2026-0001",
        issue_date: today(),
        document_format: Some(DocumentFormat::Pdf),
        at,
    }
}

/// The credit note of a whole invoice, and the invoice with it.
pub(crate) fn credit_remaining(invoice: &Invoice, at: ChangeTime) -> (CreditNote, Changed<Invoice>) {
    let remaining = NewCreditNote::of_remaining("Travaux annulés");
    let content = CreditableBalance::of(invoice).credit(invoice, &remaining).unwrap();
    CreditNote::issue(note_one(at), invoice, content).unwrap()
}

/// The member names of a JSON object, in the order in which they are written.
pub(crate) fn names(json: &str) -> Vec<String> {
    struct Names(Vec<String>);

    impl<'de> Deserialize<'de> for Names {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Members;

            impl<'de> Visitor<'de> for Members {
                type Value = Names;

                fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Names, A::Error> {
                    let mut names = Vec::new();
                    while let Some((name, IgnoredAny)) = map.next_entry()? {
                        names.push(name);
                    }
                    Ok(Names(names))
                }
            }

            deserializer.deserialize_map(Members)
        }
    }

    serde_json::from_str::<Names>(json).unwrap().0
}

/// [`names`] of a value in JSON.
pub(crate) fn names_of(value: &impl Serialize) -> Vec<String> {
    names(&serde_json::to_string(value).unwrap())
}

/// The top-level members in which two records differ, sorted.
pub(crate) fn differences(before: &impl Serialize, after: &impl Serialize) -> Vec<String> {
    let object = |value: serde_json::Value| value.as_object().unwrap().clone();
    let before = object(serde_json::to_value(before).unwrap());
    let after = object(serde_json::to_value(after).unwrap());
    assert!(before.keys().eq(after.keys()), "the records have different members");
    let mut changed: Vec<_> =
        before.into_iter().filter(|(name, value)| after[name] != *value).map(|(name, _)| name).collect();
    // Another crate of the build decides whether JSON objects are sorted.
    changed.sort_unstable();
    changed
}
