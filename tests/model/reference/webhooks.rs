//! Webhooks, events and deliveries.

use serde_json::{Value, json};

use super::{Company, Millis, Outcome, Refused, Seen, instant};
use crate::model::steps::Scripted;

/// Every kind, in the order of the contract.
pub(crate) const KINDS: [&str; 8] = [
    "quote.created",
    "quote.signed",
    "quote.accepted",
    "invoice.created",
    "invoice.paid",
    "project.completed",
    "invoice.issued",
    "credit_note.issued",
];

/// A webhook.
#[derive(Debug, Clone)]
pub(crate) struct Hook {
    pub(crate) id: String,
    pub(crate) secret: String,
    /// The previous secret, while both sign, and the end of the overlap.
    pub(crate) previous: Option<(String, Millis)>,
    /// The place of the URL in the list of targets.
    pub(crate) target: usize,
    pub(crate) kinds: Vec<&'static str>,
    pub(crate) failures: u32,
    /// When the first delivery after the last success failed.
    pub(crate) failing_since: Option<Millis>,
    /// The places of the events of its pings, and the times of these.
    pub(crate) pings: Vec<(usize, Millis)>,
    pub(crate) disabled: Option<&'static str>,
    pub(crate) disabled_at: Option<Millis>,
    pub(crate) is_removed: bool,
    /// The times at which its attempts began, without attempts that a sweep has deleted.
    pub(crate) log: Vec<Millis>,
}

/// A recorded event.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    /// The service's id, once it has been read.
    pub(crate) id: Option<String>,
    pub(crate) kind: &'static str,
    pub(crate) at: Millis,
    pub(crate) json: Value,
    /// The bytes that every attempt must send, once they have been read.
    pub(crate) body: String,
    pub(crate) deliveries: Vec<Delivery>,
}

/// A delivery of an event.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    /// The place of the webhook.
    pub(crate) hook: usize,
    pub(crate) status: &'static str,
    pub(crate) reason: Option<&'static str>,
    /// Number of attempts since the delivery was queued last, and in all.
    pub(crate) attempts: u32,
    pub(crate) attempts_in_all: u32,
    /// No attempt begins before this instant.
    pub(crate) due: Millis,
    /// Bounds of `due` that have yet to be compared with the service.
    pub(crate) due_within: Option<(Millis, Millis)>,
    pub(crate) ended: Option<Millis>,
}

/// A delivery by the places of its event and within it.
pub(crate) type Place = (usize, usize);

impl Delivery {
    fn new(hook: usize, disabled_at: Option<Millis>, now: Millis) -> Self {
        let is_off = disabled_at.is_some();
        Self {
            hook,
            status: if is_off { "skipped" } else { "pending" },
            reason: is_off.then_some("webhook_disabled"),
            attempts: 0,
            attempts_in_all: 0,
            due: now,
            due_within: None,
            ended: disabled_at.map(|at| at.max(now)),
        }
    }

    fn end(&mut self, status: &'static str, reason: Option<&'static str>, now: Millis) {
        self.status = status;
        self.reason = reason;
        self.ended = Some(now);
    }
}

/// The meaning of an answer: done, again after a gap between two bounds in milliseconds, or given up.
enum Meaning {
    Done,
    Again(Millis, Millis),
    GivenUp,
}

/// `None` stands for no answer.
fn meaning(reply: Option<Scripted>, attempts: u32) -> Meaning {
    let asked = match reply {
        Some(Scripted { status: 200..=299, .. }) => return Meaning::Done,
        Some(Scripted { status: 429 | 503, retry_after }) => {
            retry_after.map_or(0, |s| i64::from(s.min(30)) * 1_000)
        }
        None | Some(Scripted { status: 500..=599, .. }) => 0,
        Some(_) => return Meaning::GivenUp,
    };
    match attempts {
        1 => Meaning::Again(asked.max(1_000), asked.max(1_100)),
        2 => Meaning::Again(asked.max(5_000), asked.max(5_500)),
        _ => Meaning::GivenUp,
    }
}

impl Company {
    pub(super) fn emit(&mut self, kind: &'static str, seen: &Seen<'_>, data: &Value) {
        let on = |hook: &Hook| !hook.is_removed && hook.kinds.contains(&kind);
        let subscribed = self.hooks.iter().enumerate().filter(|(_, hook)| on(hook));
        // Skipped deliveries end together, not before any of their webhooks was disabled.
        let last_disabled = subscribed.clone().filter_map(|(_, hook)| hook.disabled_at).max();
        let deliveries = subscribed
            .map(|(place, hook)| Delivery::new(place, hook.disabled_at.and(last_disabled), seen.now))
            .collect();
        self.record(kind, seen.at, data, deliveries);
    }

    fn record(&mut self, kind: &'static str, at: Millis, data: &Value, deliveries: Vec<Delivery>) {
        let json = json!({ "event": kind, "timestamp": instant(at), "data": data });
        self.events.push(Event { id: None, kind, at, json, body: String::new(), deliveries });
    }

    fn hook(&mut self, place: Option<usize>) -> Result<&mut Hook, Vec<Refused>> {
        let hook = place.map(|place| &mut self.hooks[place]).filter(|hook| !hook.is_removed);
        hook.ok_or_else(|| vec![Refused::NotFound])
    }

    pub(crate) fn register(&mut self, target: Option<usize>, kinds: &[&'static str]) -> Outcome {
        let mut reasons = Vec::new();
        if target.is_none() || kinds.is_empty() {
            reasons.push(Refused::Invalid);
        }
        if self.hooks.iter().filter(|hook| !hook.is_removed).count() >= 20 {
            reasons.push(Refused::Conflict);
        }
        super::unless(reasons)
    }

    pub(crate) fn change_hook(
        &mut self,
        place: Option<usize>,
        target: Option<Result<usize, Refused>>,
        kinds: Option<Vec<&'static str>>,
    ) -> Outcome {
        let mut reasons = self.hook(place).err().unwrap_or_default();
        reasons.extend(target.and_then(Result::err));
        if kinds.as_ref().is_some_and(Vec::is_empty) {
            reasons.push(Refused::Invalid);
        }
        super::unless(reasons)?;
        let hook = self.hook(place)?;
        hook.target = target.and_then(Result::ok).unwrap_or(hook.target);
        hook.kinds = kinds.unwrap_or_else(|| hook.kinds.clone());
        Ok(())
    }

    /// The present secret signs until the end of the overlap. An earlier one no longer signs, but still bars another
    /// overlap.
    pub(crate) fn rotate(&mut self, place: Option<usize>, overlap: Option<u32>, now: Millis) -> Outcome {
        let hook = self.hook(place)?;
        let overlap = overlap.filter(|overlap| *overlap > 0);
        if overlap.is_some() && hook.previous.as_ref().is_some_and(|(_, until)| *until > now) {
            return Err(vec![Refused::Conflict]);
        }
        hook.previous = overlap.map(|overlap| (hook.secret.clone(), now + Millis::from(overlap)));
        Ok(())
    }

    pub(crate) fn disable(&mut self, place: Option<usize>, now: Millis) -> Outcome {
        let hook = self.hook(place)?;
        if hook.disabled.is_none() {
            hook.disabled = Some("manual");
            hook.disabled_at = Some(now);
            self.skip_pending(place.expect("found above"), "webhook_disabled", now);
        }
        Ok(())
    }

    pub(crate) fn enable(&mut self, place: Option<usize>) -> Outcome {
        let hook = self.hook(place)?;
        hook.disabled = None;
        hook.disabled_at = None;
        hook.failures = 0;
        Ok(())
    }

    pub(crate) fn remove(&mut self, place: Option<usize>, now: Millis) -> Outcome {
        self.hook(place)?.is_removed = true;
        self.skip_pending(place.expect("found above"), "webhook_removed", now);
        Ok(())
    }

    fn skip_pending(&mut self, hook: usize, reason: &'static str, now: Millis) {
        // Pings are sent to a disabled webhook too.
        let concerns = |event: &&mut Event| event.kind != "ping" || reason == "webhook_removed";
        let deliveries = self.events.iter_mut().filter(concerns).flat_map(|event| &mut event.deliveries);
        deliveries
            .filter(|delivery| delivery.hook == hook && delivery.status == "pending")
            .for_each(|delivery| delivery.end("skipped", Some(reason), now));
    }

    fn enabled(&mut self, place: Option<usize>) -> Result<usize, Vec<Refused>> {
        match self.hook(place)?.disabled {
            Some(_) => Err(vec![Refused::Conflict]),
            None => Ok(place.expect("found above")),
        }
    }

    /// `at`: the time in the ping's body. While a ping is under way no other is recorded.
    pub(crate) fn ping(&mut self, place: Option<usize>, at: Millis, message: &Value, now: Millis) -> Outcome {
        let pings = self.hook(place)?.pings.clone();
        let place = place.expect("found above");
        if pings.last().is_some_and(|(event, _)| self.events[*event].deliveries[0].status == "pending") {
            return Ok(());
        }
        if pings.iter().filter(|(_, at)| at.abs_diff(now) < 60_000).count() >= 10 {
            return Err(vec![Refused::Conflict]);
        }
        self.hooks[place].pings.push((self.events.len(), now));
        let data = json!({ "id": self.hooks[place].id, "message": message });
        self.record("ping", at, &data, vec![Delivery::new(place, None, now)]);
        Ok(())
    }

    /// Returns the number of queued deliveries.
    pub(crate) fn replay(
        &mut self,
        place: Option<usize>,
        event: Option<usize>,
        now: Millis,
    ) -> Result<u64, Vec<Refused>> {
        let place = self.enabled(place)?;
        Ok(self.queue_again(place, event, Millis::MIN, now))
    }

    /// Queues deliveries that were skipped or failed since an instant, and returns their number.
    fn queue_again(&mut self, hook: usize, event: Option<usize>, since: Millis, now: Millis) -> u64 {
        let is_meant = |n: usize| event.is_none_or(|event| n == event);
        let events = self.events.iter_mut().enumerate().filter(|(n, _)| is_meant(*n));
        let mut queued = 0;
        for delivery in events.flat_map(|(_, event)| &mut event.deliveries) {
            let has_ended = ["failed", "skipped"].contains(&delivery.status);
            if delivery.hook == hook && has_ended && delivery.ended.is_some_and(|ended| ended >= since) {
                delivery.status = "pending";
                delivery.reason = None;
                delivery.ended = None;
                delivery.attempts = 0;
                delivery.due = now;
                queued += 1;
            }
        }
        queued
    }

    /// Returns the number of queued deliveries.
    pub(crate) fn enable_and_replay(
        &mut self,
        place: Option<usize>,
        since: Option<Millis>,
        now: Millis,
    ) -> Result<u64, Vec<Refused>> {
        let hook = self.hook(place)?;
        let missed_since = hook.disabled_at.map(|at| hook.failing_since.map_or(at, |since| since.min(at)));
        self.enable(place)?;
        let since = since.or(missed_since);
        Ok(since.map_or(0, |since| self.queue_again(place.expect("found above"), None, since, now)))
    }

    /// The deliveries that a run of the dispatcher must attempt, but for first attempts beyond the bound of a webhook.
    pub(crate) fn due(&self, now: Millis) -> Vec<Place> {
        let mut due = Vec::new();
        for (n, event) in self.events.iter().enumerate() {
            let is_due = |delivery: &Delivery| delivery.status == "pending" && delivery.due <= now;
            due.extend((0..event.deliveries.len()).filter(|d| is_due(&event.deliveries[*d])).map(|d| (n, d)));
        }
        due
    }

    /// True if no delivery waits.
    pub(crate) fn all_ended(&self) -> bool {
        self.events.iter().flat_map(|event| &event.deliveries).all(|delivery| delivery.status != "pending")
    }

    /// Deliveries of a webhook that have begun and not ended.
    pub(crate) fn under_way(&self, hook: usize) -> usize {
        let deliveries = self.events.iter().flat_map(|event| &event.deliveries);
        let is_begun = |delivery: &&Delivery| delivery.status == "pending" && delivery.attempts > 0;
        deliveries.filter(|delivery| delivery.hook == hook).filter(is_begun).count()
    }

    /// Applies the consequences of an attempt. Attempts come in the order in which they were made.
    pub(crate) fn attempted(&mut self, (event, place): Place, reply: Option<Scripted>, now: Millis) {
        let is_ping = self.events[event].kind == "ping";
        let delivery = &mut self.events[event].deliveries[place];
        let hook = delivery.hook;
        self.hooks[hook].log.push(now);
        delivery.attempts += 1;
        delivery.attempts_in_all += 1;
        let disabled_at = self.hooks[hook].disabled_at;
        let is_off = disabled_at.is_some();
        let not_before_that = disabled_at.filter(|_| !is_ping).map_or(now, |at| at.max(now));
        match meaning(reply, delivery.attempts) {
            Meaning::Again(..) if is_off && !is_ping => {
                delivery.end("skipped", Some("webhook_disabled"), not_before_that);
            }
            Meaning::Again(min, max) => delivery.due_within = Some((now + min, now + max)),
            Meaning::Done => {
                delivery.end("delivered", None, now);
                if !is_ping && !is_off {
                    self.hooks[hook].failures = 0;
                    self.hooks[hook].failing_since = None;
                }
            }
            Meaning::GivenUp => {
                let failing_since = self.hooks[hook].failing_since;
                delivery.end(
                    "failed",
                    None,
                    failing_since.map_or(not_before_that, |at| at.max(not_before_that)),
                );
                if !is_ping && !is_off {
                    self.failed(hook, now);
                }
            }
        }
    }

    fn failed(&mut self, place: usize, now: Millis) {
        let hook = &mut self.hooks[place];
        hook.failures += 1;
        hook.failing_since = hook.failing_since.or(Some(now));
        if hook.failures >= 10 {
            hook.disabled = Some("consecutive_failures");
            hook.disabled_at = Some(now);
            self.skip_pending(place, "webhook_disabled", now);
        }
    }
}
