//! Every endpoint on an older database.

use invoicing_core::{InvoiceStatus, NewCreditNote, QuoteStatus, sha256_hex};
use invoicing_server::{Endpoint, ROUTES};
use invoicing_tests::{Answer, Database, Release, World, on_each_database};
use serde_json::{Value, json};

async fn ok(world: &World, path: &str) -> Value {
    let answer = world.get(path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.json);
    answer.json
}

fn length(page: &Value) -> usize {
    page["data"].as_array().unwrap().len()
}

#[on_each_database]
async fn every_endpoint_works_on_a_database_of_an_earlier_version(db: Database) {
    for release in Release::all(db) {
        let world = World::of_release(&release).open().await;
        for route in ROUTES {
            call(&world, &release, route.endpoint).await;
        }
    }
}

async fn call(world: &World, release: &Release, endpoint: Endpoint) {
    let quote = |name: &str| format!("/api/v1/quotes/{}", release.fact::<String>(&format!("/quotes/{name}")));
    match endpoint {
        Endpoint::ListQuotes => {
            lists_by_status(world, "quotes", QuoteStatus::ALL.iter().map(ToString::to_string)).await;
        }
        Endpoint::ListInvoices => {
            lists_by_status(world, "invoices", InvoiceStatus::ALL.iter().map(ToString::to_string)).await;
        }
        Endpoint::ListClients => {
            assert_eq!(length(&ok(world, "/api/v1/clients?q=saint-etienne").await), 1);
            assert_eq!(length(&ok(world, "/api/v1/clients?externalId=crm-1").await), 1);
        }
        Endpoint::GetQuote => assert_eq!(ok(world, &quote("draft")).await["externalId"], "deal-7"),
        Endpoint::GetInvoice => {
            let paid: String = release.fact("/invoices/paid");
            assert_eq!(ok(world, &format!("/api/v1/invoices/{paid}")).await["status"], "PAID");
        }
        Endpoint::InvoiceDocument => {
            let paid: String = release.fact("/invoices/paid");
            let answer = world.get(&format!("/api/v1/invoices/{paid}/document")).await;
            assert_eq!(answer.code(), "document_unavailable", "an earlier version issued it");
        }
        Endpoint::ListCreditNotes => assert_eq!(length(&ok(world, "/api/v1/credit-notes").await), 0),
        Endpoint::GetCreditNote | Endpoint::CreditNoteDocument => credit(world, release, endpoint).await,
        Endpoint::LinkQuote => link(world, &quote("expired")).await,
        Endpoint::CreateClient => create_client(world, release).await,
        Endpoint::QuoteDocument => {
            let answer = world.get(&format!("{}/document", quote("draft"))).await;
            assert_eq!(answer.code(), "document_unavailable");
            ok(world, &format!("{}/document?type=pdf", quote("imported"))).await;
        }
        Endpoint::FrozenDocument => download(world, &quote("signed")).await,
        Endpoint::Docs => assert_eq!(world.get("/api/v1/docs").await.status, 200),
        Endpoint::OpenApi => assert_eq!(ok(world, "/api/v1/openapi.json").await["openapi"], "3.1.0"),
        other => panic!("{other:?} is not called on an older database"),
    }
}

/// An invoice that an earlier version issued without a document is credited, with one.
async fn credit(world: &World, release: &Release, endpoint: Endpoint) {
    let name = if endpoint == Endpoint::GetCreditNote { "/invoices/paid" } else { "/invoices/partPaid" };
    let invoices = world.company.invoices();
    let note = invoices.credit(release.fact(name), &NewCreditNote::of_the_rest("Erreur")).await.unwrap();
    let path = format!("/api/v1/credit-notes/{}", note.summary.id);
    assert_eq!(ok(world, &path).await["documentFormat"], "PDF");
    assert_eq!(ok(world, &format!("{path}/document")).await["type"], "pdf");
}

/// Each record is in the list of its status, and in that only.
async fn lists_by_status(world: &World, list: &str, statuses: impl Iterator<Item = String>) {
    let all = length(&ok(world, &format!("/api/v1/{list}?limit=100")).await);
    let mut counted = 0;
    for status in statuses {
        let page = ok(world, &format!("/api/v1/{list}?limit=100&include=lines&status={status}")).await;
        assert!(length(&page) > 0, "{list}: none in {status}");
        for item in page["data"].as_array().unwrap() {
            assert_eq!(item["status"], *status, "{list}");
        }
        counted += length(&page);
    }
    assert_eq!(counted, all, "{list}");
}

async fn link(world: &World, path: &str) {
    let before = ok(world, path).await;
    let linked = world.send("PATCH", path, &json!({"externalId": "deal-8"})).await;
    assert_eq!((linked.status.as_u16(), &linked.json["externalId"]), (200, &json!("deal-8")));
    let mut after = ok(world, path).await;
    assert!(after["updatedAt"].as_str() > before["updatedAt"].as_str());
    (after["externalId"], after["updatedAt"]) = (before["externalId"].clone(), before["updatedAt"].clone());
    assert_eq!(after, before, "nothing else changes");
}

async fn create_client(world: &World, release: &Release) {
    let create = async |body: Value| -> Answer { world.send("POST", "/api/v1/clients", &body).await };
    let known = create(json!({"name": "Other", "externalId": "crm-1"})).await;
    assert_eq!((known.status.as_u16(), &known.json["id"]), (200, &release.fact::<Value>("/client")));
    assert_eq!(create(json!({"name": "New", "externalId": "crm-2"})).await.status, 201);
}

async fn download(world: &World, quote: &str) {
    let link = ok(world, &format!("{quote}/document")).await;
    let url = link["url"].as_str().unwrap();
    let path = &url[url.find("/api/").unwrap()..];
    let document = world.call("GET", path, None, &[], bytes::Bytes::new()).await;
    assert_eq!(document.status, 200);
    assert_eq!(link["sha256"], sha256_hex(&document.bytes));
}
