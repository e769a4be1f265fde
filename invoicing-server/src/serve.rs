//! A server for hosts without one: HTTP/1.1 and HTTP/2 without TLS, limits on every resource that a
//! peer can occupy, and a graceful stop.
//!
//! A slow head is ended by `head_timeout`, a slow body by the API (408). A slow reader is ended by
//! `connection_table` over HTTP/1, and by the API's `byte_budget` over HTTP/2, where other streams
//! may share its connection.
//!
//! A proxy in front of the server must terminate TLS. The server handles no signals: the host stops
//! it. hyper itself refuses a request head that is malformed or too large; that response has an
//! empty body.

mod acceptor;
mod connection;
mod connection_table;
mod framing;
mod head_timeout;
mod http2_tasks;
mod limits;
mod served_app;
mod stream;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{StreamExt, unfold};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use self::acceptor::Acceptor;
use self::connection::ServeContext;
use self::connection_table::ConnectionTable;
pub use self::limits::ServeLimits;
pub use self::served_app::ServedApp;

/// Interval of the check for responses past their deadline.
const OVERDUE_CHECK: Duration = Duration::from_secs(1);

/// Serves the API, and a console beside it, on a listener until `stop` is ready. It then stops
/// accepting, waits for the requests in progress, and returns. Connections that have not ended
/// within [`ServeLimits::grace`] are dropped.
///
/// Dropping the returned future drops every connection at once.
///
/// # Errors
/// None at present: a failed accept is logged and retried.
pub async fn serve(
    listener: TcpListener,
    app: impl Into<ServedApp>,
    limits: ServeLimits,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let table = Arc::new(ConnectionTable::default());
    let acceptor = Acceptor::new(listener, Arc::clone(&table), &limits);
    // The stream keeps a connection that waits for room while other branches are served.
    let next = |mut acceptor: Acceptor| async move { Some((acceptor.next().await, acceptor)) };
    let mut accepted = Box::pin(unfold(acceptor, next));
    let (stopping, stopped) = watch::channel(());
    let context = Arc::new(ServeContext { app: app.into(), limits });
    let mut connections = JoinSet::new();
    let mut overdue_check = interval(OVERDUE_CHECK);
    overdue_check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(_) = connections.join_next() => {}
            now = overdue_check.tick() => {
                table.close_overdue(now);
                context.app.end_overdue(now);
            }
            Some((stream, guard)) = accepted.next() => {
                connections.spawn(Arc::clone(&context).serve_connection(stream, guard, stopped.clone()));
            }
        }
    }
    drop(accepted);
    drop(stopping);
    let ended = async { while connections.join_next().await.is_some() {} };
    if timeout(context.limits.grace, ended).await.is_err() {
        tracing::warn!(connections = connections.len(), "connections dropped: they did not end in time");
        connections.shutdown().await;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
