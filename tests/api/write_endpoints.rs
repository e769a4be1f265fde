//! Linking quotes and creating clients. Document links have their own file; routes, methods and
//! the order of checks are in `errors`.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use invoicing_core::QuoteId;
use invoicing_tests::{Database, World, on_each_database};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::api::{
    CLIENTS, QUOTES, Tenant, encode, for_all_on_service, gallery, items, keys, read, refused, text, world,
};

async fn patch(world: &World, id: QuoteId, body: &Value) -> invoicing_tests::Answer {
    world.send("PATCH", &format!("{QUOTES}/{id}"), body).await
}

/// Rules: LINK-1
#[on_each_database]
async fn linking_answers_with_the_id_and_the_link_and_nothing_else(db: Database) {
    let world = world(db).await;
    let quote = world.draft().await;
    for (sent, stored) in
        [(json!("crm-1"), json!("crm-1")), (json!(" crm 2 "), json!("crm 2")), (Value::Null, Value::Null)]
    {
        let answer = patch(&world, quote.summary.id, &json!({"externalId": sent})).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.json),
            (200, &json!({"id": quote.summary.id, "externalId": stored}))
        );
        let detail = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
        assert_eq!(detail["externalId"], stored);
        assert_eq!(items(&read(&world, QUOTES).await)[0]["externalId"], stored);
    }
}

/// Rules: LINK-4, STAMP-5
#[on_each_database]
async fn linking_works_in_every_state_and_changes_nothing_else(db: Database) {
    let world = world(db).await;
    for quote in gallery(&world).await.quotes {
        let path = format!("{QUOTES}/{}", quote.summary.id);
        let mut before = read(&world, &path).await;
        let answer = patch(&world, quote.summary.id, &json!({"externalId": "crm-1"})).await;
        assert_eq!(answer.status, 200, "{}", quote.summary.status);
        let mut after = read(&world, &path).await;
        assert_eq!(after["externalId"], "crm-1");
        assert!(text(&after, "updatedAt") > text(&before, "updatedAt"), "{}", quote.summary.status);
        for changed in ["externalId", "updatedAt"] {
            before[changed].take();
            after[changed].take();
        }
        assert_eq!(after, before, "{}", quote.summary.status);
        assert_eq!(
            patch(&world, quote.summary.id, &json!({"externalId": null})).await.json["externalId"],
            Value::Null
        );
    }
}

/// Rules: LINK-3
#[on_each_database]
async fn several_quotes_may_have_the_same_external_id(db: Database) {
    let world = world(db).await;
    let [one, other] = [world.draft().await, world.sent().await];
    for quote in [&one, &other] {
        let answer = patch(&world, quote.summary.id, &json!({"externalId": "deal-1"})).await;
        assert_eq!((answer.status.as_u16(), text(&answer.json, "externalId")), (200, "deal-1"));
    }
    let page = read(&world, QUOTES).await;
    assert!(items(&page).iter().all(|quote| quote["externalId"] == "deal-1"));
    // Nor do quotes and clients share their identifiers.
    assert_eq!(world.send("POST", CLIENTS, &json!({"name": "A", "externalId": "deal-1"})).await.status, 201);
}

/// Rules: LINK-2, WIRE-16
#[on_each_database]
async fn linking_accepts_only_external_id_and_only_a_text_or_null(db: Database) {
    let world = world(db).await;
    let quote = world.draft().await;
    patch(&world, quote.summary.id, &json!({"externalId": "crm-1"})).await;
    let before = read(&world, &format!("{QUOTES}/{}", quote.summary.id)).await;
    for (body, name) in [
        (json!({}), "externalId"),
        (json!({"externalID": "x"}), "externalID"),
        (json!({"external_id": "x"}), "external_id"),
        (json!({"externalId": "x", "status": "ACCEPTED"}), "status"),
        (json!({"externalId": "x", "totalHT": 1}), "totalHT"),
        (json!({"externalId": null, "id": quote.summary.id}), "id"),
        (json!({"status": "ACCEPTED"}), "status"),
        (json!({"externalId": 5}), "externalId"),
        (json!({"externalId": 5.5}), "externalId"),
        (json!({"externalId": true}), "externalId"),
        (json!({"externalId": ["x"]}), "externalId"),
        (json!({"externalId": {"id": "x"}}), "externalId"),
        (json!({"externalId": ""}), "externalId"),
        (json!({"externalId": " \t"}), "externalId"),
        (json!({"externalId": "x".repeat(256)}), "externalId"),
        (json!({"externalId": "a\u{0}b"}), "externalId"),
    ] {
        refused(&patch(&world, quote.summary.id, &body).await, name, &body.to_string());
    }
    let twice = Bytes::from_static(br#"{"externalId": "a", "externalId": "b"}"#);
    let path = format!("{QUOTES}/{}", quote.summary.id);
    let json = [("content-type", "application/json")];
    refused(&world.call("PATCH", &path, Some(&world.key), &json, twice).await, "externalId", "twice");
    assert_eq!(read(&world, &path).await, before, "a refused link has changed something");
    assert_eq!(patch(&world, quote.summary.id, &json!({"externalId": "€".repeat(255)})).await.status, 200);
}

/// Rules: WIRE-29, ERROR-4
#[on_each_database]
async fn a_surrogate_without_its_pair_is_refused_by_its_code_and_position(db: Database) {
    let world = world(db).await;
    let quote = format!("{QUOTES}/{}", world.draft().await.summary.id);
    let before = (read(&world, CLIENTS).await, read(&world, &quote).await);
    let json = [("content-type", "application/json")];
    for (method, path, body, message) in [
        ("POST", CLIENTS, r#"{"name":"emoji \ud83d"}"#, "name: must not contain U+D83D (character 7)"),
        ("POST", CLIENTS, r#"{"name":"\ude00"}"#, "name: must not contain U+DE00 (character 1)"),
        (
            "POST",
            CLIENTS,
            r#"{"name":"\ud83d\ude00é\ud83dx"}"#,
            "name: must not contain U+D83D (character 3)",
        ),
        ("POST", CLIENTS, r#"{"na\ud83dme":"A"}"#, "na\\ud83dme: must not contain U+D83D (character 3)"),
        (
            "POST",
            CLIENTS,
            r#"{"name":"A","notes":"a\nb\udc00"}"#,
            "notes: must not contain U+DC00 (character 4)",
        ),
        (
            "PATCH",
            &quote,
            r#"{"externalId":"\ud800\ud800"}"#,
            "externalId: must not contain U+D800 (character 1)",
        ),
    ] {
        let answer = world.call(method, path, Some(&world.key), &json, Bytes::from(body)).await;
        assert_eq!((answer.code(), answer.message()), ("validation_error", message), "{body}");
    }
    assert_eq!((read(&world, CLIENTS).await, read(&world, &quote).await), before);
    let body = Bytes::from(r#"{"name":"emoji \ud83d\ude00"}"#);
    let answer = world.call("POST", CLIENTS, Some(&world.key), &json, body).await;
    assert_eq!((answer.status.as_u16(), text(&answer.json, "name")), (201, "emoji 😀"));
}

/// Rules: STAMP-6
#[on_each_database]
async fn linking_the_same_again_or_unlinking_the_unlinked_is_no_change(db: Database) {
    let world = world(db).await;
    let quote = world.draft().await;
    for (body, moves) in [
        (json!({"externalId": null}), false),
        (json!({"externalId": "crm-1"}), true),
        (json!({"externalId": "crm-1"}), false),
        (json!({"externalId": "crm-2"}), true),
        (json!({"externalId": null}), true),
        (json!({"externalId": null}), false),
    ] {
        let path = format!("{QUOTES}/{}", quote.summary.id);
        let before = read(&world, &path).await["updatedAt"].clone();
        world.advance(std::time::Duration::from_secs(1));
        assert_eq!(patch(&world, quote.summary.id, &body).await.status, 200);
        let after = read(&world, &path).await["updatedAt"].clone();
        assert_eq!(after != before, moves, "{body}");
    }
}

/// Rules: CLIENT-1
#[on_each_database]
async fn a_real_creation_is_201_with_the_record(db: Database) {
    let world = world(db).await;
    let answer = world.send("POST", CLIENTS, &json!({"name": "A"})).await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.json["createdAt"], world.now().to_string());
    assert_eq!(items(&read(&world, CLIENTS).await), [answer.json]);
}

/// Rules: CLIENT-1
#[on_each_database]
async fn without_an_external_id_each_post_creates_a_client(db: Database) {
    let world = world(db).await;
    for body in [json!({"name": "A"}), json!({"name": "A"}), json!({"name": "A", "externalId": null})] {
        assert_eq!(world.send("POST", CLIENTS, &body).await.status, 201);
    }
    assert_eq!(items(&read(&world, CLIENTS).await).len(), 3);
}

/// Rules: CLIENT-2
#[on_each_database]
async fn posting_a_known_external_id_returns_the_stored_client(db: Database) {
    let world = world(db).await;
    let body = json!({"name": "A", "city": "Lyon", "externalId": "crm-é"});
    let created = world.send("POST", CLIENTS, &body).await;
    assert_eq!(created.status, 201);
    world.advance(std::time::Duration::from_secs(1));
    let page = read(&world, CLIENTS).await;
    for other in [
        body,
        json!({"name": "B", "email": "b@exemple.fr", "type": "PARTICULIER", "externalId": "crm-é"}),
        json!({"name": "A", "externalId": "  crm-é "}),
        json!({"name": "A", "externalId": "crm-e\u{301}"}),
    ] {
        let replayed = world.send("POST", CLIENTS, &other).await;
        assert_eq!((replayed.status.as_u16(), &replayed.json), (200, &created.json), "{other}");
    }
    assert_eq!(read(&world, CLIENTS).await, page, "a replay has changed something");
    for other in ["crm-e", "CRM-É", "crm-é2"] {
        assert_eq!(
            world.send("POST", CLIENTS, &json!({"name": "A", "externalId": other})).await.status,
            201,
            "{other}"
        );
    }
}

/// Rules: CLIENT-7
#[on_each_database]
async fn a_replay_with_a_bad_body_is_refused_instead_of_the_stored_client(db: Database) {
    let world = world(db).await;
    world.send("POST", CLIENTS, &json!({"name": "A", "externalId": "crm-1"})).await;
    refused(&world.send("POST", CLIENTS, &json!({"externalId": "crm-1"})).await, "name", "no name");
    let body = json!({"name": "A", "externalId": "crm-1", "email": "no address"});
    refused(&world.send("POST", CLIENTS, &body).await, "email", "bad e-mail");
}

/// Rules: TENANT-4
#[on_each_database]
async fn companies_have_external_ids_of_their_own(db: Database) {
    let world = world(db).await;
    let body = json!({"name": "A", "externalId": "crm-1"});
    let own = world.send("POST", CLIENTS, &body).await;
    let other = Tenant::open(&world).await.send("POST", CLIENTS, &body).await;
    assert_eq!([own.status, other.status], [201, 201]);
    assert_ne!(own.json["id"], other.json["id"]);
}

/// Rules: CLIENT-3
#[on_each_database]
async fn of_40_simultaneous_posts_one_is_201_and_the_rest_200_of_one_client(db: Database) {
    let world = Arc::new(world(db).await);
    for round in 0..5 {
        let mut posts = JoinSet::new();
        for n in 0..40 {
            let world = Arc::clone(&world);
            let body = json!({"name": format!("Client {n}"), "externalId": format!("crm-{round}")});
            posts.spawn(async move { world.send("POST", CLIENTS, &body).await });
        }
        let answers = posts.join_all().await;
        let created: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
        assert_eq!(created.len(), 1, "round {round}");
        for answer in &answers {
            assert!([200, 201].contains(&answer.status.as_u16()), "{}", answer.json);
            assert_eq!(answer.json, created[0].json, "round {round}");
        }
    }
    assert_eq!(items(&read(&world, CLIENTS).await).len(), 5);
}

/// Rules: CLIENT-2
#[on_each_database]
fn any_sequence_of_posts_creates_each_external_id_once(db: Database) {
    let posts = prop::collection::vec((prop::option::of(0..4_u8), 0..3_u8), 1..25);
    for_all_on_service(db, 24, &posts, async |world, posts| {
        let tenant = Tenant::open(world).await;
        let (mut known, mut count) = (BTreeMap::<String, Value>::new(), 0);
        for (external_id, name) in posts {
            let external_id = external_id.map(|n| ["a", "A", "à", "a b"][usize::from(n)].to_owned());
            let body = json!({"name": format!("Client {name}"), "externalId": external_id});
            let answer = tenant.send("POST", CLIENTS, &body).await;
            if let Some(stored) = external_id.as_ref().and_then(|id| known.get(id)) {
                assert_eq!((answer.status.as_u16(), &answer.json), (200, stored));
                continue;
            }
            assert_eq!((answer.status.as_u16(), &answer.json["name"]), (201, &body["name"]));
            count += 1;
            known.extend(external_id.map(|id| (id, answer.json)));
        }
        assert_eq!(items(&tenant.read(CLIENTS).await).len(), count);
        for (external_id, stored) in known {
            let page = tenant.read(&format!("{CLIENTS}?externalId={}", encode(&external_id))).await;
            assert_eq!(items(&page), [stored]);
        }
    });
}

/// Rules: CLIENT-2
#[on_each_database]
async fn a_client_that_the_host_links_later_is_the_known_one(db: Database) {
    let world = world(db).await;
    let id = world.client("A").await;
    let change = invoicing_core::ClientChange {
        external_id: Some("crm-1".into()),
        ..invoicing_core::NewClient::named("A")
    };
    world.company.clients().change(id, &change).await.unwrap();
    let answer = world.send("POST", CLIENTS, &json!({"name": "B", "externalId": "crm-1"})).await;
    assert_eq!((answer.status.as_u16(), text(&answer.json, "id")), (200, &*id.to_string()));
    // Unlinked, the identifier is free again.
    world.company.clients().change(id, &invoicing_core::NewClient::named("A")).await.unwrap();
    let answer = world.send("POST", CLIENTS, &json!({"name": "B", "externalId": "crm-1"})).await;
    assert_eq!(answer.status, 201);
}

/// Rules: CLIENT-4
#[on_each_database]
async fn a_client_needs_a_name(db: Database) {
    let world = world(db).await;
    for body in [
        json!({}),
        json!({"email": "a@exemple.fr"}),
        json!({"name": null}),
        json!({"name": ""}),
        json!({"name": "   "}),
        json!({"name": 5}),
        json!({"name": ["A"]}),
    ] {
        refused(&world.send("POST", CLIENTS, &body).await, "name", &body.to_string());
    }
    assert!(items(&read(&world, CLIENTS).await).is_empty());
}

/// Rules: CLIENT-5
#[on_each_database]
async fn an_unknown_property_of_a_client_is_refused_by_name_and_creates_nothing(db: Database) {
    let world = world(db).await;
    let as_of = read(&world, CLIENTS).await["asOf"].clone();
    for name in
        ["externalID", "external_id", "zipcode", "Name", "id", "createdAt", "country", "société", "type "]
    {
        let mut body = json!({"name": "A"});
        body[name] = json!("x");
        refused(&world.send("POST", CLIENTS, &body).await, name, name);
    }
    let body = json!({"name": "A", "billingAddress": {"town": "Lyon"}});
    refused(&world.send("POST", CLIENTS, &body).await, "billingAddress.town", "an unknown part");
    let page = read(&world, CLIENTS).await;
    assert_eq!((items(&page), &page["asOf"]), (&[][..], &as_of));
}

/// Rules: CLIENT-10
#[on_each_database]
async fn a_billing_address_is_stored_with_its_four_texts_or_as_null(db: Database) {
    let world = world(db).await;
    let post = async |address: Value| {
        let body = json!({"name": "A", "billingAddress": address});
        world.send("POST", CLIENTS, &body).await
    };
    let made = post(json!({"address": " CS 40102 ", "city": "Lyon", "country": "fr"})).await;
    assert_eq!(made.status, 201);
    let stored = json!({"address": "CS 40102", "zipCode": null, "city": "Lyon", "country": "FR"});
    assert_eq!(made.json["billingAddress"], stored);
    assert_eq!(items(&read(&world, CLIENTS).await)[0]["billingAddress"], stored);
    assert!(items(&read(&world, &format!("{CLIENTS}?q=40102")).await).is_empty());
    for blank in [json!(null), json!({}), json!({"city": " ", "country": null})] {
        assert_eq!(post(blank.clone()).await.json["billingAddress"], json!(null), "{blank}");
    }
    for (bad, field) in [
        (json!("Lyon"), "billingAddress"),
        (json!(["Lyon", null, null, null]), "billingAddress"),
        (json!({"city": 5}), "billingAddress.city"),
        (json!({"zipCode": "a\nb"}), "billingAddress.zipCode"),
        (json!({"country": "BEL"}), "billingAddress.country"),
        (json!({"address": "é".repeat(2_001)}), "billingAddress.address"),
    ] {
        refused(&post(bad.clone()).await, field, &bad.to_string());
    }
}

/// Rules: CLIENT-8
#[on_each_database]
async fn a_property_of_the_wrong_type_is_refused_by_name(db: Database) {
    let world = world(db).await;
    for name in ["email", "phone", "address", "city", "zipCode", "type", "notes", "externalId"] {
        for value in [json!(5), json!(69_001.5), json!(true), json!(["x"]), json!({"x": "y"})] {
            let mut body = json!({"name": "A"});
            body[name] = value;
            refused(&world.send("POST", CLIENTS, &body).await, name, &body.to_string());
        }
    }
    assert!(items(&read(&world, CLIENTS).await).is_empty());
}

/// Rules: CLIENT-6
#[on_each_database]
async fn the_type_of_a_client_is_particulier_or_professionnel(db: Database) {
    let world = world(db).await;
    for good in ["PARTICULIER", "PROFESSIONNEL"] {
        let answer = world.send("POST", CLIENTS, &json!({"name": "A", "type": good})).await;
        assert_eq!((answer.status.as_u16(), text(&answer.json, "type")), (201, good));
    }
    for bad in ["particulier", "PARTICULAR", "PRO", "PARTICULIER,PROFESSIONNEL", "null"] {
        refused(&world.send("POST", CLIENTS, &json!({"name": "A", "type": bad})).await, "type", bad);
    }
}

/// Rules: WIRE-18
#[on_each_database]
async fn the_e_mail_of_a_client_is_an_address(db: Database) {
    let world = world(db).await;
    for bad in ["x", "@exemple.fr", "a@", "a@b@c", "a b@exemple.fr"] {
        refused(&world.send("POST", CLIENTS, &json!({"name": "A", "email": bad})).await, "email", bad);
    }
    let answer = world.send("POST", CLIENTS, &json!({"name": "A", "email": " a+b@exemple.fr "})).await;
    assert_eq!(text(&answer.json, "email"), "a+b@exemple.fr");
    assert_eq!(keys(&answer.json).len(), 17);
}
