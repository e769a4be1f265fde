//! Every metric: its name, kind and labels, as the book lists them (`docs/operate-observe.md`).
//! They are as stable as the API.

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

/// In the order of the book.
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
    use http::Method;

    use super::super::spans;
    use crate::ROUTES;

    #[test]
    fn a_method_is_one_of_a_closed_set() {
        let methods = ["GET", "HEAD", "POST", "PATCH", "OPTIONS", "PUT", "DELETE"];
        for method in methods {
            assert_eq!(spans::known(&method.parse().expect("a method")), method);
        }
        assert_eq!(spans::known(&Method::TRACE), "_OTHER");
        assert!(ROUTES.iter().all(|route| methods.contains(&route.method.as_str())));
    }
}
