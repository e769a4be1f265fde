//! Databases that earlier versions of the service recorded, opened by this one: every endpoint and every operation
//! gives the right answer. See `data/releases`.

mod endpoints;
pub(crate) mod large_lines;
mod operations;
mod versions;

use invoicing_core::Money;
use invoicing_tests::{Release, World, on_each_database};
use rust_decimal::Decimal;
use serde_json::Value;

/// What this version answers where an earlier one gave this answer: a record or a list.
fn todays(answer: &Value) -> Value {
    let mut answer = answer.clone();
    match answer.get_mut("data").and_then(Value::as_array_mut) {
        Some(items) => items.iter_mut().for_each(add_retention_due),
        None => add_retention_due(&mut answer),
    }
    answer
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

/// What the API answers to each recorded path, as it comes.
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
async fn answers_about_older_rows_are_right_and_the_sweep_changes_none_of_them() {
    for release in Release::all() {
        let world = World::of_release(&release).await;
        let before = answers(&world, &release).await;
        world.invoicing.sweep().await.unwrap();
        let after = answers(&world, &release).await;
        for (before, after) in before.iter().zip(&after) {
            assert_eq!(before, after, "what is read of an older row is what is stored of a rewritten one");
        }
        assert_eq!(world.invoicing.sweep().await.unwrap().rewritten_records, 0, "all of them were rewritten");
    }
}
