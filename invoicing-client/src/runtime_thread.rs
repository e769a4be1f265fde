//! [`RuntimeThread`]: a thread with its own runtime, for callers without one, and for callers inside one that must not
//! be blocked or dropped.

use std::io;
#[cfg(feature = "blocking")]
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::thread::{self, JoinHandle};

use futures_core::future::BoxFuture;
#[cfg(feature = "blocking")]
use futures_util::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// Dropping it cancels its tasks and waits for the end of the thread.
#[derive(Debug)]
pub(crate) struct RuntimeThread {
    /// `None` only during `drop`.
    tasks: Option<UnboundedSender<BoxFuture<'static, ()>>>,
    thread: Option<JoinHandle<()>>,
}

impl RuntimeThread {
    pub(crate) fn start(name: &str) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (tasks, received) = unbounded_channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            runtime.block_on(serve(received));
            // Does not wait for a blocking name resolution.
            runtime.shutdown_background();
        })?;
        Ok(Self { tasks: Some(tasks), thread: Some(thread) })
    }

    /// Spawns a task, which is cancelled at the end of the thread.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = &self.tasks {
            // The thread receives as long as this sender exists.
            let _ = tasks.send(Box::pin(task));
        }
    }

    /// Runs the future on the thread and waits for its result. A panic of the future is resumed here.
    ///
    /// # Panics
    ///
    /// If called on the thread itself, which would wait for itself.
    #[cfg(feature = "blocking")]
    pub(crate) fn block_on<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        assert!(!self.is_current(), "a blocking call on the thread that has to carry it out");
        let (sender, result) = std::sync::mpsc::sync_channel(1);
        self.spawn(async move {
            let _ = sender.send(AssertUnwindSafe(future).catch_unwind().await);
        });
        match result.recv() {
            Ok(Ok(value)) => value,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => unreachable!("tasks are cancelled only by the drop of the handle, which is borrowed"),
        }
    }

    fn is_current(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| thread.thread().id() == thread::current().id())
    }
}

impl Drop for RuntimeThread {
    fn drop(&mut self) {
        let is_current = self.is_current();
        self.tasks = None;
        if let Some(thread) = self.thread.take().filter(|_| !is_current) {
            // `block_on` has already resumed a panic of a task.
            let _ = thread.join();
        }
    }
}

/// Runs tasks until the channel closes, and then cancels those that have not ended.
async fn serve(mut received: UnboundedReceiver<BoxFuture<'static, ()>>) {
    let mut running = JoinSet::new();
    while let Some(task) = received.recv().await {
        running.spawn(task);
        // Frees tasks that have ended.
        while running.try_join_next().is_some() {}
    }
}
