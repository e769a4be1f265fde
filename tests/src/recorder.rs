//! A recorder of metrics that keeps what it was told, for one service.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, SharedString, Unit,
};

/// See the module's text. Clones are one.
#[derive(Debug, Clone, Default)]
pub struct Recorder(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    /// Kind and text of each metric that was described.
    described: BTreeMap<String, (&'static str, String)>,
    /// By `name{label="value"}`: the value of a counter or a gauge, or the number of measurements.
    values: BTreeMap<String, f64>,
}

/// A handle of one metric with its labels.
struct Handle {
    recorder: Recorder,
    key: String,
}

impl Recorder {
    /// A count: that of `name`, or of `name{label="value",…}` with the labels in their order. 0 if nothing was recorded.
    pub fn count(&self, key: &str) -> u64 {
        whole(self.value(key))
    }

    /// As [`Self::count`], for a gauge.
    pub fn value(&self, key: &str) -> f64 {
        self.kept(|kept| kept.values.get(key).copied().unwrap_or(0.0))
    }

    /// The sum over all labels.
    pub fn sum(&self, name: &str) -> u64 {
        whole(
            self.matching(|key| key.split('{').next() == Some(name))
                .into_iter()
                .map(|(_, value)| value)
                .sum(),
        )
    }

    /// The sum over those with this label.
    pub fn sum_with(&self, name: &str, label: &str, value: &str) -> u64 {
        let pair = format!("{label}=\"{value}\"");
        let is_so = |key: &str| key.split('{').next() == Some(name) && key.contains(&pair);
        whole(self.matching(is_so).into_iter().map(|(_, value)| value).sum())
    }

    /// All keys with their values.
    pub fn all(&self) -> Vec<(String, f64)> {
        self.matching(|_| true)
    }

    /// Kind and text of each metric that was described, by name.
    pub fn described(&self) -> BTreeMap<String, (&'static str, String)> {
        self.kept(|kept| kept.described.clone())
    }

    fn matching(&self, is_so: impl Fn(&str) -> bool) -> Vec<(String, f64)> {
        self.kept(|kept| {
            let matching = kept.values.iter().filter(|(key, _)| is_so(key));
            matching.map(|(key, value)| (key.clone(), *value)).collect()
        })
    }

    fn kept<T>(&self, look: impl FnOnce(&mut Kept) -> T) -> T {
        look(&mut self.0.lock().expect("no panic"))
    }

    fn describe(&self, key: &KeyName, kind: &'static str, text: &SharedString) {
        self.kept(|kept| kept.described.insert(key.as_str().to_owned(), (kind, text.to_string())));
    }

    fn handle(&self, key: &Key) -> Arc<Handle> {
        let mut text = key.name().to_owned();
        for (n, label) in key.labels().enumerate() {
            let before = if n == 0 { '{' } else { ',' };
            write!(text, "{before}{}=\"{}\"", label.key(), label.value()).expect("a text takes everything");
        }
        if key.labels().next().is_some() {
            text.push('}');
        }
        self.kept(|kept| {
            kept.values.entry(text.clone()).or_default();
        });
        Arc::new(Handle { recorder: self.clone(), key: text })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
fn whole(value: f64) -> u64 {
    value as u64
}

impl Handle {
    fn change(&self, change: impl FnOnce(f64) -> f64) {
        self.recorder.kept(|kept| {
            let value = kept.values.entry(self.key.clone()).or_default();
            *value = change(*value);
        });
    }
}

impl CounterFn for Handle {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn increment(&self, value: u64) {
        self.change(|before| before + value as f64);
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn absolute(&self, value: u64) {
        self.change(|_| value as f64);
    }
}

impl GaugeFn for Handle {
    fn increment(&self, value: f64) {
        self.change(|before| before + value);
    }

    fn decrement(&self, value: f64) {
        self.change(|before| before - value);
    }

    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

impl HistogramFn for Handle {
    fn record(&self, value: f64) {
        assert!(value >= 0.0, "{}: {value} s", self.key);
        self.change(|before| before + 1.0);
    }
}

impl metrics::Recorder for Recorder {
    fn describe_counter(&self, key: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe(&key, "counter", &text);
    }

    fn describe_gauge(&self, key: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe(&key, "gauge", &text);
    }

    fn describe_histogram(&self, key: KeyName, _: Option<Unit>, text: SharedString) {
        self.describe(&key, "histogram", &text);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.handle(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.handle(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.handle(key))
    }
}
