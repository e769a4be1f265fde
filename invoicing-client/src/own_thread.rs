//! A thread with a runtime of its own: for callers without one, and for those who stand inside one and must not block
//! or drop it. What runs on it is somebody else's business.

use std::io;
#[cfg(feature = "blocking")]
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::thread::{self, JoinHandle};

use futures_core::future::BoxFuture;
#[cfg(feature = "blocking")]
use futures_util::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;

/// The thread. Dropping this ends everything that runs on it and waits until it has ended.
#[derive(Debug)]
pub(crate) struct OwnThread {
    /// Taken by `drop`.
    tasks: Option<UnboundedSender<BoxFuture<'static, ()>>>,
    thread: Option<JoinHandle<()>>,
}

impl OwnThread {
    pub(crate) fn start(name: &str) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (tasks, received) = unbounded_channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            runtime.block_on(serve(received));
            // Does not wait for a name resolution that nobody needs any more.
            runtime.shutdown_background();
        })?;
        Ok(Self { tasks: Some(tasks), thread: Some(thread) })
    }

    /// Begins a task, which ends with the thread at the latest.
    pub(crate) fn begin(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(tasks) = &self.tasks {
            // The thread receives for as long as this sender lives.
            let _ = tasks.send(Box::pin(task));
        }
    }

    /// Runs the future on the thread and waits for what comes of it; a panic comes of it too.
    ///
    /// # Panics
    ///
    /// On the thread itself, which would wait for itself.
    #[cfg(feature = "blocking")]
    pub(crate) fn run<T: Send + 'static>(&self, future: impl Future<Output = T> + Send + 'static) -> T {
        assert!(!self.is_current(), "a blocking call on the thread that would carry it out");
        let (sender, result) = std::sync::mpsc::sync_channel(1);
        self.begin(async move {
            let _ = sender.send(AssertUnwindSafe(future).catch_unwind().await);
        });
        match result.recv() {
            Ok(Ok(value)) => value,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => unreachable!("tasks end early only when the handle is dropped, and it is borrowed"),
        }
    }

    fn is_current(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| thread.thread().id() == thread::current().id())
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        let is_current = self.is_current();
        self.tasks = None;
        if let Some(thread) = self.thread.take().filter(|_| !is_current) {
            // A panic of the thread was already reported by whoever waited for it.
            let _ = thread.join();
        }
    }
}

/// Runs tasks until there will be no more; those that have not ended then are dropped.
async fn serve(mut received: UnboundedReceiver<BoxFuture<'static, ()>>) {
    let mut running = JoinSet::new();
    while let Some(task) = received.recv().await {
        running.spawn(task);
        // Forgets those that have ended.
        while running.try_join_next().is_some() {}
    }
}
