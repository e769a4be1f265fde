//! The client against conforming and faulty servers, on loopback or in memory, with a manual clock.

mod blocking;
mod catch_up;
mod checkpoints;
mod connections;
mod documents;
mod endpoints;
mod fake_server;
mod follow;
mod lists;
mod log_output;
mod requests;
mod retries;
mod service_model;
mod spans;
mod stub_server;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use futures_core::future::BoxFuture;
use serde_json::{Value, json};

use crate::env::Env;
use crate::{ClientBuilder, InvoicingClient};
use stub_server::StubServer;

pub(crate) const KEY: &str = "isk_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const ID: &str = "019235a0-0000-7000-8000-000000000001";

/// A clock that a sleep advances at once. It records the sleeps.
#[derive(Debug)]
pub(crate) struct ManualEnv {
    started: Instant,
    slept: Mutex<Vec<Duration>>,
}

impl ManualEnv {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { started: Instant::now(), slept: Mutex::default() })
    }

    pub(crate) fn slept(&self) -> Vec<Duration> {
        self.slept.lock().unwrap().clone()
    }
}

impl Env for ManualEnv {
    fn now(&self) -> Instant {
        self.started + self.slept().into_iter().sum::<Duration>()
    }

    fn wall_clock(&self) -> SystemTime {
        httpdate::parse_http_date("Mon, 14 Sep 2026 09:41:00 GMT").unwrap()
    }

    /// Selects the longest backoff.
    fn random(&self) -> u64 {
        u64::MAX
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        self.slept.lock().unwrap().push(duration);
        Box::pin(std::future::ready(()))
    }
}

fn builder(server: &StubServer) -> ClientBuilder {
    InvoicingClient::builder(server.url(), KEY)
}

fn client(server: &StubServer) -> (InvoicingClient, Arc<ManualEnv>) {
    let env = ManualEnv::new();
    (builder(server).build_in(env.clone()).unwrap(), env)
}

fn client_json(name: &str) -> Value {
    json!({
        "id": ID, "name": name, "email": null, "phone": null, "address": null, "city": null, "zipCode": null,
        "type": "PROFESSIONNEL", "notes": null, "externalId": "crm-1",
        "createdAt": "2026-09-14T09:41:07.123Z", "updatedAt": "2026-09-14T09:41:07.123Z",
    })
}

fn page_json(data: &[Value], offset: u64, has_more: bool) -> Value {
    json!({
        "data": data,
        "pagination": {"limit": 2, "offset": offset, "hasMore": has_more},
        "asOf": "2026-09-14T09:41:07.123Z",
    })
}

fn error_json(code: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message}})
}
