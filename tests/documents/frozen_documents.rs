//! Frozen documents and the evidence of a signature; and what happens when the document store does not work.

use std::time::{Duration, Instant};

use invoicing_core::{
    ClientChange, CompanyIdentity, NewClient, NewQuote, OperationNature, ProofParts, QuoteId, QuoteImport,
    QuoteStatus, SignatureEvidence, proof_fingerprint,
};
use invoicing_server::{
    Buyer, ContentHash, DocumentFacts, DocumentInput, DocumentRef, DocumentRenderer, Error, Parties,
    PdfRenderer, RenderDeadline, Signature,
};
use invoicing_tests::{CANARY, Database, World, new_quote, on_each_database};
use serde_json::Value;

use crate::support::{
    DAY, conflict, date, evidence, invalid, not_found, nothing_happens, quote_in, refusals, refused,
    signature,
};

async fn sign(world: &World, id: QuoteId) -> Value {
    let token = world.company.quotes().create_signing_link(id).await.unwrap();
    world.invoicing.signing_links().sign(token.reveal(), &signature()).await.unwrap();
    world.get(&format!("/api/v1/quotes/{id}")).await.json
}

#[on_each_database]
async fn the_hash_of_what_was_shown_is_a_hash(db: Database) {
    let world = World::new(db).await;
    let quote = world.sent().await;
    let token = world.company.quotes().create_signing_link(quote.summary.id).await.unwrap();
    let links = world.invoicing.signing_links();
    let shown = links.document(token.reveal()).await.unwrap().sha256;
    for wrong in [String::new(), shown.to_uppercase(), shown[1..].to_owned(), format!("{shown} ")] {
        let signature = Signature { document_sha256: Some(wrong), ..signature() };
        invalid(&world, "documentSha256", links.sign(token.reveal(), &signature)).await;
    }
}

/// Recomputes the fingerprint from the detail as an integrator gets it, without the public function.
fn fingerprint_by_hand(detail: &Value, document_sha256: &str) -> String {
    let block = &detail["signature"];
    // Members by name and strings only: that is the canonical form (RFC 8785).
    let canonical = serde_json::json!({
        "acceptedText": block["acceptedText"], "documentSha256": document_sha256, "number": detail["number"],
        "quoteId": detail["id"], "signedAt": block["signedAt"], "signedByEmail": block["signedByEmail"],
        "signedByName": block["signedByName"],
    });
    format!("sha256:{}", ContentHash::of(canonical.to_string().as_bytes()))
}

/// Rules: DOCUMENT-21, EVIDENCE-1
#[on_each_database]
async fn a_signer_whose_name_no_font_has_signs_and_keeps_it(db: Database) {
    let world = World::new(db).await;
    for name in
        ["Անահիտ Հակոբյան", "ნინო ბერიძე", "สมชาย ใจดี", "आरव शर्मा", "தமிழ்ச்செல்வி", "電気 太郎", "\u{13000}"]
    {
        let quote = world.sent().await.summary.id;
        let sent = world.company.quotes().open_document(quote).await.unwrap().sha256;
        let token = world.company.quotes().create_signing_link(quote).await.unwrap();
        let evidence = SignatureEvidence { signed_by_name: name.to_owned(), ..evidence() };
        let links = world.invoicing.signing_links();
        let signed = links.sign(token.reveal(), &Signature::new(evidence)).await.unwrap();
        assert_eq!(signed.summary.signed_by_name.as_deref(), Some(name));
        let detail = world.get(&format!("/api/v1/quotes/{quote}")).await.json;
        assert_eq!(detail["signature"]["signedByName"], name);
        assert_eq!(detail["signature"]["proofFingerprint"], fingerprint_by_hand(&detail, &sent), "{name}");
    }
}

/// Rules: DOCUMENT-15
#[on_each_database]
async fn readiness_names_every_text_that_the_document_cannot_show(db: Database) {
    let world = World::new(db).await;
    let client = world.company.clients().create(&NewClient::named("電気 SARL")).await.unwrap().id;
    let mut new = new_quote(client);
    new.lines[0].lot = Some("Lot \u{13000}".to_owned());
    new.lines[1].description = String::from("Gaine 電 et 気");
    let quotes = world.company.quotes();
    let draft = quotes.create(&new).await.unwrap().summary.id;
    let named = quotes.readiness(draft).await.unwrap();
    let named: Vec<_> = refusals(named).into_iter().map(|gap| gap.english).collect();
    let rule = "which no font of the document has";
    let expected = [
        format!("clientName has “電” U+96FB (character 1), {rule}."),
        format!("lines[0].lot has “\u{13000}” U+13000 (character 5), {rule}."),
        format!("lines[1].description has “電” U+96FB (character 7), {rule}."),
    ];
    assert_eq!(named, expected);
    let refusal = refused(&world, "send", quotes.send(draft, None)).await.to_string();
    assert_eq!(refusal, format!("clientName: has “電” U+96FB (character 1), {rule}"));
    let plain = new_quote(world.client("x").await);
    quotes.edit(draft, &plain).await.unwrap();
    assert_eq!(refusals(nothing_happens(&world, quotes.readiness(draft)).await), []);
    quotes.send(draft, None).await.unwrap();
    conflict(&world, "sent", quotes.readiness(draft)).await;
    let empty = quotes.create(&NewQuote::empty(client)).await.unwrap().summary.id;
    conflict(&world, "empty", quotes.readiness(empty)).await;
}

/// Rules: DOCUMENT-15, WIRE-31
#[on_each_database]
async fn a_character_of_a_later_unicode_is_refused_when_a_quote_is_sent(db: Database) {
    let world = World::new(db).await;
    let clients = world.company.clients();
    let name = "Zoé \u{1faff}";
    let client = clients.create(&NewClient::named(name)).await.unwrap();
    assert_eq!(client.name, name);
    let quotes = world.company.quotes();
    let draft = quotes.create(&new_quote(client.id)).await.unwrap().summary.id;
    let named = quotes.readiness(draft).await.unwrap();
    let named: Vec<_> = refusals(named).into_iter().map(|gap| gap.english).collect();
    let rule = "has “\u{1faff}” U+1FAFF (character 5), which no font of the document has";
    assert_eq!(named, [format!("clientName {rule}.")]);
    let refusal = refused(&world, "send", quotes.send(draft, None)).await.to_string();
    assert_eq!(refusal, format!("clientName: {rule}"));
    clients.change(client.id, &NewClient::named("Zoé")).await.unwrap();
    quotes.edit(draft, &new_quote(client.id)).await.unwrap();
    assert_eq!(quotes.send(draft, None).await.unwrap().summary.client_name, "Zoé");
}

/// Rules: DOCUMENT-15
#[on_each_database]
async fn a_line_that_no_font_has_is_refused_by_place_and_character(db: Database) {
    let world = World::new(db).await;
    let mut new = new_quote(world.client("x").await);
    new.lines[1].description = String::from("Gaine 電 ⌀ 20 ㎜");
    let quotes = world.company.quotes();
    let draft = quotes.create(&new).await.unwrap().summary.id;
    let refusal = refused(&world, "send", quotes.send(draft, None)).await.to_string();
    assert!(refusal.starts_with("lines[1].description: has “電” U+96FB (character 7),"), "{refusal}");
    new.lines[1].description = String::from("Gaine ⌀ 20 ㎜, 12 ㎡");
    quotes.edit(draft, &new).await.unwrap();
    let sent = quotes.send(draft, None).await.unwrap();
    assert_eq!(sent.lines[1].description, "Gaine ⌀ 20 ㎜, 12 ㎡");
}

/// Rules: EVIDENCE-1, EVIDENCE-3
#[on_each_database]
async fn the_fingerprint_follows_from_the_detail_and_the_sent_document(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let sent_document = world.company.quotes().open_document(sent.summary.id).await.unwrap();
    world.advance(DAY);
    let detail = sign(&world, sent.summary.id).await;
    let block = &detail["signature"];
    assert_eq!(
        crate::support::keys(block),
        ["acceptedText", "proofFingerprint", "signedAt", "signedByEmail", "signedByName"]
    );
    assert_eq!(block["proofFingerprint"], fingerprint_by_hand(&detail, &sent_document.sha256));
    assert_eq!(ContentHash::of(&sent_document.bytes).to_string(), sent_document.sha256);
    let parts = ProofParts {
        accepted_text: "Bon pour accord",
        document_sha256: &sent_document.sha256,
        number: &sent.summary.number,
        quote_id: sent.summary.id,
        signed_at: block["signedAt"].as_str().unwrap().parse().unwrap(),
        signed_by_email: "lea@exemple.fr",
        signed_by_name: "Léa Lefèvre",
    };
    assert_eq!(block["proofFingerprint"], proof_fingerprint(&parts));
    assert_eq!(detail["signedAt"], block["signedAt"]);
}

/// Rules: EVIDENCE-4, QUOTE-4
#[on_each_database]
async fn the_evidence_is_kept_and_what_is_private_of_it_is_never_shown(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let quotes = world.company.quotes();
    let token = quotes.create_signing_link(sent.summary.id).await.unwrap();
    assert!(quotes.proof(sent.summary.id).await.unwrap().is_none());
    let document = quotes.open_document(sent.summary.id).await.unwrap();
    let user_agent = format!("{CANARY} {}", "é".repeat(1_000));
    let ip = "192.0.2.7".parse().unwrap();
    let signature =
        Signature { evidence: evidence(), ip: Some(ip), user_agent: Some(user_agent), document_sha256: None };
    let signed = world.invoicing.signing_links().sign(token.reveal(), &signature).await.unwrap();
    let proof = quotes.proof(sent.summary.id).await.unwrap().unwrap();
    assert_eq!(proof.document_sha256, document.sha256);
    assert_eq!(proof.proof_fingerprint, signed.detail.signature.as_ref().unwrap().proof_fingerprint);
    assert_eq!((proof.ip.as_deref(), Some(proof.signed_at)), (Some("192.0.2.7"), signed.summary.signed_at));
    assert_eq!(proof.token_hash, ContentHash::of(token.reveal().as_bytes()).as_bytes());
    assert_eq!(proof.user_agent.unwrap().chars().count(), 500);
    let detail = world.get(&format!("/api/v1/quotes/{}", sent.summary.id)).await;
    assert!(!String::from_utf8_lossy(&detail.bytes).contains("192.0.2.7"));
}

/// Rules: EVIDENCE-1
#[on_each_database]
async fn odd_texts_in_the_evidence_give_a_fingerprint_that_is_recomputed(db: Database) {
    let world = World::new(db).await;
    for text in ["\"\\/\n\tz", "e\u{301}\u{202e} 😀", "</script><!--", "a\u{2028}\u{2029}b"] {
        let sent = world.sent().await;
        let sha256 = world.company.quotes().open_document(sent.summary.id).await.unwrap().sha256;
        let token = world.company.quotes().create_signing_link(sent.summary.id).await.unwrap();
        let mut signature = signature();
        signature.evidence.accepted_text = text.to_owned();
        world.invoicing.signing_links().sign(token.reveal(), &signature).await.unwrap();
        let detail = world.get(&format!("/api/v1/quotes/{}", sent.summary.id)).await.json;
        assert_eq!(
            detail["signature"]["proofFingerprint"],
            fingerprint_by_hand(&detail, &sha256),
            "{text:?}"
        );
    }
}

/// Rules: EVIDENCE-2
#[on_each_database]
async fn after_sending_again_the_signature_binds_the_second_document(db: Database) {
    let world = World::new(db).await;
    let rejected = quote_in(&world, QuoteStatus::Rejected).await;
    world.advance(DAY);
    let quotes = world.company.quotes();
    // A link of the first time shows and signs what was sent last.
    let old_link = quotes.create_signing_link(rejected.summary.id).await.unwrap();
    quotes.send(rejected.summary.id, Some(date("2027-01-31"))).await.unwrap();
    let documents = quotes.documents(rejected.summary.id).await.unwrap();
    let shown = world.invoicing.signing_links().document(old_link.reveal()).await.unwrap();
    assert_eq!(shown.sha256, documents[1].sha256);
    world.invoicing.signing_links().sign(old_link.reveal(), &signature()).await.unwrap();
    let detail = world.get(&format!("/api/v1/quotes/{}", rejected.summary.id)).await.json;
    assert_eq!(detail["signature"]["proofFingerprint"], fingerprint_by_hand(&detail, &documents[1].sha256));
    assert_ne!(detail["signature"]["proofFingerprint"], fingerprint_by_hand(&detail, &documents[0].sha256));
}

/// Rules: QUOTE-4, DOCUMENT-10, DOCUMENT-14
#[on_each_database]
async fn signing_freezes_anew_with_the_signature_and_keeps_what_was_sent(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let quotes = world.company.quotes();
    let before = quotes.open_document(sent.summary.id).await.unwrap();
    sign(&world, sent.summary.id).await;
    let documents = quotes.documents(sent.summary.id).await.unwrap();
    assert_eq!((documents.len(), documents[0].sha256.as_str()), (2, before.sha256.as_str()));
    let after = quotes.open_document(sent.summary.id).await.unwrap();
    assert_eq!(after.sha256, documents[1].sha256);
    assert_ne!(after.bytes, before.bytes);
    for copy in [&before, &after] {
        assert_eq!(quotes.open_copy(sent.summary.id, &copy.sha256).await.unwrap(), *copy);
    }
    assert_eq!(world.documents.count(), 2);
    assert!(documents.iter().all(|document| document.file_name == format!("{}.pdf", sent.summary.number)));
    let link = quotes.document(sent.summary.id).await.unwrap();
    assert_eq!((&link.sha256, link.size_bytes), (&after.sha256, after.bytes.len() as u64));
    let another = world.sent().await.summary.id;
    for hash in ["", "x", &"0".repeat(64), &after.sha256.to_uppercase()] {
        not_found(&world, hash, quotes.open_copy(sent.summary.id, hash)).await;
    }
    not_found(&world, "of another quote", quotes.open_copy(another, &after.sha256)).await;
}

/// Rules: DOCUMENT-10
#[on_each_database]
async fn what_was_frozen_stays_frozen_when_records_change_afterwards(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let quotes = world.company.quotes();
    let frozen = quotes.open_document(sent.summary.id).await.unwrap();
    let record = quotes.get(sent.summary.id).await.unwrap();
    let identity = CompanyIdentity { address: Some("2 rue Neuve".into()), ..CompanyIdentity::default() };
    world.company.set_identity(&identity).await.unwrap();
    let change = ClientChange { address: Some("ailleurs".into()), ..ClientChange::named("Autre nom") };
    world.company.clients().change(sent.summary.client_id, &change).await.unwrap();
    assert_eq!(quotes.open_document(sent.summary.id).await.unwrap(), frozen);
    assert_eq!(
        quotes.get(sent.summary.id).await.unwrap(),
        record,
        "the names on the quote are those of its making"
    );
    quotes.reject(sent.summary.id).await.unwrap();
    assert_eq!(quotes.open_document(sent.summary.id).await.unwrap(), frozen);
    quotes.accept(sent.summary.id).await.unwrap();
    assert_eq!(
        quotes.open_document(sent.summary.id).await.unwrap(),
        frozen,
        "a document there is, so none is frozen"
    );
}

/// The document of a quote, sent on 14 September, as it is rendered now.
async fn rendered_now(world: &World, id: QuoteId) -> Vec<u8> {
    let quote = world.company.quotes().get(id).await.unwrap();
    let facts = DocumentFacts {
        parties: Parties { seller: world.company.details().await.unwrap(), buyer: Buyer::default() },
        quote_date: Some(date("2026-09-14")),
        quote_number: None,
        work_site: None,
        operations: OperationNature::Services,
        reverse_charge: false,
        housing_works: true,
    };
    let input = DocumentInput {
        record: DocumentRef::Quote { quote: &quote, sent_copy: None },
        facts: &facts,
        logo: None,
        factur_x: None,
        deadline: RenderDeadline::NONE,
    };
    PdfRenderer::new().render(&input).unwrap()
}

/// Rules: DOCUMENT-13, RECORD-6
#[on_each_database]
async fn the_same_input_renders_to_the_frozen_bytes(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let frozen = world.company.quotes().open_document(sent.summary.id).await.unwrap();
    assert!(rendered_now(&world, sent.summary.id).await == frozen.bytes);
    assert!(frozen.bytes.starts_with(b"%PDF-"));
    let contains = |needle: &[u8]| frozen.bytes.windows(needle.len()).any(|window| window == needle);
    assert!(!contains(CANARY.as_bytes()) && !contains(b"777.77") && !contains(b"888.88"));
}

/// Rules: DOCUMENT-11
#[on_each_database]
async fn a_store_that_fails_refuses_every_freezing_operation_without_a_trace(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let (draft, other, sent) = (world.draft().await, world.draft().await, world.sent().await);
    let token = quotes.create_signing_link(sent.summary.id).await.unwrap();
    let links = world.invoicing.signing_links();
    let new = new_quote(draft.summary.client_id);
    let import = QuoteImport { status: QuoteStatus::Sent, sent_at: None, accepted_at: None };
    let unavailable = |error: Error| assert!(matches!(error, Error::StorageUnavailable(_)), "{error:?}");
    world.documents.fail(true);
    unavailable(refused(&world, "send", quotes.send(draft.summary.id, None)).await);
    unavailable(refused(&world, "accept", quotes.accept(other.summary.id)).await);
    unavailable(refused(&world, "sign", links.sign(token.reveal(), &signature())).await);
    unavailable(refused(&world, "import", quotes.import(&new, &import)).await);
    unavailable(refused(&world, "document", quotes.document(sent.summary.id)).await);
    unavailable(refused(&world, "open", quotes.open_document(sent.summary.id)).await);
    unavailable(refused(&world, "link", links.document(token.reveal())).await);
    // Operations that need no document work.
    quotes.reject(sent.summary.id).await.unwrap();
    quotes.accept(sent.summary.id).await.unwrap();
    let drafted = quotes.create(&new).await.unwrap();
    world.documents.fail(false);
    quotes.send(draft.summary.id, None).await.unwrap();
    quotes.accept(other.summary.id).await.unwrap();
    let imported = quotes.import(&new, &import).await.unwrap();
    assert_eq!(
        (drafted.summary.number.as_str(), imported.summary.number.as_str()),
        ("DEV-2026-0004", "DEV-2026-0005")
    );
}

/// Rules: ERROR-17, DOCUMENT-11
#[on_each_database]
async fn a_hanging_store_is_unavailable_within_five_seconds_and_delays_no_other(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let (draft, other, sent) = (world.draft().await, world.draft().await, world.sent().await);
    let token = quotes.create_signing_link(sent.summary.id).await.unwrap();
    let links = world.invoicing.signing_links();
    let import = QuoteImport { status: QuoteStatus::Accepted, sent_at: None, accepted_at: None };
    let (new, signature) = (new_quote(draft.summary.client_id), signature());
    world.documents.hang(true);
    let before = world.dump().await;
    let begun = Instant::now();
    let stuck = async {
        tokio::join!(
            quotes.send(draft.summary.id, None),
            quotes.accept(other.summary.id),
            links.sign(token.reveal(), &signature),
            quotes.import(&new, &import),
        )
    };
    let others = async {
        for _ in 0..20 {
            quotes.get(draft.summary.id).await.unwrap();
            world.company.keys().issue("meanwhile").await.unwrap();
        }
        begun.elapsed()
    };
    let ((send, accept, sign, import), others) = tokio::join!(stuck, others);
    assert!(others < Duration::from_secs(4), "writers waited for the document store: {others:?}");
    for result in [send, accept, sign, import] {
        assert!(matches!(result, Err(Error::StorageUnavailable(_))), "{result:?}");
    }
    // 4.5 s for the store, and something for a busy machine.
    assert!((4..8).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    assert_eq!(world.dump().await, before);
}

/// Rules: DOCUMENT-8, DOCUMENT-10
#[on_each_database]
async fn a_damaged_or_missing_document_is_unavailable_and_never_rendered_again(db: Database) {
    let world = World::new(db).await;
    let sent = world.sent().await;
    let quotes = world.company.quotes();
    let hash: ContentHash = quotes.documents(sent.summary.id).await.unwrap()[0].sha256.parse().unwrap();
    world.documents.damage(hash);
    for _ in 0..2 {
        let document = refused(&world, "document", quotes.document(sent.summary.id)).await;
        assert!(matches!(document, Error::StorageUnavailable(_)), "{document:?}");
        let open = refused(&world, "open", quotes.open_document(sent.summary.id)).await;
        assert!(matches!(open, Error::StorageUnavailable(_)), "{open:?}");
    }
    let answer = world.get(&format!("/api/v1/quotes/{}/document", sent.summary.id)).await;
    assert_eq!((answer.status.as_u16(), answer.code()), (503, "storage_unavailable"));
    assert!(answer.headers.contains_key("retry-after"));
}

/// Rules: DOCUMENT-16
#[on_each_database]
async fn an_edit_during_the_rendering_is_what_is_sent(db: Database) {
    // The document is rendered before the transaction: an edit in between must not leave the old content frozen.
    for _ in 0..5 {
        let world = World::new(db).await;
        let draft = world.draft().await;
        let quotes = world.company.quotes();
        let other = crate::support::taxed_quote_at(draft.summary.client_id, "4242");
        let (sent, edited) =
            tokio::join!(quotes.send(draft.summary.id, None), quotes.edit(draft.summary.id, &other));
        let sent = sent.unwrap();
        assert_eq!(edited.is_ok(), sent.summary.total_ht == "4242".parse().unwrap(), "{edited:?}");
        let frozen = quotes.open_document(draft.summary.id).await.unwrap();
        assert!(rendered_now(&world, draft.summary.id).await == frozen.bytes);
        conflict(&world, "edit after sending", quotes.edit(draft.summary.id, &other)).await;
    }
}

/// Rules: DOCUMENT-15
#[on_each_database]
async fn a_text_that_no_font_can_show_is_refused_by_name_when_the_quote_is_sent(db: Database) {
    let world = World::new(db).await;
    let quotes = world.company.quotes();
    let mut new = new_quote(world.client("Lefèvre").await);
    "\u{13000}".clone_into(&mut new.lines[1].description);
    let draft = quotes.create(&new).await.unwrap();
    invalid(&world, "lines[1].description", quotes.send(draft.summary.id, None)).await;
    assert_eq!(quotes.get(draft.summary.id).await.unwrap(), draft);
}
