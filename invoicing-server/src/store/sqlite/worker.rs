//! A task of the database that works off a queue.

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::Error;

/// Most jobs that wait; further callers wait for room.
const QUEUE: usize = 1_024;

/// The sending side of a task.
pub(in crate::store) struct Worker<J> {
    name: &'static str,
    /// `None` once closed.
    jobs: Mutex<Option<mpsc::Sender<J>>>,
    task: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

impl<J: Send + 'static> Worker<J> {
    /// Starts a task, which ends with its queue.
    #[expect(clippy::disallowed_methods, reason = "the task ends with its queue, and `close` waits for it")]
    pub(super) fn start<W>(name: &'static str, work: impl FnOnce(mpsc::Receiver<J>) -> W) -> Self
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let task = tokio::spawn(work(receiver));
        Self { name, jobs: Mutex::new(Some(sender)), task: tokio::sync::Mutex::new(Some(task)) }
    }

    pub(super) async fn send(&self, job: J) -> Result<(), Error> {
        let closed = || Error::unavailable("the database is closed");
        let sender = self.jobs.lock().clone().ok_or_else(closed)?;
        sender.send(job).await.map_err(|_| closed())
    }

    /// Whether it takes jobs.
    pub(super) fn is_running(&self) -> bool {
        self.jobs.lock().as_ref().is_some_and(|jobs| !jobs.is_closed())
    }

    /// Takes no more jobs, and waits until those that were taken are done.
    pub(super) async fn close(&self) {
        self.jobs.lock().take();
        if let Some(task) = self.task.lock().await.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "the {} failed", self.name);
        }
    }
}
