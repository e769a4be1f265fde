//! An accept loop for hosts that have none of their own: HTTP/1.1 and HTTP/2 without TLS, with limits on everything
//! that a peer can hold on to, and a stop that lets requests finish.
//!
//! TLS, if it is wanted, is ended in front of it. It catches no signals: the host says when to stop. What hyper
//! refuses by itself (a head that cannot be read or is too large) has an empty body.

mod connection;
mod crowd;
mod door;
mod framing;
mod limits;
mod stream;

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use self::connection::Shared;
use self::crowd::Crowd;
use self::door::Door;
pub use self::limits::ServeLimits;
use crate::service::ApiService;

/// How often answers are looked through for those that were not taken in time.
const LOOK_AT_ANSWERS: Duration = Duration::from_secs(1);

/// Serves the API on a listener until `stop` is ready. Then it accepts nothing more, lets the requests that are being
/// served end, and returns; what has not ended within [`ServeLimits::grace`] is dropped.
///
/// Dropping the returned future drops every connection at once.
///
/// # Errors
/// None at present: a connection that cannot be accepted is logged, and the next one is waited for.
pub async fn serve(
    listener: TcpListener,
    service: ApiService,
    limits: ServeLimits,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let crowd = Arc::new(Crowd::default());
    let mut door = Door::new(listener, Arc::clone(&crowd), &limits);
    let (stopping, stopped) = watch::channel(());
    let shared = Arc::new(Shared { service, limits });
    let mut connections = JoinSet::new();
    let mut look = interval(LOOK_AT_ANSWERS);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(_) = connections.join_next() => {}
            now = look.tick() => crowd.end_overdue(now),
            (stream, member) = door.next() => {
                connections.spawn(Arc::clone(&shared).connection(stream, member, stopped.clone()));
            }
        }
    }
    drop(door);
    drop(stopping);
    let ended = async { while connections.join_next().await.is_some() {} };
    if timeout(shared.limits.grace, ended).await.is_err() {
        tracing::warn!(connections = connections.len(), "dropping connections that did not end in time");
        connections.shutdown().await;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
