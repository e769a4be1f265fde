//! Bodies to deliver.

use std::fmt::Write as _;

use bytes::Bytes;

use super::rng::Rng;

/// `count` bodies of all kinds, each with another id. Every eleventh is of a kind unknown to this
/// version.
pub fn sample_bodies(seed: u64, count: usize) -> Vec<Bytes> {
    let mut rng = Rng::new(seed);
    (0..count).map(|index| body(&mut rng, index).into()).collect()
}

fn body(rng: &mut Rng, index: usize) -> String {
    const QUOTES: [&str; 3] = ["quote.created", "quote.signed", "quote.accepted"];
    const INVOICES: [&str; 3] = ["invoice.created", "invoice.paid", "invoice.issued"];
    let (id, other) = (uuid(rng), uuid(rng));
    let cents = rng.below(10_000_000);
    let totals = format!(
        r#""totalHT":{},"totalTTC":{},"tvaRate":20"#,
        amount(cents),
        amount(cents.saturating_mul(6) / 5)
    );
    let client = r#""clientName":"Léa “Peinture” Lefèvre","clientEmail":null"#;
    let at = time(rng);
    let (event, data) = match index % 11 {
        kind @ 0..=3 => {
            let data = format!(r#""number":"DEV-2026-{index:04}","status":"ACCEPTED",{client},{totals}"#);
            (QUOTES[kind % 3], data)
        }
        4 => ("ping", r#""message":"Ceci est un essai.""#.to_owned()),
        kind @ 5..=7 => {
            let money = format!(r#"{totals},"amountPaid":0,"amountDue":{}"#, amount(cents));
            let dates = r#""issueDate":"2026-09-14","dueDate":null"#;
            let state = r#""status":"PAID","type":"STANDARD""#;
            let head = format!(r#""number":"FAC-2026-{index:04}",{state},"quoteId":"{other}""#);
            (INVOICES[kind % 3], format!("{head},{client},{money},{dates}"))
        }
        8 => {
            let data = format!(
                r#""name":"Hall","status":"COMPLETED",{client},"quoteIds":["{other}"],"completedAt":"{at}""#
            );
            ("project.completed", data)
        }
        9 => {
            let source = format!(r#""invoiceId":"{other}","invoiceNumber":"FAC-2026-0042""#);
            let head = format!(r#""number":"AVO-2026-{index:04}",{source}"#);
            ("credit_note.issued", format!(r#"{head},{client},{totals},"issueDate":"2026-09-14""#))
        }
        _ => ("quote.viewed", r#""by":{"name":"Léa"}"#.to_owned()),
    };
    format!(r#"{{"event":"{event}","timestamp":"{at}","data":{{"id":"{id}",{data}}}}}"#)
}

fn uuid(rng: &mut Rng) -> String {
    let (high, low) = (rng.next(), rng.next());
    let mut text = format!("{:08x}-{:04x}-7", high >> 32, high >> 16 & 0xffff);
    // Writing to a `String` cannot fail.
    let _ = write!(
        text,
        "{:03x}-{:04x}-{:012x}",
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    );
    text
}

/// The shortest JSON number of an amount in cents.
fn amount(cents: u64) -> String {
    let text = format!("{}.{:02}", cents / 100, cents % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn time(rng: &mut Rng) -> String {
    let mut part = |bound| rng.below(bound);
    let (day, hour, minute, second, milli) = (part(28) + 1, part(24), part(60), part(60), part(1000));
    format!("2026-09-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}
