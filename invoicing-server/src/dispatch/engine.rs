//! The loop: one lane per webhook, attempts in flight, one batch being recorded, one claim under way.
//!
//! Everything runs in the one future that the host polls. The loop itself never waits for the database: a recording
//! and a claim are futures beside the attempts.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, OptionFuture};
use futures_util::stream::{FuturesUnordered, StreamExt};
use invoicing_core::{DISABLE_AFTER_FAILURES, DeliveryOutcome, NextStep, Timestamp, WebhookId};

use super::attempt::{Attempted, Made, What, attempt};
use super::queue::{NewDelivery, LANE_ROOM};
use super::places::{Pace, Places};
use super::record::Recorded;
use super::table::{Claimed, TROUBLE, claim, give_back, keep, look, take_over};
use super::{DispatchReport, Job};
use crate::Error;

/// How often the table is looked at without being asked to, in milliseconds: the net below the wake-ups.
const POLL_MS: i64 = 5_000;
/// Most outcomes in one transaction.
const BATCH: usize = 512;
/// So many outcomes are waited for, as a transaction costs as much as dozens of outcomes in it: for a moment while other
/// attempts are under way, and longer where the last transaction was begun a moment ago.
const GATHERED: usize = 128;
const GATHERING: Duration = Duration::from_millis(5);
const SPACING: Duration = Duration::from_millis(20);
/// Most webhooks that are claimed for at once: other writers share the same queue.
const CLAIM_LANES: usize = 64;
/// Most deliveries that one claim takes for a webhook.
const CLAIM: usize = LANE_ROOM / 2;
/// What must be left of a lease, beyond the limit of an attempt, for the attempt to be begun. In milliseconds.
const LEASE_MARGIN_MS: i64 = 5_000;

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
    pace: Pace,
    /// In the round of lanes that could start an attempt.
    in_round: bool,
}

type Kept = (Arc<Vec<Attempted>>, Recorded);
type Looked = Result<Vec<(WebhookId, Timestamp)>, Error>;

/// See the module's text.
pub(super) struct Engine<'a> {
    context: &'a DispatchContext,
    lanes: HashMap<WebhookId, Lane>,
    /// The lanes that wait for an instant.
    due: BTreeSet<(Timestamp, WebhookId)>,
    /// The lanes that could start an attempt, in turn.
    round: VecDeque<WebhookId>,
    /// Every delivery that is in memory, so that none is there twice.
    held: HashSet<i64>,
    attempts: FuturesUnordered<BoxFuture<'a, Attempted>>,
    places: Places,
    /// Lanes in which something is due and for which there is no room; the next recording frees some.
    full: Vec<WebhookId>,
    outcomes: Vec<Attempted>,
    /// When the first of them came.
    gathering_since: Option<Instant>,
    /// When the last recording was begun.
    recorded_at: Option<Instant>,
    recording: Option<BoxFuture<'a, Kept>>,
    claiming: Option<BoxFuture<'a, Vec<Claimed>>>,
    looking: Option<BoxFuture<'a, Looked>>,
    next_poll: Timestamp,
    /// Shared with the recording under way, which does not go on for long once this is set.
    stopping: Arc<AtomicBool>,
    report: DispatchReport,
}

impl<'a> Engine<'a> {
    pub(super) fn new(context: &'a DispatchContext) -> Self {
        Self {
            context,
            lanes: HashMap::new(),
            due: BTreeSet::new(),
            round: VecDeque::new(),
            held: HashSet::new(),
            attempts: FuturesUnordered::new(),
            places: Places::new(&context.settings),
            full: Vec::new(),
            outcomes: Vec::new(),
            gathering_since: None,
            recorded_at: None,
            recording: None,
            claiming: None,
            looking: None,
            next_poll: context.env.now(),
            stopping: Arc::default(),
            report: DispatchReport::default(),
        }
    }

    pub(super) async fn run(
        &mut self,
        until: Until,
        stop: impl Future<Output = ()> + Send,
    ) -> Result<DispatchReport, Error> {
        let mut stop = pin!(stop);
        let released = take_over(self.context).await?;
        if released > 0 {
            tracing::info!(released, "claims of an earlier run released");
        }
        loop {
            self.take_fresh();
            if !self.is_stopping() {
                self.start_look();
                self.start_claim();
                self.start_attempts();
            }
            self.start_recording();
            if self.quiet() && (self.is_stopping() || (until == Until::Idle && self.idle())) {
                break;
            }
            let nap = self.nap();
            tokio::select! {
                biased;
                () = &mut stop, if !self.is_stopping() => self.stopping.store(true, Ordering::Relaxed),
                Some(attempted) = self.attempts.next(), if !self.attempts.is_empty() => self.attempted(attempted),
                Some((batch, recorded)) = OptionFuture::from(self.recording.as_mut()) => {
                    self.recording = None;
                    self.recorded(&batch, recorded);
                }
                Some(waiting) = OptionFuture::from(self.looking.as_mut()) => {
                    self.looking = None;
                    self.looked(waiting);
                }
                Some(claimed) = OptionFuture::from(self.claiming.as_mut()) => {
                    self.claiming = None;
                    for claimed in claimed {
                        self.claimed(claimed);
                    }
                }
                () = self.context.queue.wait(), if !self.is_stopping() => {}
                () = tokio::time::sleep(nap), if !self.is_stopping() => {}
            }
        }
        self.held.extend(self.context.queue.close());
        if give_back(self.context, self.held.iter().copied().collect()).await {
            self.held.clear();
        }
        Ok(self.report)
    }

    fn start_look(&mut self) {
        let until_poll = self.next_poll.as_millis() - self.now().as_millis();
        // Also where the clock was set back and the instant lies far ahead.
        let is_time = !(1..=POLL_MS).contains(&until_poll);
        if self.looking.is_none() && (self.context.queue.take_look() || is_time) {
            self.looking = Some(look(self.context).boxed());
        }
    }

    fn looked(&mut self, waiting: Looked) {
        self.next_poll = self.now().plus_millis(POLL_MS);
        match waiting {
            Ok(waiting) => {
                for (webhook, at) in waiting {
                    self.due_at(webhook, at);
                }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the deliveries cannot be looked at"
                );
            }
        }
    }

    fn take_fresh(&mut self) {
        for job in self.context.queue.take() {
            match job {
                NewDelivery::Leased(job) => self.enqueue(job),
                NewDelivery::Pending(webhook) => self.due_at(webhook, self.now()),
            }
        }
    }

    fn enqueue(&mut self, job: Job) {
        if !self.held.insert(job.delivery) {
            // Still in memory from an earlier claim, whose outcome will be recorded.
            self.context.queue.release(job.webhook, 1);
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
        while wanted.len() < CLAIM_LANES
            && let Some((at, webhook)) = self.due.first().copied().filter(|(at, _)| *at <= now)
        {
            self.due.remove(&(at, webhook));
            let Some(lane) = self.lanes.get_mut(&webhook) else { continue };
            lane.due = None;
            match self.context.queue.reserve_many(webhook, CLAIM) {
                0 => self.full.push(webhook),
                room => wanted.push((webhook, room)),
            }
        }
        if !wanted.is_empty() {
            self.claiming = Some(claim(self.context, wanted).boxed());
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
        self.context.queue.release(webhook, room - jobs.len().min(room));
        for job in jobs {
            self.enqueue(job);
        }
        if let Some(at) = next {
            self.due_at(webhook, at);
        }
        self.forget_if_spent(webhook);
    }

    fn start_attempts(&mut self) {
        let settings = &self.context.settings;
        let enough =
            i64::try_from(settings.attempt_timeout_ms).unwrap_or(i64::MAX).saturating_add(LEASE_MARGIN_MS);
        let now = self.now();
        let mut passed_over = VecDeque::new();
        while self.places.is_any_free()
            && let Some(webhook) = self.round.pop_front()
        {
            let Some(lane) = self.lanes.get_mut(&webhook) else { continue };
            lane.in_round = false;
            let pace = lane.pace;
            if lane.in_flight >= self.places.most(pace) || lane.failed >= DISABLE_AFTER_FAILURES {
                // Joins again when one of its attempts ends, or when its failures are recorded.
                continue;
            }
            if lane.in_flight >= self.places.share(pace) {
                // Until others give places back.
                passed_over.push_back(webhook);
                lane.in_round = true;
                continue;
            }
            let Some(job) = lane.queue.pop_front() else { continue };
            if job.lease_until.as_millis() - now.as_millis() < enough {
                self.keep(Attempted { job, what: What::GivenBack, pace });
            } else {
                lane.in_flight += 1;
                self.places.take(pace);
                self.attempts.push(attempt(self.context, job, pace).boxed());
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
        self.places.give_back(attempted.pace);
        if let Some(lane) = self.lanes.get_mut(&webhook) {
            lane.in_flight -= 1;
            if let What::Made(Made { outcome, duration, .. }) = attempted.what {
                lane.pace = Pace::of(outcome, duration);
            }
            lane.failed += u32::from(ended_failed(&attempted));
        }
        self.join_round(webhook);
        self.keep(attempted);
    }

    fn keep(&mut self, attempted: Attempted) {
        self.gathering_since.get_or_insert_with(Instant::now);
        self.outcomes.push(attempted);
    }

    /// Until when outcomes are gathered; `None` where they are not. Also when that is over: whoever sleeps until then must
    /// not take it for nothing to do.
    fn gathered_until(&self) -> Option<Instant> {
        let since = self.gathering_since.filter(|_| self.recording.is_none())?;
        if self.outcomes.len() >= GATHERED || self.is_stopping() {
            return None;
        }
        let others_may_end = (!self.attempts.is_empty()).then(|| since + GATHERING);
        let spaced = self.recorded_at.map(|at| at + SPACING);
        others_may_end.max(spaced)
    }

    fn start_recording(&mut self) {
        let is_gathering = self.gathered_until().is_some_and(|until| until > Instant::now());
        if self.recording.is_some() || self.outcomes.is_empty() || is_gathering {
            return;
        }
        self.gathering_since = None;
        self.recorded_at = Some(Instant::now());
        let rest = self.outcomes.split_off(self.outcomes.len().min(BATCH));
        let batch = Arc::new(std::mem::replace(&mut self.outcomes, rest));
        if !self.outcomes.is_empty() {
            self.gathering_since = Some(Instant::now());
        }
        let recorded = keep(self.context, Arc::clone(&batch), Arc::clone(&self.stopping));
        self.recording = Some(recorded.map(|recorded| (batch, recorded)).boxed());
    }

    fn recorded(&mut self, batch: &[Attempted], recorded: Recorded) {
        for attempted in batch {
            let webhook = attempted.job.webhook;
            self.held.remove(&attempted.job.delivery);
            self.context.queue.release(webhook, 1);
            if let Some(lane) = self.lanes.get_mut(&webhook) {
                lane.failed = lane.failed.saturating_sub(u32::from(ended_failed(attempted)));
            }
            self.join_round(webhook);
        }
        let now = self.now();
        for webhook in std::mem::take(&mut self.full) {
            self.due_at(webhook, now);
        }
        for (webhook, at) in recorded.due {
            self.due_at(webhook, at);
        }
        self.report.add(recorded.report);
        // For the next start, or the end of the lease.
        self.context.queue.leave(recorded.lost);
        for attempted in batch {
            self.forget_if_spent(attempted.job.webhook);
        }
    }

    fn forget_if_spent(&mut self, webhook: WebhookId) {
        let spent = |lane: &Lane| {
            let quiet = lane.queue.is_empty() && lane.in_flight == 0 && lane.failed == 0;
            quiet && lane.due.is_none() && !lane.in_round && lane.pace == Pace::Prompt
        };
        if self.lanes.get(&webhook).is_some_and(spent) {
            self.lanes.remove(&webhook);
        }
    }

    /// Whether nothing is under way.
    fn quiet(&self) -> bool {
        let database = self.recording.is_some() || self.claiming.is_some() || self.looking.is_some();
        self.attempts.is_empty() && !database
    }

    /// Whether nothing is due.
    fn idle(&self) -> bool {
        let now = self.now();
        self.outcomes.is_empty() && self.round.is_empty() && self.due.first().is_none_or(|(at, _)| *at > now)
    }

    /// How long nothing will happen by itself.
    fn nap(&self) -> Duration {
        let due = self.due.first().map(|(at, _)| *at).filter(|_| self.claiming.is_none());
        let poll = Some(self.next_poll).filter(|_| self.looking.is_none());
        let next =
            due.into_iter().chain(poll).min().map_or(POLL_MS, |at| at.as_millis() - self.now().as_millis());
        let nap = Duration::from_millis(u64::try_from(next.min(POLL_MS)).unwrap_or(0));
        let gathered = self.gathered_until().map(|until| until.saturating_duration_since(Instant::now()));
        gathered.map_or(nap, |left| left.min(nap))
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn now(&self) -> Timestamp {
        self.context.env.now()
    }
}

/// Also where the dispatcher's future is dropped.
impl Drop for Engine<'_> {
    fn drop(&mut self) {
        self.context.queue.leave(self.held.drain());
    }
}

/// Whether a delivery ended failed with this attempt.
fn ended_failed(attempted: &Attempted) -> bool {
    matches!(attempted.what, What::Made(Made { next: NextStep::End(DeliveryOutcome::Failed), .. }))
}
