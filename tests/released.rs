//! Databases that earlier versions of the service recorded, opened by this one: every endpoint and every operation
//! gives the right answer. See `data/releases`.

mod beside;
mod endpoints;
pub(crate) mod large_lines;
mod operations;
mod versions;

use std::collections::BTreeSet;

use invoicing_core::Money;
use invoicing_tests::{Database, Release, World, on_each_database};
use rust_decimal::Decimal;
use serde_json::{Value, json};

/// The answer of this version for an answer of an earlier one: a record or a list.
fn todays(answer: &Value) -> Value {
    let mut answer = answer.clone();
    match answer.get_mut("data").and_then(Value::as_array_mut) {
        Some(items) => items.iter_mut().for_each(complete),
        None => complete(&mut answer),
    }
    answer
}

/// Adds the members that later versions have, with the values that a record of before has.
fn complete(record: &mut Value) {
    add_retention_due(record);
    let added = if record.get("amountOverpaid").is_some() {
        json!({
            "type": "STANDARD", "suppliedOn": null, "periodStart": null, "periodEnd": null, "documentFormat": null,
            "position": null, "progressRate": null, "amountCredited": 0, "amountWrittenOff": 0,
            "retentionReleaseDate": null,
        })
    } else if record.get("zipCode").is_some() {
        json!({"siren": null, "vatNumber": null, "electronicAddress": null, "country": null})
    } else {
        return;
    };
    let members = record.as_object_mut().unwrap();
    members.extend(added.as_object().unwrap().clone());
    if members.contains_key("amountOverpaid") && members.contains_key("vatBreakdown") {
        members.extend([("deductions".to_owned(), json!([])), ("creditNotes".to_owned(), json!([]))]);
    }
}

/// Schema 101 had no `retentionDue`, and called overpaid what pays the retention.
fn add_retention_due(record: &mut Value) {
    if record.get("amountOverpaid").is_none() || record.get("retentionDue").is_some() {
        return;
    }
    let amount = |name: &str| -> Decimal { record[name].to_string().parse().unwrap() };
    let (retention, excess) = (amount("retentionAmount"), amount("amountOverpaid"));
    let (due, overpaid) = (retention - excess.min(retention), excess - excess.min(retention));
    let money = |amount: Decimal| serde_json::to_value(Money::new(amount).unwrap()).unwrap();
    (record["retentionDue"], record["amountOverpaid"]) = (money(due), money(overpaid));
}

/// The records of an answer as they come, but for the cancelled invoices.
fn records(answer: &[u8]) -> BTreeSet<String> {
    let text = std::str::from_utf8(answer).unwrap();
    let items = text
        .split_once("\"data\":[")
        .map_or(text, |(_, rest)| rest.rsplit_once("],\"pagination\"").unwrap().0);
    items.split(",\n").filter(|item| !item.contains("\"status\":\"CANCELED\"")).map(str::to_owned).collect()
}

/// The answer of the API to each recorded path, as it comes.
async fn answers(world: &World, release: &Release) -> Vec<(String, bytes::Bytes)> {
    let mut answers = Vec::new();
    for (path, recorded) in release.answers() {
        let answer = world.get(&path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.json);
        assert_eq!(answer.json, todays(&recorded), "{path}");
        answers.push((path, answer.bytes));
    }
    answers
}

/// Rules: STORED-1, STORED-2
#[on_each_database]
async fn answers_about_older_rows_are_right_and_the_sweep_settles_one_of_them(db: Database) {
    for release in Release::all(db) {
        let world = World::of_release(&release).open().await;
        let before = answers(&world, &release).await;
        let report = world.invoicing.sweep().await.unwrap();
        assert_eq!(report.settled_invoices, 1, "the cancelled one owed its sum");
        for (path, before) in before {
            let after = world.get(&path).await;
            let reason = "what is read of an older row is what is stored of a rewritten one";
            assert_eq!(records(&before), records(&after.bytes), "{path}: {reason}");
        }
        assert_eq!(world.invoicing.sweep().await.unwrap().rewritten_records, 0, "all of them were rewritten");
    }
}
