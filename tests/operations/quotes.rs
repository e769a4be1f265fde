//! Quotes: each row of the state table, each pair that is not in it, and the public signing link.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use invoicing_core::{NewQuote, Plan, QuoteId, QuoteImport, QuoteStatus, SignatureEvidence};
use invoicing_server::{Decline, Error, PageWindow, QuoteQuery, Signature};
use invoicing_tests::{CANARY, Database, World, new_quote, on_each_database};
use uuid::Uuid;

use crate::support::hooked_store::HookedStore;
use crate::support::{
    DAY, body, client_of, company_in, conflict, date, draft_of, events, evidence, invalid, keys, kinds_after,
    not_found, nothing_happens, quote_at, quote_in, refused, signature,
};

const HEAD: [&str; 8] =
    ["clientEmail", "clientName", "id", "number", "status", "totalHT", "totalTTC", "tvaRate"];

/// Rules: QUOTE-1, EVENT-1, EVENT-4
#[on_each_database]
async fn a_new_quote_is_a_draft_with_a_number_and_emits_quote_created(db: Database) {
    let world = World::new(db).await;
    let quote = world.draft().await;
    assert_eq!((quote.summary.status, quote.summary.number.as_str()), (QuoteStatus::Draft, "DEV-2026-0001"));
    assert_eq!(
        (quote.summary.sent_at, quote.summary.accepted_at, quote.summary.valid_until),
        (None, None, None)
    );
    let events = events(&world.company).await;
    assert_eq!(events.len(), 1);
    let event = body(&events[0]);
    assert_eq!(keys(&event), ["data", "event", "timestamp"]);
    assert_eq!(event["event"], "quote.created");
    assert_eq!(event["timestamp"], quote.summary.updated_at.to_string());
    assert_eq!(keys(&event["data"]), HEAD);
    assert_eq!(event["data"]["id"], quote.summary.id.to_string());
    assert_eq!(event["data"]["status"], "DRAFT");
    assert!(!events[0].body.contains(CANARY));
}

/// Rules: QUOTE-2, DOCUMENT-10
#[on_each_database]
async fn an_import_may_start_in_any_state_and_emits_only_quote_created(db: Database) {
    let world = World::new(db).await;
    world.company.set_automatic_invoicing(true).await.unwrap();
    for (seen, status) in QuoteStatus::ALL.iter().enumerate() {
        let client = world.client("Importé").await;
        let import = QuoteImport { status: *status, sent_at: None, accepted_at: None };
        let quote = world.company.quotes().import(&new_quote(client), &import).await.unwrap();
        assert_eq!(quote.summary.status, *status);
        assert_eq!(kinds_after(&world.company, seen).await, ["quote.created"], "{status}");
        let documents = world.company.quotes().documents(quote.summary.id).await.unwrap();
        assert_eq!(documents.len(), usize::from(*status != QuoteStatus::Draft), "{status}");
        assert_eq!(quote.summary.sent_at.is_some(), *status != QuoteStatus::Draft, "{status}");
        assert_eq!(quote.summary.accepted_at.is_some(), *status == QuoteStatus::Accepted, "{status}");
        assert_eq!(quote.summary.signed_at, None);
        let detail = world.get(&format!("/api/v1/quotes/{}", quote.summary.id)).await;
        assert_eq!(detail.json["status"], status.as_str());
        assert_eq!(detail.json, serde_json::to_value(&quote).unwrap());
        assert_eq!(world.company.quotes().costings(quote.summary.id).await.unwrap().len(), 3);
    }
    assert_eq!(world.count("SELECT count(*) FROM invoice").await, 0);
}

/// Rules: QUOTE-2
#[on_each_database]
async fn an_import_whose_dates_do_not_go_with_its_state_is_refused(db: Database) {
    let world = World::new(db).await;
    let new = new_quote(world.client("x").await);
    let quotes = world.company.quotes();
    let at = Some(world.now());
    let sent_draft = QuoteImport { status: QuoteStatus::Draft, sent_at: at, accepted_at: None };
    invalid(&world, "sentAt", Box::pin(quotes.import(&new, &sent_draft))).await;
    for status in QuoteStatus::ALL.iter().filter(|status| **status != QuoteStatus::Accepted) {
        let accepted = QuoteImport { status: *status, sent_at: None, accepted_at: at };
        invalid(&world, "acceptedAt", Box::pin(quotes.import(&new, &accepted))).await;
    }
    let missing = NewQuote { client_id: invoicing_core::ClientId(Uuid::nil()), ..new };
    let import = QuoteImport { status: QuoteStatus::Sent, sent_at: None, accepted_at: None };
    invalid(&world, "clientId", Box::pin(quotes.import(&missing, &import))).await;
    invalid(&world, "clientId", quotes.create(&missing)).await;
}

/// Rules: QUOTE-2
#[on_each_database]
async fn an_import_is_refused_what_sending_and_accepting_refuse(db: Database) {
    let world = World::new(db).await;
    let new = new_quote(world.client("x").await);
    let quotes = world.company.quotes();
    let empty = NewQuote::empty(new.client_id);
    for status in [QuoteStatus::Sent, QuoteStatus::Accepted] {
        invalid(&world, "lines", Box::pin(quotes.import(&empty, &QuoteImport::new(status)))).await;
    }
    let (now, accepted) = (world.now(), QuoteImport::new(QuoteStatus::Accepted));
    let before = accepted.clone().sent_at(now.plus_millis(-5)).accepted_at(now.plus_millis(-6));
    invalid(&world, "acceptedAt", Box::pin(quotes.import(&new, &before))).await;
    let years = "9999-12-31T23:59:59.999Z".parse().unwrap();
    for late in [now.plus_millis(60_001), "2090-01-01T00:00:00Z".parse().unwrap(), years] {
        for status in [QuoteStatus::Sent, QuoteStatus::Accepted, QuoteStatus::Rejected] {
            let sent = QuoteImport::new(status).sent_at(late);
            invalid(&world, "sentAt", Box::pin(quotes.import(&new, &sent))).await;
        }
        invalid(&world, "acceptedAt", Box::pin(quotes.import(&new, &accepted.clone().accepted_at(late))))
            .await;
    }
    // The other system's clock may be a minute ahead.
    let ahead = accepted.sent_at(now.plus_millis(60_000)).accepted_at(now.plus_millis(60_000));
    let imported = quotes.import(&new, &ahead).await.unwrap().summary;
    assert_eq!((imported.sent_at, imported.accepted_at), (ahead.sent_at, ahead.accepted_at));
    // Without a line there is nothing to sign or to pay, but a rejected quote may be kept.
    quotes.import(&empty, &QuoteImport::new(QuoteStatus::Rejected)).await.unwrap();
}

/// Rules: QUOTE-3, QUOTE-12, DOCUMENT-10
#[on_each_database]
async fn sending_freezes_the_document_and_sets_sent_at_and_the_validity(db: Database) {
    let world = World::new(db).await;
    let draft = world.draft().await;
    let sent = world.company.quotes().send(draft.summary.id, None).await.unwrap();
    assert_eq!(sent.summary.status, QuoteStatus::Sent);
    assert_eq!(sent.summary.sent_at, Some(world.now()));
    assert_eq!(sent.summary.valid_until, Some(date("2026-10-14")));
    assert!(sent.summary.updated_at > draft.summary.updated_at);
    assert_eq!(world.company.quotes().documents(draft.summary.id).await.unwrap().len(), 1);
    assert_eq!(kinds_after(&world.company, 1).await, [""; 0]);
    assert_eq!(world.company.quotes().get(draft.summary.id).await.unwrap(), sent);
}

/// Rules: QUOTE-10
#[on_each_database]
async fn a_quote_without_lines_cannot_be_sent(db: Database) {
    let world = World::new(db).await;
    let empty = NewQuote { lines: Vec::new(), ..new_quote(world.client("x").await) };
    let quote = world.company.quotes().create(&empty).await.unwrap();
    conflict(&world, "send without lines", world.company.quotes().send(quote.summary.id, None)).await;
    assert_eq!(world.documents.count(), 0);
}

/// Rules: QUOTE-12, WIRE-5
#[on_each_database]
async fn validity_defaults_to_30_days_from_today_in_the_company_s_zone(db: Database) {
    let world = World::new(db).await;
    let cases = [
        ("Europe/Paris", "2026-09-14T21:59:59.000Z", "2026-10-14"),
        ("Europe/Paris", "2026-09-14T22:00:00.000Z", "2026-10-15"),
        ("Pacific/Auckland", "2026-09-14T11:59:59.000Z", "2026-10-14"),
        ("Pacific/Auckland", "2026-09-14T12:00:00.000Z", "2026-10-15"),
        ("America/Los_Angeles", "2026-09-15T06:59:59.000Z", "2026-10-14"),
        ("America/Los_Angeles", "2026-09-15T07:00:00.000Z", "2026-10-15"),
        // The night on which the clocks go back: 25 hours long.
        ("Europe/Paris", "2026-10-25T22:59:59.000Z", "2026-11-24"),
        ("Europe/Paris", "2026-10-25T23:00:00.000Z", "2026-11-25"),
        ("Europe/Paris", "2028-01-30T12:00:00.000Z", "2028-02-29"),
    ];
    for (zone, now, expected) in cases {
        // Stamps never go back, so each company begins before its case.
        world.clock.set("2026-09-01T00:00:00.000Z".parse().unwrap());
        let company = company_in(&world, zone).await;
        let draft = draft_of(&company).await;
        world.clock.set(now.parse().unwrap());
        let sent = company.quotes().send(draft.summary.id, None).await.unwrap();
        assert_eq!(sent.summary.valid_until, Some(date(expected)), "{zone} {now}");
    }
}

/// Rules: QUOTE-12
#[on_each_database]
async fn a_validity_that_is_given_counts_unless_it_is_over(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let draft = world.draft().await;
    invalid(&world, "validUntil", quotes.send(draft.summary.id, Some(date("2026-09-13")))).await;
    let sent = quotes.send(draft.summary.id, Some(date("2026-09-14"))).await.unwrap();
    assert_eq!(sent.summary.valid_until, Some(date("2026-09-14")));
    let own = NewQuote { valid_until: Some(date("2026-12-24")), ..new_quote(world.client("x").await) };
    let draft = quotes.create(&own).await.unwrap();
    assert_eq!(
        quotes.send(draft.summary.id, None).await.unwrap().summary.valid_until,
        Some(date("2026-12-24"))
    );
    let draft = quotes.create(&own).await.unwrap();
    let sent = quotes.send(draft.summary.id, Some(date("2026-11-11"))).await.unwrap();
    assert_eq!(sent.summary.valid_until, Some(date("2026-11-11")));
}

/// Rules: QUOTE-11
#[on_each_database]
async fn content_is_locked_in_every_state_but_draft(db: Database) {
    for status in QuoteStatus::ALL {
        let world = World::new(db).await;
        let quote = quote_in(&world, *status).await;
        let other = quote_at(quote.summary.client_id, "99");
        let quotes = world.company.quotes();
        let edit = quotes.edit(quote.summary.id, &other);
        if *status == QuoteStatus::Draft {
            let seen = events(&world.company).await.len();
            let edited = edit.await.unwrap();
            assert_eq!(edited.summary.total_ht, "99".parse().unwrap());
            assert_eq!(
                (edited.summary.number.clone(), edited.summary.created_at),
                (quote.summary.number.clone(), quote.summary.created_at)
            );
            assert!(edited.summary.updated_at > quote.summary.updated_at);
            assert_eq!(events(&world.company).await.len(), seen);
            assert_eq!(world.company.quotes().costings(quote.summary.id).await.unwrap().len(), 1);
        } else {
            conflict(&world, &format!("edit in {status}"), edit).await;
        }
    }
}

/// Rules: STAMP-6
#[on_each_database]
async fn an_edit_that_changes_nothing_moves_no_stamp_of_the_record(db: Database) {
    let world = World::new(db).await;
    let new = new_quote(world.client("x").await);
    let quote = world.company.quotes().create(&new).await.unwrap();
    world.advance(DAY);
    let edited = world.company.quotes().edit(quote.summary.id, &new).await.unwrap();
    assert_eq!(edited, quote);
    assert_eq!(world.company.quotes().get(quote.summary.id).await.unwrap(), quote);
}

/// The states that each operation accepts; every other pair is a conflict that leaves no trace.
///
/// Rules: ERROR-9, QUOTE-9
#[on_each_database]
async fn every_illegal_operation_in_a_state_is_a_conflict_without_a_trace(db: Database) {
    use QuoteStatus::{Accepted, Draft, Expired, Rejected, Sent};
    for status in QuoteStatus::ALL {
        let world = World::new(db).await;
        let quotes = world.company.quotes();
        let quote = quote_in(&world, *status).await;
        let id = quote.summary.id;
        // A link from the time when the quote was sent.
        let token = match status {
            Draft => None,
            _ => Some(quotes.create_signing_link(id).await.unwrap()),
        };
        let links = world.invoicing.signing_links();
        let detail = quotes.get_json(id).await.unwrap();
        if !matches!(status, Draft | Expired | Rejected) {
            conflict(&world, &format!("send {status}"), quotes.send(id, None)).await;
        }
        if !matches!(status, Draft | Sent | Rejected | Expired) {
            conflict(&world, &format!("accept {status}"), quotes.accept(id)).await;
        }
        if !matches!(status, Draft | Sent) {
            conflict(&world, &format!("reject {status}"), quotes.reject(id)).await;
        }
        if let (Some(token), Draft | Accepted | Rejected | Expired) = (&token, status) {
            conflict(&world, &format!("sign {status}"), links.sign(token.reveal(), &signature())).await;
            conflict(
                &world,
                &format!("decline {status}"),
                links.decline(token.reveal(), &Decline::default()),
            )
            .await;
        }
        if *status == Draft {
            conflict(&world, "link to a draft", quotes.create_signing_link(id)).await;
            let document = refused(&world, "document of a draft", quotes.document(id)).await;
            assert!(matches!(document, Error::DocumentUnavailable), "{document:?}");
        }
        if *status != Accepted {
            conflict(&world, &format!("convert {status}"), world.company.invoices().convert(id)).await;
        }
        assert_eq!(quotes.get_json(id).await.unwrap(), detail);
    }
}

/// Rules: QUOTE-5, WIRE-12
#[on_each_database]
async fn marking_accepted_works_from_every_other_state_and_freezes_once(db: Database) {
    for status in QuoteStatus::ALL.iter().filter(|status| **status != QuoteStatus::Accepted) {
        let world = World::new(db).await;
        let quote = quote_in(&world, *status).await;
        let quotes = world.company.quotes();
        let before = quotes.documents(quote.summary.id).await.unwrap();
        assert_eq!(before.len(), usize::from(*status != QuoteStatus::Draft));
        let seen = events(&world.company).await.len();
        world.advance(DAY);
        let accepted = quotes.accept(quote.summary.id).await.unwrap();
        assert_eq!(accepted.summary.status, QuoteStatus::Accepted);
        assert_eq!(accepted.summary.accepted_at, Some(world.now()));
        assert_eq!((accepted.summary.signed_at, accepted.detail.signature.clone()), (None, None));
        assert_eq!(kinds_after(&world.company, seen).await, ["quote.accepted"], "{status}");
        let event = body(events(&world.company).await.last().unwrap());
        let mut expected = HEAD.to_vec();
        expected.insert(0, "acceptedAt");
        assert_eq!(keys(&event["data"]), expected);
        let after = quotes.documents(quote.summary.id).await.unwrap();
        assert_eq!(after.len(), 1, "{status}");
        assert!(before.is_empty() || after == before, "{status}");
    }
}

/// Rules: QUOTE-6
#[on_each_database]
async fn rejecting_by_hand_and_by_the_client_is_silent(db: Database) {
    let world = World::new(db).await;
    let by_hand = world.sent().await;
    let by_client = world.sent().await;
    let token = world.company.quotes().create_signing_link(by_client.summary.id).await.unwrap();
    let seen = events(&world.company).await.len();
    let rejected = world.company.quotes().reject(by_hand.summary.id).await.unwrap();
    let declined =
        world.invoicing.signing_links().decline(token.reveal(), &Decline::default()).await.unwrap();
    for (quote, before) in [(rejected, by_hand), (declined, by_client)] {
        assert_eq!(quote.summary.status, QuoteStatus::Rejected);
        assert!(quote.summary.updated_at > before.summary.updated_at);
    }
    assert_eq!(events(&world.company).await.len(), seen);
}

/// Rules: QUOTE-8, DOCUMENT-14
#[on_each_database]
async fn sending_an_expired_or_rejected_quote_adds_a_copy_with_new_validity(db: Database) {
    for status in [QuoteStatus::Expired, QuoteStatus::Rejected] {
        let world = World::new(db).await;
        let quotes = world.company.quotes();
        let quote = quote_in(&world, status).await;
        let before = quotes.documents(quote.summary.id).await.unwrap();
        let old = quotes.open_document(quote.summary.id).await.unwrap();
        world.advance(DAY);
        let seen = events(&world.company).await.len();
        let again = quotes.send(quote.summary.id, None).await.unwrap();
        assert_eq!(again.summary.status, QuoteStatus::Sent);
        assert!(again.summary.valid_until > quote.summary.valid_until, "{status}: the old validity is over");
        assert_eq!(again.summary.sent_at, Some(world.now()));
        assert_eq!(again.summary.number, quote.summary.number);
        assert_eq!(events(&world.company).await.len(), seen);
        let after = quotes.documents(quote.summary.id).await.unwrap();
        assert_eq!((after.len(), &after[0]), (2, &before[0]));
        let new = quotes.open_document(quote.summary.id).await.unwrap();
        assert_ne!(new.sha256, old.sha256);
        assert_eq!(new.sha256, after[1].sha256);
        assert_eq!(world.documents.count(), 2, "the old copy is still in the store");
        // The quote can be signed with the link of the first time or a new one.
        let token = quotes.create_signing_link(quote.summary.id).await.unwrap();
        let signed = world.invoicing.signing_links().sign(token.reveal(), &signature()).await.unwrap();
        assert_eq!(signed.summary.status, QuoteStatus::Accepted);
    }
}

/// Rules: LINK-4, STAMP-6
#[on_each_database]
async fn linking_works_in_every_state_and_a_no_op_changes_nothing(db: Database) {
    for status in QuoteStatus::ALL {
        let world = World::new(db).await;
        let quotes = world.company.quotes();
        let quote = quote_in(&world, *status).await;
        let seen = events(&world.company).await.len();
        nothing_happens(&world, quotes.link(quote.summary.id, None)).await;
        let linked = quotes.link(quote.summary.id, Some(" CRM-1 ")).await.unwrap();
        assert_eq!(linked.external_id.as_deref(), Some("CRM-1"));
        nothing_happens(&world, quotes.link(quote.summary.id, Some("CRM-1"))).await;
        invalid(&world, "externalId", quotes.link(quote.summary.id, Some(""))).await;
        let now = quotes.get(quote.summary.id).await.unwrap();
        assert!(now.summary.updated_at > quote.summary.updated_at);
        assert_eq!(now.summary.status, *status);
        assert_eq!(quotes.link(quote.summary.id, None).await.unwrap().external_id, None);
        assert_eq!(events(&world.company).await.len(), seen);
    }
}

/// Rules: LINK-3
#[on_each_database]
async fn an_external_id_may_belong_to_several_quotes(db: Database) {
    let world = World::new(db).await;
    let (a, b) = (world.draft().await, world.draft().await);
    for id in [a.summary.id, b.summary.id] {
        world.company.quotes().link(id, Some("deal-7")).await.unwrap();
    }
    for id in [a.summary.id, b.summary.id] {
        assert_eq!(
            world.company.quotes().get(id).await.unwrap().summary.external_id.as_deref(),
            Some("deal-7")
        );
    }
}

/// Rules: QUOTE-4, EVENT-4, WIRE-12
#[on_each_database]
async fn signing_emits_signed_and_accepted_with_one_timestamp(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let token = world.company.quotes().create_signing_link(sent.summary.id).await.unwrap();
    world.advance(DAY);
    let seen = events(&world.company).await.len();
    let signed = world.invoicing.signing_links().sign(token.reveal(), &signature()).await.unwrap();
    assert_eq!(signed.summary.status, QuoteStatus::Accepted);
    assert!(signed.summary.signed_at.is_some() && signed.summary.signed_at == signed.summary.accepted_at);
    let new: Vec<_> = events(&world.company).await.into_iter().skip(seen).collect();
    let kinds: Vec<_> = new.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["quote.signed", "quote.accepted"]);
    assert_eq!(new[0].timestamp, new[1].timestamp);
    let (first, second) = (body(&new[0]), body(&new[1]));
    assert_eq!(first["data"], second["data"]);
    assert_eq!(first["timestamp"], second["timestamp"]);
    let mut expected = [&HEAD[..], &["acceptedAt", "signedAt", "signedByEmail", "signedByName"]].concat();
    expected.sort_unstable();
    assert_eq!(keys(&first["data"]), expected);
    assert_eq!(first["data"]["status"], "ACCEPTED");
    assert_eq!(first["data"]["signedByName"], "Léa Lefèvre");
    assert_eq!(first["data"]["signedAt"], signed.summary.signed_at.unwrap().to_string());
}

/// Rules: STATE-2
#[on_each_database]
async fn ten_simultaneous_signatures_make_one_pair_of_events(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let links = world.invoicing.signing_links();
    let mut tokens = Vec::new();
    for _ in 0..10 {
        tokens.push(world.company.quotes().create_signing_link(sent.summary.id).await.unwrap());
    }
    let seen = events(&world.company).await.len();
    let signature = signature();
    let results = join_all(tokens.iter().map(|token| links.sign(token.reveal(), &signature))).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    for refused in results.iter().filter_map(|result| result.as_ref().err()) {
        assert!(matches!(refused, Error::Conflict(_)), "{refused:?}");
    }
    assert_eq!(kinds_after(&world.company, seen).await, ["quote.signed", "quote.accepted"]);
    assert_eq!(world.count("SELECT count(*) FROM proof").await, 1);
    assert_eq!(world.company.quotes().documents(sent.summary.id).await.unwrap().len(), 2);
}

/// Rules: STATE-2
#[on_each_database]
async fn of_simultaneous_decisions_exactly_one_wins(db: Database) {
    for _ in 0..5 {
        let world = World::new(db).await;
        let sent = world.sent().await;
        let (links, quotes) = (world.invoicing.signing_links(), world.company.quotes());
        let token = quotes.create_signing_link(sent.summary.id).await.unwrap();
        let seen = events(&world.company).await.len();
        let (signature, refusal) = (signature(), Decline::default());
        // A quote that is rejected first can still be accepted, so the final record decides.
        let (signed, declined) =
            tokio::join!(links.sign(token.reveal(), &signature), links.decline(token.reveal(), &refusal));
        assert!(signed.is_ok() != declined.is_ok(), "{signed:?} {declined:?}");
        let kinds = kinds_after(&world.company, seen).await;
        let status = quotes.get(sent.summary.id).await.unwrap().summary.status;
        if signed.is_ok() {
            assert_eq!((status, kinds.len()), (QuoteStatus::Accepted, 2));
        } else {
            assert_eq!((status, kinds.len()), (QuoteStatus::Rejected, 0));
        }
    }
}

/// Rules: STATE-2
#[on_each_database]
async fn twenty_simultaneous_acceptances_emit_one_event(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let quotes = world.company.quotes();
    let results = join_all((0..20).map(|_| quotes.accept(sent.summary.id))).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(Error::Conflict(_)))));
    assert_eq!(kinds_after(&world.company, 1).await, ["quote.accepted"]);
}

/// Rules: QUOTE-14
#[on_each_database]
async fn an_unknown_signing_token_finds_nothing(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let token = world.company.quotes().create_signing_link(sent.summary.id).await.unwrap();
    let links = world.invoicing.signing_links();
    let good = token.reveal();
    assert!(good.starts_with("sgn_") && good.len() == 47, "{good}");
    let wrong = [
        String::new(),
        good[..46].to_owned(),
        format!("{good} "),
        format!("{good}a"),
        good.to_uppercase(),
        good.trim_start_matches("sgn_").to_owned(),
        "%".into(),
        "' OR 1=1 --".into(),
        "\0".into(),
        "é".repeat(10_000),
    ];
    for token in &wrong {
        not_found(&world, "sign", links.sign(token, &signature())).await;
        not_found(&world, "open", links.open(token)).await;
        not_found(&world, "decline", links.decline(token, &Decline::default())).await;
        not_found(&world, "document", links.document(token)).await;
    }
    let page = links.open(good).await.unwrap();
    assert_eq!((page.company_name.as_str(), page.quote.summary.id), ("Martin Peinture", sent.summary.id));
    let document = links.document(good).await.unwrap();
    assert_eq!(document, world.company.quotes().open_document(sent.summary.id).await.unwrap());
    assert!(!world.dump().await.iter().any(|row| row.contains(good)), "only the token's hash is stored");
}

/// Rules: QUOTE-13
#[on_each_database]
async fn a_signature_is_valid_through_the_last_day_in_the_company_s_zone(db: Database) {
    let world = World::new(db).await;
    // Midnight at the end of 2026-09-20 in Auckland is noon of that day UTC.
    for (now, good) in [("2026-09-20T11:59:59.000Z", true), ("2026-09-20T12:00:01.000Z", false)] {
        world.clock.set("2026-09-14T00:00:00.000Z".parse().unwrap());
        let company = company_in(&world, "Pacific/Auckland").await;
        let draft = draft_of(&company).await;
        company.quotes().send(draft.summary.id, Some(date("2026-09-20"))).await.unwrap();
        let token = company.quotes().create_signing_link(draft.summary.id).await.unwrap();
        world.clock.set(now.parse().unwrap());
        // No sweep has run: the guard does not depend on it.
        let links = world.invoicing.signing_links();
        if good {
            links.sign(token.reveal(), &signature()).await.unwrap();
        } else {
            conflict(&world, "sign after the end", links.sign(token.reveal(), &signature())).await;
            assert_eq!(
                company.quotes().get(draft.summary.id).await.unwrap().summary.status,
                QuoteStatus::Sent
            );
        }
    }
}

/// Rules: QUOTE-13
#[on_each_database]
async fn a_signature_in_time_is_valid_if_its_document_ends_after_midnight(db: Database) {
    let (world, store) = HookedStore::world(db).await;
    let draft = world.draft().await;
    world.company.quotes().send(draft.summary.id, Some(date("2026-09-14"))).await.unwrap();
    let token = world.company.quotes().create_signing_link(draft.summary.id).await.unwrap();
    world.clock.set("2026-09-14T21:59:59.000Z".parse().unwrap());
    let (submitted_at, clock, invoicing) = (world.now(), Arc::clone(&world.clock), world.invoicing.clone());
    store.happens_next(1, move || {
        let (clock, invoicing) = (Arc::clone(&clock), invoicing.clone());
        Box::pin(async move {
            clock.advance(Duration::from_secs(2));
            assert_eq!(invoicing.sweep().await.unwrap().expired_quotes, 1);
        })
    });
    let signed = world.invoicing.signing_links().sign(token.reveal(), &signature()).await.unwrap();
    assert_eq!(signed.summary.status, QuoteStatus::Accepted);
    assert_eq!(signed.summary.signed_at, Some(submitted_at));
    assert!(signed.summary.updated_at > world.now(), "the sweep has used that instant");
    assert_eq!(signed.lines, draft.lines);
}

/// Rules: QUOTE-13
#[on_each_database]
async fn an_expired_quote_that_is_still_valid_is_signed_with_its_lines(db: Database) {
    let world = World::new(db).await;
    let new = new_quote(client_of(&world.company).await).valid_until(date("2026-12-01"));
    let expired = QuoteImport { status: QuoteStatus::Expired, sent_at: None, accepted_at: None };
    let imported = world.company.quotes().import(&new, &expired).await.unwrap();
    assert!(!imported.lines.is_empty());
    let token = world.company.quotes().create_signing_link(imported.summary.id).await.unwrap();
    let signed = world.invoicing.signing_links().sign(token.reveal(), &signature()).await.unwrap();
    // The signed copy is rendered from the record that is returned.
    assert_eq!((signed.summary.status, &signed.lines), (QuoteStatus::Accepted, &imported.lines));
    assert_eq!(world.company.quotes().get(imported.summary.id).await.unwrap().lines, imported.lines);
}

/// Rules: QUOTE-18, DOCUMENT-3, DOCUMENT-10
#[on_each_database]
async fn a_discarded_draft_keeps_its_number_and_gets_a_document_once_sent(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    for accepted in [true, false] {
        let draft = world.draft().await.summary;
        let seen = events(&world.company).await.len();
        let discarded = quotes.reject(draft.id).await.unwrap().summary;
        assert_eq!((discarded.status, &discarded.number), (QuoteStatus::Rejected, &draft.number));
        assert_eq!((discarded.sent_at, events(&world.company).await.len()), (None, seen));
        let window = PageWindow { since: Some(discarded.updated_at), ..PageWindow::default() };
        let shown = quotes.list(&QuoteQuery { window, ..QuoteQuery::default() }).await.unwrap().data;
        assert_eq!(shown.iter().map(|quote| &quote.summary).collect::<Vec<_>>(), [&discarded]);
        let document = refused(&world, "its document", quotes.document(draft.id)).await;
        assert!(matches!(document, Error::DocumentUnavailable), "{document:?}");
        conflict(&world, "a link", quotes.create_signing_link(draft.id)).await;
        let again = if accepted { quotes.accept(draft.id).await } else { quotes.send(draft.id, None).await };
        assert_eq!(again.unwrap().summary.number, draft.number);
        assert_eq!(quotes.documents(draft.id).await.unwrap().len(), 1);
        quotes.create_signing_link(draft.id).await.unwrap();
    }
}

/// Rules: QUOTE-10
#[on_each_database]
async fn a_draft_without_lines_is_not_marked_accepted(db: Database) {
    let world = World::new(db).await;
    let empty = NewQuote::empty(client_of(&world.company).await);
    let quote = world.company.quotes().create(&empty).await.unwrap();
    conflict(&world, "accept", world.company.quotes().accept(quote.summary.id)).await;
}

/// Rules: EVIDENCE-5
#[on_each_database]
async fn a_signature_with_bad_evidence_is_refused_without_a_trace(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let token = world.company.quotes().create_signing_link(sent.summary.id).await.unwrap();
    let links = world.invoicing.signing_links();
    let cases = [
        ("signedByName", SignatureEvidence { signed_by_name: "  ".into(), ..evidence() }),
        ("signedByName", SignatureEvidence { signed_by_name: "x".repeat(256), ..evidence() }),
        ("signedByName", SignatureEvidence { signed_by_name: "a\0b".into(), ..evidence() }),
        ("signedByEmail", SignatureEvidence { signed_by_email: "nobody".into(), ..evidence() }),
        ("signedByEmail", SignatureEvidence { signed_by_email: String::new(), ..evidence() }),
        ("acceptedText", SignatureEvidence { accepted_text: String::new(), ..evidence() }),
        ("acceptedText", SignatureEvidence { accepted_text: "x".repeat(2_001), ..evidence() }),
    ];
    for (field, evidence) in cases {
        let signature = Signature { evidence, ip: None, user_agent: None, document_sha256: None };
        invalid(&world, field, links.sign(token.reveal(), &signature)).await;
    }
    assert_eq!(world.documents.count(), 1, "nothing was rendered for them");
}

/// Rules: TENANT-1
#[on_each_database]
async fn another_company_s_quote_is_not_found_by_any_operation(db: Database) {
    let world = World::new(db).await;
    let (other, other_key) = world.another("Autre", Plan::Team).await;
    let quote = world.sent().await;
    let (id, quotes) = (quote.summary.id, other.quotes());
    let new = quote_at(client_of(&other).await, "1");
    not_found(&world, "get", quotes.get(id)).await;
    not_found(&world, "detail", quotes.get_json(id)).await;
    not_found(&world, "edit", quotes.edit(id, &new)).await;
    not_found(&world, "send", quotes.send(id, None)).await;
    not_found(&world, "accept", quotes.accept(id)).await;
    not_found(&world, "reject", quotes.reject(id)).await;
    not_found(&world, "link", quotes.link(id, Some("x"))).await;
    not_found(&world, "signing_link", quotes.create_signing_link(id)).await;
    not_found(&world, "document", quotes.document(id)).await;
    not_found(&world, "open_document", quotes.open_document(id)).await;
    not_found(&world, "documents", quotes.documents(id)).await;
    not_found(&world, "proof", quotes.proof(id)).await;
    not_found(&world, "convert", other.invoices().convert(id)).await;
    let costings = quotes.costings(id).await;
    assert!(
        matches!(&costings, Err(Error::NotFound)) || costings.as_ref().is_ok_and(Vec::is_empty),
        "{costings:?}"
    );
    let answer =
        world.call("GET", &format!("/api/v1/quotes/{id}"), Some(&other_key), &[], bytes::Bytes::new()).await;
    assert_eq!(answer.status, 404);
    // Another company's client is no client.
    let foreign = quote_at(quote.summary.client_id, "1");
    invalid(&world, "clientId", quotes.create(&foreign)).await;
    assert!(events(&other).await.is_empty());
    // A company that does not exist has no quotes either.
    let absent = world.invoicing.company(invoicing_core::CompanyId(Uuid::nil()));
    not_found(&world, "absent", absent.quotes().get(id)).await;
    not_found(&world, "absent", absent.quotes().create(&new)).await;
    not_found(&world, "unknown", world.company.quotes().send(QuoteId(Uuid::nil()), None)).await;
}

/// Rules: RECORD-6, EVENT-2
#[on_each_database]
async fn internal_costs_stay_with_the_host_in_every_state(db: Database) {
    for status in QuoteStatus::ALL {
        let world = World::new(db).await;
        let quote = quote_in(&world, *status).await;
        let costings = world.company.quotes().costings(quote.summary.id).await.unwrap();
        assert_eq!(costings.len(), 3);
        assert!(costings[0].private_note.as_deref().is_some_and(|note| note.contains(CANARY)));
        let detail =
            String::from_utf8(world.company.quotes().get_json(quote.summary.id).await.unwrap()).unwrap();
        assert!(!detail.contains(CANARY) && !detail.contains("777.77"));
        for event in events(&world.company).await {
            assert!(!event.body.contains(CANARY) && !event.body.contains("lines"), "{}", event.body);
        }
    }
}

/// Rules: STAMP-2
#[on_each_database]
async fn every_change_is_seen_by_since_and_moves_the_stamp_forward(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let draft = world.draft().await;
    let mut stamps = vec![draft.summary.updated_at];
    // The clock stands still, and even goes back: stamps do not.
    stamps.push(quotes.send(draft.summary.id, None).await.unwrap().summary.updated_at);
    world.clock.set("2026-09-14T09:40:00.000Z".parse().unwrap());
    stamps.push(quotes.reject(draft.summary.id).await.unwrap().summary.updated_at);
    stamps.push(quotes.send(draft.summary.id, None).await.unwrap().summary.updated_at);
    stamps.push(quotes.accept(draft.summary.id).await.unwrap().summary.updated_at);
    assert!(stamps.windows(2).all(|pair| pair[0] < pair[1]), "{stamps:?}");
    let window = PageWindow { since: stamps.last().copied(), ..PageWindow::default() };
    let page = quotes.list(&QuoteQuery { window, ..QuoteQuery::default() }).await.unwrap();
    assert_eq!(page.data.len(), 1);
    assert_eq!(page.data[0].summary.id, draft.summary.id);
    let events = events(&world.company).await;
    assert!(events.windows(2).all(|pair| pair[0].id < pair[1].id && pair[0].timestamp <= pair[1].timestamp));
}
