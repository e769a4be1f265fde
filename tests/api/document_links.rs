//! The link to a quote's frozen document, and what is behind it.

use std::time::Duration;

use bytes::Bytes;
use invoicing_core::{CompanyIdentity, NewCreditNote, QuoteId, QuoteStatus, sha256_hex};
use invoicing_tests::{Answer, Database, World, on_each_database};
use serde_json::{Value, json};

use crate::support::api::{DAY, QUOTES, Tenant, at, gallery, keys, read, sign, text, world};
use crate::support::issued_over;

const BASE: &str = "http://127.0.0.1:8080";
const FIVE_MINUTES: Duration = Duration::from_mins(5);

async fn link(world: &World, id: QuoteId) -> Value {
    read(world, &format!("{QUOTES}/{id}/document")).await
}

/// Path and query of a link.
fn path(link: &Value) -> String {
    text(link, "url").strip_prefix(BASE).expect("the base URL").to_owned()
}

/// Follows a link without a key, as any holder may.
async fn open(world: &World, path: &str) -> Answer {
    world.call("GET", path, None, &[], Bytes::new()).await
}

#[track_caller]
fn not_found(answer: &Answer, what: &str) {
    assert_eq!((answer.status.as_u16(), answer.code()), (404, "not_found"), "{what}");
}

/// Rules: DOCUMENT-1
#[on_each_database]
async fn a_link_has_exactly_the_fields_of_the_contract(db: Database) {
    let world = world(db).await;
    let quote = world.sent().await;
    let link = link(&world, quote.summary.id).await;
    let expected = ["contentType", "expiresAt", "fileName", "sha256", "sizeBytes", "type", "url"];
    assert_eq!(keys(&link), expected);
    assert_eq!((text(&link, "type"), text(&link, "contentType")), ("pdf", "application/pdf"));
    assert_eq!(text(&link, "fileName"), format!("{}.pdf", quote.summary.number));
    assert_eq!(at(text(&link, "expiresAt")), world.now().plus_millis(300_000));
    let file = open(&world, &path(&link)).await;
    assert_eq!(file.status, 200);
    assert_eq!(link["sizeBytes"], file.bytes.len());
    assert_eq!(text(&link, "sha256"), sha256_hex(&file.bytes));
}

/// Rules: DOCUMENT-2
#[on_each_database]
async fn the_type_may_be_left_out_and_is_pdf(db: Database) {
    let world = world(db).await;
    let quote = world.sent().await;
    let plain = link(&world, quote.summary.id).await;
    assert_eq!(read(&world, &format!("{QUOTES}/{}/document?type=pdf", quote.summary.id)).await, plain);
}

/// Rules: DOCUMENT-3
#[on_each_database]
async fn a_draft_has_no_document(db: Database) {
    let world = world(db).await;
    let quote = world.draft().await;
    for store_fails in [false, true] {
        world.documents.fail(store_fails);
        let answer = world.get(&format!("{QUOTES}/{}/document?type=pdf", quote.summary.id)).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (409, "document_unavailable"));
    }
    world.documents.fail(false);
    world.company.quotes().send(quote.summary.id, None).await.unwrap();
    assert_eq!(link(&world, quote.summary.id).await["type"], "pdf");
}

/// Rules: DOCUMENT-23
#[on_each_database]
async fn without_a_renderer_invoices_and_credit_notes_have_no_document(db: Database) {
    let world = world(db).await;
    let invoice = issued_over(&world.company, "100").await.summary.id;
    let note = world.company.invoices().credit(invoice, &NewCreditNote::of_remaining("x")).await.unwrap();
    // As a host without a renderer of invoices has issued them.
    world.run("DELETE FROM frozen_file WHERE document_id NOT IN (SELECT id FROM quote)", &[]).await;
    let note = note.summary.id;
    let other = issued_over(&world.company, "100").await.summary.id;
    world.run("DELETE FROM frozen_file WHERE document_id NOT IN (SELECT id FROM quote)", &[]).await;
    let credited = world.company.invoices().credit(other, &NewCreditNote::of_remaining("x")).await.unwrap();
    world.company.credit_notes().open_document(credited.summary.id).await.unwrap();
    for path in [format!("/api/v1/invoices/{invoice}"), format!("/api/v1/credit-notes/{note}")] {
        let answer = world.get(&format!("{path}/document")).await;
        assert_eq!((answer.status.as_u16(), answer.code()), (409, "document_unavailable"));
        assert_eq!(answer.message(), "The record has no frozen document");
    }
}

/// Rules: DOCUMENT-10
#[on_each_database]
async fn every_other_state_has_a_document(db: Database) {
    let world = world(db).await;
    for quote in gallery(&world).await.quotes {
        if quote.summary.status == QuoteStatus::Draft {
            continue;
        }
        let file = open(&world, &path(&link(&world, quote.summary.id).await)).await;
        assert_eq!(file.status, 200, "{}", quote.summary.status);
        assert!(
            file.bytes.starts_with(b"%PDF-") && file.bytes.trim_ascii_end().ends_with(b"%%EOF"),
            "{}",
            quote.summary.status
        );
    }
    // Also if it was accepted without ever having been sent.
    let draft = world.draft().await;
    world.company.quotes().accept(draft.summary.id).await.unwrap();
    assert!(open(&world, &path(&link(&world, draft.summary.id).await)).await.bytes.starts_with(b"%PDF-"));
}

/// Rules: DOCUMENT-7
#[on_each_database]
async fn the_file_comes_with_its_name_and_length(db: Database) {
    let world = world(db).await;
    let quote = world.sent().await;
    let link = link(&world, quote.summary.id).await;
    let file = open(&world, &path(&link)).await;
    let header = |name: &str| file.headers[name].to_str().unwrap();
    assert_eq!(header("content-type"), "application/pdf");
    assert_eq!(header("content-length"), file.bytes.len().to_string());
    let disposition = header("content-disposition");
    assert!(disposition.starts_with("attachment;"), "{disposition}");
    assert!(disposition.contains(&format!("filename=\"{}\"", text(&link, "fileName"))), "{disposition}");
}

#[on_each_database]
async fn head_tells_about_the_file_without_sending_it(db: Database) {
    let world = world(db).await;
    let path = path(&link(&world, world.sent().await.summary.id).await);
    let file = open(&world, &path).await;
    let head = world.call("HEAD", &path, None, &[], Bytes::new()).await;
    assert_eq!((head.status.as_u16(), head.bytes.len()), (200, 0));
    for name in ["content-type", "content-length", "content-disposition", "cache-control"] {
        assert_eq!(head.headers[name], file.headers[name], "{name}");
    }
}

/// Rules: DOCUMENT-4
#[on_each_database]
async fn the_url_needs_no_bearer_and_counts_in_no_quota(db: Database) {
    let world = World::new(db).await;
    let path = path(&link(&world, world.sent().await.summary.id).await);
    for _ in 0..60 {
        let file = open(&world, &path).await;
        assert_eq!(file.status, 200);
        assert!(
            file.headers.keys().all(|name| !name.as_str().starts_with("ratelimit")),
            "{:?}",
            file.headers
        );
        // A client that sends its key, or a wrong one, everywhere gets the file as well.
        for key in [&*world.key, "isk_unknown"] {
            assert_eq!(world.call("GET", &path, Some(key), &[], Bytes::new()).await.status, 200);
        }
    }
    assert_eq!(world.get(QUOTES).await.headers["ratelimit-remaining"], "28");
    // A key whose quota is used up gets the file, but no new link.
    while world.get(QUOTES).await.status == 200 {}
    assert_eq!(open(&world, &path).await.status, 200);
}

/// Rules: DOCUMENT-5
#[on_each_database]
async fn the_url_is_good_for_five_minutes_and_then_not_found(db: Database) {
    let world = world(db).await;
    let path = path(&link(&world, world.sent().await.summary.id).await);
    let made = world.now();
    let millis = i64::try_from(FIVE_MINUTES.as_millis()).unwrap();
    for (after, good) in [(0, true), (millis - 1, true), (millis + 1, false), (60 * millis, false), (1, true)]
    {
        world.clock.set(made.plus_millis(after));
        let file = open(&world, &path).await;
        if good {
            assert_eq!(file.status, 200, "after {after} ms");
        } else {
            not_found(&file, &format!("after {after} ms"));
        }
    }
}

/// Rules: DOCUMENT-6
#[on_each_database]
async fn a_url_tampered_with_at_any_character_is_not_found(db: Database) {
    let world = world(db).await;
    let good = path(&link(&world, world.sent().await.summary.id).await);
    let prefix = "/api/v1/documents/".len();
    let query = good.find('?').unwrap();
    for at in prefix..good.len() {
        let old = good.as_bytes()[at];
        for new in [b'0', b'1', b'a', b'A', b'f', b'-', b'.', b'~', b'&', old ^ 0x20, old ^ 1] {
            if new == old || !(new.is_ascii_alphanumeric() || b"-._~&=".contains(&new)) {
                continue;
            }
            let bad = format!("{}{}{}", &good[..at], char::from(new), &good[at + 1..]);
            let answer = world.call("GET", &bad, Some(&world.key), &[], Bytes::new()).await;
            not_found(&answer, &bad);
            // Without its slash it is no document's path any more, and any other path needs a key first.
            if old != b'/' {
                not_found(&open(&world, &bad).await, &bad);
            }
        }
        // Left out, and said twice.
        for bad in [format!("{}{}", &good[..at], &good[at + 1..]), format!("{}{}", &good[..=at], &good[at..])]
        {
            if bad != good
                && (at > query || old != b'/')
                && !bad[..bad.find('?').unwrap_or(bad.len())].contains("//")
            {
                not_found(&open(&world, &bad).await, &bad);
            }
        }
    }
    for end in [query, query + 1, good.len() - 64, good.len() - 1] {
        not_found(&open(&world, &good[..end]).await, &good[..end]);
    }
    for extra in ["&x=1", "&", "0", "%20", "&expires=99999999999999"] {
        not_found(&open(&world, &format!("{good}{extra}")).await, extra);
    }
    assert_eq!(open(&world, &good).await.status, 200);
}

/// Rules: DOCUMENT-6
#[on_each_database]
async fn the_parts_of_two_urls_cannot_be_mixed(db: Database) {
    let world = world(db).await;
    let first = path(&link(&world, world.sent().await.summary.id).await);
    world.advance(Duration::from_secs(1));
    let second = path(&link(&world, world.sent().await.summary.id).await);
    let other = Tenant::open(&world).await;
    let quote = other.draft().await;
    other.company.quotes().send(quote.summary.id, None).await.unwrap();
    let third = path(&other.read(&format!("{QUOTES}/{}/document", quote.summary.id)).await);
    let all = [&first, &second, &third];
    let parts = all.map(|url| url.split(['?', '&']).collect::<Vec<_>>());
    for document in 0..3 {
        for expiry in 0..3 {
            for signature in 0..3 {
                let [d, e, s] = [&parts[document], &parts[expiry], &parts[signature]];
                let mixed = format!("{}?{}&{}&{}", d[0], d[1], e[2], s[3]);
                if all.contains(&&mixed) {
                    assert_eq!(open(&world, &mixed).await.status, 200);
                } else {
                    not_found(&open(&world, &mixed).await, &mixed);
                }
            }
        }
    }
}

/// Rules: DOCUMENT-6, TENANT-1
#[on_each_database]
async fn a_url_is_for_the_document_of_its_own_company(db: Database) {
    let world = world(db).await;
    let own = path(&link(&world, world.sent().await.summary.id).await);
    let other = Tenant::open(&world).await;
    let moved = own.replace(&world.company.id().to_string(), &other.company.id().to_string());
    assert_ne!(moved, own);
    not_found(&open(&world, &moved).await, "without a key");
    not_found(&other.get(&moved).await, "with that company's key");
    let id = world.sent().await.summary.id;
    not_found(&other.get(&format!("{QUOTES}/{id}/document")).await, "a link to another company's quote");
}

/// Rules: DOCUMENT-7, DOCUMENT-10
#[on_each_database]
async fn the_file_is_the_frozen_one_and_not_a_fresh_rendering(db: Database) {
    let world = world(db).await;
    let quote = world.sent().await;
    let before = open(&world, &path(&link(&world, quote.summary.id).await)).await;
    let identity = CompanyIdentity { address: Some("9 rue Neuve".into()), ..CompanyIdentity::default() };
    world.company.set_identity(&identity).await.unwrap();
    let client = invoicing_core::NewClient::named("Autre nom");
    world.company.clients().change(quote.summary.client_id, &client).await.unwrap();
    world.advance(DAY);
    world.send("PATCH", &format!("{QUOTES}/{}", quote.summary.id), &json!({"externalId": "crm-1"})).await;
    for _ in 0..2 {
        assert_eq!(open(&world, &path(&link(&world, quote.summary.id).await)).await.bytes, before.bytes);
    }
    world.company.quotes().accept(quote.summary.id).await.unwrap();
    let accepted = open(&world, &path(&link(&world, quote.summary.id).await)).await;
    assert_eq!(accepted.bytes, before.bytes, "marked accepted: there is a document already");
}

/// Rules: DOCUMENT-10, DOCUMENT-14
#[on_each_database]
async fn after_the_signature_the_link_leads_to_the_signed_document(db: Database) {
    let world = world(db).await;
    let quote = world.sent().await;
    let sent = link(&world, quote.summary.id).await;
    let before = open(&world, &path(&sent)).await;
    sign(&world, quote.summary.id).await;
    let signed = link(&world, quote.summary.id).await;
    assert_ne!(signed["sha256"], sent["sha256"]);
    let after = open(&world, &path(&signed)).await;
    assert_eq!(sha256_hex(&after.bytes), text(&signed, "sha256"));
    // The old copy is kept, and its link is as good as it was.
    assert_eq!(open(&world, &path(&sent)).await.bytes, before.bytes);
}

/// Rules: DOCUMENT-14
#[on_each_database]
async fn sent_again_the_link_leads_to_the_new_copy_and_the_old_one_is_kept(db: Database) {
    let world = world(db).await;
    let quote = world.sent().await;
    let first = link(&world, quote.summary.id).await;
    let before = open(&world, &path(&first)).await;
    world.company.quotes().reject(quote.summary.id).await.unwrap();
    assert_eq!(link(&world, quote.summary.id).await["sha256"], first["sha256"]);
    let until = "2026-12-24".parse().ok();
    world.company.quotes().send(quote.summary.id, until).await.unwrap();
    assert_ne!(link(&world, quote.summary.id).await["sha256"], first["sha256"]);
    assert_eq!(open(&world, &path(&first)).await.bytes, before.bytes);
}

/// Rules: ERROR-14
#[on_each_database]
async fn while_the_store_fails_link_and_file_are_503_with_retry_after(db: Database) {
    let world = world(db).await;
    let quote = world.sent().await;
    let document = format!("{QUOTES}/{}/document", quote.summary.id);
    let file = path(&link(&world, quote.summary.id).await);
    world.documents.fail(true);
    for answer in [world.get(&document).await, open(&world, &file).await] {
        assert_eq!((answer.status.as_u16(), answer.code()), (503, "storage_unavailable"));
        let seconds: u32 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!(seconds >= 1);
    }
    // Nothing else needs the store, and what is wrong with a URL is wrong without it.
    read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
    not_found(&open(&world, &file.replace("expires=", "expires=1")).await, "tampered with");
    world.documents.fail(false);
    assert_eq!([world.get(&document).await.status, open(&world, &file).await.status], [200, 200]);
}

/// Rules: DOCUMENT-8, ERROR-14
#[on_each_database]
async fn a_damaged_copy_is_503_and_never_served(db: Database) {
    let world = world(db).await;
    let quote = world.sent().await;
    let link = link(&world, quote.summary.id).await;
    world.documents.damage(text(&link, "sha256").parse().unwrap());
    for answer in [
        world.get(&format!("{QUOTES}/{}/document", quote.summary.id)).await,
        open(&world, &path(&link)).await,
    ] {
        assert_eq!((answer.status.as_u16(), answer.code()), (503, "storage_unavailable"));
        assert!(answer.headers.contains_key("retry-after"));
    }
}
