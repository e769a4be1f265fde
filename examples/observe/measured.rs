//! The recorder of metrics, for Prometheus.

use std::time::Duration;

use invoicing_examples::Failure;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// In seconds. The measured durations are milliseconds, unless something is wrong.
const BUCKETS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Retries make a delivery late by minutes.
const DELAYS: [f64; 9] = [0.05, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 300.0];
/// How often what was measured is added up, so that it takes no memory without a scrape.
const UPKEEP: Duration = Duration::from_secs(5);

/// The measurements.
#[derive(Clone)]
pub(crate) struct Measured(PrometheusHandle);

impl Measured {
    /// Installs the recorder of this process.
    pub(crate) fn install() -> Result<Self, Failure> {
        let delay = Matcher::Full("invoicing_webhook_delay_seconds".to_owned());
        let builder =
            PrometheusBuilder::new().set_buckets(&BUCKETS)?.set_buckets_for_metric(delay, &DELAYS)?;
        let handle = builder.install_recorder()?;
        let upkeep = handle.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(UPKEEP);
                upkeep.run_upkeep();
            }
        });
        Ok(Self(handle))
    }

    /// In the text format.
    pub(crate) fn render(&self) -> String {
        self.0.render()
    }
}
