use uuid::Uuid;

use super::*;

fn webhook(number: usize) -> WebhookId {
    WebhookId(Uuid::from_u128(number as u128))
}

fn places(in_flight: usize) -> Places {
    Places::new(&DispatchSettings { in_flight, ..DispatchSettings::default() })
}

/// Claims for webhooks of a pool in turn until none gets a place. Returns the number of places of
/// each.
fn fill(places: &mut Places, webhooks: std::ops::Range<usize>, pool: Pool) -> Vec<usize> {
    for number in webhooks.clone() {
        places.set_pool(webhook(number), pool);
    }
    let mut taken = true;
    while std::mem::take(&mut taken) {
        for number in webhooks.clone() {
            taken |= places.take_for_claim(webhook(number), 128).is_some_and(|count| count > 0);
        }
    }
    webhooks.map(|number| places.held_by(webhook(number))).collect()
}

#[test]
fn twenty_prompt_webhooks_are_not_limited_by_each_other() {
    assert_eq!(fill(&mut places(256), 0..20, Pool::Prompt), [PER_WEBHOOK; 20]);
}

/// Rules: ISOLATION-3
#[test]
fn slow_webhooks_hold_what_a_lease_serves_and_leave_the_rest() {
    for slow in [1, 180, 300, 1_000, 5_000] {
        let mut places = places(256);
        let held = fill(&mut places, 0..slow, Pool::Slow);
        // 128 concurrent attempts, each of which ends four deliveries within 20 s.
        assert!(held.iter().sum::<usize>() <= 512 && held.iter().all(|held| *held <= 16), "{slow}: {held:?}");
        assert_eq!(fill(&mut places, 9_999..10_000, Pool::Prompt), [PER_WEBHOOK], "{slow}");
    }
}

/// Rules: ISOLATION-3
#[test]
fn slow_webhooks_with_much_leave_places_to_those_that_hold_none() {
    let mut places = places(256);
    fill(&mut places, 0..50, Pool::Slow);
    for number in 1_000..1_080 {
        assert!(places.take_one(webhook(number)), "{number}");
    }
}

#[test]
fn new_deliveries_leave_places_for_claims() {
    let mut places = places(256);
    places.set_pool(webhook(1), Pool::Prompt);
    while places.take_one(webhook(1)) {}
    assert_eq!(places.held_by(webhook(1)), 192);
    assert_eq!(places.take_for_claim(webhook(1), 1_000), Some(64));
    assert_eq!(places.take_for_claim(webhook(1), 1_000), Some(0), "it holds enough");
    places.free(webhook(1), 1_000);
    assert_eq!(places.held.len(), 0);
    assert_eq!(fill(&mut places, 1..2, Pool::Prompt), [PER_WEBHOOK]);
}

/// However small the settings are.
#[test]
fn a_webhook_holds_places_for_an_attempt_at_least() {
    for in_flight in 1..20 {
        for pool in [Pool::Prompt, Pool::Slow] {
            assert!(fill(&mut places(in_flight), 0..1, pool)[0] > 0, "{in_flight}, {pool:?}");
        }
    }
}

/// Rules: ISOLATION-3
#[test]
fn the_places_of_a_webhook_follow_it_to_its_pool() {
    let slow = |places: &mut Places| fill(places, 100..400, Pool::Slow).iter().sum::<usize>();
    let mut places = places(256);
    fill(&mut places, 0..1, Pool::Prompt);
    places.set_pool(webhook(0), Pool::Slow);
    let beside = slow(&mut places);
    places.set_pool(webhook(0), Pool::Prompt);
    assert!(beside < slow(&mut places), "{beside}");
    assert_eq!(places.prompt_webhooks(), 1);
}
