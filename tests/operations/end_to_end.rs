//! The whole way once, through every layer.

use invoicing_core::{EventKind, NewCreditNote, ProjectStatus, SignatureEvidence};
use invoicing_server::{NewPayment, NewProject, NewWebhook, PaymentMethod, PaymentSource, Signature};
use invoicing_tests::{Database, Receiver, World, on_each_database};

/// Rules: EVENT-3
#[on_each_database]
async fn a_quote_goes_all_the_way_from_draft_to_paid(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let events = EventKind::ALL.to_vec();
    let hook = NewWebhook { url: receiver.url.clone(), events };
    let hook = world.company.webhooks().register(&hook).await.unwrap();
    let quote = world.sent().await;
    let token = world.company.quotes().create_signing_link(quote.summary.id).await.unwrap();
    let evidence = SignatureEvidence::new("Léa Lefèvre", "lea@exemple.fr", "Bon pour accord");
    let signature = Signature::new(evidence);
    let signed = world.invoicing.signing_links().sign(token.reveal(), &signature).await.unwrap();
    let invoice = world.company.invoices().convert(signed.summary.id).await.unwrap();
    let invoice = world.company.invoices().issue(invoice.summary.id, None).await.unwrap();
    let payment = NewPayment::new(invoice.summary.amount_due, PaymentSource::Bank)
        .method(PaymentMethod::Transfer)
        .reference("R1");
    let paid = world.company.invoices().pay(invoice.summary.id, &payment).await.unwrap();
    assert_eq!(paid.invoice.summary.status.as_str(), "PAID");
    let part = NewCreditNote::new("Un mètre de moins").quantity(0, 1);
    world.company.invoices().credit(invoice.summary.id, &part).await.unwrap();
    let project = NewProject::named("Façade").quote_ids([quote.summary.id]);
    let project = world.company.projects().create(&project).await.unwrap();
    world.company.projects().set_status(project.id, ProjectStatus::Completed).await.unwrap();

    let report = world.dispatch().await;
    assert_eq!(report.delivered, 8, "{report:?}");
    let verifier = webhook_verify::Verifier::new(hook.secret.reveal()).unwrap();
    let mut kinds = Vec::new();
    for delivery in receiver.received() {
        let header = delivery.headers.get("x-service-signature").unwrap();
        verifier.verify(header.as_bytes(), &delivery.body, world.now().as_seconds()).unwrap();
        kinds.push(delivery.json["event"].as_str().unwrap().to_owned());
    }
    kinds.sort();
    let mut all: Vec<_> = EventKind::ALL.iter().map(|kind| kind.as_str().to_owned()).collect();
    all.sort();
    assert_eq!(kinds, all);

    let detail = world.get(&format!("/api/v1/quotes/{}", quote.summary.id)).await;
    assert_eq!(detail.status, 200);
    assert_eq!(detail.json["status"], "ACCEPTED");
    let page = world.get("/api/v1/quotes?include=lines&limit=1").await;
    assert_eq!(page.json["data"][0]["id"], quote.summary.id.to_string(), "{:?}", page.json);
    let link = world.get(&format!("/api/v1/quotes/{}/document", quote.summary.id)).await;
    let url = link.json["url"].as_str().unwrap().strip_prefix("http://127.0.0.1:8080").unwrap().to_owned();
    let pdf = world.call("GET", &url, None, &[], bytes::Bytes::new()).await;
    assert!(pdf.bytes.starts_with(b"%PDF-"));
}
