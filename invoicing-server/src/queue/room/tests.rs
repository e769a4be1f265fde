use proptest::prelude::*;
use uuid::Uuid;

use super::*;

fn webhook(number: usize) -> WebhookId {
    WebhookId(Uuid::from_u128(number as u128))
}

fn room(in_flight: usize) -> Room {
    Room::new(&DispatchSettings { in_flight, ..DispatchSettings::default() })
}

/// Claims for webhooks in turn until none gets any more; how many places each holds.
fn fill(room: &mut Room, webhooks: std::ops::Range<usize>, kind: LaneRoom) -> Vec<usize> {
    for number in webhooks.clone() {
        room.set(webhook(number), kind);
    }
    let mut taken = true;
    while std::mem::take(&mut taken) {
        for number in webhooks.clone() {
            taken |= room.take_for_claim(webhook(number), LANE_ROOM / 2).is_some_and(|count| count > 0);
        }
    }
    webhooks.map(|number| room.held_by(webhook(number))).collect()
}

#[test]
fn a_few_prompt_webhooks_are_not_limited_by_each_other() {
    assert_eq!(fill(&mut room(256), 0..14, LaneRoom::Prompt(LANE_ROOM)), [LANE_ROOM; 14]);
}

/// Rules: ISOLATION-3
#[test]
fn slow_webhooks_hold_what_a_lease_serves_and_leave_the_rest() {
    for slow in [1, 180, 300, 1_000, 5_000] {
        let mut room = room(256);
        let held = fill(&mut room, 0..slow, LaneRoom::Slow(12));
        // 128 slots, of which each serves 5 attempts of 5 s in half of a lease.
        assert!(held.iter().sum::<usize>() <= 640 && held.iter().all(|held| *held <= 12), "{slow}: {held:?}");
        assert!(room.take_for_claim(webhook(9_999), 1).is_some_and(|taken| taken == 1), "{slow}");
        room.set(webhook(9_999), LaneRoom::Prompt(LANE_ROOM));
        assert_eq!(fill(&mut room, 9_999..10_000, LaneRoom::Prompt(LANE_ROOM)), [LANE_ROOM], "{slow}");
    }
}

/// Rules: ISOLATION-3
#[test]
fn of_untried_webhooks_one_delivery_each_is_claimed_and_no_more_than_a_lease_serves() {
    let mut room = room(256);
    // 32 slots, of which each serves 10 attempts of 5 s.
    assert_eq!(fill(&mut room, 0..320, LaneRoom::Untried), [1; 320]);
    assert_eq!(fill(&mut room, 320..400, LaneRoom::Untried), [0; 80]);
    assert!(!room.take_one(webhook(399)), "a new delivery waits in the table as well");
    assert_eq!(fill(&mut room, 1_000..1_001, LaneRoom::Prompt(LANE_ROOM)), [LANE_ROOM]);
}

/// What waits beside those in flight, where slow and untried webhooks leave 32 slots to prompt ones with a backlog.
///
/// Rules: ISOLATION-3
#[test]
fn prompt_webhooks_hold_no_more_than_a_lease_serves_beside_slow_and_untried_ones() {
    for (webhooks, most) in [(20, LANE_ROOM), (400, 12), (1_000, 12), (20_000, 8)] {
        let mut room = room(256);
        fill(&mut room, 0..webhooks, LaneRoom::Prompt(most));
        let millis = (room.held_in_all - 256) * usize::try_from(SLOW_MS).unwrap() / 32;
        assert!(millis <= 50_000, "{webhooks}: {millis} ms");
    }
}

#[test]
fn new_deliveries_leave_places_for_claims() {
    let mut room = room(256);
    room.set(webhook(1), LaneRoom::Prompt(LANE_ROOM));
    while room.take_one(webhook(1)) {}
    assert_eq!(room.held_by(webhook(1)), 192);
    assert_eq!(room.take_for_claim(webhook(1), 1_000), Some(64));
    assert_eq!(room.take_for_claim(webhook(1), 1_000), Some(0), "it holds enough");
    room.free(webhook(1), 1_000);
    assert_eq!((room.held_in_all, room.held.len()), (0, 0));
}

#[test]
fn the_places_of_slow_webhooks_are_counted_while_they_change() {
    let mut room = room(256);
    fill(&mut room, 0..2, LaneRoom::Prompt(100));
    room.set(webhook(0), LaneRoom::Slow(12));
    assert_eq!(room.held_by_slow, 100);
    room.free(webhook(0), 60);
    assert_eq!(room.held_by_slow, 40);
    room.set(webhook(0), LaneRoom::Untried);
    assert_eq!((room.held_by_slow, room.held_by_untried), (0, 40));
    assert_eq!((room.held_in_all, room.rooms.len()), (140, 1));
    assert_eq!([(); 2].map(|()| room.set(webhook(0), LaneRoom::Slow(2))), [Some(2), None], "once");
}

/// Rules: ISOLATION-3
#[test]
fn slow_and_untried_webhooks_leave_the_last_eighth_to_prompt_ones() {
    // Attempts that are short beside a lease, so that untried ones may hold many.
    let settings = DispatchSettings { attempt_timeout_ms: 1, ..DispatchSettings::default() };
    for kind in [LaneRoom::Untried, LaneRoom::Slow(2)] {
        let mut room = Room::new(&settings);
        for number in 0..20_000 {
            room.set(webhook(number), kind);
            room.take_one(webhook(number));
        }
        assert_eq!(room.held_in_all, room.all - room.all / 8, "{kind:?}");
        room.set(webhook(99_999), LaneRoom::Prompt(10));
        assert!(room.take_one(webhook(99_999)));
    }
}

proptest! {
    /// Rules: ISOLATION-3
    #[test]
    fn the_last_quarter_is_left_to_webhooks_that_hold_none(
        in_flight in 1..40_usize,
        groups in proptest::collection::vec((0..60_usize, 0..3_usize, 1..300_usize), 1..6),
    ) {
        let mut room = room(in_flight);
        let mut webhooks = 0;
        for (group, kind, most) in groups {
            let kind = [LaneRoom::Untried, LaneRoom::Prompt(most), LaneRoom::Slow(most)][kind];
            fill(&mut room, webhooks..webhooks + group, kind);
            webhooks += group;
            let left = room.all - room.held_in_all;
            prop_assert!(left >= (room.all / 4).saturating_sub(webhooks), "{left} left");
            prop_assert!(room.held_by_slow <= room.slow);
        }
    }
}
