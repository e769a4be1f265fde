//! The examples of the description, recorded from a service with a fixed clock and seed.

use std::time::Duration;

use invoicing_core::{
    Costing, CreditNoteId, Event, EventKind, InvoiceId, NewCreditNote, NewLine, NewQuote, ProjectStatus,
    QuoteId, SignatureEvidence, quantity, unit_price,
};
use invoicing_server::{NewProject, NewWebhook, Signature};
use invoicing_tests::{Database, Receiver, World};
use serde_json::{Map, Value, json};

use super::{compare, provoked};

/// The examples, in the order in which they are recorded.
#[derive(Default)]
struct Recorder {
    requests: Map<String, Value>,
    responses: Map<String, Value>,
    events: Map<String, Value>,
}

impl Recorder {
    /// Records an answer of an operation.
    async fn get(&mut self, world: &World, operation: &str, path: &str) -> Value {
        let answer = world.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.json);
        self.response(operation, 200, &answer.json);
        answer.json
    }

    /// Records a request with a body, and its answer.
    async fn send(
        &mut self,
        world: &World,
        operation: &str,
        (method, path): (&str, &str),
        body: &Value,
    ) -> Value {
        let answer = world.send(method, path, body).await;
        self.requests.insert(operation.to_owned(), body.clone());
        self.response(operation, answer.status.as_u16(), &answer.json);
        answer.json
    }

    fn response(&mut self, operation: &str, status: u16, body: &Value) {
        let statuses = self.responses.entry(operation).or_insert_with(|| json!({}));
        statuses[status.to_string()] = body.clone();
    }

    /// Delivers what is due and records it.
    async fn deliver(&mut self, world: &World, receiver: &Receiver) {
        world.dispatch().await;
        for received in receiver.take() {
            let header = |name: &str| received.headers[name].to_str().unwrap();
            let headers = json!({
                "X-Service-Signature": header("x-service-signature"),
                "X-Service-Webhook-Id": header("x-service-webhook-id"),
                "X-Service-Event-Id": header("x-service-event-id"),
                "User-Agent": header("user-agent"),
            });
            let event = received.json["event"].as_str().unwrap().to_owned();
            self.events.insert(event, json!({"headers": headers, "body": received.json}));
        }
    }
}

fn kitchen(client: &Value) -> NewQuote {
    let client_id = client["id"].as_str().unwrap().parse().unwrap();
    let labour = Costing::default().labour_cost(640);
    NewQuote::empty(client_id)
        .line(
            NewLine::new("Dépose de l'ancienne cuisine", 1, 480, 10)
                .unit("forfait")
                .lot("Dépose")
                .cost(labour),
        )
        .line(
            NewLine::new("Peinture mate, deux couches", quantity!(37.5), unit_price!(19.90), 10)
                .unit("m2")
                .lot("Peinture")
                .section("Murs"),
        )
        .line(NewLine::new("Plan de travail en chêne", quantity!(3.2), 245, 20).unit("m").lot("Agencement"))
        .line(NewLine::new("Remise", -1, 50, 10))
        .retention_rate(5)
        .order_number("PO-2026-118")
}

async fn register(world: &World, receiver: &Receiver) {
    world.company.webhooks().register(&NewWebhook::for_all_events(&receiver.url)).await.unwrap();
}

/// From the first client to the paid invoice.
async fn story(world: &World, receiver: &Receiver, recorder: &mut Recorder) {
    let client = json!({
        "name": "Claire Lefèvre",
        "email": "claire.lefevre@exemple.fr",
        "phone": "06 12 34 56 78",
        "address": "14 rue des Lilas",
        "city": "Villeurbanne",
        "zipCode": "69100",
        "type": "PARTICULIER",
        "billingAddress": {"address": "Tutelle Rhône, CS 40102", "zipCode": "69401", "city": "Lyon Cedex 03"},
        "externalId": "crm-4711",
    });
    let created = recorder.send(world, "createClient", ("POST", "/api/v1/clients"), &client).await;
    recorder.send(world, "createClient", ("POST", "/api/v1/clients"), &client).await;
    tick(world);
    let quote = world.company.quotes().create(&kitchen(&created)).await.unwrap().summary.id;
    recorder.deliver(world, receiver).await;
    tick(world);
    world.company.quotes().send(quote, None).await.unwrap();
    let link = ("PATCH", &*format!("/api/v1/quotes/{quote}"));
    recorder.send(world, "linkQuote", link, &json!({"externalId": "deal-815"})).await;
    sign(world, receiver, recorder, quote).await;
    let invoice = world.company.invoices().convert(quote).await.unwrap().summary.id;
    recorder.deliver(world, receiver).await;
    tick(world);
    world.company.invoices().mark_paid(invoice).await.unwrap();
    recorder.deliver(world, receiver).await;
    tick(world);
    let shorter = NewCreditNote::new("Plan de travail plus court").quantity(2, quantity!(0.4));
    let note = world.company.invoices().credit(invoice, &shorter).await.unwrap().summary.id;
    recorder.deliver(world, receiver).await;
    complete_project(world, receiver, recorder, quote).await;
    let kitchen = world.company.quotes().create(&kitchen(&created)).await.unwrap();
    assert_ne!(kitchen.summary.id, quote);
    read(world, recorder, quote).await;
    read_invoice(world, recorder, invoice, note).await;
}

/// Lets a little time pass, so that no two instants of the examples are the same by accident.
fn tick(world: &World) {
    world.advance(Duration::from_millis(86_413));
}

async fn sign(world: &World, receiver: &Receiver, recorder: &mut Recorder, quote: QuoteId) {
    tick(world);
    let token = world.company.quotes().create_signing_link(quote).await.unwrap();
    let evidence = SignatureEvidence::new("Claire Lefèvre", "claire.lefevre@exemple.fr", "Bon pour accord");
    world.invoicing.signing_links().sign(token.reveal(), &Signature::new(evidence)).await.unwrap();
    recorder.deliver(world, receiver).await;
    tick(world);
}

async fn complete_project(world: &World, receiver: &Receiver, recorder: &mut Recorder, quote: QuoteId) {
    tick(world);
    let project = NewProject::named("Cuisine Lefèvre").quote_ids([quote]);
    let project = world.company.projects().create(&project).await.unwrap().id;
    world.company.projects().set_status(project, ProjectStatus::Completed).await.unwrap();
    recorder.deliver(world, receiver).await;
}

async fn read_invoice(world: &World, recorder: &mut Recorder, invoice: InvoiceId, note: CreditNoteId) {
    recorder.get(world, "listInvoices", "/api/v1/invoices").await;
    recorder.get(world, "getInvoice", &format!("/api/v1/invoices/{invoice}")).await;
    recorder.get(world, "getInvoiceDocument", &format!("/api/v1/invoices/{invoice}/document")).await;
    recorder.get(world, "listCreditNotes", "/api/v1/credit-notes").await;
    recorder.get(world, "getCreditNote", &format!("/api/v1/credit-notes/{note}")).await;
    recorder.get(world, "getCreditNoteDocument", &format!("/api/v1/credit-notes/{note}/document")).await;
}

async fn read(world: &World, recorder: &mut Recorder, quote: QuoteId) {
    tick(world);
    recorder.get(world, "listQuotes", "/api/v1/quotes?limit=1").await;
    recorder.get(world, "getQuote", &format!("/api/v1/quotes/{quote}")).await;
    recorder.get(world, "getQuoteDocument", &format!("/api/v1/quotes/{quote}/document")).await;
    recorder.get(world, "listClients", "/api/v1/clients?q=lefevre").await;
}

async fn ping(world: &World, receiver: &Receiver, recorder: &mut Recorder) {
    let webhook = world.company.webhooks().list().await.unwrap()[0].id;
    world.company.webhooks().ping(webhook).await.unwrap();
    recorder.deliver(world, receiver).await;
}

async fn record(db: Database) -> Value {
    let (world, receiver) = (World::on(db).reproducible().open().await, Receiver::start().await);
    let mut recorder = Recorder::default();
    register(&world, &receiver).await;
    Box::pin(story(&world, &receiver, &mut recorder)).await;
    ping(&world, &receiver, &mut recorder).await;
    let kinds = EventKind::ALL.iter().map(|kind| kind.as_str()).chain([Event::PING]);
    let missing: Vec<_> = kinds.filter(|kind| !recorder.events.contains_key(*kind)).collect();
    assert!(missing.is_empty(), "no example of {missing:?}");
    let Recorder { requests, responses, events } = recorder;
    json!({"requests": requests, "responses": responses, "errors": provoked::bodies(db).await, "events": events})
}

#[tokio::test]
async fn the_examples_are_what_the_service_answers_and_sends() {
    let db = Database::Sqlite;
    let first = record(db).await;
    assert_eq!(record(db).await, first, "recorded twice, the examples differ");
    let text = serde_json::to_string_pretty(&first).unwrap() + "\n";
    compare("invoicing-server/src/api/openapi/examples.json", &text);
}
