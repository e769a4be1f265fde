//! Bulk changes of deliveries that follow a change of their webhook, in batches beside all other
//! work.
//!
//! Each poll reads which webhooks have work left, so any dispatcher continues the work of an
//! operation or of a process that died. One batch is under way at a time, of one webhook after the
//! other.

use std::collections::VecDeque;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Fuse, FusedFuture};
use invoicing_core::WebhookId;

use super::DispatchContext;
use crate::error::Error;
use crate::store::bulk_changes::NotedWebhook;

/// The webhook of a batch, and whether its work is complete.
pub(super) type EndedBatch = (NotedWebhook, Result<bool, Error>);

/// The webhooks with work left, and the batch under way.
pub(super) struct BulkWork<'a> {
    noted: VecDeque<NotedWebhook>,
    last: Option<WebhookId>,
    pub(super) batch: Fuse<BoxFuture<'a, EndedBatch>>,
}

impl<'a> BulkWork<'a> {
    pub(super) fn new() -> Self {
        Self { noted: VecDeque::new(), last: None, batch: Fuse::terminated() }
    }

    /// Replaces the webhooks with work left, which are ordered by id. The next one to work on
    /// stays the next.
    pub(super) fn set_noted(&mut self, noted: Vec<NotedWebhook>) {
        let next = noted.partition_point(|noted| Some(noted.webhook) <= self.last);
        self.noted = noted.into();
        self.noted.rotate_left(next);
    }

    pub(super) fn start(&mut self, context: &'a DispatchContext) {
        if !self.batch.is_terminated() {
            return;
        }
        let Some(noted) = self.noted.pop_front() else { return };
        let NotedWebhook { company, webhook, .. } = noted;
        self.last = Some(webhook);
        let batch =
            context.store.write_service(async move |tx| tx.continue_bulk_change(company, webhook).await);
        self.batch = batch.map(move |ended| (noted, ended)).boxed().fuse();
    }

    pub(super) fn ended(&mut self, (noted, ended): EndedBatch) {
        match ended {
            Ok(true) => {}
            Ok(false) => {
                // A poll may have listed the webhook meanwhile.
                if self.noted.iter().all(|other| other.webhook != noted.webhook) {
                    self.noted.push_back(noted);
                }
            }
            Err(error) => {
                // While the database is unavailable, the other webhooks would fail as well.
                if matches!(error, Error::StorageUnavailable(_)) && !error.is_statement_timeout() {
                    self.noted.clear();
                }
                self.noted.retain(|other| other.webhook != noted.webhook);
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, webhook = %noted.webhook, "bulk change interrupted; it continues after the next poll");
            }
        }
    }

    /// True if the last poll has found no work that is still left.
    pub(super) fn is_done(&self) -> bool {
        self.noted.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::CompanyId;
    use uuid::Uuid;

    use super::*;

    fn noted(ids: &[u128]) -> Vec<NotedWebhook> {
        let noted = |id: &u128| NotedWebhook {
            company: CompanyId(Uuid::nil()),
            webhook: WebhookId(Uuid::from_u128(*id)),
            skips: true,
        };
        ids.iter().map(noted).collect()
    }

    fn order(work: &BulkWork<'_>) -> Vec<u128> {
        work.noted.iter().map(|noted| noted.webhook.0.as_u128()).collect()
    }

    #[test]
    fn a_poll_does_not_change_the_next_webhook() {
        let mut work = BulkWork::new();
        work.set_noted(noted(&[1, 2, 3]));
        assert_eq!(order(&work), [1, 2, 3]);
        for (last, expected) in [(1, [2, 4, 1]), (3, [4, 1, 2]), (4, [1, 2, 4])] {
            work.last = Some(WebhookId(Uuid::from_u128(last)));
            work.set_noted(noted(&[1, 2, 4]));
            assert_eq!(order(&work), expected);
        }
    }

    #[test]
    fn an_error_leaves_its_webhook_and_an_outage_all_to_the_next_poll() {
        let mut work = BulkWork::new();
        work.set_noted(noted(&[1, 2, 3]));
        let first = work.noted.pop_front().unwrap();
        work.ended((first, Err(Error::internal("it cannot be read"))));
        assert_eq!(order(&work), [2, 3]);
        let second = work.noted.pop_front().unwrap();
        work.ended((second, Err(Error::unavailable("closed"))));
        assert!(work.is_done());
    }

    #[test]
    fn a_webhook_that_a_poll_lists_during_its_batch_is_listed_once() {
        let mut work = BulkWork::new();
        work.set_noted(noted(&[1, 2]));
        let first = work.noted.pop_front().unwrap();
        work.ended((first, Ok(false)));
        assert_eq!(order(&work), [2, 1]);
        let second = work.noted.pop_front().unwrap();
        work.set_noted(noted(&[1, 2]));
        work.ended((second, Ok(false)));
        assert_eq!(order(&work), [1, 2]);
    }
}
