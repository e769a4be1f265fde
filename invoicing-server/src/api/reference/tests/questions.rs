//! The questions of an integrator, and the sections of the page that answer them.

use super::page;

/// A question, the id of the section that answers it, and texts of the answer.
struct Question {
    asked: &'static str,
    section: &'static str,
    says: &'static [&'static str],
}

const fn question(asked: &'static str, section: &'static str, says: &'static [&'static str]) -> Question {
    Question { asked, section, says }
}

const QUESTIONS: [Question; 16] = [
    question(
        "What are the algorithm, the message and the encoding of the MAC?",
        "verifying-a-delivery",
        &["HMAC-SHA256 over the text of t, a dot, and the raw body", "64 lowercase hex digits"],
    ),
    question(
        "Is `whsec_` part of the key?",
        "verifying-a-delivery",
        &["The key is the whole secret as bytes, whsec_ included"],
    ),
    question(
        "What does `since` compare, and does it include the instant?",
        "listQuotes",
        &["updatedAt is at or after this instant", "not the creation"],
    ),
    question(
        "What do I store for the next catch-up?",
        "catching-up",
        &["Keep the asOf of this first page", "store the kept asOf"],
    ),
    question(
        "In what order do records come, and what may paging repeat or skip, also under a filter?",
        "lists",
        &["newest first", "may come again on a later page, and none is skipped", "is the exception"],
    ),
    question(
        "What does the header of the webhook's id name, and which header names the event?",
        "webhooks",
        &["X-Service-Webhook-Id is the webhook", "X-Service-Event-Id is the event"],
    ),
    question(
        "By what do I recognise a repeated delivery?",
        "repeats-and-order",
        &["Drop repeats by event, data.id and timestamp together", "headers are not signed"],
    ),
    question(
        "What is the shape of an error, and of a 429?",
        "errors",
        &["the body of a 429 is flat", "{\"error\": {\"code\", \"message\"}}"],
    ),
    question(
        "What do the headers of the quota say, and in what unit?",
        "quota",
        &["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset (seconds", "Retry-After in seconds"],
    ),
    question(
        "What are the limits and the defaults?",
        "limits",
        &["100, by default 50", "256 KiB", "30 in any 60 s", "90 days"],
    ),
    question(
        "What is in each field, such as `tvaRate` of a document with two rates, or `number` of a draft?",
        "record-InvoiceItem",
        &[
            "it is the blended rate",
            "null in DRAFT, and for good if the invoice was cancelled as a DRAFT",
            "read it as a decimal",
            "Example: ",
        ],
    ),
    question(
        "Does my own PATCH move `updatedAt`?",
        "linkQuote",
        &["your own link makes the quote appear again in lists with since"],
    ),
    question(
        "How fast must a receiver answer, and which answers are tried again?",
        "answering",
        &["Answer 2xx within 5 s", "5xx, 429, a timeout"],
    ),
    question(
        "What does `hasMore` mean?",
        "lists",
        &["hasMore says that at least one record follows the page"],
    ),
    question("Is anything ever deleted?", "catching-up", &["Nothing is ever deleted"]),
    question(
        "Where are the sandbox and ready receivers?",
        "introduction",
        &["cargo run --example sandbox", "examples/receivers"],
    ),
];

#[test]
fn sixteen_questions_are_answered_where_one_looks() {
    let html = page();
    for Question { asked, section, says } in &QUESTIONS {
        // Line breaks of the source have no meaning.
        let words = html.section(section).text().split_whitespace().collect::<Vec<_>>().join(" ");
        for answer in *says {
            assert!(words.contains(answer), "{asked}\n{answer:?} is not in {section}:\n{words}");
        }
    }
}
