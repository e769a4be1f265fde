//! The metrics with the feature `metrics`, for a recorder.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use invoicing_core::{AttemptOutcome, Timestamp};
use metrics::{IntoF64, Key, Label, Level, Metadata, Recorder, Unit};

#[cfg(feature = "postgres")]
use super::PageSource;
use super::names::{self, Metric, MetricKind};
use super::{AttemptEnd, Limit, spans};

static METADATA: Metadata<'static> = Metadata::new("invoicing_server", Level::INFO, Some(module_path!()));

/// The metrics of a service. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Metrics {
    /// `None` for the recorder that the process has installed.
    recorder: Option<Arc<dyn Recorder + Send + Sync>>,
}

/// A running measurement of a duration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timer(Instant);

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// A metric with the values of its labels.
fn key(metric: &'static Metric, values: &[&str]) -> Key {
    debug_assert_eq!(metric.labels.len(), values.len(), "{}", metric.name);
    let pairs = metric.labels.iter().zip(values);
    let labels = pairs.map(|(name, value)| Label::new(*name, (*value).to_owned()));
    Key::from_parts(metric.name, labels.collect::<Vec<_>>())
}

impl Metrics {
    /// Metrics for this recorder.
    pub(crate) fn new(recorder: Arc<dyn Recorder + Send + Sync>) -> Self {
        Self { recorder: Some(recorder) }
    }

    fn with_recorder(&self, measure: impl FnOnce(&dyn Recorder)) {
        match &self.recorder {
            Some(recorder) => measure(&**recorder),
            None => metrics::with_recorder(measure),
        }
    }

    fn count(&self, metric: &'static Metric, values: &[&str], more: u64) {
        self.with_recorder(|recorder| {
            recorder.register_counter(&key(metric, values), &METADATA).increment(more);
        });
    }

    fn set(&self, metric: &'static Metric, value: impl IntoF64) {
        self.with_recorder(|recorder| recorder.register_gauge(&key(metric, &[]), &METADATA).set(value));
    }

    fn record(&self, metric: &'static Metric, values: &[&str], duration: Duration) {
        self.with_recorder(|recorder| {
            recorder.register_histogram(&key(metric, values), &METADATA).record(duration);
        });
    }

    /// Describes all metrics to the recorder. Counters that rarely move begin at 0, so that their
    /// first step is seen.
    pub(crate) fn describe(&self) {
        self.with_recorder(|recorder| {
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
        self.count(&names::ATTEMPTS, &["failed", "unsendable"], 0);
        for limit in [Limit::Quota, Limit::Overloaded] {
            self.count(&names::REQUESTS_LIMITED, &[limit.label()], 0);
        }
    }

    #[expect(clippy::unused_self, reason = "as without the feature")]
    pub(crate) fn start(&self) -> Timer {
        Timer(Instant::now())
    }

    pub(crate) fn request(&self, route: &str, method: &Method, status: StatusCode, timer: Timer) {
        let values = [route, spans::known(method), status.as_str()];
        self.record(&names::REQUEST_DURATION, &values, timer.0.elapsed());
    }

    pub(crate) fn limited(&self, limit: Limit) {
        self.count(&names::REQUESTS_LIMITED, &[limit.label()], 1);
    }

    pub(crate) fn operation(&self, operation: &'static str, result: &str, timer: Timer) {
        self.record(&names::OPERATION_DURATION, &[operation, result], timer.0.elapsed());
    }

    pub(crate) fn committed(&self, timer: Timer) {
        self.record(&names::COMMIT_DURATION, &[], timer.0.elapsed());
    }

    pub(crate) fn event(&self, kind: &'static str) {
        self.count(&names::EVENTS, &[kind], 1);
    }

    pub(crate) fn attempt(&self, outcome: AttemptOutcome, end: AttemptEnd, duration: Duration) {
        self.count(&names::ATTEMPTS, &[end.label(), reason(outcome)], 1);
        self.record(&names::ATTEMPT_DURATION, &[end.label()], duration);
    }

    pub(crate) fn delivered_after(&self, delay_ms: i64) {
        let delay = Duration::from_millis(u64::try_from(delay_ms).unwrap_or(0));
        self.record(&names::DELAY, &[], delay);
    }

    pub(crate) fn claims_lost(&self, count: u64) {
        self.count(&names::CLAIMS_LOST, &[], count);
    }

    pub(crate) fn webhooks_disabled(&self, count: u64) {
        self.count(&names::WEBHOOKS_DISABLED, &[], count);
    }

    /// `oldest_ms`: the wait of the oldest delivery.
    pub(crate) fn backlog(&self, pending: u32, oldest_ms: i64) {
        self.set(&names::PENDING, pending);
        self.set(&names::OLDEST, seconds(oldest_ms.max(0)));
    }

    pub(crate) fn turned(&self, now: Timestamp, attempts: usize) {
        self.set(&names::LAST_TURN, seconds(now.as_millis()));
        self.set(&names::IN_FLIGHT, u32::try_from(attempts).unwrap_or(u32::MAX));
    }

    pub(crate) fn swept(&self, now: Timestamp) {
        self.set(&names::LAST_SWEEP, seconds(now.as_millis()));
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn page(&self, source: PageSource) {
        let source = match source {
            PageSource::Primary => "primary",
            PageSource::Replica => "replica",
        };
        self.count(&names::PAGES, &[source], 1);
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn clock_was_off(&self, millis: i64) {
        self.set(&names::CLOCK_OFFSET, seconds(millis));
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
