//! The expected rows of the views: from answers of the API and of operations, by the names of the columns.

use std::collections::BTreeMap;

use bytes::Bytes;
use invoicing_core::{DeliveryStatus, Plan};
use invoicing_server::{CompanyHandle, DeliveryRecord};
use invoicing_tests::World;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::{Value, json};

use super::View;
use super::documented::Kind;

/// Records by the view that shows them, with the names of the API.
#[derive(Default)]
pub(super) struct Expected(BTreeMap<&'static str, Vec<Value>>);

impl Expected {
    /// All records of all companies.
    pub(super) async fn of(world: &World) -> Self {
        let mut expected = Self::default();
        for company in world.invoicing.companies().list().await.unwrap() {
            let handle = world.invoicing.company(company.id);
            // The API is part of this plan only.
            handle.set_plan(Plan::Team).await.unwrap();
            let key = handle.keys().issue("reports").await.unwrap().key.reveal().to_owned();
            let company = Company { world, id: handle.id().to_string(), handle, key };
            Box::pin(expected.add(&company)).await;
        }
        expected
    }

    async fn add(&mut self, company: &Company<'_>) {
        let details = company.handle.details().await.unwrap();
        self.push("companies", company, serde_json::to_value(details).unwrap(), &json!({}));
        for client in company.list("clients").await {
            self.push("clients", company, client, &json!({}));
        }
        for quote in company.list("quotes").await {
            self.add_quote(company, company.get(&format!("quotes/{}", text(&quote["id"]))).await).await;
        }
        for invoice in company.list("invoices").await {
            self.add_invoice(company, company.get(&format!("invoices/{}", text(&invoice["id"]))).await).await;
        }
        for note in company.list("credit-notes").await {
            self.add_credit_note(company, company.get(&format!("credit-notes/{}", text(&note["id"]))).await);
        }
        self.add_events(company).await;
    }

    fn add_credit_note(&mut self, company: &Company<'_>, note: Value) {
        let of = json!({
            "creditNoteId": note["id"], "creditNoteNumber": note["number"], "invoiceId": note["invoiceId"],
            "issueDate": note["issueDate"], "currency": note["currency"],
        });
        for share in note["vatBreakdown"].as_array().unwrap() {
            self.push("credit_note_vat", company, share.clone(), &of);
        }
        self.push("credit_notes", company, note, &json!({}));
    }

    async fn add_quote(&mut self, company: &Company<'_>, quote: Value) {
        self.add_lines(company, "quote", &quote);
        let costings = company.handle.quotes().costings(text(&quote["id"]).parse().unwrap()).await.unwrap();
        for (costing, position) in costings.iter().zip(1..) {
            let of = json!({
                "quoteId": quote["id"], "quoteNumber": quote["number"], "currency": quote["currency"],
                "position": position,
            });
            self.push("costings", company, serde_json::to_value(costing).unwrap(), &of);
        }
        self.push("quotes", company, quote, &json!({}));
    }

    async fn add_invoice(&mut self, company: &Company<'_>, invoice: Value) {
        self.add_lines(company, "invoice", &invoice);
        let of = json!({
            "invoiceId": invoice["id"], "invoiceNumber": invoice["number"], "invoiceStatus": invoice["status"],
            "issueDate": invoice["issueDate"], "currency": invoice["currency"], "clientId": invoice["clientId"],
            "clientName": invoice["clientName"],
        });
        for share in invoice["vatBreakdown"].as_array().unwrap() {
            self.push("vat", company, share.clone(), &of);
        }
        for payment in
            company.handle.invoices().payments(text(&invoice["id"]).parse().unwrap()).await.unwrap()
        {
            self.push("payments", company, serde_json::to_value(payment).unwrap(), &of);
        }
        self.push("invoices", company, invoice, &json!({}));
    }

    fn add_lines(&mut self, company: &Company<'_>, kind: &str, document: &Value) {
        for (line, position) in document["lines"].as_array().unwrap().iter().zip(1..) {
            let of = json!({
                "document": kind, "documentId": document["id"], "documentNumber": document["number"],
                "documentStatus": document["status"], "currency": document["currency"], "position": position,
            });
            self.push("lines", company, line.clone(), &of);
        }
    }

    async fn add_events(&mut self, company: &Company<'_>) {
        for event in company.handle.events().list(None, u32::MAX).await.unwrap() {
            let body: Value = serde_json::from_str(&event.body).unwrap();
            let of = json!({ "kind": event.kind, "occurredAt": event.timestamp });
            for delivery in company.handle.events().deliveries(event.id).await.unwrap() {
                self.push("deliveries", company, delivery_of(&delivery), &of);
            }
            self.push("events", company, json!({ "id": event.id, "recordId": body["data"]["id"] }), &of);
        }
    }

    /// Adds a record with further members.
    fn push(&mut self, view: &'static str, company: &Company<'_>, mut record: Value, further: &Value) {
        let members = record.as_object_mut().unwrap();
        members.insert("companyId".into(), company.id.clone().into());
        members.extend(further.as_object().unwrap().clone());
        self.0.entry(view).or_default().push(record);
    }

    /// The rows that a view must have.
    pub(super) fn rows(&self, view: &View) -> Vec<Value> {
        let records = self.0.get(view.name).map_or(&[][..], Vec::as_slice);
        let row = |record: &Value| {
            let value = |column: &&str| ((*column).to_owned(), value(record, column));
            Value::Object(view.columns.iter().map(value).collect())
        };
        records.iter().map(row).collect()
    }
}

fn delivery_of(delivery: &DeliveryRecord) -> Value {
    let is_pending = delivery.status == DeliveryStatus::Pending;
    json!({
        "eventId": delivery.event, "webhookId": delivery.webhook, "status": delivery.status.as_str(),
        "reason": delivery.reason, "attempts": delivery.attempts,
        "nextAttemptAt": is_pending.then_some(delivery.due_at), "endedAt": delivery.ended_at,
    })
}

/// A company, and a key to ask the API with.
struct Company<'w> {
    world: &'w World,
    id: String,
    handle: CompanyHandle,
    key: String,
}

impl Company<'_> {
    async fn get(&self, path: &str) -> Value {
        let path = format!("/api/v1/{path}");
        let answer = self.world.call("GET", &path, Some(&self.key), &[], Bytes::new()).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.json);
        answer.json
    }

    async fn list(&self, name: &str) -> Vec<Value> {
        let mut all = Vec::new();
        loop {
            let page = self.get(&format!("{name}?limit=100&offset={}", all.len())).await;
            all.extend(page["data"].as_array().unwrap().iter().cloned());
            if page["pagination"]["hasMore"] == false {
                return all;
            }
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The expected value of a column for a record.
fn value(record: &Value, column: &str) -> Value {
    let kind = Kind::of(column);
    let unit = ["_cents", "_bp", "_e4"].iter().find_map(|unit| column.strip_suffix(unit));
    let name = api_name(unit.unwrap_or(column));
    let value = record.get(&name).unwrap_or_else(|| panic!("{column}: no {name} in {record}"));
    match kind {
        Kind::Number(units) if !value.is_null() => {
            let number: Decimal = value.to_string().parse().unwrap();
            let units = (number * Decimal::from(units)).normalize();
            assert_eq!(units.scale(), 0, "{column}: {value}");
            units.to_i64().unwrap().into()
        }
        _ => value.clone(),
    }
}

/// `total_ht` is `totalHT`.
fn api_name(column: &str) -> String {
    let mut name = String::new();
    for (place, word) in column.split('_').enumerate() {
        let (first, rest) = word.split_at(1);
        match word {
            _ if place == 0 => name.push_str(word),
            "ht" | "ttc" | "tva" => name.push_str(&word.to_uppercase()),
            _ => name.push_str(&(first.to_uppercase() + rest)),
        }
    }
    name
}
