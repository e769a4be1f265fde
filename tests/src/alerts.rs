//! Holds the alerts of the book against the metrics that it lists.

use std::collections::BTreeSet;

const OBSERVE: &str = include_str!("../../docs/operate-observe.md");
/// The prefix of the service's metrics. Others are those of the machine.
const OURS: [&str; 2] = ["invoicing_", "http_server_"];

/// The first words of table rows in backquotes that begin so.
fn listed(beginning: &str) -> impl Iterator<Item = &'static str> {
    let begin = format!("| `{beginning}");
    let rows = OBSERVE.lines().filter(move |line| line.starts_with(&begin));
    rows.filter_map(|row| row.split('`').nth(1))
}

/// The metrics of the service that an expression names. Prometheus adds a suffix to those of a histogram.
fn named(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let ours = words.filter(|word| OURS.iter().any(|beginning| word.starts_with(beginning)));
    ours.map(|word| ["_bucket", "_count", "_sum"].iter().find_map(|s| word.strip_suffix(s)).unwrap_or(word))
}

#[test]
fn ten_alerts_have_an_expression_a_meaning_and_a_remedy() {
    let metrics: BTreeSet<_> = OURS.iter().flat_map(|beginning| listed(beginning)).collect();
    let (_, rest) = OBSERVE.split_once("\n## What to watch\n").expect("a chapter");
    let chapter = rest.split("\n## ").next().expect("its text");
    let alerts: Vec<Vec<&str>> = chapter
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|row| row.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(alerts.len(), 10);
    let mut used = 0;
    for alert in &alerts {
        assert!(alert.len() == 4 && alert.iter().all(|cell| !cell.is_empty()), "{alert:?}");
        // A gauge that was never set has no series, and an expression without a series never fires.
        if let Some((_, since)) = alert[1].split_once("time() - max(") {
            let gauge = since.split(')').next().expect("a name");
            assert!(alert[1].contains(&format!("absent({gauge})")), "{}", alert[0]);
        }
        for metric in named(alert[1]) {
            assert!(metrics.contains(metric), "{}: {metric} is not documented", alert[0]);
            used += 1;
        }
    }
    assert!(used >= 9, "{used} metrics of the service are watched");
}
