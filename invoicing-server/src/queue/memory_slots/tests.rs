use uuid::Uuid;

use super::*;

fn webhook(number: usize) -> WebhookId {
    WebhookId(Uuid::from_u128(number as u128))
}

fn memory_slots(in_flight: usize) -> MemorySlots {
    MemorySlots::new(&DispatchSettings { in_flight, ..DispatchSettings::default() })
}

/// Claims for webhooks of a pool one after the other until none gets a memory slot. Returns the
/// number of memory slots of each.
fn fill(memory_slots: &mut MemorySlots, webhooks: std::ops::Range<usize>, pool: Pool) -> Vec<usize> {
    for number in webhooks.clone() {
        memory_slots.set_pool(webhook(number), pool);
    }
    let mut taken = true;
    while std::mem::take(&mut taken) {
        for number in webhooks.clone() {
            taken |= memory_slots.take_for_claim(webhook(number), 128).is_some_and(|count| count > 0);
        }
    }
    webhooks.map(|number| memory_slots.held_by(webhook(number))).collect()
}

#[test]
fn twenty_prompt_webhooks_are_not_limited_by_each_other() {
    assert_eq!(fill(&mut memory_slots(256), 0..20, Pool::Prompt), [PER_WEBHOOK; 20]);
}

/// Rules: ISOLATION-3
#[test]
fn slow_webhooks_hold_what_a_lease_serves_and_leave_the_rest() {
    for slow in [1, 180, 300, 1_000, 5_000] {
        let mut memory_slots = memory_slots(256);
        let held = fill(&mut memory_slots, 0..slow, Pool::Slow);
        // 128 concurrent attempts, each of which ends four deliveries within 20 s.
        assert!(held.iter().sum::<usize>() <= 512 && held.iter().all(|held| *held <= 16), "{slow}: {held:?}");
        assert_eq!(fill(&mut memory_slots, 9_999..10_000, Pool::Prompt), [PER_WEBHOOK], "{slow}");
    }
}

/// Rules: ISOLATION-3
#[test]
fn slow_webhooks_with_much_leave_memory_slots_to_those_that_hold_none() {
    let mut memory_slots = memory_slots(256);
    fill(&mut memory_slots, 0..50, Pool::Slow);
    for number in 1_000..1_080 {
        assert!(memory_slots.take_one(webhook(number)), "{number}");
    }
}

#[test]
fn new_deliveries_leave_memory_slots_for_claims() {
    let mut memory_slots = memory_slots(256);
    memory_slots.set_pool(webhook(1), Pool::Prompt);
    while memory_slots.take_one(webhook(1)) {}
    assert_eq!(memory_slots.held_by(webhook(1)), 192);
    assert_eq!(memory_slots.take_for_claim(webhook(1), 1_000), Some(64));
    assert_eq!(memory_slots.take_for_claim(webhook(1), 1_000), Some(0), "it holds enough");
    memory_slots.free(webhook(1), 1_000);
    assert_eq!(memory_slots.held.len(), 0);
    assert_eq!(fill(&mut memory_slots, 1..2, Pool::Prompt), [PER_WEBHOOK]);
}

/// However small the settings are.
#[test]
fn a_webhook_holds_memory_slots_for_an_attempt_at_least() {
    for in_flight in 1..20 {
        for pool in [Pool::Prompt, Pool::Slow] {
            assert!(fill(&mut memory_slots(in_flight), 0..1, pool)[0] > 0, "{in_flight}, {pool:?}");
        }
    }
}

/// Rules: ISOLATION-3
#[test]
fn the_memory_slots_of_a_webhook_follow_it_to_its_pool() {
    let slow =
        |memory_slots: &mut MemorySlots| fill(memory_slots, 100..400, Pool::Slow).iter().sum::<usize>();
    let mut memory_slots = memory_slots(256);
    fill(&mut memory_slots, 0..1, Pool::Prompt);
    memory_slots.set_pool(webhook(0), Pool::Slow);
    let beside = slow(&mut memory_slots);
    memory_slots.set_pool(webhook(0), Pool::Prompt);
    assert!(beside < slow(&mut memory_slots), "{beside}");
    assert_eq!(memory_slots.prompt_webhooks(), 1);
}
