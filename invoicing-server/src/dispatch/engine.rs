//! The loop: one lane per webhook, attempts in flight, one batch being recorded, one claim under way.
//!
//! Everything runs in the one future that the host polls. The loop itself never waits for the database: a recording
//! and a claim are futures beside the attempts.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, OptionFuture, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use invoicing_core::{
    AttemptOutcome, DISABLE_AFTER, DeliveryEnd, FailureClass, NextStep, Timestamp, WebhookId,
};

use super::attempt::{Attempted, Made, What, attempt};
use super::handoff::{FreshJob, LANE_ROOM};
use super::record::{Recorded, record};
use super::{DispatchReport, Job};
use crate::Error;
use crate::invoicing::Inner;
use crate::store::deliveries;

/// How often the table is looked at without being asked to, in milliseconds: the net below the wake-ups.
const POLL_MS: i64 = 5_000;
/// How long to wait when the database is in trouble.
const TROUBLE: Duration = Duration::from_millis(250);
/// Most outcomes in one transaction.
const BATCH: usize = 512;
/// Most deliveries that one claim takes for a webhook.
const CLAIM: usize = LANE_ROOM / 2;
/// What must be left of a lease, beyond the limit of an attempt, for the attempt to be begun. In milliseconds.
const LEASE_MARGIN_MS: i64 = 5_000;
/// How often a recording is tried before a stopping dispatcher leaves it to the next start.
const STOPPING_TRIES: u32 = 20;

/// When the loop ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// When it is told to.
    Stopped,
    /// When nothing is due any more.
    Idle,
}

/// The deliveries of one webhook that are in memory.
#[derive(Default)]
struct Lane {
    queue: VecDeque<Job>,
    in_flight: usize,
    /// Deliveries that ended failed and are not recorded yet. Enough of them may switch the webhook off, so they are
    /// recorded before more attempts are begun.
    failed: u32,
    /// When the next one in the table falls due.
    due: Option<Timestamp>,
    /// The last attempt took all its time. Until one goes better, this lane gets one attempt at a time, so that
    /// endpoints that hang cannot fill the places of those that do not.
    suspect: bool,
    /// In the round of lanes that could start an attempt.
    in_round: bool,
    /// A claim found no room; the next recording frees some.
    full: bool,
}

type Kept = (Arc<Vec<Attempted>>, Result<Recorded, Error>);
type Claimed = (WebhookId, usize, Result<(Vec<Job>, Option<Timestamp>), Error>);

/// See the module's text.
pub(super) struct Engine<'a> {
    inner: &'a Inner,
    lanes: HashMap<WebhookId, Lane>,
    /// The lanes that wait for an instant.
    due: BTreeSet<(Timestamp, WebhookId)>,
    /// The lanes that could start an attempt, in turn.
    round: VecDeque<WebhookId>,
    /// Every delivery that is in memory, so that none is there twice.
    held: HashSet<i64>,
    attempts: FuturesUnordered<BoxFuture<'a, Attempted>>,
    suspects_in_flight: usize,
    outcomes: Vec<Attempted>,
    recording: Option<BoxFuture<'a, Kept>>,
    claiming: Option<BoxFuture<'a, Vec<Claimed>>>,
    next_poll: Timestamp,
    stopping: bool,
    report: DispatchReport,
}

impl<'a> Engine<'a> {
    pub(super) fn new(inner: &'a Inner) -> Self {
        Self {
            inner,
            lanes: HashMap::new(),
            due: BTreeSet::new(),
            round: VecDeque::new(),
            held: HashSet::new(),
            attempts: FuturesUnordered::new(),
            suspects_in_flight: 0,
            outcomes: Vec::new(),
            recording: None,
            claiming: None,
            next_poll: inner.env.now(),
            stopping: false,
            report: DispatchReport::default(),
        }
    }

    pub(super) async fn run(
        &mut self,
        until: Until,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<DispatchReport, Error> {
        let mut stop = pin!(stop);
        self.take_over().await?;
        loop {
            self.take_fresh();
            if !self.stopping {
                self.poll().await;
                self.start_claim();
                self.start_attempts();
            }
            self.start_recording();
            let quiet = self.attempts.is_empty() && self.recording.is_none() && self.claiming.is_none();
            if quiet && (self.stopping || (until == Until::Idle && self.idle())) {
                break;
            }
            let nap = self.nap();
            tokio::select! {
                biased;
                () = &mut stop, if !self.stopping => self.stopping = true,
                Some(attempted) = self.attempts.next(), if !self.attempts.is_empty() => self.attempted(attempted),
                Some((batch, result)) = OptionFuture::from(self.recording.as_mut()) => {
                    self.recording = None;
                    self.recorded(&batch, result);
                }
                Some(claimed) = OptionFuture::from(self.claiming.as_mut()) => {
                    self.claiming = None;
                    for claimed in claimed {
                        self.claimed(claimed);
                    }
                }
                () = self.inner.handoff.wait(), if !self.stopping => {}
                () = tokio::time::sleep(nap), if !self.stopping => {}
            }
        }
        self.give_everything_back().await;
        Ok(self.report)
    }

    /// What a process left behind that is no more: a SQLite database belongs to one process, and that is this one.
    async fn take_over(&mut self) -> Result<(), Error> {
        let released = self.inner.store.write(|tx| {
            Box::pin(async move {
                let now = tx.env().now();
                deliveries::release_all(tx.connection(), now).await
            })
        });
        let released = released.await?;
        if released > 0 {
            tracing::info!(released, "claims of an earlier run released");
        }
        self.look().await
    }

    /// Learns which webhooks have something pending.
    async fn look(&mut self) -> Result<(), Error> {
        let waiting = deliveries::waiting(&mut *self.inner.store.read().await?).await?;
        for (webhook, at) in waiting {
            self.due_at(webhook, at);
        }
        self.next_poll = self.now().plus_millis(POLL_MS);
        Ok(())
    }

    async fn poll(&mut self) {
        if self.now() < self.next_poll {
            return;
        }
        if let Err(error) = self.look().await {
            tracing::warn!(error = &error as &dyn std::error::Error, "the deliveries cannot be looked at");
            self.next_poll = self.now().plus_millis(POLL_MS);
        }
    }

    fn take_fresh(&mut self) {
        for job in self.inner.handoff.take() {
            match job {
                FreshJob::Held(job) => self.enqueue(job),
                FreshJob::Waiting(webhook) => self.due_at(webhook, self.now()),
            }
        }
    }

    fn enqueue(&mut self, job: Job) {
        if !self.held.insert(job.delivery) {
            // Still in memory from an earlier claim, whose outcome will be recorded.
            self.inner.handoff.release(job.webhook, 1);
            return;
        }
        let webhook = job.webhook;
        self.lanes.entry(webhook).or_default().queue.push_back(job);
        self.join_round(webhook);
    }

    fn join_round(&mut self, webhook: WebhookId) {
        if let Some(lane) = self.lanes.get_mut(&webhook)
            && !lane.in_round
            && !lane.queue.is_empty()
        {
            lane.in_round = true;
            self.round.push_back(webhook);
        }
    }

    fn due_at(&mut self, webhook: WebhookId, at: Timestamp) {
        let lane = self.lanes.entry(webhook).or_default();
        if lane.due.is_none_or(|due| at < due) {
            if let Some(due) = lane.due.replace(at) {
                self.due.remove(&(due, webhook));
            }
            self.due.insert((at, webhook));
        }
    }

    /// Claims for every lane in which something is due.
    fn start_claim(&mut self) {
        if self.claiming.is_some() {
            return;
        }
        let now = self.now();
        let mut wanted = Vec::new();
        while let Some((at, webhook)) = self.due.first().copied().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, webhook));
            let Some(lane) = self.lanes.get_mut(&webhook) else { continue };
            lane.due = None;
            match self.inner.handoff.reserve_many(webhook, CLAIM) {
                0 => lane.full = true,
                room => wanted.push((webhook, room)),
            }
        }
        if !wanted.is_empty() {
            self.claiming = Some(claim(self.inner, wanted).boxed());
        }
    }

    fn claimed(&mut self, (webhook, room, result): Claimed) {
        let (jobs, next) = match result {
            Ok(claimed) => claimed,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, %webhook, "deliveries cannot be claimed");
                (Vec::new(), Some(self.now().plus_millis(i64::try_from(TROUBLE.as_millis()).unwrap_or(0))))
            }
        };
        self.inner.handoff.release(webhook, room - jobs.len().min(room));
        for job in jobs {
            self.enqueue(job);
        }
        if let Some(at) = next {
            self.due_at(webhook, at);
        }
    }

    fn start_attempts(&mut self) {
        let settings = &self.inner.settings.dispatch;
        let enough =
            i64::try_from(settings.attempt_timeout_ms).unwrap_or(i64::MAX).saturating_add(LEASE_MARGIN_MS);
        let now = self.now();
        let mut passed_over = VecDeque::new();
        while self.attempts.len() < settings.in_flight
            && let Some(webhook) = self.round.pop_front()
        {
            let Some(lane) = self.lanes.get_mut(&webhook) else { continue };
            lane.in_round = false;
            let cap = if lane.suspect { 1 } else { settings.in_flight_per_webhook };
            if lane.in_flight >= cap || lane.failed >= DISABLE_AFTER {
                // Joins again when one of its attempts ends, or when its failures are recorded.
                continue;
            }
            if lane.suspect && self.suspects_in_flight >= (settings.in_flight / 2).max(1) {
                passed_over.push_back(webhook);
                lane.in_round = true;
                continue;
            }
            let Some(job) = lane.queue.pop_front() else { continue };
            if job.lease_until.as_millis() - now.as_millis() < enough {
                self.outcomes.push(Attempted { job, what: What::GivenBack, suspect: false });
            } else {
                lane.in_flight += 1;
                self.suspects_in_flight += usize::from(lane.suspect);
                let suspect = lane.suspect;
                self.attempts.push(attempt(self.inner, job, suspect).boxed());
            }
            self.join_round(webhook);
        }
        self.round.append(&mut passed_over);
    }

    fn attempted(&mut self, first: Attempted) {
        self.ended(first);
        // Whatever else has ended joins the same batch.
        while let Some(Some(next)) = self.attempts.next().now_or_never() {
            self.ended(next);
        }
    }

    fn ended(&mut self, attempted: Attempted) {
        let webhook = attempted.job.webhook;
        if let Some(lane) = self.lanes.get_mut(&webhook) {
            lane.in_flight -= 1;
            self.suspects_in_flight -= usize::from(attempted.suspect);
            if let What::Made(Made { outcome, .. }) = attempted.what {
                lane.suspect = outcome == AttemptOutcome::Failed(FailureClass::Timeout);
            }
            lane.failed += u32::from(ended_failed(&attempted));
        }
        self.join_round(webhook);
        self.outcomes.push(attempted);
    }

    fn start_recording(&mut self) {
        if self.recording.is_none() && !self.outcomes.is_empty() {
            let rest = self.outcomes.split_off(self.outcomes.len().min(BATCH));
            let batch = std::mem::replace(&mut self.outcomes, rest);
            let tries = if self.stopping { STOPPING_TRIES } else { u32::MAX };
            self.recording = Some(keep(self.inner, batch, tries).boxed());
        }
    }

    fn recorded(&mut self, batch: &[Attempted], result: Result<Recorded, Error>) {
        for attempted in batch {
            let Attempted { job, .. } = attempted;
            self.held.remove(&job.delivery);
            self.inner.handoff.release(job.webhook, 1);
            if let Some(lane) = self.lanes.get_mut(&job.webhook) {
                lane.failed -= u32::from(ended_failed(attempted));
            }
        }
        let now = self.now();
        let full: Vec<WebhookId> =
            self.lanes.iter().filter(|(_, lane)| lane.full).map(|(webhook, _)| *webhook).collect();
        for webhook in full {
            self.lanes.entry(webhook).or_default().full = false;
            self.due_at(webhook, now);
        }
        match result {
            Ok(recorded) => {
                recorded.due.into_iter().for_each(|(webhook, at)| self.due_at(webhook, at));
                recorded.disabled.into_iter().for_each(|webhook| self.inner.endpoints.forget(webhook));
                self.report.add(recorded.report);
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(
                    error,
                    "{} outcomes are lost; their attempts will be made again",
                    batch.len()
                );
            }
        }
        for Attempted { job, .. } in batch {
            self.join_round(job.webhook);
            let spent = |lane: &Lane| lane.queue.is_empty() && lane.in_flight == 0 && lane.due.is_none();
            if self.lanes.get(&job.webhook).is_some_and(|lane| spent(lane) && !lane.in_round && !lane.suspect)
            {
                self.lanes.remove(&job.webhook);
            }
        }
    }

    /// Whether nothing is due and nothing is under way.
    fn idle(&self) -> bool {
        let now = self.now();
        self.outcomes.is_empty() && self.round.is_empty() && self.due.first().is_none_or(|(at, _)| *at > now)
    }

    /// How long nothing will happen by itself.
    fn nap(&self) -> Duration {
        let due = self.due.first().map(|(at, _)| *at).filter(|_| self.claiming.is_none());
        let next = due.map_or(self.next_poll, |due| due.min(self.next_poll));
        Duration::from_millis(u64::try_from(next.as_millis() - self.now().as_millis()).unwrap_or(0))
    }

    /// Puts what was not attempted back into the table, for whoever comes next.
    async fn give_everything_back(&mut self) {
        let fresh = self.inner.handoff.close().into_iter().filter_map(|job| match job {
            FreshJob::Held(job) => Some(job.delivery),
            FreshJob::Waiting(_) => None,
        });
        let queued = self.lanes.values_mut().flat_map(|lane| lane.queue.drain(..)).map(|job| job.delivery);
        let ids: Vec<i64> = fresh.chain(queued).collect();
        if ids.is_empty() {
            return;
        }
        let given_back = self.inner.store.write(move |tx| {
            Box::pin(async move {
                let (now, token) = (tx.env().now(), tx.handoff().token());
                deliveries::release(tx.connection(), &ids, token, now).await
            })
        });
        if let Err(error) = given_back.await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "deliveries were not given back; they wait for the next start");
        }
    }

    fn now(&self) -> Timestamp {
        self.inner.env.now()
    }
}

/// Whether a delivery ended failed with this attempt.
fn ended_failed(attempted: &Attempted) -> bool {
    matches!(attempted.what, What::Made(Made { next: NextStep::End(DeliveryEnd::Failed), .. }))
}

/// Claims for several webhooks at once; the claims share a commit.
async fn claim(inner: &Inner, wanted: Vec<(WebhookId, usize)>) -> Vec<Claimed> {
    let claims = wanted.into_iter().map(|(webhook, room)| async move {
        let claimed = inner.store.write(move |tx| Box::pin(deliveries::claim(tx, webhook, room))).await;
        (webhook, room, claimed)
    });
    join_all(claims).await
}

/// Records a batch, however long that takes: an outcome that is not recorded is an attempt made again.
async fn keep(inner: &Inner, batch: Vec<Attempted>, tries: u32) -> Kept {
    let batch = Arc::new(batch);
    let mut failures = 0;
    loop {
        let shared = Arc::clone(&batch);
        let result = inner.store.write(move |tx| Box::pin(async move { record(tx, &shared).await })).await;
        match result {
            Err(error) if failures + 1 < tries => {
                failures += 1;
                tracing::warn!(error = &error as &dyn std::error::Error, "outcomes cannot be recorded yet");
                tokio::time::sleep(TROUBLE).await;
            }
            result => return (batch, result),
        }
    }
}
