//! Nodes in the process of the test, whose connections lead through a proxy.

use std::sync::Arc;

use invoicing_core::{EventKind, NewCompany, Plan};
use invoicing_server::{CompanyHandle, Invoicing, NewWebhook, PostgresSettings, Settings, TargetPolicy};
use invoicing_tests::{Recorder, new_company};
use serde_json::Value;

use crate::process::Site;

/// A node, with settings as a host would write them.
pub(super) async fn open(site: &Site, url: String, settings: Value) -> Invoicing {
    open_on(site, PostgresSettings::new(url), settings, Recorder::default()).await
}

/// As [`open`], with connection settings, and a recorder of what it measures.
pub(super) async fn open_on(
    site: &Site,
    postgres: PostgresSettings,
    settings: Value,
    recorder: Recorder,
) -> Invoicing {
    let settings: Settings = serde_json::from_value(settings).expect("settings");
    let settings = Settings { target: TargetPolicy { allow_http: true, allow_private: true }, ..settings };
    let builder = Invoicing::postgres(postgres).settings(settings).metrics_recorder(Arc::new(recorder));
    site.with_documents(builder).open().await.expect("it opens")
}

/// Two companies, the second with automatic invoices.
pub(super) async fn companies(invoicing: &Invoicing, hooks: &[String]) -> Vec<(CompanyHandle, bool)> {
    let mut companies = Vec::new();
    for automatic in [false, true] {
        let new = NewCompany { automatic_invoicing: automatic, ..new_company("Company", Plan::Team) };
        let company = invoicing.companies().create(&new).await.expect("a company");
        let handle = invoicing.company(company.id);
        for url in hooks {
            let hook = NewWebhook { url: url.clone(), events: EventKind::ALL.to_vec() };
            handle.webhooks().register(&hook).await.expect("a webhook");
        }
        companies.push((handle, automatic));
    }
    companies
}
