//! No company can read or change another's records, or find out that they exist: over the API, here; over the host's
//! operations and by the time that answers take, below.

mod operations;
mod timing;

use std::collections::BTreeSet;

use bytes::Bytes;
use http::HeaderMap;
use invoicing_core::{EventKind, NewClient, NewCreditNote, Plan};
use invoicing_server::{CompanyHandle, Endpoint, NewProject, NewWebhook, ROUTES};
use invoicing_tests::{Answer, Database, World, new_quote, on_each_database};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::api::errors::{ABSENT, path_of};
use crate::support::proptest_runner::{for_all, runtime};

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// A company and its records.
struct Tenant {
    company: CompanyHandle,
    key: String,
    quotes: Vec<String>,
    invoices: Vec<String>,
    credit_notes: Vec<String>,
    clients: Vec<String>,
}

impl Tenant {
    async fn new(world: &World, name: &str) -> Self {
        let (company, key) = world.another(name, Plan::Team).await;
        let (quotes, invoices, credit_notes, clients) = Default::default();
        Self { company, key, quotes, invoices, credit_notes, clients }
    }

    /// Makes one record of a kind, and the records that it needs.
    async fn make(&mut self, kind: u8) {
        let mut client = NewClient::named("Lefèvre");
        client.external_id = (kind > 3).then(|| format!("crm-{kind}"));
        let creation = self.company.clients().find_or_create(&client).await.unwrap();
        if creation.created {
            self.clients.push(creation.client.id.to_string());
        }
        if kind.is_multiple_of(4) {
            return;
        }
        let quotes = self.company.quotes();
        let quote = quotes.create(&new_quote(creation.client.id)).await.unwrap();
        self.quotes.push(quote.summary.id.to_string());
        quotes.link(quote.summary.id, Some("deal-1")).await.unwrap();
        if kind % 4 == 2 {
            quotes.send(quote.summary.id, None).await.unwrap();
        }
        if kind % 4 == 3 {
            quotes.accept(quote.summary.id).await.unwrap();
            let invoices = self.company.invoices();
            let invoice = invoices.convert(quote.summary.id).await.unwrap().summary.id;
            self.invoices.push(invoice.to_string());
            invoices.issue(invoice, None).await.unwrap();
            let note = invoices.credit(invoice, &NewCreditNote::new("Remise").quantity(0, 1)).await.unwrap();
            self.credit_notes.push(note.summary.id.to_string());
        }
    }

    /// The ids of all its records, also of kinds that no path of the API takes.
    async fn ids(&self) -> Vec<String> {
        let new = NewWebhook { url: "https://example.com/".to_owned(), events: EventKind::ALL.to_vec() };
        let webhook = self.company.webhooks().register(&new).await.unwrap().webhook.id.to_string();
        let new = NewProject { name: "P".to_owned(), client_id: None, quote_ids: Vec::new() };
        let project = self.company.projects().create(&new).await.unwrap().id.to_string();
        let key = self.company.keys().list().await.unwrap()[0].id.to_string();
        let event = self.company.events().list(None, 1).await.unwrap()[0].id.to_string();
        let others = [webhook, project, key, event, self.company.id().to_string()];
        let records = self.quotes.iter().chain(&self.invoices).chain(&self.credit_notes).chain(&self.clients);
        records.cloned().chain(others).collect()
    }
}

/// The parts of an answer by which a caller can distinguish it from another.
fn visible(answer: &Answer) -> (u16, HeaderMap, Bytes) {
    let mut headers = answer.headers.clone();
    headers.remove("x-request-id");
    (answer.status.as_u16(), headers, answer.bytes.clone())
}

async fn ids(world: &World, key: &str, path: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for offset in (0..).step_by(7) {
        let page =
            world.call("GET", &format!("{path}limit=7&offset={offset}"), Some(key), &[], Bytes::new()).await;
        assert_eq!(page.status, 200, "{path}");
        let items = page.json["data"].as_array().unwrap();
        for item in items {
            assert!(found.insert(item["id"].as_str().unwrap().to_owned()), "twice in {path}");
        }
        if page.json["pagination"]["hasMore"] == false {
            break;
        }
        assert_eq!(items.len(), 7);
    }
    found
}

fn set(ids: &[String]) -> BTreeSet<String> {
    ids.iter().cloned().collect()
}

/// Rules: TENANT-1
#[on_each_database]
fn another_company_s_id_is_answered_like_one_that_does_not_exist(db: Database) {
    let runtime = runtime();
    let (world, existing, attacker) = runtime.block_on(async {
        let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
        let mut victim = Tenant::new(&world, "Victim").await;
        for kind in 0..8 {
            victim.make(kind).await;
        }
        let mut attacker = Tenant::new(&world, "Attacker").await;
        attacker.make(3).await;
        let existing = victim.ids().await;
        (world, existing, attacker)
    });
    let routes: Vec<_> = ROUTES
        .iter()
        .filter(|route| route.path.contains('{'))
        .map(|route| (&route.method, route.path))
        .collect();
    let query =
        prop::sample::select(vec!["", "?", "?type=pdf", "?include=lines", "?limit=3", "?type=x&type=y"]);
    let body = prop::sample::select(vec![
        "",
        "{}",
        "[]",
        "{\"externalId\":\"stolen\"}",
        "{\"externalId\":null}",
        "{\"externalId\":\"deal-1\"}",
        "{\"externalId\":\"\"}",
        "{\"externalId\":1}",
        "{\"externalId\":\"x\",\"status\":\"ACCEPTED\"}",
    ]);
    let methods = prop::sample::select(vec!["GET", "HEAD", "PATCH", "POST", "PUT", "DELETE"]);
    let record = any::<prop::sample::Index>();
    let route = (0..routes.len(), prop::option::weighted(0.3, methods), any::<bool>());
    for_all(db, 64, &(route, record, query, body), |((route, method, upper), record, query, body)| {
        runtime.block_on(async {
            let (own_method, path) = routes[route];
            let method = method.unwrap_or(own_method.as_str());
            let existing = &existing[record.index(existing.len())];
            let spelled = |id: &str| if upper { id.to_uppercase() } else { id.to_owned() };
            let before = world.dump().await;
            let mut answers = Vec::new();
            for id in [existing, ABSENT] {
                let path = format!("{}{query}", path_of(path, &spelled(id)));
                let answer = world.call(method, &path, Some(&attacker.key), JSON, Bytes::from(body)).await;
                prop_assert!(!answer.status.is_success(), "{} {}: {:?}", method, path, answer);
                answers.push(visible(&answer));
            }
            prop_assert_eq!(&answers[0], &answers[1], "{} {} {}", method, path, body);
            prop_assert_eq!(world.dump().await, before, "{} {} {} has changed something", method, path, body);
            Ok(())
        })
    });
}

/// Rules: TENANT-1
#[on_each_database]
async fn the_owner_gets_what_the_other_does_not(db: Database) {
    // The property above would hold of a service that refuses every caller.
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let mut owner = Tenant::new(&world, "Owner").await;
    owner.make(3).await;
    let other = Tenant::new(&world, "Other").await;
    for route in ROUTES.iter().filter(|route| route.path.contains("{id}")) {
        let id = match route.endpoint {
            Endpoint::GetInvoice | Endpoint::InvoiceDocument => &owner.invoices[0],
            Endpoint::GetCreditNote | Endpoint::CreditNoteDocument => &owner.credit_notes[0],
            _ => &owner.quotes[0],
        };
        let body = Bytes::from_static(b"{\"externalId\":\"mine\"}");
        for (key, status) in [(&owner.key, 200), (&other.key, 404)] {
            let path = path_of(route.path, id);
            let answer = world.call(route.method.as_str(), &path, Some(key), JSON, body.clone()).await;
            assert_eq!(answer.status, status, "{} {path}", route.method);
        }
    }
}

/// Rules: TENANT-3
#[on_each_database]
fn lists_show_a_company_s_own_records_all_of_them_and_no_others(db: Database) {
    let runtime = runtime();
    for_all(db, 12, &proptest::collection::vec((0..3_usize, 0..8_u8), 1..30), |steps| {
        runtime.block_on(async {
            let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
            let start = world.now().to_string();
            let mut tenants = Vec::new();
            for name in ["A", "B", "C"] {
                tenants.push(Tenant::new(&world, name).await);
            }
            for (tenant, kind) in steps {
                tenants[tenant].make(kind).await;
            }
            for tenant in &tenants {
                for filter in [String::new(), format!("since={start}&")] {
                    let quotes = ids(&world, &tenant.key, &format!("/api/v1/quotes?{filter}")).await;
                    prop_assert_eq!(quotes, set(&tenant.quotes));
                    let invoices =
                        ids(&world, &tenant.key, &format!("/api/v1/invoices?include=lines&{filter}")).await;
                    prop_assert_eq!(invoices, set(&tenant.invoices));
                    let notes = ids(&world, &tenant.key, &format!("/api/v1/credit-notes?{filter}")).await;
                    prop_assert_eq!(notes, set(&tenant.credit_notes));
                    for search in ["", "q=lefevre&"] {
                        let path = format!("/api/v1/clients?{search}{filter}");
                        prop_assert_eq!(ids(&world, &tenant.key, &path).await, set(&tenant.clients));
                    }
                }
                for external in 4..8 {
                    let path = format!("/api/v1/clients?externalId=crm-{external}&");
                    prop_assert!(ids(&world, &tenant.key, &path).await.is_subset(&set(&tenant.clients)));
                }
            }
            Ok(())
        })
    });
}

/// Rules: STAMP-4
#[on_each_database]
async fn what_one_company_does_moves_no_other_company_s_stamp(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let quiet = Tenant::new(&world, "Quiet").await;
    let mut busy = Tenant::new(&world, "Busy").await;
    let page = || world.call("GET", "/api/v1/clients", Some(&quiet.key), &[], Bytes::new());
    let before = page().await;
    for kind in 0..8 {
        world.advance(std::time::Duration::from_mins(1));
        busy.make(kind).await;
    }
    assert_eq!(page().await.bytes, before.bytes, "asOf is the company's own");
}

/// Rules: TENANT-4
#[on_each_database]
async fn one_external_id_in_two_companies_is_two_clients(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let tenants = [Tenant::new(&world, "A").await, Tenant::new(&world, "B").await];
    let mut made: Vec<Value> = Vec::new();
    for (status, round) in [(201, "first"), (200, "second")] {
        for (index, tenant) in tenants.iter().enumerate() {
            let body = json!({"name": format!("{index} {round}"), "externalId": "crm-1"}).to_string();
            let answer = world.call("POST", "/api/v1/clients", Some(&tenant.key), JSON, body.into()).await;
            assert_eq!(answer.status, status);
            made.push(answer.json);
        }
    }
    assert_ne!(made[0]["id"], made[1]["id"]);
    assert_eq!(made[..2], made[2..], "a replay returns the company's own client, unchanged");
    for (tenant, client) in tenants.iter().zip(&made) {
        let path = "/api/v1/clients?externalId=crm-1";
        let page = world.call("GET", path, Some(&tenant.key), &[], Bytes::new()).await;
        assert_eq!(page.json["data"], json!([client]));
    }
}

/// Rules: DOCUMENT-6
#[on_each_database]
async fn a_document_url_of_one_company_opens_nothing_of_another(db: Database) {
    let world = World::on(db).settings(|settings| settings.quota = 0).open().await;
    let mut tenants = [Tenant::new(&world, "A").await, Tenant::new(&world, "B").await];
    let mut urls = Vec::new();
    for tenant in &mut tenants {
        tenant.make(2).await;
        let path = format!("/api/v1/quotes/{}/document", tenant.quotes[0]);
        let link = world.call("GET", &path, Some(&tenant.key), &[], Bytes::new()).await;
        let url = link.json["url"].as_str().unwrap();
        urls.push(url[url.find("/api/").unwrap()..].to_owned());
    }
    let [a, b] = &urls[..] else { panic!() };
    let hash = |url: &str| url.split(['/', '?']).nth(5).unwrap().to_owned();
    let company = |url: &str| url.split('/').nth(4).unwrap().to_owned();
    let query = |url: &str| url.split_once('?').unwrap().1.to_owned();
    assert_ne!(hash(a), hash(b));
    for forged in [
        a.replace(&company(a), &company(b)),
        a.replace(&hash(a), &hash(b)),
        a.replace(&query(a), &query(b)),
        b.replace(&query(b), &query(a)),
        b.replace(&company(b), &company(a)),
    ] {
        for key in [None, Some(&*tenants[0].key), Some(&*tenants[1].key)] {
            let answer = world.call("GET", &forged, key, &[], Bytes::new()).await;
            assert_eq!((answer.status.as_u16(), answer.code()), (404, "not_found"), "{forged}");
        }
    }
    for url in &urls {
        assert_eq!(world.call("GET", url, None, &[], Bytes::new()).await.status, 200);
    }
}
