//! Every metric: its name, kind and labels, as OPERATIONS.md lists them. They are as stable as the
//! API.

/// The kind of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

/// A metric, with the names of its labels. Their values come from closed sets: never a company, a
/// URL or an id.
#[derive(Debug)]
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) kind: MetricKind,
    pub(super) labels: &'static [&'static str],
    pub(super) help: &'static str,
}

pub(super) static REQUEST_DURATION: Metric = Metric {
    name: "http_server_request_duration_seconds",
    kind: MetricKind::Histogram,
    labels: &["route", "method", "status"],
    help: "Requests to the API, until their answer is ready to be sent",
};
pub(super) static REQUESTS_LIMITED: Metric = Metric {
    name: "invoicing_requests_limited_total",
    kind: MetricKind::Counter,
    labels: &["limit"],
    help: "Requests refused because a quota was used up, or because too much was done at once",
};
pub(super) static OPERATION_DURATION: Metric = Metric {
    name: "invoicing_operation_duration_seconds",
    kind: MetricKind::Histogram,
    labels: &["operation", "result"],
    help: "Host operations, those of the API included",
};
pub(super) static PAGES: Metric = Metric {
    name: "invoicing_pages_total",
    kind: MetricKind::Counter,
    labels: &["source"],
    help: "Pages of lists, where there is a read replica",
};
pub(super) static COMMIT_DURATION: Metric = Metric {
    name: "invoicing_store_commit_duration_seconds",
    kind: MetricKind::Histogram,
    labels: &[],
    help: "Commits, each of which may hold several operations",
};
pub(super) static EVENTS: Metric = Metric {
    name: "invoicing_events_total",
    kind: MetricKind::Counter,
    labels: &["kind"],
    help: "Events committed by this process",
};
pub(super) static ATTEMPTS: Metric = Metric {
    name: "invoicing_webhook_attempts_total",
    kind: MetricKind::Counter,
    labels: &["outcome", "reason"],
    help: "Attempts on record, counted by the process that made them",
};
pub(super) static ATTEMPT_DURATION: Metric = Metric {
    name: "invoicing_webhook_attempt_duration_seconds",
    kind: MetricKind::Histogram,
    labels: &["outcome"],
    help: "Attempts, from the lookup of the name to the end of the answer",
};
pub(super) static DELAY: Metric = Metric {
    name: "invoicing_webhook_delay_seconds",
    kind: MetricKind::Histogram,
    labels: &[],
    help: "From an event to its delivery, without replays",
};
pub(super) static CLAIMS_LOST: Metric = Metric {
    name: "invoicing_claims_lost_total",
    kind: MetricKind::Counter,
    labels: &[],
    help: "Attempts that outlived their claim: they are made again",
};
pub(super) static WEBHOOKS_DISABLED: Metric = Metric {
    name: "invoicing_webhooks_disabled_total",
    kind: MetricKind::Counter,
    labels: &[],
    help: "Webhooks disabled after failed deliveries in a row",
};
pub(super) static PENDING: Metric = Metric {
    name: "invoicing_deliveries_pending",
    kind: MetricKind::Gauge,
    labels: &[],
    help: "Deliveries that wait, of all nodes, up to 10,000; as of the last poll",
};
pub(super) static OLDEST: Metric = Metric {
    name: "invoicing_deliveries_oldest_seconds",
    kind: MetricKind::Gauge,
    labels: &[],
    help: "How long the oldest delivery has waited since it was queued; as of the last poll",
};
pub(super) static IN_FLIGHT: Metric = Metric {
    name: "invoicing_attempts_in_flight",
    kind: MetricKind::Gauge,
    labels: &[],
    help: "Attempts under way in this process",
};
pub(super) static LAST_TURN: Metric = Metric {
    name: "invoicing_dispatcher_last_turn_timestamp_seconds",
    kind: MetricKind::Gauge,
    labels: &[],
    help: "When the loop of the dispatcher last turned",
};
pub(super) static LAST_SWEEP: Metric = Metric {
    name: "invoicing_sweep_last_timestamp_seconds",
    kind: MetricKind::Gauge,
    labels: &[],
    help: "When this process last completed a sweep",
};
pub(super) static CLOCK_OFFSET: Metric = Metric {
    name: "invoicing_clock_offset_seconds",
    kind: MetricKind::Gauge,
    labels: &[],
    help: "By how much the clock of PostgreSQL was ahead of that of this process when it was last corrected",
};

/// In the order of OPERATIONS.md.
pub(super) static ALL: [&Metric; 17] = [
    &REQUEST_DURATION,
    &REQUESTS_LIMITED,
    &OPERATION_DURATION,
    &PAGES,
    &COMMIT_DURATION,
    &EVENTS,
    &ATTEMPTS,
    &ATTEMPT_DURATION,
    &DELAY,
    &CLAIMS_LOST,
    &WEBHOOKS_DISABLED,
    &PENDING,
    &OLDEST,
    &IN_FLIGHT,
    &LAST_TURN,
    &LAST_SWEEP,
    &CLOCK_OFFSET,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use http::Method;
    use invoicing_core::{Event, EventKind, FailureClass};

    use super::super::spans;
    use super::*;
    use crate::ROUTES;

    const OPERATIONS: &str = include_str!("../../OPERATIONS.md");

    /// The cells of the table rows that begin with a name in backquotes.
    fn rows(beginning: &str) -> Vec<Vec<String>> {
        let rows = OPERATIONS.lines().filter(|line| line.starts_with(&format!("| `{beginning}")));
        rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
            .collect()
    }

    #[test]
    fn the_table_of_operations_md_lists_every_metric() {
        let mut listed = rows("http_server_");
        listed.extend(rows("invoicing_"));
        let expected = ALL.map(|metric| {
            let kind = match metric.kind {
                MetricKind::Counter => "counter",
                MetricKind::Gauge => "gauge",
                MetricKind::Histogram => "histogram",
            };
            let labels = metric.labels.iter().map(|label| format!("`{label}`")).collect::<Vec<_>>();
            vec![format!("`{}`", metric.name), kind.to_owned(), labels.join(", "), metric.help.to_owned()]
        });
        assert_eq!(listed, expected);
    }

    /// The values of a label in OPERATIONS.md.
    fn values(label: &str) -> BTreeSet<&'static str> {
        let text = OPERATIONS.split("### Labels").nth(1).expect("a section");
        let row = text.lines().find_map(|line| line.strip_prefix(&format!("| `{label}` | "))).expect(label);
        row.split('`').skip(1).step_by(2).collect()
    }

    #[test]
    fn the_labels_of_operations_md_have_these_values() {
        let kinds = EventKind::ALL.iter().map(|kind| kind.as_str()).chain([Event::PING]);
        assert_eq!(values("kind"), kinds.collect());
        let classes = FailureClass::ALL.iter().map(|class| class.as_str());
        let statuses = ["2xx", "3xx", "4xx", "429", "5xx", "other"];
        assert_eq!(values("reason"), classes.chain(statuses).collect());
        assert_eq!(values("outcome"), BTreeSet::from(["delivered", "retried", "failed"]));
        assert_eq!(values("limit"), BTreeSet::from(["quota", "overloaded"]));
        assert_eq!(values("source"), BTreeSet::from(["primary", "replica"]));
        let results = [
            "ok",
            "not_found",
            "validation_error",
            "conflict",
            "document_unavailable",
            "overloaded",
            "storage_unavailable",
            "server_error",
        ];
        assert_eq!(values("result"), BTreeSet::from(results));
        let methods = ["GET", "HEAD", "POST", "PATCH", "OPTIONS", "PUT", "DELETE"];
        assert_eq!(values("method"), methods.into_iter().chain(["_OTHER"]).collect());
        for method in methods {
            assert_eq!(spans::known(&method.parse().expect("a method")), method);
        }
        assert_eq!(spans::known(&Method::TRACE), "_OTHER");
        assert!(ROUTES.iter().all(|route| methods.contains(&route.method.as_str())));
        assert!(values("route").contains("unmatched"));
        assert!(values("operation").contains("sweep"));
        // Each label has a row: `values` panics without one.
        for label in ALL.iter().flat_map(|metric| metric.labels) {
            values(label);
        }
    }
}
