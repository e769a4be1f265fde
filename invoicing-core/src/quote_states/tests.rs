use chrono::NaiveDate;
use proptest::prelude::*;

use super::*;
use crate::Percent;
use crate::fixtures::*;
use crate::{ClientId, Money};

/// The operations of the contract's table on an existing quote.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Operation {
    Edit,
    Send,
    Sign,
    Accept,
    Reject,
    Expire,
    Link,
}

/// The clock, and the stamp that is ahead of it.
const CLOCK: i64 = 900;
const LATE: i64 = 1_000;

/// Terms with an order number.
fn ordered(number: &str, terms: &QuoteTerms) -> QuoteTerms {
    QuoteTerms { order_number: Some(number.into()), ..terms.clone() }
}

/// The result of an operation; `None` if it is refused.
fn perform(operation: Operation, quote: &Quote) -> Option<Changed<Quote>> {
    let (after_validity, now, stamp) = (day("2027-01-01"), at(CLOCK), at(LATE));
    match operation {
        Operation::Edit => {
            let lines = crate::price_lines(&[new_line("70", "20")]).unwrap().lines;
            let terms = ordered("PO-1", &terms(Percent::ZERO, Some(day("2026-12-24"))));
            quote.edit(&client(), lines, &terms, stamp).ok()
        }
        Operation::Send => quote.send(Some(day("2026-12-24")), now, stamp, today()).ok(),
        Operation::Sign => {
            let expired = quote.summary.status == QuoteStatus::Expired;
            let submitted_on = if expired { after_validity } else { today() };
            quote.sign(signature(CLOCK), stamp, submitted_on).ok()
        }
        Operation::Accept => quote.accept(ChangeTime { now, stamp }).ok(),
        Operation::Reject => quote.reject(stamp).ok(),
        Operation::Expire => quote.expire(stamp, after_validity),
        Operation::Link => quote.link(Some("deal-7"), stamp).unwrap(),
    }
}

/// The outcome in the contract: the next state and the events, or `None` if the operation is
/// refused.
fn allowed(from: QuoteStatus, operation: Operation) -> Option<(QuoteStatus, &'static [&'static str])> {
    use QuoteStatus::{Accepted, Draft, Expired, Rejected, Sent};
    match (operation, from) {
        (Operation::Edit, Draft) => Some((Draft, &[])),
        (Operation::Send, Draft | Expired | Rejected) => Some((Sent, &[])),
        (Operation::Sign, Sent) => Some((Accepted, &["quote.signed", "quote.accepted"])),
        (Operation::Accept, Draft | Sent | Rejected | Expired) => Some((Accepted, &["quote.accepted"])),
        (Operation::Reject, Draft | Sent) => Some((Rejected, &[])),
        (Operation::Expire, Sent) => Some((Expired, &[])),
        (Operation::Link, any) => Some((any, &[])),
        _ => None,
    }
}

/// The members of the detail that an operation may touch.
fn touches(operation: Operation) -> &'static [&'static str] {
    match operation {
        Operation::Edit => &[
            "lines",
            "orderNumber",
            "retentionAmount",
            "retentionRate",
            "totalHT",
            "totalTTC",
            "tvaRate",
            "updatedAt",
            "validUntil",
            "vatBreakdown",
        ],
        Operation::Send => &["sentAt", "status", "updatedAt", "validUntil"],
        Operation::Sign => {
            &["acceptedAt", "signature", "signedAt", "signedByEmail", "signedByName", "status", "updatedAt"]
        }
        Operation::Accept => &["acceptedAt", "status", "updatedAt"],
        Operation::Reject | Operation::Expire => &["status", "updatedAt"],
        Operation::Link => &["externalId", "updatedAt"],
    }
}

const OPERATIONS: [Operation; 7] = [
    Operation::Edit,
    Operation::Send,
    Operation::Sign,
    Operation::Accept,
    Operation::Reject,
    Operation::Expire,
    Operation::Link,
];

/// Rules: QUOTE-3, QUOTE-4, QUOTE-5, QUOTE-6, QUOTE-7, QUOTE-8, QUOTE-9, QUOTE-11, LINK-4, STAMP-7
#[test]
fn every_operation_in_every_state_does_what_the_contract_says() {
    for &from in QuoteStatus::ALL {
        for operation in OPERATIONS {
            let quote = quote_in(from);
            assert_eq!(quote.summary.status, from);
            let changed = perform(operation, &quote);
            let Some((to, events)) = allowed(from, operation) else {
                assert!(changed.is_none(), "{operation:?} in {from} must be refused");
                continue;
            };
            let changed = changed.unwrap_or_else(|| panic!("{operation:?} in {from} must be allowed"));
            assert_eq!(changed.record.summary.status, to, "{operation:?} in {from}");
            assert_eq!(changed.record.summary.updated_at, at(LATE));
            let names: Vec<_> = changed.events.iter().map(Event::name).collect();
            assert_eq!(names, events, "{operation:?} in {from}");
            assert!(changed.events.iter().all(|event| event.timestamp == at(LATE)));
            let QuoteSummary { sent_at, accepted_at, .. } = changed.record.summary;
            assert!(![sent_at, accepted_at].contains(&Some(at(LATE))), "{operation:?} dates by the stamp");
            assert_eq!(differences(&quote, &changed.record), touches(operation), "{operation:?} in {from}");
        }
    }
}

#[test]
fn a_refusal_is_a_conflict_that_names_the_state() {
    let accepted = quote_in(QuoteStatus::Accepted);
    let refusal = accepted.send(None, at(9), at(9), today()).unwrap_err();
    assert!(matches!(&refusal, DomainError::Conflict(_)));
    assert_eq!(refusal.to_string(), "a quote in ACCEPTED cannot be sent");
    assert_eq!(accepted.reject(at(9)).unwrap_err().to_string(), "a quote in ACCEPTED cannot be rejected");
}

#[test]
fn a_draft_is_created_with_its_totals_and_one_event() {
    let changed = Quote::draft(origin(), &client(), lines(), &terms(Percent::from(5), None)).unwrap();
    let quote = &changed.record;
    assert_eq!(quote.summary.status, QuoteStatus::Draft);
    assert_eq!((quote.summary.total_ht, quote.summary.total_ttc), (Money::from(300), Money::from(340)));
    assert_eq!(quote.summary.tva_rate.to_string(), "13.33");
    assert_eq!(quote.detail.retention_amount, Money::from(17));
    assert_eq!((quote.summary.created_at, quote.summary.updated_at), (at(0), at(0)));
    assert_eq!(changed.events.iter().map(Event::name).collect::<Vec<_>>(), ["quote.created"]);
    assert!(Quote::draft(origin(), &client(), lines(), &terms("5.01".parse().unwrap(), None)).is_err());
}

/// Rules: WIRE-14, WIRE-15, WIRE-17, QUOTE-20
#[test]
fn an_order_number_is_one_line_of_at_most_50_characters() {
    let draft = |number: &str| {
        let drafted = Quote::draft(origin(), &client(), lines(), &ordered(number, &QuoteTerms::default()));
        drafted.map(|changed| changed.record.detail.order_number)
    };
    assert_eq!(draft(" PO 2026/41-é "), Ok(Some("PO 2026/41-é".into())));
    assert_eq!(draft(&"é".repeat(50)), Ok(Some("é".repeat(50))));
    for blank in ["", " ", "\u{200b}"] {
        assert_eq!(draft(blank), Ok(None), "{blank:?}");
    }
    for bad in [&"é".repeat(51), "a\nb", "a\0b", "a\u{202e}b"] {
        assert_eq!(draft(bad).unwrap_err().field, "orderNumber", "{bad:?}");
        let quote = draft_quote();
        let edited = quote.edit(&client(), lines(), &ordered(bad, &QuoteTerms::default()), at(1));
        assert!(matches!(edited, Err(DomainError::Invalid(invalid)) if invalid.field == "orderNumber"));
    }
}

/// Rules: QUOTE-10
#[test]
fn an_empty_quote_is_saved_but_neither_sent_nor_accepted() {
    let empty = Quote::draft(origin(), &client(), Vec::new(), &QuoteTerms::default()).unwrap().record;
    assert!(matches!(empty.send(None, at(1), at(1), today()), Err(DomainError::Conflict(_))));
    assert!(empty.accept(time(1)).is_err());
}

/// Rules: STAMP-6
#[test]
fn content_that_is_what_it_was_moves_nothing() {
    let quote = draft_quote();
    let same = quote.edit(&client(), lines(), &terms(Percent::from(5), None), at(9)).unwrap();
    assert_eq!((&same.record, same.events.len()), (&quote, 0));
    let other = Client { id: ClientId(uuid(99)), ..client() };
    let moved = quote.edit(&other, lines(), &terms(Percent::from(5), None), at(9)).unwrap().record;
    assert_eq!(differences(&quote, &moved), ["clientId", "updatedAt"]);
}

#[test]
fn an_edit_keeps_the_link_and_the_creation() {
    let linked = draft_quote().link(Some("deal-7"), at(1)).unwrap().unwrap().record;
    let edited = linked.edit(&client(), Vec::new(), &QuoteTerms::default(), at(2)).unwrap().record;
    assert_eq!(edited.summary.external_id.as_deref(), Some("deal-7"));
    assert_eq!((edited.summary.created_at, edited.summary.updated_at), (at(0), at(2)));
    assert_eq!(edited.summary.number, "DEV-2026-0042");
}

/// Rules: QUOTE-12
#[test]
fn sending_gives_thirty_days_unless_a_validity_is_named() {
    let draft = draft_quote();
    let until =
        |quote: &Quote, named| quote.send(named, at(1), at(1), today()).unwrap().record.summary.valid_until;
    assert_eq!(until(&draft, None), Some(day("2026-10-14")));
    assert_eq!(until(&draft, Some(today())), Some(today()));
    let own =
        draft.edit(&client(), lines(), &terms(Percent::ZERO, Some(day("2026-09-30"))), at(1)).unwrap().record;
    assert_eq!(until(&own, None), Some(day("2026-09-30")));
    assert_eq!(until(&own, Some(day("2026-10-01"))), Some(day("2026-10-01")));
    let past = own.send(Some(day("2026-09-13")), at(1), at(1), today()).unwrap_err();
    assert_eq!(past.to_string(), "validUntil: must not be in the past");
}

/// Rules: QUOTE-8
#[test]
fn sent_again_the_old_validity_is_over() {
    for status in [QuoteStatus::Expired, QuoteStatus::Rejected] {
        let again = quote_in(status).send(None, at(9), at(9), day("2027-03-01")).unwrap().record;
        assert_eq!(again.summary.valid_until, Some(day("2027-03-31")));
        assert_eq!(again.summary.sent_at, Some(at(9)));
    }
}

#[test]
fn a_date_beyond_four_digits_is_refused_and_never_a_panic() {
    for far in [NaiveDate::MAX, NaiveDate::MIN] {
        let draft = Quote::draft(origin(), &client(), lines(), &terms(Percent::ZERO, Some(far)));
        assert_eq!(draft.unwrap_err().field, "validUntil");
        assert!(draft_quote().edit(&client(), lines(), &terms(Percent::ZERO, Some(far)), at(1)).is_err());
        assert!(draft_quote().send(Some(far), at(1), at(1), today()).is_err());
    }
    assert!(draft_quote().send(None, at(1), at(1), NaiveDate::MAX).is_err());
}

/// Rules: QUOTE-13
#[test]
fn the_last_day_of_validity_is_a_day_to_sign_on() {
    let sent = quote_in(QuoteStatus::Sent);
    let last = sent.summary.valid_until.unwrap();
    let next = last.succ_opt().unwrap();
    assert!(sent.sign(signature(5), at(5), last).is_ok());
    assert!(sent.expire(at(5), last).is_none());
    let refused = sent.sign(signature(5), at(5), next).unwrap_err();
    assert_eq!(refused.to_string(), "the quote's validity has ended");
    assert_eq!(sent.expire(at(5), next).unwrap().record.summary.status, QuoteStatus::Expired);
}

/// Rules: QUOTE-4
#[test]
fn a_signature_fills_the_head_and_both_events_alike() {
    let changed = quote_in(QuoteStatus::Sent).sign(signature(7), at(8), today()).unwrap();
    let quote = &changed.record;
    assert_eq!((quote.summary.signed_at, quote.summary.accepted_at), (Some(at(7)), Some(at(7))));
    assert_eq!(quote.summary.signed_by_name.as_deref(), Some("Léa Martin"));
    assert_eq!(quote.detail.signature, Some(signature(7)));
    assert_eq!(changed.events[0].data, changed.events[1].data);
    assert_eq!(changed.events[0].timestamp, changed.events[1].timestamp);
}

/// Rules: STAMP-6
#[test]
fn linking_to_what_it_is_linked_to_is_no_change() {
    let quote = draft_quote();
    assert_eq!(quote.link(None, at(1)), Ok(None));
    let linked = quote.link(Some(" deal-7 "), at(1)).unwrap().unwrap().record;
    assert_eq!(linked.summary.external_id.as_deref(), Some("deal-7"));
    assert_eq!(linked.link(Some("deal-7"), at(2)), Ok(None));
    assert_eq!(linked.link(None, at(2)).unwrap().unwrap().record.summary.external_id, None);
    for bad in ["", "  ", "a\0b"] {
        assert_eq!(linked.link(Some(bad), at(2)).unwrap_err().field, "externalId");
    }
    assert!(linked.link(Some(&"x".repeat(255)), at(2)).is_ok());
    assert!(linked.link(Some(&"x".repeat(256)), at(2)).is_err());
}

fn import(import: &QuoteImport, valid_until: Option<NaiveDate>) -> Result<Changed<Quote>, Invalid> {
    Quote::import(origin(), &client(), lines(), &terms(Percent::ZERO, valid_until), import, today())
}

/// Rules: QUOTE-2
#[test]
fn an_import_starts_in_any_state_and_is_only_created() {
    for &status in QuoteStatus::ALL {
        let arrives = QuoteImport { status, sent_at: None, accepted_at: None };
        let changed = import(&arrives, None).unwrap();
        let quote = changed.record;
        assert_eq!(quote.summary.status, status);
        assert_eq!(changed.events.iter().map(Event::name).collect::<Vec<_>>(), ["quote.created"]);
        assert_eq!(quote.summary.sent_at.is_some(), status != QuoteStatus::Draft);
        assert_eq!(quote.summary.accepted_at.is_some(), status == QuoteStatus::Accepted);
        // Only a quote that can be signed gets a last day: a quote that is valid for another month
        // is not EXPIRED.
        let until = (status == QuoteStatus::Sent).then(|| day("2026-10-14"));
        assert_eq!(quote.summary.valid_until, until);
        assert_eq!(
            import(&arrives, Some(day("2026-01-31"))).unwrap().record.summary.valid_until,
            Some(day("2026-01-31"))
        );
    }
}

/// Rules: QUOTE-2
#[test]
fn an_import_keeps_its_dates_where_they_go_with_the_state() {
    let instants = |status| QuoteImport { status, sent_at: Some(at(-9)), accepted_at: Some(at(-8)) };
    let accepted = import(&instants(QuoteStatus::Accepted), None).unwrap().record;
    assert_eq!((accepted.summary.sent_at, accepted.summary.accepted_at), (Some(at(-9)), Some(at(-8))));
    assert_eq!(import(&instants(QuoteStatus::Draft), None).unwrap_err().field, "sentAt");
    assert_eq!(import(&instants(QuoteStatus::Sent), None).unwrap_err().field, "acceptedAt");
}

/// Rules: QUOTE-2
#[test]
fn an_import_has_what_sending_and_accepting_would_have_asked_for() {
    use QuoteStatus::{Accepted, Draft, Expired, Rejected, Sent};
    let without_lines = |status| {
        let import = QuoteImport::new(status);
        Quote::import(origin(), &client(), Vec::new(), &QuoteTerms::default(), &import, today())
    };
    for status in [Sent, Accepted] {
        assert_eq!(without_lines(status).unwrap_err().field, "lines");
    }
    for status in [Draft, Expired, Rejected] {
        assert!(without_lines(status).is_ok(), "{status}");
    }
    let accepted = |sent: Option<i64>, accepted: Option<i64>| {
        let at = |millis: Option<i64>| millis.map(at);
        let dates = QuoteImport { status: Accepted, sent_at: at(sent), accepted_at: at(accepted) };
        let summary = import(&dates, None)?.record.summary;
        let millis = |at: Option<Timestamp>| at.unwrap().as_millis() - origin().at.now.as_millis();
        Ok::<_, Invalid>((millis(summary.sent_at), millis(summary.accepted_at)))
    };
    let drift = CLOCK_DRIFT_MS;
    for (given, kept) in [
        ((None, None), (0, 0)),
        ((Some(-9), None), (-9, 0)),
        ((None, Some(-9)), (-9, -9)),
        ((Some(-9), Some(-9)), (-9, -9)),
        // The other clock is ahead.
        ((Some(drift), None), (drift, drift)),
        ((None, Some(drift)), (0, drift)),
    ] {
        assert_eq!(accepted(given.0, given.1), Ok(kept), "{given:?}");
    }
    for ((sent, acceptance), field) in [
        ((Some(-8), Some(-9)), "acceptedAt"),
        ((Some(drift + 1), None), "sentAt"),
        ((None, Some(drift + 1)), "acceptedAt"),
        ((Some(250_000_000_000_000), None), "sentAt"),
    ] {
        assert_eq!(accepted(sent, acceptance).unwrap_err().field, field, "{sent:?} {acceptance:?}");
    }
}

/// Rules: EVIDENCE-5
#[test]
fn evidence_is_trimmed_and_checked() {
    let given = SignatureEvidence {
        signed_by_name: " Léa Martin ".into(),
        signed_by_email: " lea@exemple.fr ".into(),
        accepted_text: " Bon pour accord ".into(),
    };
    let checked = given.check().unwrap();
    assert_eq!(checked.signed_by_name, "Léa Martin");
    assert_eq!(checked.signed_by_email, "lea@exemple.fr");
    assert_eq!(checked.accepted_text, "Bon pour accord");
    let nameless = SignatureEvidence { signed_by_name: " ".into(), ..given.clone() };
    assert_eq!(nameless.check().unwrap_err().field, "signedByName");
    let unreachable = SignatureEvidence { signed_by_email: "lea".into(), ..given.clone() };
    assert_eq!(unreachable.check().unwrap_err().field, "signedByEmail");
    let silent = SignatureEvidence { accepted_text: String::new(), ..given };
    assert_eq!(silent.check().unwrap_err().field, "acceptedText");
}

proptest! {
    #[test]
    fn any_sequence_of_operations_follows_a_path_of_the_contract(
        steps in proptest::collection::vec(proptest::sample::select(&OPERATIONS[..]), 0..30),
    ) {
        let mut quote = draft_quote();
        for operation in steps {
            let expected = allowed(quote.summary.status, operation);
            match perform(operation, &quote) {
                Some(changed) => {
                    let (to, events) = expected.unwrap();
                    prop_assert_eq!(changed.record.summary.status, to);
                    prop_assert_eq!(changed.events.len(), events.len());
                    quote = changed.record;
                }
                // A link to the same identifier again is the only operation that is allowed and
                // changes nothing.
                None => prop_assert!(expected.is_none() || operation == Operation::Link),
            }
            let accepted = quote.summary.status == QuoteStatus::Accepted;
            prop_assert_eq!(quote.summary.accepted_at.is_some(), accepted);
            prop_assert_eq!(quote.detail.signature.is_some(), quote.summary.signed_at.is_some());
        }
    }
}
