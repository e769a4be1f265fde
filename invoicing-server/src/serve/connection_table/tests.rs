use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::FutureExt;

use super::*;

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn connect(table: &Arc<ConnectionTable>) -> Arc<ConnectionGuard> {
    table.insert(ADDRESS)
}

fn must_close(connection: &ConnectionGuard) -> bool {
    connection.must_close().now_or_never().is_some()
}

/// Serves a request from its head to its end.
fn serve(connection: &Arc<ConnectionGuard>) {
    let (request, body) = connection.begin_request().expect("the connection is open");
    drop(body);
    drop(request);
}

#[test]
fn the_connection_that_has_waited_longest_is_closed() {
    let table = Arc::new(ConnectionTable::default());
    let connections = [connect(&table), connect(&table), connect(&table)];
    assert!(table.make_room(4), "there is room");
    assert!(!table.make_room(3));
    assert_eq!(connections.each_ref().map(|connection| must_close(connection)), [true, false, false]);
    assert!(!table.make_room(3), "it has not ended yet");
    assert_eq!(connections.each_ref().map(|connection| must_close(connection)), [false; 3], "one is enough");
    let [first, ..] = connections;
    drop(first);
    assert!(table.make_room(3));
}

#[test]
fn idle_connections_close_first_and_those_with_a_partial_body_last() {
    let table = Arc::new(ConnectionTable::default());
    let [sending, answered, new] = [connect(&table), connect(&table), connect(&table)];
    let begun = sending.begin_request();
    serve(&answered);
    for (connection, name) in [(&new, "new"), (&answered, "answered"), (&sending, "sending")] {
        let left = table.inner.lock().connections.len();
        table.make_room(left);
        assert!(must_close(connection), "{name}");
    }
    drop(begun);
}

#[test]
fn a_connection_with_a_request_in_progress_is_not_closed() {
    let table = Arc::new(ConnectionTable::default());
    let connection = connect(&table);
    let (request, body) = connection.begin_request().expect("the connection is open");
    drop(body);
    assert!(!table.make_room(1));
    assert!(!must_close(&connection));
    assert!(table.changed().now_or_never().is_none());
    drop(request);
    assert!(table.changed().now_or_never().is_some(), "it is idle now");
    assert!(!table.make_room(1));
    assert!(must_close(&connection));
}

#[test]
fn one_stream_in_progress_keeps_the_connection_open() {
    let table = Arc::new(ConnectionTable::default());
    let connection = connect(&table);
    let slow = connection.begin_request().expect("the connection is open");
    let (request, body) = connection.begin_request().expect("the connection is open");
    drop(body);
    table.make_room(1);
    assert!(!must_close(&connection));
    drop(request);
    table.make_room(1);
    assert!(must_close(&connection));
    drop(slow);
}

#[test]
fn a_closing_connection_begins_no_request() {
    let table = Arc::new(ConnectionTable::default());
    let connection = connect(&table);
    table.make_room(1);
    assert!(connection.begin_request().is_none());
    drop(connection);
    assert_eq!(table.len(), 0);
    assert!(table.make_room(1));
}

#[tokio::test(start_paused = true)]
async fn a_response_past_its_deadline_closes_the_connection() {
    let table = Arc::new(ConnectionTable::default());
    let (slow, quick) = (connect(&table), connect(&table));
    let deadline = Instant::now() + Duration::from_secs(30);
    let (unsent, sent) = (slow.begin_response(deadline), quick.begin_response(deadline));
    drop(sent);
    table.close_overdue(deadline - Duration::from_millis(1));
    assert!(!must_close(&slow));
    table.close_overdue(deadline);
    assert!(must_close(&slow) && !must_close(&quick));
    drop(unsent);
}

#[test]
fn connections_are_limited_per_address() {
    let table = Arc::new(ConnectionTable::default());
    let from = |address: &str| {
        let address = address.parse().expect("an address");
        table.has_room_for(address, Some(2)).then(|| table.insert(address))
    };
    let (first, second) = (from("192.0.2.1"), from("::ffff:192.0.2.1"));
    assert!(first.is_some() && second.is_some());
    assert!(from("192.0.2.1").is_none());
    assert!(from("192.0.2.2").is_some());
    drop(first);
    assert!(from("192.0.2.1").is_some());
    let customer = [from("2001:db8::1"), from("2001:db8::2")];
    assert!(from("2001:db8::ffff:0:0:1").is_none(), "the same 64 bits");
    assert!(from("2001:db8:0:1::1").is_some());
    drop((second, customer));
    assert_eq!(table.len(), 0);
    assert!(table.inner.lock().open.is_empty());
}
