//! A dispatcher that runs beside a test.

use invoicing_server::{DispatchReport, Dispatcher, Error};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// A dispatcher that runs until it is stopped, killed or dropped.
#[derive(Debug)]
pub struct RunningDispatcher {
    stop: Option<oneshot::Sender<()>>,
    tasks: JoinSet<Result<DispatchReport, Error>>,
}

impl RunningDispatcher {
    /// Runs a dispatcher in a task of its own.
    pub fn start(dispatcher: Dispatcher) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            dispatcher
                .run(async move {
                    // A dropped sender stops it as well.
                    let _ = stopped.await;
                })
                .await
        });
        Self { stop: Some(stop), tasks }
    }

    /// Asks it to stop, without waiting.
    pub fn ask_to_stop(&mut self) {
        self.stop.take();
    }

    /// Stops it and waits for its end.
    pub async fn stop(mut self) -> DispatchReport {
        self.ask_to_stop();
        self.tasks.join_next().await.expect("one task").expect("no panic").expect("it ends well")
    }

    /// Drops its future at the point it has reached.
    pub async fn kill(mut self) {
        self.tasks.shutdown().await;
    }
}
