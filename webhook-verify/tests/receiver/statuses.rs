//! Requests, and the statuses that they get.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use proptest::prelude::*;
use webhook_verify::inbox::{InboxService, MemoryInbox};
use webhook_verify::receiver::{BODY_LIMIT, Receiver, Rejection};
use webhook_verify::{HeaderError, Signer, Verifier, VerifyError};

use crate::support::{NOW, PING, Pieces, SECRET, call, receiver, request, runtime, signature};

type Plain = Request<Full<Bytes>>;

async fn rejection<B: http_body::Body>(request: Request<B>) -> Rejection {
    receiver().accept(request).await.unwrap_err()
}

fn with_header(header: &str) -> Plain {
    Request::post("/").header("x-service-signature", header).body(PING.into()).unwrap()
}

#[tokio::test]
async fn a_genuine_request_gives_the_bytes_that_came() {
    // Not UTF-8, and not JSON: that is looked at later.
    let body = Bytes::from_static(b"\xff\x00 {}");
    let mut sent: Request<Pieces> = request(body.clone());
    sent.headers_mut().insert("x-service-webhook-id", "w-1".parse().unwrap());
    sent.headers_mut().insert("x-service-event-id", "e-1".parse().unwrap());
    let delivery = receiver().accept(sent).await.unwrap();
    assert_eq!((delivery.body.clone(), delivery.signed_at), (body, NOW));
    assert_eq!(delivery.webhook_id.as_ref().unwrap(), "w-1");
    assert_eq!(delivery.event_id.as_ref().unwrap(), "e-1");
    let shown = format!("{delivery:?}");
    assert!(shown.contains("body_bytes: 5"), "{shown}");
}

#[tokio::test]
async fn signatures_that_a_retry_does_not_mend_are_400() {
    let malformed = |reason: HeaderError| Rejection::NotGenuine(reason.into());
    let mut unsigned: Plain = request(PING);
    unsigned.headers_mut().clear();
    assert_eq!(rejection(unsigned).await, Rejection::SignatureMissing);
    let mut twice: Plain = request(PING);
    let value = twice.headers()["x-service-signature"].clone();
    twice.headers_mut().append("x-service-signature", value);
    assert_eq!(rejection(twice).await, Rejection::SignatureRepeated);
    assert_eq!(rejection(with_header("v1=00")).await, malformed(HeaderError::TimestampMissing));
    let no_match = Rejection::NotGenuine(VerifyError::NoMatch { candidates: 1, secrets: 1 });
    assert_eq!(rejection(with_header(&signature(b"other"))).await, no_match);
    for (t, is_refused) in [(NOW - 301, true), (NOW - 300, false), (NOW + 300, false), (NOW + 301, true)] {
        let header = Signer::new(SECRET).unwrap().sign(t, PING.as_bytes()).to_string();
        let accepted = receiver().accept(with_header(&header)).await;
        assert_eq!(accepted.is_err(), is_refused, "{t}");
        assert!(accepted.err().is_none_or(|rejection| rejection.status() == 400));
    }
}

#[tokio::test]
async fn another_method_is_405_before_anything_is_read() {
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "POSTS"] {
        let mut sent: Request<Pieces> = request(PING);
        *sent.method_mut() = method.parse().unwrap();
        assert_eq!(rejection(sent).await, Rejection::Method);
    }
}

#[tokio::test]
async fn the_limit_holds_for_what_is_announced_and_for_what_comes() {
    let limited = receiver().body_limit(1000);
    assert!(limited.accept(request::<Pieces>(vec![b'x'; 1000])).await.is_ok());
    let over = limited.accept(request::<Pieces>(vec![b'x'; 1001])).await.unwrap_err();
    assert_eq!((over.clone(), over.status().as_u16()), (Rejection::BodyTooLarge { limit: 1000 }, 413));
    // Refused on the announcement: the body is never asked for.
    let mut announced: Request<Pieces> = request(PING);
    announced.body_mut().announced = 1001;
    announced.body_mut().left = [Err("was read")].into();
    assert_eq!(limited.accept(announced).await.unwrap_err(), Rejection::BodyTooLarge { limit: 1000 });
    // An announcement that lies allocates nothing of note and is not believed.
    let mut lying: Request<Pieces> = request(PING);
    lying.body_mut().announced = 900;
    assert!(limited.accept(lying).await.is_ok());
    let endless = Pieces::new(std::iter::repeat_n(Ok(Bytes::from(vec![0; 65536])), 1000));
    let sent = Request::post("/").header("x-service-signature", "t=1,v1=0").body(endless).unwrap();
    assert_eq!(rejection(sent).await, Rejection::BodyTooLarge { limit: BODY_LIMIT });
}

#[tokio::test]
async fn a_body_that_breaks_off_may_come_again() {
    let mut broken: Request<Pieces> = request(PING);
    broken.body_mut().left.push_back(Err("reset"));
    let refused = rejection(broken).await;
    assert_eq!((refused.status().as_u16(), refused), (503, Rejection::BodyUnreadable));
}

#[tokio::test]
async fn a_brand_has_its_own_headers() {
    let branded = receiver().brand("Acme").unwrap();
    assert_eq!(branded.accept::<Full<Bytes>>(request(PING)).await.unwrap_err(), Rejection::SignatureMissing);
    let sent: Plain =
        Request::post("/").header("X-ACME-Signature", signature(PING.as_bytes())).body(PING.into()).unwrap();
    assert!(branded.accept(sent).await.is_ok());
    assert!(receiver().brand("not a\nname").is_err());
}

#[tokio::test]
async fn an_intake_answers_with_everything_that_there_is() {
    let mut service = InboxService::new(receiver(), MemoryInbox::new().into());
    assert_eq!(call::<_, Full<Bytes>, _>(&mut service, request(PING)).await, 204);
    assert_eq!(call::<_, Pieces, _>(&mut service, request(PING)).await, 204, "again");
    assert_eq!(call::<_, Full<Bytes>, _>(&mut service, request("[]")).await, 400);
    assert_eq!(call::<_, Full<Bytes>, _>(&mut service, request(r#"{"event":"ping"}"#)).await, 400);
    assert_eq!(call::<_, Full<Bytes>, _>(&mut service, request(vec![b' '; BODY_LIMIT + 1])).await, 413);
    assert_eq!(call(&mut service, with_header("")).await, 400);
}

#[test]
fn nothing_shows_a_secret() {
    let receiver = Receiver::new(Verifier::new(SECRET).unwrap());
    let service = InboxService::new(receiver.clone(), MemoryInbox::new().into());
    let rejection = Rejection::NotGenuine(VerifyError::NoMatch { candidates: 1, secrets: 1 });
    for shown in [format!("{receiver:?}"), format!("{service:?}"), format!("{rejection:?} {rejection}")] {
        assert!(!shown.contains("whsec") && !shown.contains("example"), "{shown}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..<_>::default() })]

    #[test]
    fn any_request_gets_a_lawful_status(
        method in prop_oneof![3 => Just("POST".to_owned()), 1 => "[A-Z]{1,7}"],
        headers in prop::collection::vec(
            prop_oneof![Just(None), prop::collection::vec(any::<u8>(), 0..90).prop_map(Some)],
            0..3,
        ),
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..400),
            Just(PING.as_bytes().to_vec()),
            "\\{\"event\":\"[a-z.]{0,9}\",\"timestamp\":\"[0-9TZ:-]{0,9}\",\"data\":[0-9\\[\\]{}]{0,4}\\}"
                .prop_map(String::into_bytes),
        ],
    ) {
        let mut sent = Request::builder().method(&*method).uri("/");
        let mut signatures = vec![];
        for header in headers {
            let value = header.unwrap_or_else(|| signature(&body).into_bytes());
            if let Ok(value) = http::HeaderValue::from_bytes(&value) {
                sent = sent.header("x-service-signature", &value);
                signatures.push(value);
            }
        }
        let sent: Request<Pieces> = sent.body(Bytes::from(body.clone()).into()).unwrap();
        let limit = 200;
        let mut service = InboxService::new(receiver().body_limit(limit), MemoryInbox::new().into());
        let status = runtime().block_on(call(&mut service, sent));
        let is_genuine = signatures.len() == 1 && signatures[0] == signature(&body);
        let is_event = webhook_verify::events::Envelope::parse(&body).is_ok();
        let expected = match () {
            () if method != "POST" => 405,
            () if signatures.len() != 1 => 400,
            () if body.len() > limit => 413,
            () if is_genuine && is_event => 204,
            () => 400,
        };
        prop_assert_eq!(status, expected);
    }
}
