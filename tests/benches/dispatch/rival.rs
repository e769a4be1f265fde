//! The rival: hyper-util's client pushes the same bytes, signed, with 64 in flight, and stores nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Uri};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use invoicing_tests::bench::drain;
use tokio::task::JoinSet;
use webhook_verify::Signer;

use super::sink::nanoseconds;

const IN_FLIGHT: usize = 64;

pub(crate) struct Rival {
    client: Client<HttpConnector, Full<Bytes>>,
    uri: Uri,
    signer: Signer,
    body: Bytes,
}

impl Rival {
    pub(crate) fn new(url: &str, secret: &str, body: String) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            client: Client::builder(TokioExecutor::new()).build(connector),
            uri: url.parse().expect("a URL"),
            signer: Signer::new(secret).expect("a secret"),
            body: body.into(),
        }
    }

    pub(crate) async fn push(self: &Arc<Self>, deliveries: usize) {
        let begun = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..IN_FLIGHT {
            let (rival, begun) = (Arc::clone(self), Arc::clone(&begun));
            tasks.spawn(async move {
                while begun.fetch_add(1, Ordering::Relaxed) < deliveries {
                    rival.push_one().await;
                }
            });
        }
        tasks.join_all().await;
    }

    async fn push_one(&self) {
        let signature = self.signer.sign(nanoseconds() / 1_000_000_000, &self.body);
        let request = Request::post(self.uri.clone())
            .header("content-type", "application/json")
            .header("user-agent", "Service-Webhook/1.0")
            .header("x-service-webhook-id", "01920000-0000-7000-8000-000000000001")
            .header("x-service-signature", signature.as_str())
            .body(Full::new(self.body.clone()))
            .expect("a request");
        let response = self.client.request(request).await.expect("an answer");
        assert_eq!(response.status(), 200);
        drain(response.into_body()).await;
    }
}
