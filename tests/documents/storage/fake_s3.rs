//! A small S3 on loopback: the calls that [`ObjectStorage`] needs, and moods.
//!
//! It checks what it can without the account's secret being spread over the tests: that each request is signed, that an
//! object is only created if there is none, and that a presigned URL is unchanged and has not expired.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use chrono::NaiveDateTime;
use http::{HeaderMap, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use invoicing_server::ObjectStorage;
use invoicing_server::object_store::aws::AmazonS3Builder;
use invoicing_tests::HttpServer;

const BUCKET: &str = "/documents/";

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Works,
    /// 500, and nothing happens.
    Fails,
    /// 403, and nothing happens.
    Forbids,
    /// No answer, ever.
    Hangs,
    /// Other bytes than those that were put.
    Lies,
    /// Does what it is asked for, and cuts the connection instead of answering.
    CutsAfter,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Object {
    pub(super) bytes: Bytes,
    pub(super) content_type: String,
    pub(super) disposition: String,
}

/// The response of a presigned URL.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) status: u16,
    pub(super) disposition: String,
    pub(super) body: Bytes,
}

struct State {
    mode: Mode,
    /// How far its clock is ahead of the system's, with which URLs are signed.
    ahead: Duration,
    objects: BTreeMap<String, Object>,
    /// The first query that was seen with a signature.
    signed_queries: BTreeMap<String, String>,
}

#[derive(Clone)]
pub(super) struct FakeS3 {
    state: Arc<Mutex<State>>,
    server: Arc<HttpServer>,
}

impl FakeS3 {
    pub(super) async fn start() -> Self {
        let state = State {
            mode: Mode::Works,
            ahead: Duration::ZERO,
            objects: BTreeMap::new(),
            signed_queries: BTreeMap::new(),
        };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        let server = HttpServer::start(move |request| answer(Arc::clone(&shared), request)).await;
        Self { state, server: Arc::new(server) }
    }

    /// The store as a host sets it up.
    pub(super) fn storage(&self) -> ObjectStorage {
        let builder = AmazonS3Builder::new()
            .with_endpoint(format!("http://{}", self.server.address()))
            .with_allow_http(true)
            .with_region("eu-west-3")
            .with_bucket_name("documents")
            .with_access_key_id("key")
            .with_secret_access_key("secret");
        ObjectStorage::s3(builder).unwrap()
    }

    pub(super) fn set(&self, mode: Mode) {
        self.state.lock().unwrap().mode = mode;
    }

    /// Lets time pass for its clock.
    pub(super) fn advance(&self, by: Duration) {
        self.state.lock().unwrap().ahead += by;
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.state.lock().unwrap().objects.keys().cloned().collect()
    }

    pub(super) fn object(&self, name: &str) -> Object {
        self.state.lock().unwrap().objects[name].clone()
    }

    pub(super) fn damage(&self, name: &str) {
        let mut state = self.state.lock().unwrap();
        state.objects.get_mut(name).unwrap().bytes = Bytes::from_static(b"other");
    }

    /// Opens a URL as a browser does.
    pub(super) async fn follow(&self, url: &str) -> Served {
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let request = Request::get(url).body(Full::default()).unwrap();
        let (head, body) = client.request(request).await.unwrap().into_parts();
        let disposition = text(&head.headers, header::CONTENT_DISPOSITION);
        let body = body.collect().await.unwrap().to_bytes();
        Served { status: head.status.as_u16(), disposition, body }
    }
}

async fn answer(state: Arc<Mutex<State>>, request: Request<Incoming>) -> io::Result<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let mode = state.lock().unwrap().mode;
    match mode {
        Mode::Hangs => std::future::pending().await,
        Mode::Fails => return Ok(plain(StatusCode::INTERNAL_SERVER_ERROR)),
        Mode::Forbids => return Ok(plain(StatusCode::FORBIDDEN)),
        Mode::Works | Mode::Lies | Mode::CutsAfter => {}
    }
    let answer = state.lock().unwrap().serve(&head, body);
    if mode == Mode::CutsAfter { Err(io::Error::other("cut")) } else { Ok(answer) }
}

impl State {
    fn serve(&mut self, head: &http::request::Parts, body: Bytes) -> Response<Full<Bytes>> {
        let Some(name) = head.uri.path().strip_prefix(BUCKET) else { return plain(StatusCode::NOT_FOUND) };
        let query = head.uri.query().unwrap_or_default();
        if !head.headers.contains_key(header::AUTHORIZATION) {
            return self.presigned(&head.method, name, query).unwrap_or_else(|| plain(StatusCode::FORBIDDEN));
        }
        assert_eq!(query, "", "one object at a time, and nothing is listed");
        match head.method {
            Method::PUT => self.put(name, &head.headers, body),
            Method::GET | Method::HEAD => self.get(name),
            Method::DELETE => {
                self.objects.remove(name);
                plain(StatusCode::NO_CONTENT)
            }
            _ => plain(StatusCode::METHOD_NOT_ALLOWED),
        }
    }

    fn put(&mut self, name: &str, headers: &HeaderMap, bytes: Bytes) -> Response<Full<Bytes>> {
        assert_eq!(text(headers, header::IF_NONE_MATCH), "*", "objects are created, never replaced");
        if self.objects.contains_key(name) {
            return plain(StatusCode::PRECONDITION_FAILED);
        }
        let (content_type, disposition) =
            (text(headers, header::CONTENT_TYPE), text(headers, header::CONTENT_DISPOSITION));
        self.objects.insert(name.to_owned(), Object { bytes, content_type, disposition });
        let mut answer = plain(StatusCode::OK);
        answer.headers_mut().insert(header::ETAG, "\"1\"".parse().unwrap());
        answer
    }

    fn get(&self, name: &str) -> Response<Full<Bytes>> {
        let Some(object) = self.objects.get(name) else { return plain(StatusCode::NOT_FOUND) };
        let bytes = match self.mode {
            Mode::Lies => object.bytes.iter().map(|byte| byte ^ 1).collect(),
            _ => object.bytes.clone(),
        };
        Response::builder()
            .header(header::ETAG, "\"1\"")
            .header(header::LAST_MODIFIED, "Mon, 14 Sep 2026 09:41:07 GMT")
            .header(header::CONTENT_TYPE, &object.content_type)
            .header(header::CONTENT_DISPOSITION, &object.disposition)
            .body(Full::new(bytes))
            .unwrap()
    }

    /// `None` if the URL is not one that this store would honour.
    fn presigned(&mut self, method: &Method, name: &str, query: &str) -> Option<Response<Full<Bytes>>> {
        let url = form_urlencoded::parse(query.as_bytes());
        let parameters: BTreeMap<String, String> = url.into_owned().collect();
        let signature = parameters.get("X-Amz-Signature")?;
        let signed = self.signed_queries.entry(signature.clone()).or_insert_with(|| query.to_owned());
        let unchanged = signed == query;
        let good = method == Method::GET && unchanged && self.is_current(&parameters)?;
        let mut answer = good.then(|| self.get(name))?;
        let disposition = parameters.get("response-content-disposition")?.parse().unwrap();
        answer.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
        Some(answer)
    }

    /// Whether a presigned URL has not expired yet.
    #[expect(clippy::disallowed_methods, reason = "presigned URLs are dated by the clock of the system")]
    fn is_current(&self, parameters: &BTreeMap<String, String>) -> Option<bool> {
        let signed = NaiveDateTime::parse_from_str(parameters.get("X-Amz-Date")?, "%Y%m%dT%H%M%SZ").ok()?;
        let signed = UNIX_EPOCH + Duration::from_secs(signed.and_utc().timestamp().try_into().ok()?);
        let valid = Duration::from_secs(parameters.get("X-Amz-Expires")?.parse().ok()?);
        Some(SystemTime::now() + self.ahead <= signed + valid)
    }
}

fn plain(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> String {
    headers.get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
}
