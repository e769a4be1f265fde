//! The labels of metrics. Their values come from closed sets: never a company, a URL or an id.

/// A label, and all values that it can have. A value outside of them counts as the last one.
#[derive(Debug)]
pub(super) struct Label {
    pub(super) name: &'static str,
    pub(super) values: &'static [&'static str],
}

impl Label {
    pub(super) fn position(&self, value: &str) -> usize {
        let last = self.values.len() - 1;
        self.values.iter().position(|known| *known == value).unwrap_or(last)
    }

    /// The value, or the last one if it is outside of the set.
    pub(super) fn known(&self, value: &str) -> &'static str {
        self.values[self.position(value)]
    }
}

/// The path of the route table.
pub(super) static ROUTE: Label = Label {
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

pub(super) static METHOD: Label =
    Label { name: "method", values: &["GET", "HEAD", "POST", "PATCH", "OPTIONS", "PUT", "DELETE", "_OTHER"] };

pub(super) static STATUS: Label = Label {
    name: "status",
    values: &[
        "200", "201", "204", "206", "304", "400", "401", "403", "404", "405", "408", "409", "413", "416",
        "417", "429", "500", "503", "other",
    ],
};

/// `noun.method` of the host operations.
pub(super) static OPERATION: Label = Label {
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
        "history.refusal",
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
        "quotes.readiness",
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
        "signing_links.lines",
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
pub(super) static RESULT: Label = Label {
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

pub(super) static EVENT: Label = Label {
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

/// The outcome of the delivery.
pub(super) static OUTCOME: Label = Label { name: "outcome", values: &["delivered", "retried", "failed"] };

/// The class of the status, or the class of the failure without an answer.
pub(super) static REASON: Label = Label {
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
        "tls_ca_certificate",
        "tls_bad_certificate",
        "proxy",
        "protocol",
        "target_refused",
        "unsendable",
        "abandoned",
        "other",
    ],
};

pub(super) static SOURCE: Label = Label { name: "source", values: &["primary", "replica"] };

pub(super) static LIMIT: Label = Label { name: "limit", values: &["quota", "overloaded"] };

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use invoicing_core::{ErrorCode, Event, EventKind, FailureClass};

    use super::*;
    use crate::ROUTES;

    #[test]
    fn the_values_are_all_that_the_service_uses() {
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

    /// Finds the names in quotes after the calls that begin an operation, in the sources below a
    /// folder.
    fn operations(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                operations(&path, found);
                continue;
            }
            let mut source = fs::read_to_string(&path).expect("a source");
            source.retain(|character| !character.is_whitespace());
            let names = source.split(".operation(\"").skip(1).filter_map(|rest| rest.split('"').next());
            found.extend(names.map(str::to_owned));
        }
    }

    #[test]
    fn the_operations_are_those_of_the_sources() {
        let mut found = BTreeSet::from(["other".to_owned()]);
        operations(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operations"), &mut found);
        assert_eq!(found, OPERATION.values.iter().map(|name| (*name).to_owned()).collect());
    }
}
