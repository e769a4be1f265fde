//! The host: the service on a SQLite file, its API and its signing page on loopback, and what it does by itself.

use std::path::Path;

use invoicing_examples::Failure;
use invoicing_server::{
    ConsoleSettings, DispatchReport, Invoicing, ServeLimits, ServedApp, Settings, TargetPolicy, serve,
};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A running service.
pub(crate) struct Host {
    pub(crate) invoicing: Invoicing,
    pub(crate) base_url: String,
    stop: watch::Sender<bool>,
    tasks: JoinSet<Result<DispatchReport, Failure>>,
}

impl Host {
    pub(crate) async fn start(database: &Path) -> Result<Self, Failure> {
        // The address first: document URLs begin with it.
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let base_url = format!("http://{}", listener.local_addr()?);
        let settings = Settings {
            base_url: base_url.clone(),
            // The receiver is on loopback. A host on the internet leaves both off.
            target: TargetPolicy { allow_http: true, allow_private: true },
            ..Settings::default()
        };
        let invoicing = Invoicing::sqlite(database).settings(settings).open().await?;

        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        let signing_page = invoicing.signing_page(ConsoleSettings::at(&base_url))?;
        let (site, api_stop) = (ServedApp::from((invoicing.service(), signing_page)), until(stopped.clone()));
        tasks.spawn(async move {
            serve(listener, site, ServeLimits::default(), api_stop).await?;
            Ok(DispatchReport::default())
        });
        let running = invoicing.clone();
        tasks.spawn(async move { Ok(running.run(until(stopped)).await?) });
        Ok(Self { invoicing, base_url, stop, tasks })
    }

    /// Stops as a host should: accepts nothing more, lets what runs end, closes the database.
    pub(crate) async fn stop(mut self) -> Result<DispatchReport, Failure> {
        self.stop.send_replace(true);
        let mut report = DispatchReport::default();
        while let Some(ended) = self.tasks.join_next().await {
            let ended = ended??;
            if ended.attempts > 0 {
                report = ended;
            }
        }
        self.invoicing.close().await;
        Ok(report)
    }
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // An error means that the host itself is gone, which stops just as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
