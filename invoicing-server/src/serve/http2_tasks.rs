//! The tasks that hyper starts for the streams of an HTTP/2 connection.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::task::JoinSet;

/// The tasks of one HTTP/2 connection. They are aborted with it.
#[derive(Debug, Clone, Default)]
pub(super) struct Http2Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F> hyper::rt::Executor<F> for Http2Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        let mut tasks = self.0.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}
