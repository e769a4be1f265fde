//! The target policy, checked again at connect time, and lookups.

use super::server::ScriptedServer;
use super::*;

#[tokio::test]
async fn a_private_literal_is_refused_at_connect_time_too() {
    let server = ScriptedServer::answering(server::OK).await;
    let port = server.address().port();
    let refusing = Transport::builder(HTTP_ONLY).build().unwrap();
    for host in
        ["127.0.0.1", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "2130706433", "0x7f.1", "169.254.169.254"]
    {
        let url = format!("http://{host}:{port}/");
        assert_eq!(post(&refusing, &url, AMPLE).await, failed(TargetRefused), "{url}");
        let url = format!("https://{host}:{port}/");
        let strict = Transport::builder(STRICT).build().unwrap();
        assert_eq!(post(&strict, &url, AMPLE).await, failed(TargetRefused), "{url}");
    }
    assert_eq!(server.connections(), 0);
    assert_eq!(post(&transport(), &server.url(), AMPLE).await, answered(200));
}

#[tokio::test]
async fn plain_http_is_refused_at_connect_time_too() {
    let server = ScriptedServer::answering(server::OK).await;
    let private = TargetPolicy { allow_http: false, allow_private: true };
    let transport = Transport::builder(private).build().unwrap();
    assert_eq!(post(&transport, &server.url(), AMPLE).await, failed(TargetRefused));
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_blocked_port_is_refused_at_connect_time_too() {
    // No connection is attempted, so it does not matter whether a server listens there.
    let uri = "http://127.0.0.1:25/".parse().unwrap();
    let target = Target { uri, headers: HeaderMap::new() };
    assert_eq!(transport().send(target.post(Bytes::new()), AMPLE, NOW).await, failed(TargetRefused));
}

/// Rules: TARGET-2
#[tokio::test]
async fn one_private_address_among_public_ones_refuses_the_name() {
    let server = ScriptedServer::answering(server::OK).await;
    let url = format!("http://hooks.example:{}/", server.address().port());
    for answer in [
        &["127.0.0.1"][..],
        &["93.184.216.34", "127.0.0.1"],
        &["127.0.0.1", "93.184.216.34"],
        &["2606:4700::1111", "93.184.216.34", "::1"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::7f00:1"],
    ] {
        let transport = Transport::builder(HTTP_ONLY).resolver(Fixed::new(&[answer])).build().unwrap();
        assert_eq!(post(&transport, &url, AMPLE).await, failed(TargetRefused), "{answer:?}");
    }
    assert_eq!(server.connections(), 0);
}

/// Rules: TARGET-2
#[tokio::test]
async fn every_lookup_is_checked_and_each_connection_is_made_from_one_lookup() {
    let server = ScriptedServer::new(vec![Step::send(server::OK.as_bytes()), Step::Close]).await;
    let url = format!("http://hooks.example:{}/", server.address().port());
    let resolver = Fixed::new(&[&["127.0.0.1"], &["93.184.216.34", "10.0.0.1"]]);
    let lookups = Arc::clone(&resolver.lookups);
    // The open policy permits the first answer; the strict one refuses the second.
    let open = Transport::builder(OPEN).resolver(resolver.clone()).build().unwrap();
    assert_eq!(post(&open, &url, AMPLE).await, answered(200));
    assert_eq!(lookups.load(Ordering::SeqCst), 1);
    let strict = Transport::builder(HTTP_ONLY).resolver(resolver).build().unwrap();
    assert_eq!(post(&strict, &url, AMPLE).await, failed(TargetRefused));
    assert_eq!(lookups.load(Ordering::SeqCst), 2);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn the_port_is_the_url_s_and_the_next_address_follows_an_unreachable_one() {
    let server = ScriptedServer::answering(server::OK).await;
    let url = format!("http://hooks.example:{}/", server.address().port());
    // Nothing listens on 127.0.0.2 with this port.
    let resolver = Fixed::new(&[&["127.0.0.2", "127.0.0.1"]]);
    let transport = Transport::builder(OPEN).resolver(resolver).build().unwrap();
    assert_eq!(post(&transport, &url, AMPLE).await, answered(200));
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_a_dns_failure() {
    let fails = || -> ResolveFuture { Box::pin(async { Err(std::io::Error::other("no such host")) }) };
    // A timeout of the resolver itself counts as a name that was not found.
    let slow = || -> ResolveFuture { Box::pin(async { Err(std::io::ErrorKind::TimedOut.into()) }) };
    for url in ["http://hooks.example/", "https://hooks.example/"] {
        let failing = Transport::builder(OPEN).resolver(Lookup(fails)).build().unwrap();
        assert_eq!(post(&failing, url, AMPLE).await, failed(Dns));
        let slow = Transport::builder(OPEN).resolver(Lookup(slow)).build().unwrap();
        assert_eq!(post(&slow, url, AMPLE).await, failed(Dns));
        let empty = Transport::builder(OPEN).resolver(Fixed::new(&[&[]])).build().unwrap();
        assert_eq!(post(&empty, url, AMPLE).await, failed(Dns));
    }
}

#[tokio::test]
async fn the_system_resolver_finds_localhost_and_the_policy_refuses_it() {
    let found = SystemResolver::default().resolve("localhost").await.unwrap();
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    let server = ScriptedServer::answering(server::OK).await;
    let url = format!("http://localhost:{}/", server.address().port());
    let refusing = Transport::builder(HTTP_ONLY).build().unwrap();
    assert_eq!(post(&refusing, &url, AMPLE).await, failed(TargetRefused));
    assert_eq!(server.connections(), 0);
    assert_eq!(post(&transport(), &url, AMPLE).await, answered(200));
}

#[tokio::test]
async fn a_name_with_an_invalid_label_is_a_dns_failure() {
    // A label longer than 63 bytes is refused without a query.
    let url = format!("http://{}.example/", "a".repeat(64));
    assert_eq!(post(&transport(), &url, AMPLE).await, failed(Dns));
}
