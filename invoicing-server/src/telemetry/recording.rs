//! The metrics with the feature `metrics`: handles of the recorder, registered at their first use.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use invoicing_core::{AttemptOutcome, Timestamp};
use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder, Unit};

#[cfg(feature = "postgres")]
use super::PageSource;
use super::names::{self, Metric, MetricKind};
use super::{AttemptEnd, Limit};

static METADATA: Metadata<'static> = Metadata::new("invoicing_server", Level::INFO, Some(module_path!()));

/// Kinds of event, pings included.
const KINDS: usize = 7;

/// The metrics of a service. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Metrics(Arc<Families>);

/// A running measurement of a duration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer(Instant);

/// Events recorded by a transaction, by kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventCounts([u32; KINDS]);

impl EventCounts {
    pub(crate) fn add(&mut self, kind: &str) {
        if let Some(count) = self.0.get_mut(names::EVENTS.index(&[kind])) {
            *count += 1;
        }
    }
}

/// The handles of all metrics, with their recorder.
struct Families {
    /// `None` for the recorder that the process has installed.
    recorder: Option<Arc<dyn Recorder + Send + Sync>>,
    requests: Family<Histogram>,
    limited: Family<Counter>,
    operations: Family<Histogram>,
    commits: Family<Histogram>,
    events: Family<Counter>,
    attempts: Family<Counter>,
    attempt_durations: Family<Histogram>,
    delays: Family<Histogram>,
    claims_lost: Family<Counter>,
    webhooks_disabled: Family<Counter>,
    pending: Family<Gauge>,
    oldest: Family<Gauge>,
    in_flight: Family<Gauge>,
    last_turn: Family<Gauge>,
    last_sweep: Family<Gauge>,
    #[cfg(feature = "postgres")]
    pages: Family<Counter>,
    #[cfg(feature = "postgres")]
    clock_offset: Family<Gauge>,
}

/// The handles of a metric, by the values of its labels.
struct Family<H> {
    metric: &'static Metric,
    handles: OnceLock<Box<[OnceLock<H>]>>,
}

/// A handle of the recorder.
trait Handle {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self;
}

impl Handle for Counter {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self {
        recorder.register_counter(key, &METADATA)
    }
}

impl Handle for Gauge {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self {
        recorder.register_gauge(key, &METADATA)
    }
}

impl Handle for Histogram {
    fn register(recorder: &dyn Recorder, key: &Key) -> Self {
        recorder.register_histogram(key, &METADATA)
    }
}

impl<H: Handle> Family<H> {
    fn new(metric: &'static Metric) -> Self {
        Self { metric, handles: OnceLock::new() }
    }

    fn handle(&self, families: &Families, values: &[&str]) -> &H {
        let all = self.handles.get_or_init(|| (0..self.metric.size()).map(|_| OnceLock::new()).collect());
        all[self.metric.index(values)].get_or_init(|| {
            let labels = self.metric.labels.iter().zip(values);
            let labels =
                labels.map(|(label, value)| Label::from_static_parts(label.name, label.known(value)));
            let key = Key::from_parts(self.metric.name, labels.collect::<Vec<_>>());
            families.with_recorder(|recorder| H::register(recorder, &key))
        })
    }
}

impl Families {
    fn with_recorder<T>(&self, use_it: impl FnOnce(&dyn Recorder) -> T) -> T {
        match &self.recorder {
            Some(recorder) => use_it(&**recorder),
            None => metrics::with_recorder(use_it),
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Metrics {
    /// Metrics for this recorder, or for the one that the process has installed at the first use of
    /// a handle.
    pub(crate) fn new(recorder: Option<Arc<dyn Recorder + Send + Sync>>) -> Self {
        Self(Arc::new(Families {
            recorder,
            requests: Family::new(&names::REQUEST_DURATION),
            limited: Family::new(&names::REQUESTS_LIMITED),
            operations: Family::new(&names::OPERATION_DURATION),
            commits: Family::new(&names::COMMIT_DURATION),
            events: Family::new(&names::EVENTS),
            attempts: Family::new(&names::ATTEMPTS),
            attempt_durations: Family::new(&names::ATTEMPT_DURATION),
            delays: Family::new(&names::DELAY),
            claims_lost: Family::new(&names::CLAIMS_LOST),
            webhooks_disabled: Family::new(&names::WEBHOOKS_DISABLED),
            pending: Family::new(&names::PENDING),
            oldest: Family::new(&names::OLDEST),
            in_flight: Family::new(&names::IN_FLIGHT),
            last_turn: Family::new(&names::LAST_TURN),
            last_sweep: Family::new(&names::LAST_SWEEP),
            #[cfg(feature = "postgres")]
            pages: Family::new(&names::PAGES),
            #[cfg(feature = "postgres")]
            clock_offset: Family::new(&names::CLOCK_OFFSET),
        }))
    }

    /// Describes all metrics to the recorder. Counters that rarely move begin at 0, so that their
    /// first step is seen.
    pub(crate) fn describe(&self) {
        self.0.with_recorder(|recorder| {
            for metric in names::ALL {
                let (name, help) = (metric.name.into(), metric.help.into());
                match metric.kind {
                    MetricKind::Counter => recorder.describe_counter(name, Some(Unit::Count), help),
                    MetricKind::Gauge if metric.name.ends_with("_seconds") => {
                        recorder.describe_gauge(name, Some(Unit::Seconds), help);
                    }
                    MetricKind::Gauge => recorder.describe_gauge(name, Some(Unit::Count), help),
                    MetricKind::Histogram => recorder.describe_histogram(name, Some(Unit::Seconds), help),
                }
            }
        });
        self.claims_lost(0);
        self.webhooks_disabled(0);
        self.0.attempts.handle(&self.0, &["failed", "unsendable"]).increment(0);
        for limit in [Limit::Quota, Limit::Overloaded] {
            self.0.limited.handle(&self.0, &[limit.label()]).increment(0);
        }
    }

    #[expect(clippy::unused_self, reason = "as without the feature")]
    pub(crate) fn start(&self) -> Timer {
        Timer(Instant::now())
    }

    pub(crate) fn request(&self, route: &str, method: &Method, status: StatusCode, timer: Timer) {
        let values = [route, method.as_str(), status.as_str()];
        self.0.requests.handle(&self.0, &values).record(timer.0.elapsed());
    }

    pub(crate) fn limited(&self, limit: Limit) {
        self.0.limited.handle(&self.0, &[limit.label()]).increment(1);
    }

    /// `operation`: one of [`names`].
    pub(crate) fn operation(&self, operation: &'static str, result: &str, timer: Timer) {
        debug_assert_eq!(names::OPERATION_DURATION.labels[0].known(operation), operation, "not listed");
        self.0.operations.handle(&self.0, &[operation, result]).record(timer.0.elapsed());
    }

    pub(crate) fn committed(&self, timer: Timer) {
        self.0.commits.handle(&self.0, &[]).record(timer.0.elapsed());
    }

    pub(crate) fn events(&self, counts: EventCounts) {
        for (kind, count) in names::EVENTS.labels[0].values.iter().zip(counts.0) {
            if count > 0 {
                self.0.events.handle(&self.0, &[*kind]).increment(count.into());
            }
        }
    }

    pub(crate) fn attempt(&self, outcome: AttemptOutcome, end: AttemptEnd, duration: Duration) {
        self.0.attempts.handle(&self.0, &[end.label(), reason(outcome)]).increment(1);
        self.0.attempt_durations.handle(&self.0, &[end.label()]).record(duration);
    }

    pub(crate) fn delivered_after(&self, delay_ms: i64) {
        let delay = Duration::from_millis(u64::try_from(delay_ms).unwrap_or(0));
        self.0.delays.handle(&self.0, &[]).record(delay);
    }

    pub(crate) fn claims_lost(&self, count: u64) {
        self.0.claims_lost.handle(&self.0, &[]).increment(count);
    }

    pub(crate) fn webhooks_disabled(&self, count: u64) {
        self.0.webhooks_disabled.handle(&self.0, &[]).increment(count);
    }

    /// `oldest_ms`: the wait of the oldest delivery.
    pub(crate) fn backlog(&self, pending: u32, oldest_ms: i64) {
        self.0.pending.handle(&self.0, &[]).set(pending);
        self.0.oldest.handle(&self.0, &[]).set(seconds(oldest_ms.max(0)));
    }

    pub(crate) fn turned(&self, now: Timestamp, attempts: usize) {
        self.0.last_turn.handle(&self.0, &[]).set(seconds(now.as_millis()));
        self.0.in_flight.handle(&self.0, &[]).set(u32::try_from(attempts).unwrap_or(u32::MAX));
    }

    pub(crate) fn swept(&self, now: Timestamp) {
        self.0.last_sweep.handle(&self.0, &[]).set(seconds(now.as_millis()));
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn page(&self, source: PageSource) {
        let source = match source {
            PageSource::Primary => "primary",
            PageSource::Replica => "replica",
        };
        self.0.pages.handle(&self.0, &[source]).increment(1);
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn clock_was_off(&self, millis: i64) {
        self.0.clock_offset.handle(&self.0, &[]).set(seconds(millis));
    }
}

impl AttemptEnd {
    fn label(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Retried => "retried",
            Self::Failed => "failed",
        }
    }
}

impl Limit {
    fn label(self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::Overloaded => "overloaded",
        }
    }
}

fn reason(outcome: AttemptOutcome) -> &'static str {
    match outcome {
        AttemptOutcome::Answered { status: 429, .. } => "429",
        AttemptOutcome::Answered { status: 200..=299, .. } => "2xx",
        AttemptOutcome::Answered { status: 300..=399, .. } => "3xx",
        AttemptOutcome::Answered { status: 400..=499, .. } => "4xx",
        AttemptOutcome::Answered { status: 500..=599, .. } => "5xx",
        AttemptOutcome::Answered { .. } => "other",
        AttemptOutcome::Failed(class) => class.as_str(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of this era are exact in 53 bits")]
fn seconds(millis: i64) -> f64 {
    millis as f64 / 1_000.0
}

#[cfg(test)]
mod tests {

    use allocation_counter::measure;
    use http::HeaderValue;
    use invoicing_core::{CompanyId, FailureClass};
    use uuid::Uuid;

    use super::super::spans;
    use super::*;

    /// Measures a request, an operation, a transaction with an event, and an attempt, as the
    /// service does.
    fn observe(metrics: &Metrics, request_id: &HeaderValue) {
        let (timer, company) = (metrics.start(), CompanyId(Uuid::nil()));
        let request = spans::request(&Method::GET, request_id, Some("/api/v1/quotes"));
        spans::of_company(&request, company);
        let operation = spans::operation("quotes.page", Some(company));
        drop(spans::transaction("read", Some(company)));
        metrics.operation("quotes.page", "ok", timer);
        spans::ended(&operation, "ok");
        metrics.committed(timer);
        let mut counts = EventCounts::default();
        counts.add("quote.created");
        metrics.events(counts);
        metrics.attempt(AttemptOutcome::Failed(FailureClass::Dns), AttemptEnd::Retried, Duration::ZERO);
        metrics.limited(Limit::Quota);
        metrics.request("/api/v1/quotes", &Method::GET, StatusCode::OK, timer);
        spans::answered(&request, StatusCode::OK);
    }

    #[test]
    fn without_a_recorder_and_a_subscriber_nothing_is_allocated() {
        let (metrics, request_id) = (Metrics::default(), HeaderValue::from_static("r1"));
        // Handles are registered once.
        observe(&metrics, &request_id);
        let measured = measure(|| observe(&metrics, &request_id));
        assert_eq!(measured.count_total, 0, "{measured:?}");
    }

    #[test]
    fn there_are_as_many_counts_as_kinds_of_event() {
        assert_eq!(names::EVENTS.size(), KINDS);
        let mut counts = EventCounts::default();
        counts.add("ping");
        counts.add("quote.created");
        counts.add("quote.created");
        assert_eq!(counts.0, [2, 0, 0, 0, 0, 0, 1]);
    }
}
