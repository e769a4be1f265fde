//! Every metric: its name, kind and labels, as OPERATIONS.md lists them. They are as stable as the API. Values of labels come
//! from closed sets: never a company, a URL or an id.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A label, and all values that it can have. A value outside of them counts as the last one.
#[derive(Debug)]
pub(super) struct Label {
    pub(super) name: &'static str,
    pub(super) values: &'static [&'static str],
}

#[derive(Debug)]
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) labels: &'static [&'static Label],
    pub(super) help: &'static str,
}

impl Metric {
    /// Number of combinations of values.
    pub(super) fn size(&self) -> usize {
        self.labels.iter().map(|label| label.values.len()).product()
    }

    /// The place of a combination among all.
    pub(super) fn place(&self, values: &[&str]) -> usize {
        debug_assert_eq!(self.labels.len(), values.len(), "{}", self.name);
        let pairs = self.labels.iter().zip(values);
        pairs.fold(0, |place, (label, value)| place * label.values.len() + label.position(value))
    }
}

impl Label {
    fn position(&self, value: &str) -> usize {
        let last = self.values.len() - 1;
        self.values.iter().position(|known| *known == value).unwrap_or(last)
    }

    /// The value as it is known.
    pub(super) fn known(&self, value: &str) -> &'static str {
        self.values[self.position(value)]
    }
}

/// The path of the route table.
static ROUTE: Label = Label {
    name: "route",
    values: &[
        "/api/v1/quotes",
        "/api/v1/quotes/{id}",
        "/api/v1/quotes/{id}/document",
        "/api/v1/invoices",
        "/api/v1/invoices/{id}",
        "/api/v1/clients",
        "/api/v1/documents/{company}/{upload}",
        "/api/v1/openapi.json",
        "/api/v1/docs",
        "unmatched",
    ],
};

static METHOD: Label =
    Label { name: "method", values: &["GET", "HEAD", "POST", "PATCH", "OPTIONS", "PUT", "DELETE", "_OTHER"] };

static STATUS: Label = Label {
    name: "status",
    values: &[
        "200", "201", "204", "206", "304", "400", "401", "403", "404", "405", "408", "409", "413", "416",
        "417", "429", "500", "503", "other",
    ],
};

/// `noun.method` of the host operations.
static OPERATION: Label = Label {
    name: "operation",
    values: &[
        "clients.change",
        "clients.find_or_create",
        "clients.get",
        "clients.page",
        "companies.create",
        "companies.list",
        "company.close",
        "company.details",
        "company.set_automatic_invoicing",
        "company.set_identity",
        "company.set_plan",
        "events.deliveries",
        "events.get",
        "events.list",
        "events.page",
        "history.list",
        "history.page",
        "invoices.cancel",
        "invoices.convert",
        "invoices.detail",
        "invoices.get",
        "invoices.issue",
        "invoices.mark_paid",
        "invoices.page",
        "invoices.pay",
        "invoices.payments",
        "invoices.reverse",
        "keys.issue",
        "keys.list",
        "keys.revoke",
        "keys.usage",
        "projects.create",
        "projects.get",
        "projects.list",
        "projects.set_status",
        "quotes.accept",
        "quotes.costings",
        "quotes.create",
        "quotes.detail",
        "quotes.document",
        "quotes.documents",
        "quotes.edit",
        "quotes.get",
        "quotes.import",
        "quotes.link",
        "quotes.open_copy",
        "quotes.open_document",
        "quotes.page",
        "quotes.proof",
        "quotes.reject",
        "quotes.revoke_signing_link",
        "quotes.search",
        "quotes.send",
        "quotes.signing_link",
        "quotes.signing_links",
        "quotes.stored_document",
        "quotes.work_site",
        "signing_links.decline",
        "signing_links.document",
        "signing_links.open",
        "signing_links.show",
        "signing_links.sign",
        "sweep",
        "webhooks.change",
        "webhooks.count_replayable",
        "webhooks.day_counts",
        "webhooks.deliveries",
        "webhooks.delivery",
        "webhooks.disable",
        "webhooks.enable",
        "webhooks.enable_and_replay",
        "webhooks.end_overlap",
        "webhooks.get",
        "webhooks.list",
        "webhooks.log",
        "webhooks.ping",
        "webhooks.register",
        "webhooks.remove",
        "webhooks.replay",
        "webhooks.replay_since",
        "webhooks.rotate_with_overlap",
        "other",
    ],
};

/// `ok`, or the code of the error.
static RESULT: Label = Label {
    name: "result",
    values: &[
        "ok",
        "not_found",
        "validation_error",
        "conflict",
        "document_unavailable",
        "overloaded",
        "storage_unavailable",
        "server_error",
    ],
};

static EVENT: Label = Label {
    name: "kind",
    values: &[
        "quote.created",
        "quote.signed",
        "quote.accepted",
        "invoice.created",
        "invoice.paid",
        "project.completed",
        "ping",
    ],
};

/// What became of the delivery.
static OUTCOME: Label = Label { name: "outcome", values: &["delivered", "retried", "failed"] };

/// The class of the status, or why there was no answer.
static REASON: Label = Label {
    name: "reason",
    values: &[
        "2xx",
        "3xx",
        "4xx",
        "429",
        "5xx",
        "timeout",
        "dns",
        "network",
        "tls",
        "tls_expired",
        "tls_not_yet_valid",
        "tls_wrong_name",
        "tls_unknown_issuer",
        "tls_bad_certificate",
        "proxy",
        "protocol",
        "target_refused",
        "unsendable",
        "abandoned",
        "other",
    ],
};

static SOURCE: Label = Label { name: "source", values: &["primary", "replica"] };

static LIMIT: Label = Label { name: "limit", values: &["quota", "overloaded"] };

pub(super) static REQUEST_DURATION: Metric = Metric {
    name: "http_server_request_duration_seconds",
    kind: Kind::Histogram,
    labels: &[&ROUTE, &METHOD, &STATUS],
    help: "Requests to the API, until their answer is ready to be sent",
};
pub(super) static REQUESTS_LIMITED: Metric = Metric {
    name: "invoicing_requests_limited_total",
    kind: Kind::Counter,
    labels: &[&LIMIT],
    help: "Requests refused because a quota was used up, or because too much was done at once",
};
pub(super) static OPERATION_DURATION: Metric = Metric {
    name: "invoicing_operation_duration_seconds",
    kind: Kind::Histogram,
    labels: &[&OPERATION, &RESULT],
    help: "Host operations, those of the API included",
};
pub(super) static PAGES: Metric = Metric {
    name: "invoicing_pages_total",
    kind: Kind::Counter,
    labels: &[&SOURCE],
    help: "Pages of lists, where there is a read replica",
};
pub(super) static COMMIT_DURATION: Metric = Metric {
    name: "invoicing_store_commit_duration_seconds",
    kind: Kind::Histogram,
    labels: &[],
    help: "Commits, each of which may hold several operations",
};
pub(super) static EVENTS: Metric = Metric {
    name: "invoicing_events_total",
    kind: Kind::Counter,
    labels: &[&EVENT],
    help: "Events committed by this process",
};
pub(super) static ATTEMPTS: Metric = Metric {
    name: "invoicing_webhook_attempts_total",
    kind: Kind::Counter,
    labels: &[&OUTCOME, &REASON],
    help: "Attempts on record, counted by the process that made them",
};
pub(super) static ATTEMPT_DURATION: Metric = Metric {
    name: "invoicing_webhook_attempt_duration_seconds",
    kind: Kind::Histogram,
    labels: &[&OUTCOME],
    help: "Attempts, from the lookup of the name to the end of the answer",
};
pub(super) static DELAY: Metric = Metric {
    name: "invoicing_webhook_delay_seconds",
    kind: Kind::Histogram,
    labels: &[],
    help: "From an event to its delivery, without replays",
};
pub(super) static CLAIMS_LOST: Metric = Metric {
    name: "invoicing_claims_lost_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Attempts that outlived their claim: they are made again",
};
pub(super) static WEBHOOKS_DISABLED: Metric = Metric {
    name: "invoicing_webhooks_disabled_total",
    kind: Kind::Counter,
    labels: &[],
    help: "Webhooks disabled after failed deliveries in a row",
};
pub(super) static PENDING: Metric = Metric {
    name: "invoicing_deliveries_pending",
    kind: Kind::Gauge,
    labels: &[],
    help: "Deliveries that wait, of all nodes, up to 10,000; as of the last poll",
};
pub(super) static OLDEST: Metric = Metric {
    name: "invoicing_deliveries_oldest_seconds",
    kind: Kind::Gauge,
    labels: &[],
    help: "How long the oldest delivery has waited since it was queued; as of the last poll",
};
pub(super) static IN_FLIGHT: Metric = Metric {
    name: "invoicing_attempts_in_flight",
    kind: Kind::Gauge,
    labels: &[],
    help: "Attempts under way in this process",
};
pub(super) static LAST_TURN: Metric = Metric {
    name: "invoicing_dispatcher_last_turn_timestamp_seconds",
    kind: Kind::Gauge,
    labels: &[],
    help: "When the loop of the dispatcher last turned",
};
pub(super) static LAST_SWEEP: Metric = Metric {
    name: "invoicing_sweep_last_timestamp_seconds",
    kind: Kind::Gauge,
    labels: &[],
    help: "When this process last completed a sweep",
};
pub(super) static CLOCK_OFFSET: Metric = Metric {
    name: "invoicing_clock_offset_seconds",
    kind: Kind::Gauge,
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
    use std::fs;
    use std::path::Path;

    use invoicing_core::{ErrorCode, Event, EventKind, FailureClass};

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
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            let labels = metric.labels.iter().map(|label| format!("`{}`", label.name)).collect::<Vec<_>>();
            vec![format!("`{}`", metric.name), kind.to_owned(), labels.join(", "), metric.help.to_owned()]
        });
        assert_eq!(listed, expected);
    }

    #[test]
    fn the_labels_of_operations_md_have_these_values() {
        let mut labels: Vec<&Label> = ALL.iter().flat_map(|metric| metric.labels).copied().collect();
        labels.sort_by_key(|label| label.name);
        labels.dedup_by_key(|label| label.name);
        let text = OPERATIONS.split("### Labels").nth(1).expect("a section");
        for label in labels {
            let begin = format!("| `{}` | ", label.name);
            let row = text.lines().find_map(|line| line.strip_prefix(&begin)).expect(label.name);
            let named: BTreeSet<&str> = row.split('`').skip(1).step_by(2).collect();
            if matches!(label.name, "route" | "status" | "operation") {
                assert!(named.contains(label.values.last().expect("a value")), "{}: {row}", label.name);
            } else {
                assert_eq!(named, label.values.iter().copied().collect(), "{}", label.name);
            }
        }
    }

    #[test]
    fn the_values_are_all_that_the_service_knows() {
        let routes: BTreeSet<&str> = ROUTES.iter().map(|route| route.path).collect();
        assert_eq!(ROUTE.values[..ROUTE.values.len() - 1].iter().copied().collect::<BTreeSet<_>>(), routes);
        for route in ROUTES {
            assert_eq!(METHOD.known(route.method.as_str()), route.method.as_str());
        }
        for code in ErrorCode::KNOWN {
            let status = code.status().expect("a status").to_string();
            assert_eq!(STATUS.known(&status), status, "{code:?}");
        }
        let kinds = EventKind::ALL.iter().map(|kind| kind.as_str()).chain([Event::PING]);
        assert_eq!(EVENT.values, kinds.collect::<Vec<_>>());
        for class in FailureClass::ALL {
            assert_eq!(REASON.known(class.as_str()), class.as_str());
        }
        assert!(OPERATION.values.is_sorted_by(|value, next| *next == "other" || value < next));
    }

    /// What stands in quotes after the calls that begin an operation, in the sources below a folder.
    fn operations(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                operations(&path, found);
                continue;
            }
            let mut source = fs::read_to_string(&path).expect("a source");
            source.retain(|character| !character.is_whitespace());
            for call in [".operation(\"", ".run(\""] {
                let names = source.split(call).skip(1).filter_map(|rest| rest.split('"').next());
                found.extend(names.map(str::to_owned));
            }
        }
    }

    #[test]
    fn the_operations_are_those_of_the_sources() {
        let mut found = BTreeSet::from(["other".to_owned()]);
        operations(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operations"), &mut found);
        assert_eq!(found, OPERATION.values.iter().map(|name| (*name).to_owned()).collect());
    }

    #[test]
    fn each_combination_has_a_place_of_its_own() {
        let places: BTreeSet<usize> = OUTCOME
            .values
            .iter()
            .flat_map(|outcome| REASON.values.iter().map(|reason| ATTEMPTS.place(&[outcome, reason])))
            .collect();
        assert_eq!(places, (0..ATTEMPTS.size()).collect());
        assert_eq!(ATTEMPTS.place(&["retried", "new"]), ATTEMPTS.place(&["retried", "other"]));
        assert_eq!(CLAIMS_LOST.place(&[]), 0);
        assert_eq!(CLAIMS_LOST.size(), 1);
    }
}
