//! Deliveries: their content, number and times, the effect of each outcome, and when a webhook is switched off.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use invoicing_core::{DeliveryStatus, EventKind, FailureClass, Plan, WebhookId};
use invoicing_server::{DisabledReason, Webhook};
use invoicing_tests::{Database, Received, Receiver, Reply, World, on_each_database};
use proptest::prelude::*;
use tokio::net::TcpSocket;
use webhook_verify::Verifier;

use crate::support::proptest_runner::{for_all, runtime};
use crate::support::{DAY, delivery, dispatch_to_the_end, emit, emit_for, events, hook, hook_for};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

async fn webhook(world: &World, id: WebhookId) -> Webhook {
    world.company.webhooks().get(id).await.unwrap()
}

fn text<'r>(received: &'r Received, header: &str) -> &'r str {
    let mut all = received.headers.get_all(header).iter();
    let value = all.next().unwrap_or_else(|| panic!("no {header}"));
    assert!(all.next().is_none(), "{header} twice");
    value.to_str().unwrap()
}

/// Rules: WIRE-24, WEBHOOK-8, WEBHOOK-9, WEBHOOK-10
#[on_each_database]
async fn a_delivery_posts_the_recorded_bytes_with_the_documented_headers(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let registered = hook(&world, &format!("{}?token=a%20b", receiver.url)).await;
    world.draft().await;
    assert_eq!(world.dispatch().await.delivered, 1);
    let [received] = &receiver.received()[..] else { panic!("one delivery") };
    assert_eq!((received.method.as_str(), received.path.as_str()), ("POST", "/hook?token=a%20b"));
    assert_eq!(text(received, "content-type"), "application/json");
    assert_eq!(text(received, "user-agent"), "Service-Webhook/1.0");
    assert_eq!(text(received, "x-service-webhook-id"), registered.webhook.id.to_string());
    assert_eq!(text(received, "content-length"), received.body.len().to_string());
    let signature = text(received, "x-service-signature");
    let (t, v1) = signature.split_once(",v1=").unwrap();
    assert_eq!(t, format!("t={}", world.now().as_seconds()));
    assert!(v1.len() == 64 && v1.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{v1}");
    let mut names: Vec<_> = received.headers.keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    let expected = [
        "content-length",
        "content-type",
        "host",
        "user-agent",
        "x-service-event-id",
        "x-service-signature",
        "x-service-webhook-id",
    ];
    assert_eq!(names, expected);
    assert_eq!(received.body, events(&world.company).await[0].body.as_bytes());
    let verifier = Verifier::new(registered.secret.reveal()).unwrap();
    verifier.verify(signature, &received.body, world.now().as_seconds()).unwrap();
    // The secret as it was shown is the key, prefix included.
    let bare = registered.secret.reveal().trim_start_matches("whsec_");
    assert!(
        Verifier::new(bare).unwrap().verify(signature, &received.body, world.now().as_seconds()).is_err()
    );
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-19
#[on_each_database]
async fn an_event_has_one_id_for_every_attempt_webhook_and_replay(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(500));
    let id = hook(&world, &receiver.url).await.webhook.id;
    hook(&world, &receiver.url).await;
    let event = emit(&world, 1).await[0];
    dispatch_to_the_end(&world).await;
    assert_eq!(world.company.webhooks().replay(id, Some(event)).await.unwrap(), 1);
    receiver.reply_always(Reply::status(200));
    dispatch_to_the_end(&world).await;
    let received = receiver.take();
    assert_eq!(received.len(), 2 * 3 + 1);
    for received in received {
        assert_eq!(text(&received, "x-service-event-id"), event.to_string());
    }
    let (ping, other) = (world.company.webhooks().ping(id).await.unwrap(), emit(&world, 1).await[0]);
    dispatch_to_the_end(&world).await;
    let ids: HashSet<_> =
        receiver.received().iter().map(|received| text(received, "x-service-event-id").to_owned()).collect();
    assert_eq!(ids, [ping, other].map(|event| event.to_string()).into());
}

/// Rules: WIRE-24
#[on_each_database]
async fn the_brand_replaces_the_product_name_in_headers_and_user_agent(db: Database) {
    let world = World::on(db).settings(|settings| settings.brand = "Devis-Pro".into()).open().await;
    let receiver = Receiver::start().await;
    let registered = hook(&world, &receiver.url).await;
    world.draft().await;
    world.dispatch().await;
    let [received] = &receiver.received()[..] else { panic!("one delivery") };
    assert_eq!(text(received, "user-agent"), "Devis-Pro-Webhook/1.0");
    assert_eq!(text(received, "x-devis-pro-webhook-id"), registered.webhook.id.to_string());
    assert_eq!(text(received, "x-devis-pro-event-id"), events(&world.company).await[0].id.to_string());
    let verifier = Verifier::new(registered.secret.reveal()).unwrap();
    let signature = text(received, "x-devis-pro-signature");
    verifier.verify(signature, &received.body, world.now().as_seconds()).unwrap();
    assert!(!received.headers.keys().any(|name| name.as_str().contains("service")));
}

/// Rules: WEBHOOK-10
#[on_each_database]
async fn every_attempt_sends_the_same_bytes_and_signs_them_anew(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_next([Reply::status(500), Reply::status(500)]);
    let registered = hook(&world, &receiver.url).await;
    world.draft().await;
    let verifier = Verifier::new(registered.secret.reveal()).unwrap();
    let mut times = Vec::new();
    for gap in [0, 1_100, 5_500] {
        world.advance(ms(gap));
        assert_eq!(world.dispatch().await.attempts, 1);
        let received = receiver.received().pop().unwrap();
        let signature = text(&received, "x-service-signature");
        let verified = verifier.verify(signature, &received.body, world.now().as_seconds()).unwrap();
        assert_eq!(verified.timestamp, world.now().as_seconds(), "t is the time of the attempt");
        times.push(verified.timestamp);
    }
    assert!(times[0] < times[1] && times[1] < times[2]);
    let received = receiver.received();
    assert!(received.iter().all(|other| other.body == received[0].body));
    world.assert_all_ended().await;
}

/// Rules: ATTEMPT-1, ATTEMPT-2, ATTEMPT-3
#[on_each_database]
async fn there_are_3_attempts_after_gaps_of_1_and_5_seconds_plus_a_tenth(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(500));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let all = emit(&world, 8).await;
    assert_eq!(world.dispatch().await.retried, 8);
    for (gap, more) in [(1_000_u64, true), (5_000, false)] {
        world.advance(ms(gap - 1));
        assert_eq!(world.dispatch().await.attempts, 0, "a gap of {gap} ms was shortened");
        world.assert_nothing_due().await;
        world.advance(ms(1 + gap / 10));
        let report = world.dispatch().await;
        assert_eq!(
            (report.attempts, report.retried),
            (8, if more { 8 } else { 0 }),
            "after {gap} ms and a tenth"
        );
    }
    world.advance(DAY);
    assert_eq!(world.dispatch().await.attempts, 0, "there is no fourth attempt");
    for event in all {
        let found = delivery(&world, event, id).await;
        assert_eq!((found.status, found.attempts), (DeliveryStatus::Failed, 3));
    }
    assert_eq!(webhook(&world, id).await.consecutive_failures, 8, "a failed delivery counts once");
    world.assert_all_ended().await;
}

/// Rules: ATTEMPT-1, ATTEMPT-2
#[on_each_database]
async fn a_host_that_allows_more_attempts_gets_a_gap_of_30_seconds(db: Database) {
    let world = World::on(db).settings(|settings| settings.dispatch.max_attempts = 5).open().await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(503));
    hook(&world, &receiver.url).await;
    emit(&world, 1).await;
    world.dispatch().await;
    for gap in [1_000, 5_000, 30_000, 30_000] {
        world.advance(ms(gap - 1));
        assert_eq!(world.dispatch().await.attempts, 0, "{gap}");
        world.advance(ms(1 + gap / 10));
        assert_eq!(world.dispatch().await.attempts, 1, "{gap}");
    }
    world.assert_all_ended().await;
}

/// Rules: ATTEMPT-1
#[on_each_database]
async fn one_attempt_is_one_attempt_where_a_host_allows_no_more(db: Database) {
    let world = World::on(db).settings(|settings| settings.dispatch.max_attempts = 1).open().await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(503));
    hook(&world, &receiver.url).await;
    emit(&world, 1).await;
    assert_eq!(world.dispatch().await.failed, 1);
    world.assert_all_ended().await;
}

/// Rules: ATTEMPT-4
#[on_each_database]
async fn retry_after_on_429_and_503_lengthens_the_gap_up_to_30_seconds(db: Database) {
    let date = "Mon, 14 Sep 2026 09:41:20 GMT";
    // Status, header, and the shortest and longest gap in milliseconds. The clock stands at 09:41:07.123.
    let cases = [
        (429, "7", 7_000, 7_700),
        (503, "7", 7_000, 7_700),
        (429, "0", 1_000, 1_100),
        (429, "1", 1_000, 1_100),
        (429, "30", 30_000, 33_000),
        (429, "3600", 30_000, 33_000),
        (503, "99999999999999999999999", 30_000, 33_000),
        (503, date, 12_000, 14_300),
        (429, "-5", 1_000, 1_100),
        (429, "soon", 1_000, 1_100),
        (500, "7", 1_000, 1_100),
        (502, "7", 1_000, 1_100),
    ];
    for (status, header, shortest, longest) in cases {
        let world = World::new(db).await;
        let receiver = Receiver::start().await;
        receiver.reply_next([Reply::Status(status, vec![("retry-after", header.into())])]);
        hook(&world, &receiver.url).await;
        emit(&world, 1).await;
        world.dispatch().await;
        world.advance(ms(shortest - 1));
        assert_eq!(world.dispatch().await.attempts, 0, "{status} {header}: too early");
        world.advance(ms(longest - shortest + 1));
        assert_eq!(world.dispatch().await.delivered, 1, "{status} {header}: too late");
        world.assert_all_ended().await;
    }
}

/// Every status that a server can answer with: 2xx delivered, 5xx and 429 again, everything else failed at once.
///
/// Rules: ATTEMPT-6, ATTEMPT-7, ATTEMPT-8
#[on_each_database]
async fn every_status_leads_to_what_the_contract_says(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    let statuses: Vec<u16> = (200..=599).chain([600, 700, 999]).collect();
    // Portions of 8 cannot switch the webhook off, and all of a portion may be under way at once.
    for portion in statuses.chunks(8) {
        receiver.reply_next(portion.iter().map(|status| Reply::status(*status)));
        let all = emit(&world, portion.len()).await;
        assert_eq!(world.dispatch().await.attempts, portion.len() as u64);
        let log = webhooks.log(id, portion.len().try_into().unwrap()).await.unwrap();
        let mut answered: HashMap<_, _> =
            log.iter().map(|attempt| (attempt.event, attempt.status.unwrap())).collect();
        for event in all {
            let status = answered.remove(&event).unwrap();
            let expected = match status {
                200..=299 => DeliveryStatus::Delivered,
                429 | 500..=599 => DeliveryStatus::Pending,
                _ => DeliveryStatus::Failed,
            };
            let found = delivery(&world, event, id).await;
            assert_eq!((found.status, found.attempts), (expected, 1), "{status}");
        }
        webhooks.disable(id).await.unwrap();
        webhooks.enable(id).await.unwrap();
        world.advance(ms(10));
    }
    world.assert_all_ended().await;
}

/// Answers every connection with these bytes and closes it.
async fn raw(answer: &'static [u8]) -> (String, tokio::task::JoinSet<()>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            // The whole request fits into one read or two; unread bytes would reset the connection.
            let mut buffer = vec![0; 65_536];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(answer).await;
            let _ = stream.shutdown().await;
            while stream.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
        }
    });
    (url, tasks)
}

/// Rules: ATTEMPT-7, ATTEMPT-8
#[on_each_database]
async fn odd_answers_lead_to_what_the_contract_says(db: Database) {
    use DeliveryStatus::{Delivered, Failed, Pending};
    let cases: [(&[u8], DeliveryStatus, &str); 9] = [
        (
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            Delivered,
            "100, then 200",
        ),
        (b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n", Failed, "101"),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil it closes", Delivered, "HTTP/1.0 without a length"),
        (b"HTTP/1.1 204 No Content\r\nx-odd: \xe9\xff\r\n\r\n", Delivered, "a header that is not ASCII"),
        (b"HTTP/1.1 500 \r\ncontent-length: 0\r\n\r\n", Pending, "500 without a reason"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort", Delivered, "a body that breaks off"),
        (b"SMTP ready\r\n", Pending, "no HTTP"),
        (b"", Pending, "nothing"),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", Failed, "304"),
    ];
    for (answer, expected, what) in cases {
        let world =
            World::on(db).settings(|settings| settings.dispatch.attempt_timeout_ms = 1_000).open().await;
        let (url, _tasks) = raw(answer).await;
        let id = hook(&world, &url).await.webhook.id;
        let event = emit(&world, 1).await[0];
        world.dispatch().await;
        let log = world.company.webhooks().log(id, 10).await.unwrap();
        assert_eq!(delivery(&world, event, id).await.status, expected, "{what}: {log:?}");
        world.assert_nothing_due().await;
    }
}

/// Rules: TARGET-4, ATTEMPT-8
#[on_each_database]
async fn redirects_are_not_followed_and_fail_at_once(db: Database) {
    let world = World::new(db).await;
    let (receiver, elsewhere) = (Receiver::start().await, Receiver::start().await);
    let id = hook(&world, &receiver.url).await.webhook.id;
    for status in [301, 302, 303, 307, 308] {
        receiver.reply_next([Reply::Status(status, vec![("location", elsewhere.url.clone())])]);
        let event = emit(&world, 1).await[0];
        assert_eq!(world.dispatch().await.failed, 1, "{status}");
        assert_eq!(delivery(&world, event, id).await.attempts, 1);
    }
    assert!(elsewhere.received().is_empty());
    assert_eq!(receiver.received().len(), 5);
    assert_eq!(webhook(&world, id).await.consecutive_failures, 5);
    world.assert_all_ended().await;
}

/// Rules: ATTEMPT-7
#[on_each_database]
async fn timeouts_and_network_and_tls_errors_are_attempted_again(db: Database) {
    let world = World::on(db).settings(|settings| settings.dispatch.attempt_timeout_ms = 1_000).open().await;
    let hanging = Receiver::start().await;
    hanging.reply_always(Reply::Hang);
    // A socket that is bound and does not listen: its port is given to no other, and connecting is refused.
    let unheard = TcpSocket::new_v4().unwrap();
    unheard.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let closed = format!("http://{}/hook", unheard.local_addr().unwrap());
    let plain = Receiver::start().await;
    let not_tls = plain.url.replace("http://", "https://");
    let cases = [
        (hanging.url.as_str(), FailureClass::Timeout),
        (closed.as_str(), FailureClass::Network),
        (not_tls.as_str(), FailureClass::Tls),
    ];
    let mut hooks = Vec::new();
    for (url, class) in cases {
        hooks.push((hook(&world, url).await.webhook.id, class));
    }
    let event = emit(&world, 1).await[0];
    let report = dispatch_to_the_end(&world).await;
    assert_eq!((report.attempts, report.failed, report.retried), (9, 3, 6));
    for (id, class) in hooks {
        let log = world.company.webhooks().log(id, 10).await.unwrap();
        assert_eq!(log.len(), 3);
        assert!(
            log.iter().all(|attempt| (attempt.failure, attempt.status) == (Some(class), None)),
            "{log:?}"
        );
        assert_eq!(delivery(&world, event, id).await.status, DeliveryStatus::Failed);
        assert_eq!(webhook(&world, id).await.consecutive_failures, 1);
    }
    assert!(plain.received().is_empty());
}

/// Rules: WEBHOOK-11, WEBHOOK-15
#[on_each_database]
async fn exactly_10_failed_deliveries_in_a_row_disable_a_webhook(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let id = hook(&world, &receiver.url).await.webhook.id;
    for failures in 1..=10 {
        emit(&world, 1).await;
        assert_eq!(world.dispatch().await.failed, 1);
        let webhook = webhook(&world, id).await;
        assert_eq!(webhook.consecutive_failures, failures);
        let disabled = (failures == 10).then(|| (world.now(), DisabledReason::Failures));
        assert_eq!(webhook.disabled, disabled, "{failures}");
        world.advance(DAY);
    }
    let event = emit(&world, 1).await[0];
    assert_eq!(world.dispatch().await.attempts, 0);
    let found = delivery(&world, event, id).await;
    assert_eq!((found.status, found.reason.as_deref()), (DeliveryStatus::Skipped, Some("webhook_disabled")));
    assert_eq!(receiver.received().len(), 10);
    world.assert_all_ended().await;
}

/// The row of the claim is set back, and the clock stands still. So the attempt that follows has the number and the
/// instant of the recorded one, as if the dispatcher recorded it again after the answer to a commit was lost.
#[on_each_database]
async fn an_attempt_that_is_recorded_twice_counts_once(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let event = emit(&world, 1).await[0];
    assert_eq!(world.dispatch().await.failed, 1);
    let set_back = "UPDATE delivery SET status = 'pending', ended_at = NULL, claims_in_all = 0";
    assert_eq!(world.run(set_back, &[]).await, 1);

    // The other delivery may be part of the same batch.
    emit(&world, 1).await;
    let report = world.dispatch().await;
    assert_eq!((report.attempts, report.failed, report.retried), (1, 1, 0), "{report:?}");
    assert_eq!(receiver.received().len(), 3);
    assert_eq!(webhook(&world, id).await.consecutive_failures, 2);
    let twice = delivery(&world, event, id).await;
    assert_eq!((twice.status, twice.attempts), (DeliveryStatus::Pending, 1));
    assert_eq!(world.count("SELECT count(*) FROM attempt").await, 2);

    // The deliveries of the claim are attempted again once its lease is over, as the next number.
    world.advance(DAY);
    assert_eq!(world.dispatch().await.failed, 1);
    assert_eq!(webhook(&world, id).await.consecutive_failures, 3);
    assert_eq!(delivery(&world, event, id).await.attempts, 2);
    world.assert_all_ended().await;
}

/// A delivery has 3 attempts and 20 claims to spare. Claims that a dispatcher gives back do not count.
#[on_each_database]
async fn a_delivery_claimed_too_often_without_outcome_waits_for_a_replay(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    for (claims, given_up) in [(22, false), (23, true)] {
        let event = emit(&world, 1).await[0];
        let statement = "UPDATE delivery SET claims = $1, claims_in_all = $1 WHERE status = 'pending'";
        assert_eq!(world.run(statement, &[claims.into()]).await, 1);
        let report = world.dispatch().await;
        assert_eq!((report.failed, report.delivered), (given_up.into(), (!given_up).into()), "{claims}");
        let attempt = &world.company.webhooks().log(id, 1).await.unwrap()[0];
        assert_eq!(i64::from(attempt.number), claims + 1);
        assert_eq!(attempt.failure, given_up.then_some(FailureClass::Abandoned));
        assert_eq!(delivery(&world, event, id).await.attempts, 1);
        world.advance(DAY);
    }
    assert_eq!(receiver.received().len(), 1);
    assert_eq!(world.company.webhooks().replay(id, None).await.unwrap(), 1);
    assert_eq!(world.dispatch().await.delivered, 1);
    assert_eq!(world.company.webhooks().log(id, 1).await.unwrap()[0].number, 25);
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-12
#[on_each_database]
async fn a_success_sets_the_count_to_0(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    for _ in 0..3 {
        receiver.reply_always(Reply::status(400));
        emit(&world, 9).await;
        world.dispatch().await;
        assert_eq!(webhook(&world, id).await.consecutive_failures, 9);
        receiver.reply_always(Reply::status(200));
        emit(&world, 1).await;
        world.dispatch().await;
        let webhook = webhook(&world, id).await;
        assert_eq!((webhook.consecutive_failures, webhook.disabled), (0, None));
    }
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-12
#[on_each_database]
async fn an_attempt_that_fails_and_is_repeated_with_success_is_no_failure(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let id = hook(&world, &receiver.url).await.webhook.id;
    receiver.reply_next((0..16).map(|_| Reply::status(500)));
    emit(&world, 8).await;
    let report = dispatch_to_the_end(&world).await;
    assert_eq!((report.delivered, report.failed), (8, 0));
    assert_eq!(webhook(&world, id).await.consecutive_failures, 0);
}

/// Rules: WEBHOOK-14
#[on_each_database]
async fn enabling_resets_the_count_so_that_9_more_failures_do_not_disable(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let webhooks = world.company.webhooks();
    let id = hook(&world, &receiver.url).await.webhook.id;
    for round in 0..3 {
        for _ in 0..9 {
            emit(&world, 1).await;
            world.dispatch().await;
        }
        let before = webhook(&world, id).await;
        assert_eq!((before.consecutive_failures, before.disabled), (9, None), "round {round}");
        emit(&world, 1).await;
        world.dispatch().await;
        assert!(webhook(&world, id).await.disabled.is_some(), "round {round}");
        let enabled = webhooks.enable(id).await.unwrap();
        assert_eq!((enabled.consecutive_failures, enabled.disabled), (0, None));
    }
    // Switching the webhook off by hand in the middle of a row of failures resets the count too.
    emit(&world, 5).await;
    world.dispatch().await;
    webhooks.disable(id).await.unwrap();
    assert_eq!(webhooks.enable(id).await.unwrap().consecutive_failures, 0);
    world.assert_all_ended().await;
}

/// Rules: WEBHOOK-16, ISOLATION-2
#[on_each_database]
async fn a_burst_disables_once_and_what_still_waits_is_skipped(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let id = hook(&world, &receiver.url).await.webhook.id;
    emit(&world, 200).await;
    let report = dispatch_to_the_end(&world).await;
    assert_eq!(report.failed + report.skipped + skipped_by_rows(&world, report.skipped).await, 200);
    // Deliveries in flight when the tenth failure was recorded have failed as well, and no more than these.
    let bound = 10 + 2 * world.invoicing.settings().dispatch.in_flight_per_webhook as u64;
    assert!((10..=bound).contains(&report.failed), "{report:?}");
    let webhook = webhook(&world, id).await;
    assert_eq!(webhook.disabled.map(|(_, reason)| reason), Some(DisabledReason::Failures));
    assert_eq!(webhook.consecutive_failures, 10);
}

/// The number of skipped deliveries that the dispatcher did not have in memory.
async fn skipped_by_rows(world: &World, reported: u64) -> u64 {
    let rows = world.count("SELECT count(*) FROM delivery WHERE status = 'skipped'").await;
    u64::try_from(rows).unwrap() - reported
}

/// Rules: WEBHOOK-16
#[on_each_database]
async fn retries_are_skipped_when_failures_disable_the_webhook(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    receiver.reply_always(Reply::status(500));
    let id = hook(&world, &receiver.url).await.webhook.id;
    let waiting = emit(&world, 4).await;
    assert_eq!(world.dispatch().await.retried, 4);
    receiver.reply_always(Reply::status(400));
    emit(&world, 10).await;
    assert_eq!(world.dispatch().await.failed, 10);
    assert!(webhook(&world, id).await.disabled.is_some());
    for event in &waiting {
        let found = delivery(&world, *event, id).await;
        assert_eq!((found.status, found.attempts), (DeliveryStatus::Skipped, 1));
        assert_eq!(found.reason.as_deref(), Some("webhook_disabled"));
    }
    world.assert_all_ended().await;
    // A replay queues all of them.
    receiver.reply_always(Reply::status(200));
    world.company.webhooks().enable(id).await.unwrap();
    assert_eq!(world.company.webhooks().replay(id, None).await.unwrap(), 14);
    assert_eq!(dispatch_to_the_end(&world).await.delivered, 14);
}

/// Rules: WEBHOOK-11
#[on_each_database]
async fn counts_are_kept_per_webhook_and_per_company(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let good = Receiver::start().await;
    receiver.reply_always(Reply::status(400));
    let (other, _) = world.another("Autre", Plan::Pro).await;
    let mine = hook(&world, &receiver.url).await.webhook.id;
    let mine_good = hook(&world, &good.url).await.webhook.id;
    let theirs = hook_for(&other, &receiver.url, EventKind::ALL).await.webhook.id;
    for _ in 0..2 {
        emit(&world, 4).await;
        emit_for(&other, 3).await;
        world.dispatch().await;
    }
    assert_eq!(webhook(&world, mine).await.consecutive_failures, 8);
    assert_eq!(webhook(&world, mine_good).await.consecutive_failures, 0);
    assert_eq!(other.webhooks().get(theirs).await.unwrap().consecutive_failures, 6);
    emit(&world, 2).await;
    world.dispatch().await;
    assert!(webhook(&world, mine).await.disabled.is_some());
    assert!(webhook(&world, mine_good).await.disabled.is_none());
    assert!(other.webhooks().get(theirs).await.unwrap().disabled.is_none());
    emit_for(&other, 4).await;
    emit(&world, 1).await;
    world.dispatch().await;
    assert!(other.webhooks().get(theirs).await.unwrap().disabled.is_some());
    assert_eq!(good.received().len(), 11);
    world.assert_all_ended().await;
}

#[on_each_database]
async fn a_large_backlog_is_delivered_each_event_once(db: Database) {
    let world = World::new(db).await;
    let (a, b) = (Receiver::start().await, Receiver::start().await);
    hook(&world, &a.url).await;
    hook(&world, &b.url).await;
    emit(&world, 300).await;
    assert_eq!(dispatch_to_the_end(&world).await.delivered, 600);
    for receiver in [a, b] {
        let mut bodies: Vec<_> = receiver.received().into_iter().map(|received| received.body).collect();
        bodies.sort();
        bodies.dedup();
        assert_eq!(bodies.len(), 300);
        assert_eq!(receiver.received().len(), 300);
    }
}

#[on_each_database]
async fn a_delivery_whose_url_or_secret_cannot_be_used_fails_and_panics_nothing(db: Database) {
    let world = World::new(db).await;
    let receiver = Receiver::start().await;
    let bad_url = hook(&world, &receiver.url).await.webhook.id;
    let no_secret = hook(&world, &receiver.url).await.webhook.id;
    let good = hook(&world, &receiver.url).await.webhook.id;
    // A hand in the database could have left these rows.
    for (statement, id) in [
        ("UPDATE webhook SET url = 'http://[::1' WHERE id = $1", bad_url),
        ("UPDATE webhook SET secret = '' WHERE id = $1", no_secret),
    ] {
        assert_eq!(world.run(statement, &[id.0.into()]).await, 1);
    }
    let event = emit(&world, 1).await[0];
    let report = dispatch_to_the_end(&world).await;
    assert_eq!((report.delivered, report.failed), (1, 2));
    for id in [bad_url, no_secret] {
        let log = world.company.webhooks().log(id, 10).await.unwrap();
        assert_eq!((log.len(), log[0].failure), (1, Some(FailureClass::Unsendable)));
    }
    assert_eq!(delivery(&world, event, good).await.status, DeliveryStatus::Delivered);
}

/// For any answers of receivers, in any order, every event ends as its own attempts demand, and each of its attempts
/// carries the same bytes.
///
/// Rules: DELIVERY-1, ATTEMPT-1
#[on_each_database]
fn every_event_ends_as_its_attempts_say(db: Database) {
    let status =
        prop_oneof![4 => Just(200_u16), 4 => Just(500), 1 => Just(429), 1 => Just(404), 1 => Just(302)];
    let steps =
        proptest::collection::vec((1_usize..6, proptest::collection::vec(status, 0..12), 0_u64..7_000), 1..5);
    let runtime = runtime();
    for_all(db, 8, &steps, |steps| {
        runtime.block_on(async {
            let world = World::new(db).await;
            let receiver = Receiver::start().await;
            let id = hook(&world, &receiver.url).await.webhook.id;
            for (count, replies, gap) in steps {
                receiver.reply_next(replies.into_iter().map(Reply::status));
                emit(&world, count).await;
                world.dispatch().await;
                world.assert_nothing_due().await;
                world.advance(ms(gap));
            }
            dispatch_to_the_end(&world).await;
            let mut log = world.company.webhooks().log(id, 10_000).await.unwrap();
            log.reverse();
            for event in events(&world.company).await {
                let answers: Vec<u16> =
                    log.iter().filter(|row| row.event == event.id).filter_map(|row| row.status).collect();
                let found = delivery(&world, event.id, id).await;
                let again = |status: &u16| matches!(*status, 429 | 500..=599);
                let (last, before) =
                    answers.split_last().map_or((None, &[][..]), |(last, rest)| (Some(*last), rest));
                prop_assert!(before.iter().all(again), "{answers:?}");
                match found.status {
                    DeliveryStatus::Delivered => prop_assert!(matches!(last, Some(200..=299)), "{answers:?}"),
                    DeliveryStatus::Failed => {
                        prop_assert!(answers.len() == 3 || !again(&last.unwrap()), "{answers:?}");
                        prop_assert!(!matches!(last, Some(200..=299)));
                    }
                    DeliveryStatus::Skipped => prop_assert!(webhook(&world, id).await.disabled.is_some()),
                    status => prop_assert!(false, "still {status}"),
                }
                prop_assert!(answers.len() <= 3);
                let bodies =
                    receiver.received().into_iter().filter(|received| received.body == event.body.as_bytes());
                prop_assert_eq!(bodies.count(), answers.len());
            }
            Ok(())
        })
    });
}
