//! An accept loop for hosts that have none of their own: HTTP/1.1 and HTTP/2 without TLS, with limits on everything
//! that a peer can hold on to, and a stop that lets requests finish.
//!
//! TLS, if it is wanted, is ended in front of it. It catches no signals: the host says when to stop. What hyper
//! refuses by itself (a head that cannot be read or is too large) has an empty body.

use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::service::ApiService;

/// How long to wait when the process has run out of file descriptors or the like.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often an HTTP/2 peer is asked whether it is still there.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// Smallest buffer that hyper accepts, in bytes.
const SMALLEST_BUFFER: usize = 8 * 1024;

/// What a peer may hold on to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServeLimits {
    /// Connections at once; further ones wait in the listener's queue. At least 1.
    pub connections: usize,
    /// Longest time for the head of a request, counted from the connection's opening or the answer before: an idle
    /// connection is closed after it too.
    pub header_read: Duration,
    /// Largest head of a request in bytes; at least 8 KiB are allowed.
    pub header_bytes: usize,
    /// Requests at once on one HTTP/2 connection. At least 1.
    pub concurrent_streams: u32,
    /// Age at which a connection is asked to end after the requests it is serving, so that none is held for ever.
    pub connection_age: Duration,
    /// Longest time for those requests to end: then, and when the server stops.
    pub grace: Duration,
}

impl Default for ServeLimits {
    fn default() -> Self {
        Self {
            connections: 4_096,
            header_read: Duration::from_secs(10),
            header_bytes: 32 * 1024,
            concurrent_streams: 64,
            connection_age: Duration::from_mins(10),
            grace: Duration::from_secs(15),
        }
    }
}

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
    let free = Arc::new(Semaphore::new(limits.connections.clamp(1, Semaphore::MAX_PERMITS)));
    let (stopping, stopped) = watch::channel(());
    let shared = Arc::new(Shared { service, limits });
    let mut connections = JoinSet::new();
    let mut stop = pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(_) = connections.join_next() => {}
            (stream, slot) = accept(&listener, &free) => {
                connections.spawn(Arc::clone(&shared).connection(stream, stopped.clone(), slot));
            }
        }
    }
    drop(listener);
    drop(stopping);
    let ended = async { while connections.join_next().await.is_some() {} };
    if timeout(shared.limits.grace, ended).await.is_err() {
        tracing::warn!(connections = connections.len(), "dropping connections that did not end in time");
        connections.shutdown().await;
    }
    Ok(())
}

/// The next connection, as soon as there is a slot for it.
async fn accept(listener: &TcpListener, free: &Arc<Semaphore>) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed; if it were, connections would go uncounted.
    let slot = Arc::clone(free).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, slot),
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot accept connections");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

struct Shared {
    service: ApiService,
    limits: ServeLimits,
}

impl Shared {
    /// Serves one connection until it ends, is too old, or the server stops.
    async fn connection(
        self: Arc<Self>,
        stream: TcpStream,
        mut stopped: watch::Receiver<()>,
        _slot: Option<OwnedSemaphorePermit>,
    ) {
        // Answers are written whole; without this the last segment of one could wait for an acknowledgement.
        let _ = stream.set_nodelay(true);
        let begun = Arc::new(AtomicBool::new(false));
        let service = service_fn({
            let (shared, begun) = (Arc::clone(&self), Arc::clone(&begun));
            move |request: Request<Incoming>| {
                begun.store(true, Ordering::Relaxed);
                shared.service.call(request)
            }
        });
        let builder = self.limits.builder();
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        tokio::select! {
            result = connection.as_mut() => return log_end(result),
            () = never_began(&begun, self.limits.header_read) => return,
            _ = stopped.changed() => {}
            () = sleep(self.limits.connection_age) => {}
        }
        connection.as_mut().graceful_shutdown();
        if let Ok(result) = timeout(self.limits.grace, connection).await {
            log_end(result);
        }
    }
}

impl ServeLimits {
    fn builder(&self) -> Builder<Tasks> {
        let mut builder = Builder::new(Tasks::default());
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.header_read)
            .max_buf_size(self.header_bytes.max(SMALLEST_BUFFER));
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(self.concurrent_streams.max(1))
            .max_header_list_size(u32::try_from(self.header_bytes.max(SMALLEST_BUFFER)).unwrap_or(u32::MAX))
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(self.header_read);
        builder
    }
}

/// Ready when the time is over and there has been no request.
///
/// hyper's own limit begins only when it knows the version of HTTP; until then a peer could wait for ever.
async fn never_began(begun: &AtomicBool, limit: Duration) {
    sleep(limit).await;
    if begun.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}

/// Peers break connections all the time: that is no news.
fn log_end(result: Result<(), Box<dyn std::error::Error + Send + Sync>>) {
    if let Err(error) = result {
        tracing::debug!(error, "a connection ended early");
    }
}

/// The tasks of one HTTP/2 connection. They end with it.
#[derive(Debug, Clone, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}

#[cfg(test)]
mod tests;
