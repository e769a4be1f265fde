use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::FutureExt;

use super::*;

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn join(crowd: &Arc<Crowd>) -> Arc<Member> {
    crowd.join(HOME, None).expect("no limit")
}

fn must_leave(member: &Member) -> bool {
    member.told_to_leave().now_or_never().is_some()
}

/// Serves a request from its head to its end.
fn serve(member: &Arc<Member>) {
    let (serving, arriving) = member.begin().expect("it may begin");
    drop(arriving);
    drop(serving);
}

#[test]
fn whoever_has_waited_longest_makes_room() {
    let crowd = Arc::new(Crowd::default());
    let members = [join(&crowd), join(&crowd), join(&crowd)];
    assert!(crowd.make_room(4), "there is room");
    assert!(!crowd.make_room(3));
    assert_eq!(members.each_ref().map(|member| must_leave(member)), [true, false, false]);
    assert!(!crowd.make_room(3), "it has not left yet");
    assert_eq!(members.each_ref().map(|member| must_leave(member)), [false; 3], "one is enough");
    let [first, ..] = members;
    drop(first);
    assert!(crowd.make_room(3));
}

#[test]
fn those_without_a_request_go_first_and_those_with_half_a_body_last() {
    let crowd = Arc::new(Crowd::default());
    let [sending, answered, new] = [join(&crowd), join(&crowd), join(&crowd)];
    let begun = sending.begin();
    serve(&answered);
    for (member, name) in [(&new, "new"), (&answered, "answered"), (&sending, "sending")] {
        let left = crowd.len() - crowd.state().leaving;
        crowd.make_room(left);
        assert!(must_leave(member), "{name}");
    }
    drop(begun);
}

#[test]
fn nobody_goes_who_is_worked_for() {
    let crowd = Arc::new(Crowd::default());
    let member = join(&crowd);
    let (serving, arriving) = member.begin().expect("it may begin");
    drop(arriving);
    assert!(!crowd.make_room(1));
    assert!(!must_leave(&member));
    assert!(crowd.changed().now_or_never().is_none());
    drop(serving);
    assert!(crowd.changed().now_or_never().is_some(), "somebody waits now");
    assert!(!crowd.make_room(1));
    assert!(must_leave(&member));
}

#[test]
fn one_stream_that_is_worked_for_keeps_the_connection() {
    let crowd = Arc::new(Crowd::default());
    let member = join(&crowd);
    let slow = member.begin().expect("it may begin");
    let (serving, arriving) = member.begin().expect("it may begin");
    drop(arriving);
    crowd.make_room(1);
    assert!(!must_leave(&member));
    drop(serving);
    crowd.make_room(1);
    assert!(must_leave(&member));
    drop(slow);
}

#[test]
fn whoever_must_leave_begins_nothing() {
    let crowd = Arc::new(Crowd::default());
    let member = join(&crowd);
    crowd.make_room(1);
    assert!(member.begin().is_none());
    drop(member);
    assert_eq!(crowd.len(), 0);
    assert!(crowd.make_room(1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_taken_ends_the_connection() {
    let crowd = Arc::new(Crowd::default());
    let (slow, quick) = (join(&crowd), join(&crowd));
    let until = Instant::now() + Duration::from_secs(30);
    let (unsent, sent) = (slow.answer(until), quick.answer(until));
    drop(sent);
    crowd.end_overdue(until - Duration::from_millis(1));
    assert!(!must_leave(&slow));
    crowd.end_overdue(until);
    assert!(must_leave(&slow) && !must_leave(&quick));
    drop(unsent);
}

#[test]
fn addresses_are_counted() {
    let crowd = Arc::new(Crowd::default());
    let from = |address: &str| crowd.join(address.parse().expect("an address"), Some(2));
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
    assert_eq!(crowd.len(), 0);
    assert!(crowd.state().addresses.is_empty());
}
