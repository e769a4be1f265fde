//! An HTTP server on loopback.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Answers each request with a function. Stops when it is dropped.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    _accepting: JoinSet<Infallible>,
}

impl HttpServer {
    /// Starts one on a port of its own. An error of `answer` closes the connection.
    pub async fn start<F>(answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static) -> Self
    where
        F: Future<Output = io::Result<Response<Full<Bytes>>>> + Send + 'static,
    {
        Self::start_at("127.0.0.1:0", answer).await
    }

    /// Starts one at an address.
    pub async fn start_at<F>(
        address: &str,
        answer: impl Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    ) -> Self
    where
        F: Future<Output = io::Result<Response<Full<Bytes>>>> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.expect("a port on loopback");
        let address = listener.local_addr().expect("its address");
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                stream.set_nodelay(true).expect("a socket option");
                let answer = answer.clone();
                connections.spawn(async move {
                    let connection =
                        http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(answer));
                    // A client that goes away ends its connection.
                    let _ = connection.await;
                });
                while connections.try_join_next().is_some() {}
            }
        });
        Self { address, _accepting: accepting }
    }

    /// The address on which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
