//! Steps on webhooks, and the dispatcher.

use std::time::Duration;

use invoicing_core::{EventKind, Timestamp};
use invoicing_server::{NewWebhook, Webhook, WebhookChange};
use invoicing_tests::{Received, Reply};

use super::records::id;
use super::{Answered, Run, Verdict, agree, answered, millis, same, text};
use crate::model::reference::Refused;
use crate::model::reference::webhooks::{Hook, KINDS, Place};
use crate::model::steps::{Nth, Scripted, Step, Who};

/// The place of the target without a listener.
const DEAD: usize = 3;
/// Deliveries of a webhook that may have begun and not ended.
const UNDER_WAY: usize = 8;
/// More than one run of the dispatcher can attempt.
const MANY: usize = 1_000;

/// The place of a target; `None` for a refused URL.
fn target(url: u8) -> Option<usize> {
    match url {
        0..=5 => Some(usize::from(url) % 3),
        6 => Some(DEAD),
        _ => None,
    }
}

fn kinds(bits: u8) -> Vec<&'static str> {
    KINDS.iter().enumerate().filter(|(n, _)| bits & (1 << n) != 0).map(|(_, kind)| *kind).collect()
}

fn event_kinds(bits: u8) -> Vec<EventKind> {
    // The kinds come backwards and one of them twice: neither changes the result.
    let kinds = kinds(bits);
    kinds.iter().rev().chain(kinds.first()).map(|kind| id(kind)).collect()
}

impl Run {
    fn url(&self, url: u8) -> String {
        match target(url) {
            Some(DEAD) => "http://127.0.0.1:2/hook".to_owned(),
            Some(place) => self.receivers[place].url.clone(),
            None if url == 7 => "ftp://127.0.0.1/hook".to_owned(),
            None => "http://user:password@127.0.0.1:9/hook".to_owned(),
        }
    }

    fn pick_hook(&self, who: Who, nth: Nth) -> (Option<usize>, String) {
        self.pick(who, nth, |company| &company.hooks, |hook| &hook.id)
    }

    /// Runs the step if it is one of these. True if it was.
    pub(super) async fn hook_step(&mut self, step: &Step) -> Verdict<bool> {
        match step {
            Step::Register(company, url, bits) => self.register(*company, *url, *bits).await?,
            Step::ChangeHook(who, nth, url, bits) => self.change_hook(*who, *nth, *url, *bits).await?,
            Step::Disable(who, nth)
            | Step::Enable(who, nth)
            | Step::Rotate(who, nth, _)
            | Step::EndOverlap(who, nth)
            | Step::Remove(who, nth) => self.switch(step, *who, *nth).await?,
            Step::Ping(who, nth) => self.ping(*who, *nth).await?,
            Step::Replay(who, nth, event) => self.replay(*who, *nth, *event).await?,
            Step::EnableAndReplay(who, nth, ago) => self.enable_and_replay(*who, *nth, *ago).await?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    async fn register(&mut self, company: usize, url: u8, bits: u8) -> Verdict {
        let new = NewWebhook { url: self.url(url), events: event_kinds(bits) };
        let registered = self.sides[company].handle.webhooks().register(&new).await;
        let made = registered
            .as_ref()
            .ok()
            .map(|made| (made.webhook.id.to_string(), made.secret.reveal().to_owned()));
        let answer = answered(registered.map(drop))?;
        let model = &mut self.sides[company].model;
        agree(self.db, &answer, &model.register(target(url), &kinds(bits)))?;
        if let (Some((id, secret)), Some(target)) = (made, target(url)) {
            let kinds = kinds(bits);
            let hook = Hook {
                id,
                secret,
                previous: None,
                target,
                kinds,
                failures: 0,
                failing_since: None,
                pings: Vec::new(),
                disabled: None,
                disabled_at: None,
                is_removed: false,
                log: Vec::new(),
            };
            model.hooks.push(hook);
        }
        self.check_hooks(company).await
    }

    async fn change_hook(&mut self, who: Who, nth: Nth, url: Option<u8>, bits: Option<u8>) -> Verdict {
        let (place, hook) = self.pick_hook(who, nth);
        let change = WebhookChange { url: url.map(|url| self.url(url)), events: bits.map(event_kinds) };
        let answer = answered(self.handle(who).webhooks().change(id(&hook), &change).await.map(drop))?;
        let model = &mut self.sides[who.through].model;
        agree(
            self.db,
            &answer,
            &model.change_hook(place, url.map(|url| target(url).ok_or(Refused::Invalid)), bits.map(kinds)),
        )?;
        self.check_hooks(who.through).await
    }

    async fn switch(&mut self, step: &Step, who: Who, nth: Nth) -> Verdict {
        let (place, hook) = self.pick_hook(who, nth);
        let handle = self.handle(who);
        let hooks = handle.webhooks();
        let mut secret = None;
        let result = match step {
            Step::Disable(..) => hooks.disable(id(&hook)).await.map(drop),
            Step::Enable(..) => hooks.enable(id(&hook)).await.map(drop),
            Step::Rotate(_, _, overlap) => {
                let overlap = Duration::from_millis(overlap.unwrap_or(0).into());
                hooks.rotate_with_overlap(id(&hook), overlap).await.map(|made| {
                    secret = Some(made.secret.reveal().to_owned());
                })
            }
            Step::EndOverlap(..) => hooks.end_overlap(id(&hook)).await.map(drop),
            _ => hooks.remove(id(&hook)).await,
        };
        let answer = answered(result)?;
        let now = self.now;
        let model = &mut self.sides[who.through].model;
        let expected = match step {
            Step::Disable(..) => model.disable(place, now),
            Step::Enable(..) => model.enable(place),
            Step::Rotate(_, _, overlap) => model.rotate(place, *overlap, now),
            Step::EndOverlap(..) => model.rotate(place, None, now),
            _ => model.remove(place, now),
        };
        agree(self.db, &answer, &expected)?;
        if let (Some(place), Some(secret)) = (place, secret) {
            let hook = &mut model.hooks[place];
            if hook.secret == secret {
                return Err("a rotated secret is the old one".to_owned());
            }
            hook.secret = secret;
        }
        self.check_hooks(who.through).await?;
        self.check_all_deliveries(who.through).await
    }

    async fn ping(&mut self, who: Who, nth: Nth) -> Verdict {
        let (place, hook) = self.pick_hook(who, nth);
        let answer: Answered = answered(self.handle(who).webhooks().ping(id(&hook)).await)?;
        let (mut at, mut message) = (self.now, serde_json::Value::Null);
        if let Some(event) = self.fresh_events(who.through).await?.first() {
            let body: serde_json::Value = serde_json::from_str(&event.body).map_err(text)?;
            message = body["data"]["message"].clone();
            let next = self.sides[who.through].model.next_stamp(self.now);
            at = millis(&body["timestamp"])?.clamp(self.now, next);
            same("that a ping has a message", &message.is_string(), &true)?;
        }
        let now = self.now;
        agree(self.db, &answer, &self.sides[who.through].model.ping(place, at, &message, now))?;
        self.may_have_stamped(who.through).await?;
        self.check_events(who.through).await
    }

    async fn replay(&mut self, who: Who, nth: Nth, event: Option<Nth>) -> Verdict {
        let (place, hook) = self.pick_hook(who, nth);
        let events = self.sides[who.through].model.events.len();
        let event = event.filter(|_| events > 0).map(|Nth(n)| events - 1 - usize::from(n) % events);
        let event_id =
            event.and_then(|event| self.sides[who.through].model.events[event].id.as_deref()).map(id);
        let answer = answered(self.handle(who).webhooks().replay(id(&hook), event_id).await)?;
        let now = self.now;
        let expected = self.sides[who.through].model.replay(place, event, now);
        agree(self.db, &answer, &expected.as_ref().map(drop).map_err(Clone::clone))?;
        if let (Ok(found), Ok(queued)) = (&answer, expected) {
            same("how many were queued again", &found.as_u64(), &Some(queued))?;
        }
        self.check_all_deliveries(who.through).await
    }

    async fn enable_and_replay(&mut self, who: Who, nth: Nth, ago: Option<u32>) -> Verdict {
        let (place, hook) = self.pick_hook(who, nth);
        let since = ago.map(|ago| self.now - i64::from(ago));
        let instant = since.map(Timestamp::from_millis);
        let answer = answered(self.handle(who).webhooks().enable_and_replay(id(&hook), instant).await)?;
        let now = self.now;
        let expected = self.sides[who.through].model.enable_and_replay(place, since, now);
        agree(self.db, &answer, &expected.as_ref().map(drop).map_err(Clone::clone))?;
        if let (Ok(found), Ok(queued)) = (&answer, expected) {
            same("how many were queued again", &found.as_u64(), &Some(queued))?;
        }
        self.check_hooks(who.through).await?;
        self.check_all_deliveries(who.through).await
    }

    /// Compares registrations and the lengths of their logs.
    pub(super) async fn check_hooks(&self, company: usize) -> Verdict {
        let side = &self.sides[company];
        let hooks = side.handle.webhooks();
        let mut listed = 0;
        for hook in &side.model.hooks {
            let found = hooks.get(id(&hook.id)).await;
            if hook.is_removed {
                same("a removed webhook", &answered(found.map(drop))?, &Err(Refused::NotFound))?;
                continue;
            }
            listed += 1;
            let found: Webhook = found.map_err(text)?;
            let disabled = found.disabled.map(|(_, reason)| reason.as_str());
            let events: Vec<&str> = found.events.iter().map(|kind| kind.as_str()).collect();
            let seen = (events, found.consecutive_failures, disabled);
            same("a webhook", &seen, &(hook.kinds.clone(), hook.failures, hook.disabled))?;
            let log = hooks.log(id(&hook.id), 10_000).await.map_err(text)?;
            same("attempts in the log", &log.len(), &hook.log.len())?;
        }
        same("how many webhooks there are", &hooks.list().await.map_err(text)?.len(), &listed)
    }

    /// Runs the dispatcher once. Exactly the due deliveries must come, each once, with the recorded bytes.
    pub(super) async fn dispatch(&mut self, replies: &[Vec<Scripted>]) -> Verdict {
        // Simultaneous attempts have no order: then each receiver keeps to one reply.
        let replies: Vec<&[Scripted]> =
            replies.iter().map(|list| if self.serial { &list[..] } else { &list[..1] }).collect();
        for (receiver, replies) in self.receivers.iter().zip(&replies) {
            receiver.take();
            receiver.reply_next(
                replies.iter().cycle().take(MANY).map(|scripted| reply(*scripted, &receiver.url)),
            );
        }
        let mut due: Vec<(usize, Place)> = Vec::new();
        for (company, side) in self.sides.iter().enumerate() {
            due.extend(side.model.due(self.now).into_iter().map(|place| (company, place)));
        }
        let waiting = due.clone();
        let report = self.world.dispatch().await;
        let mut attempts = 0;
        for place in 0..self.receivers.len() {
            let arrived = self.receivers[place].take();
            self.receivers[place].reply_always(Reply::status(200));
            attempts += arrived.len() as u64;
            for (n, received) in arrived.iter().enumerate() {
                let (company, delivery) = self.arrived(place, received, &mut due)?;
                let scripted = replies[place][n % replies[place].len()];
                self.sides[company].model.attempted(delivery, Some(scripted), self.now);
            }
        }
        attempts += self.unanswered(&mut due).await?;
        same("attempts in the report", &report.attempts, &attempts)?;
        for (company, (event, delivery)) in due {
            let model = &self.sides[company].model;
            let delivery = &model.events[event].deliveries[delivery];
            // A retry is never held back, and a first attempt only behind the most deliveries that may be under way.
            let is_held_back = delivery.attempts == 0 && model.under_way(delivery.hook) >= UNDER_WAY;
            if delivery.status != "pending" || !is_held_back {
                same("the status of what was due and not attempted", &delivery.status, &"skipped")?;
            }
        }
        for side in &self.sides {
            for hook in 0..side.model.hooks.len() {
                same("more under way than may be", &(side.model.under_way(hook) > UNDER_WAY), &false)?;
            }
        }
        self.check_dispatched(&waiting).await
    }

    /// Finds the delivery that arrived, and removes it from the due ones.
    fn arrived(
        &self,
        place: usize,
        received: &Received,
        due: &mut Vec<(usize, Place)>,
    ) -> Verdict<(usize, Place)> {
        let header =
            |name: &str| received.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let name = header("x-service-webhook-id");
        let is_it = |(company, (event, delivery)): &(usize, Place)| {
            let model = &self.sides[*company].model;
            let event = &model.events[*event];
            let hook = &model.hooks[event.deliveries[*delivery].hook];
            hook.id == name && hook.target == place && event.body.as_bytes() == &received.body[..]
        };
        let Some(n) = due.iter().position(is_it) else {
            return Err(format!("receiver {place} got what was not due for {name}: {}", received.json));
        };
        let (company, (event, delivery)) = due.swap_remove(n);
        let model = &self.sides[company].model;
        let hook = &model.hooks[model.events[event].deliveries[delivery].hook];
        let seconds = self.now.div_euclid(1_000);
        let sign = |secret: &str| {
            let signature = webhook_verify::sign(secret, seconds, &received.body).map_err(text)?;
            Ok::<_, String>(signature.v1().to_owned())
        };
        let mut signatures = vec![sign(&hook.secret)?];
        if let Some((previous, until)) = &hook.previous
            && self.now < *until
        {
            signatures.push(sign(previous)?);
        }
        let expected = format!("t={seconds},v1={}", signatures.join(",v1="));
        same("a signature", &header("x-service-signature"), &&*expected)?;
        same("content-type", &header("content-type"), &"application/json")?;
        same("user-agent", &header("user-agent"), &"Service-Webhook/1.0")?;
        Ok((company, (event, delivery)))
    }

    /// Attempts on the target without a listener show only in the records. Returns their number.
    async fn unanswered(&mut self, due: &mut Vec<(usize, Place)>) -> Verdict<u64> {
        let mut attempts = 0;
        for (company, (event, place)) in std::mem::take(due) {
            let side = &mut self.sides[company];
            let recorded = &side.model.events[event];
            let delivery = &recorded.deliveries[place];
            let hook = &side.model.hooks[delivery.hook];
            let found = side.handle.events().deliveries(id(recorded.id.as_deref().unwrap_or_default())).await;
            let found = found.map_err(text)?.into_iter().find(|found| found.webhook.to_string() == hook.id);
            let made = found.is_some_and(|found| found.attempts == delivery.attempts_in_all + 1);
            if hook.target == DEAD && made {
                side.model.attempted((event, place), None, self.now);
                attempts += 1;
            } else {
                due.push((company, (event, place)));
            }
        }
        Ok(attempts)
    }

    async fn check_dispatched(&mut self, waiting: &[(usize, Place)]) -> Verdict {
        for (company, (event, _)) in waiting {
            self.check_deliveries(*company, *event).await?;
        }
        for company in 0..self.sides.len() {
            let model = &self.sides[company].model;
            if model.hooks.iter().any(|hook| hook.disabled == Some("consecutive_failures")) {
                self.check_all_deliveries(company).await?;
            }
            self.check_hooks(company).await?;
        }
        Ok(())
    }
}

fn reply(scripted: Scripted, url: &str) -> Reply {
    let Scripted { status, retry_after } = scripted;
    let mut headers: Vec<(&'static str, String)> = Vec::new();
    headers.extend(retry_after.map(|seconds| ("retry-after", seconds.to_string())));
    if status == 301 {
        headers.push(("location", url.to_owned()));
    }
    Reply::Status(status, headers)
}
