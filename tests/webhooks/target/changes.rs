//! Names that change their answer, the failure of a refused target, and the forward proxy as a setting.

use std::net::{IpAddr, SocketAddr};

use invoicing_core::{EventKind, FailureClass, NewCompany, Plan};
use invoicing_server::{CompanyHandle, Invoicing, Settings, TargetPolicy};
use invoicing_tests::{Database, Place, Receiver, Reply, World, on_each_database};
use serde_json::json;

use super::support::{Listener, Names, PUBLIC, Proxy, open};
use crate::support::{dispatch_to_the_end, emit_for, hook_for};

/// `http`, so that a receiver without a certificate will do; public addresses only.
const HTTP_ONLY: TargetPolicy = TargetPolicy { allow_http: true, allow_private: false };
const LAX: TargetPolicy = TargetPolicy { allow_http: true, allow_private: true };

fn addresses(addresses: &[&str]) -> Vec<IpAddr> {
    addresses.iter().map(|address| address.parse().unwrap()).collect()
}

async fn company(invoicing: &Invoicing) -> CompanyHandle {
    let new = NewCompany::named("x", Plan::Pro);
    invoicing.company(invoicing.companies().create(&new).await.unwrap().id)
}

fn address_of(receiver: &Receiver) -> SocketAddr {
    receiver.url.trim_start_matches("http://").trim_end_matches("/hook").parse().unwrap()
}

/// Makes an event and delivers it. Returns the status of each attempt, or the reason of its failure.
async fn deliver(invoicing: &Invoicing, company: &CompanyHandle) -> Vec<Result<u16, FailureClass>> {
    emit_for(company, 1).await;
    invoicing.dispatcher().run_once().await.unwrap();
    let mut outcomes = Vec::new();
    for webhook in company.webhooks().list().await.unwrap() {
        let log = company.webhooks().log(webhook.id, 1).await.unwrap();
        outcomes.push(log[0].status.ok_or_else(|| log[0].failure.unwrap()));
    }
    outcomes
}

/// Rules: TARGET-2
#[on_each_database]
async fn a_name_that_turns_to_a_refused_address_is_never_connected_to(db: Database) {
    let (receiver, listener) = (Receiver::start().await, Listener::start().await);
    for turned in [vec!["127.0.0.1"], vec![PUBLIC, "127.0.0.1"], vec!["::ffff:127.0.0.1", PUBLIC]] {
        let proxy = Proxy::start(Some(address_of(&receiver))).await;
        let answers = vec![addresses(&[PUBLIC]), addresses(&turned)];
        let names = Names::new([("hooks.example.com".to_owned(), answers)]);
        let place = Place::new(db).await;
        let mut settings = Settings { target: HTTP_ONLY, ..Settings::default() };
        settings.dispatch.proxy = Some(proxy.setting());
        let invoicing = open(&place, settings, &names).await;
        let company = company(&invoicing).await;
        // The changed answer leads to the listener's address, so the URL has the listener's port.
        let url = format!("http://hooks.example.com:{}/", listener.port);
        hook_for(&company, &url, EventKind::ALL).await;
        assert_eq!(deliver(&invoicing, &company).await, [Ok(200)]);
        // The permitted connection is used again, without a lookup of its name. Then the receiver closes it.
        receiver.reply_next([Reply::Status(200, vec![("connection", "close".to_owned())])]);
        assert_eq!(deliver(&invoicing, &company).await, [Ok(200)]);
        assert_eq!((names.asked(), proxy.asked().len()), (1, 1));
        for _ in 0..2 {
            assert_eq!(deliver(&invoicing, &company).await, [Err(FailureClass::TargetRefused)], "{turned:?}");
        }
        assert_eq!((names.asked(), proxy.asked().len()), (3, 1));
    }
    assert_eq!((receiver.received().len(), listener.connections()), (6, 0));
}

/// Rules: TARGET-6
#[on_each_database]
async fn a_refused_target_does_not_show_what_lies_behind_it(db: Database) {
    let listener = Listener::start().await;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let names = ["open", "closed", "mixed"].map(|name| {
        let answer = if name == "mixed" { &[PUBLIC, "127.0.0.1"][..] } else { &["127.0.0.1"] };
        (format!("{name}.example.com"), vec![addresses(answer)])
    });
    let (place, names) = (Place::new(db).await, Names::new(names));
    let lax = open(&place, Settings { target: LAX, ..Settings::default() }, &names).await;
    let id = company(&lax).await.id();
    for (host, port) in [
        ("127.0.0.1", listener.port),
        ("127.0.0.1", closed),
        ("[::ffff:127.0.0.1]", listener.port),
        ("localhost", listener.port),
        ("open.example.com", listener.port),
        ("closed.example.com", closed),
        ("mixed.example.com", listener.port),
    ] {
        hook_for(&lax.company(id), &format!("http://{host}:{port}/"), EventKind::ALL).await;
    }
    lax.close().await;
    drop(lax);
    let strict = open(&place, Settings { target: HTTP_ONLY, ..Settings::default() }, &names).await;
    let outcomes = deliver(&strict, &strict.company(id)).await;
    assert_eq!(outcomes, [Err(FailureClass::TargetRefused); 7]);
    assert_eq!(listener.connections(), 0);
}

#[on_each_database]
async fn a_name_with_several_addresses_is_reached_by_one_that_answers(db: Database) {
    let receiver = Receiver::start().await;
    // The other addresses have no listener on this port.
    let answer = addresses(&["127.0.0.3", "::1", "127.0.0.2", "127.0.0.1"]);
    let names = Names::new([("hooks.example.com".to_owned(), vec![answer])]);
    let place = Place::new(db).await;
    let invoicing = open(&place, Settings { target: LAX, ..Settings::default() }, &names).await;
    let company = company(&invoicing).await;
    let url = format!("http://hooks.example.com:{}/", address_of(&receiver).port());
    hook_for(&company, &url, EventKind::ALL).await;
    assert_eq!(deliver(&invoicing, &company).await, [Ok(200)]);
    assert_eq!(names.asked(), 1);
}

#[on_each_database]
async fn a_proxy_hides_its_password_and_its_failures_are_retried(db: Database) {
    let read = |json| serde_json::from_value::<Settings>(json);
    let json = json!({"dispatch": {"proxy": "http://user:hunter2@127.0.0.1:1", "maxAttempts": 3}});
    let settings = read(json.clone()).unwrap();
    assert!(settings.dispatch.proxy.is_some() && !format!("{settings:?}").contains("hunter2"));
    assert_eq!(settings, read(json).unwrap());
    let refused = read(json!({"dispatch": {"proxy": "socks5://user:hunter2@127.0.0.1"}})).unwrap_err();
    assert!(!refused.to_string().contains("hunter2"), "{refused}");
    assert_eq!(Settings::default().dispatch.proxy, None);

    let world = World::on(db)
        .settings(|own| {
            own.target = TargetPolicy::default();
            own.dispatch = settings.dispatch.clone();
        })
        .open()
        .await;
    // A literal: the test must not depend on the machine's names.
    let id = hook_for(&world.company, &format!("https://{PUBLIC}/"), EventKind::ALL).await.webhook.id;
    emit_for(&world.company, 1).await;
    let report = dispatch_to_the_end(&world).await;
    assert_eq!((report.attempts, report.retried, report.failed), (3, 2, 1));
    let log = world.company.webhooks().log(id, 10).await.unwrap();
    assert!(log.iter().all(|attempt| attempt.failure == Some(FailureClass::Proxy)), "{log:?}");
    assert_eq!(FailureClass::Proxy.as_str(), "proxy");
}
