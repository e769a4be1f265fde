//! Carries out what a change of a webhook has left to be done to its deliveries, in batches beside all other work.
//!
//! Every poll does a batch per webhook, and a batch that leaves work asks for another poll. So any dispatcher takes up
//! what an operation, or a process that died, has left.

use std::collections::HashSet;

use invoicing_core::WebhookId;

use super::DispatchContext;
use crate::store::ServiceTables;
use crate::store::bulk_changes::NotedWebhook;

/// Carries out a batch for each webhook. Those whose deliveries are still being skipped: claiming them is in vain.
pub(super) async fn carry_on(context: &DispatchContext) -> HashSet<WebhookId> {
    let noted = context.store.read_service(async |tx| tx.bulk_changes().list().await).await;
    let noted = noted.unwrap_or_else(|error| {
        tracing::warn!(error = &error as &dyn std::error::Error, "bulk changes cannot be read");
        Vec::new()
    });
    let mut skipping = HashSet::new();
    for NotedWebhook { company, webhook, skips } in noted {
        let batch =
            context.store.write_service(async move |tx| tx.continue_bulk_change(company, webhook).await);
        let is_done = batch.await.unwrap_or_else(|error| {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, %webhook, "a bulk change waits for the next poll");
            false
        });
        if skips && !is_done {
            skipping.insert(webhook);
        }
    }
    skipping
}
