//! Comparisons beyond the answer: events, deliveries, payments, documents; the sweep; the end of a case.

use std::collections::BTreeMap;
use std::fmt::Write;

use invoicing_core::EventId;
use invoicing_server::EventRecord;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::records::id;
use super::{Run, Verdict, last_stamp, same, same_json, tally, text};
use crate::model::reference::{Millis, instant};
use crate::model::steps::{Scripted, Step};

/// Longer than any gap between attempts.
const LONG_GAP_MS: i64 = 40_000;
const MONTH_MS: i64 = 30 * 86_400_000;
/// More than the rounds in which all deliveries end, 8 of a webhook at a time.
const MAX_ROUNDS: usize = 100;

impl Run {
    /// Events behind the last compared one.
    pub(super) async fn fresh_events(&self, company: usize) -> Verdict<Vec<EventRecord>> {
        let side = &self.sides[company];
        let last: Option<EventId> =
            side.model.events.iter().rev().find_map(|event| event.id.as_deref()).map(id);
        side.handle.events().list(last, 10_000).await.map_err(text)
    }

    /// The new invoices, by their quote.
    pub(super) async fn new_invoices(&self, company: usize) -> Verdict<BTreeMap<String, String>> {
        let mut invoices = BTreeMap::new();
        for event in
            self.fresh_events(company).await?.into_iter().filter(|event| event.kind == "invoice.created")
        {
            let body: Value = serde_json::from_str(&event.body).map_err(text)?;
            let field = |name: &str| body["data"][name].as_str().unwrap_or_default().to_owned();
            invoices.insert(field("quoteId"), field("id"));
        }
        Ok(invoices)
    }

    /// The events are exactly those of the reference, in its order, each with its deliveries.
    pub(super) async fn check_events(&mut self, company: usize) -> Verdict {
        let fresh = self.fresh_events(company).await?;
        let model = &mut self.sides[company].model;
        let known = model.events.iter().filter(|event| event.id.is_some()).count();
        let kinds: Vec<&str> = model.events[known..].iter().map(|event| event.kind).collect();
        same(
            "the kinds of new events",
            &fresh.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(),
            &kinds,
        )?;
        for (event, record) in model.events[known..].iter_mut().zip(fresh) {
            same("the timestamp of an event", &record.timestamp.as_millis(), &event.at)?;
            same_json("an event", &serde_json::from_str(&record.body).map_err(text)?, &event.json)?;
            event.id = Some(record.id.to_string());
            event.body = record.body;
        }
        for event in known..self.sides[company].model.events.len() {
            self.check_deliveries(company, event).await?;
        }
        Ok(())
    }

    /// Status, reason, attempts and times of the deliveries of an event.
    pub(super) async fn check_deliveries(&mut self, company: usize, event: usize) -> Verdict {
        let side = &mut self.sides[company];
        let recorded = &mut side.model.events[event];
        let Some(event_id) = &recorded.id else { return Err("an event was not recorded".to_owned()) };
        let found = side.handle.events().deliveries(id(event_id)).await.map_err(text)?;
        let what = format!("deliveries of {} at {}", recorded.kind, instant(recorded.at));
        same(&what, &found.len(), &recorded.deliveries.len())?;
        for delivery in &mut recorded.deliveries {
            let hook = &side.model.hooks[delivery.hook].id;
            let found = found.iter().find(|found| found.webhook.to_string() == *hook);
            let found = found.ok_or_else(|| format!("{what}: none for {hook}"))?;
            let seen = (found.status.as_str(), found.reason.as_deref(), found.attempts);
            same(&what, &seen, &(delivery.status, delivery.reason, delivery.attempts_in_all))?;
            same(&what, &found.ended_at.map(invoicing_core::Timestamp::as_millis), &delivery.ended)?;
            if let Some((min, max)) = delivery.due_within.take().filter(|_| delivery.status == "pending") {
                let due = found.due_at.as_millis();
                if !(min..=max).contains(&due) {
                    return Err(format!(
                        "{what}: due {}, expected {} to {}",
                        instant(due),
                        instant(min),
                        instant(max)
                    ));
                }
                delivery.due = due;
            }
        }
        Ok(())
    }

    pub(super) async fn check_all_deliveries(&mut self, company: usize) -> Verdict {
        for event in 0..self.sides[company].model.events.len() {
            self.check_deliveries(company, event).await?;
        }
        Ok(())
    }

    /// For operations that change no record: the contract leaves open whether these take a stamp.
    pub(super) async fn may_have_stamped(&mut self, company: usize) -> Verdict {
        let side = &mut self.sides[company];
        let (found, next) = (last_stamp(&side.handle).await?, side.model.next_stamp(self.now));
        if found == next {
            side.model.last_stamp = next;
        }
        same("the last stamp", &found, &side.model.last_stamp)
    }

    /// The id of a payment of an invoice that the reference does not have yet.
    pub(super) async fn new_payment(&self, company: usize, place: Option<usize>) -> Verdict<Option<String>> {
        let Some(place) = place else { return Ok(None) };
        let side = &self.sides[company];
        let invoice = &side.model.invoices[place];
        let payments = side.handle.invoices().payments(id(&invoice.id)).await.map_err(text)?;
        let is_new = |payment: &String| !invoice.payments.iter().any(|known| known.id == *payment);
        Ok(payments.into_iter().map(|payment| payment.id.to_string()).find(is_new))
    }

    pub(super) async fn check_payments(&self, company: usize, place: Option<usize>) -> Verdict {
        let Some(place) = place else { return Ok(()) };
        let side = &self.sides[company];
        let invoice = &side.model.invoices[place];
        let found = side.handle.invoices().payments(id(&invoice.id)).await.map_err(text)?;
        let mut found: Vec<_> = found
            .into_iter()
            .map(|payment| {
                let cents = payment.amount.get() * rust_decimal::Decimal::ONE_HUNDRED;
                let cents: i128 = cents.normalize().to_string().parse().unwrap_or(-1);
                (payment.id.to_string(), cents, payment.reference, payment.reversed_at.is_some())
            })
            .collect();
        let payments = invoice.payments.iter().cloned();
        let mut expected: Vec<_> = payments.map(|p| (p.id, p.cents, p.reference, p.is_reversed)).collect();
        found.sort();
        expected.sort();
        same("the payments", &found, &expected)
    }

    /// The fingerprint is that of the sent document and of the signer's input.
    pub(super) async fn check_proof(&self, company: usize, place: usize) -> Verdict {
        let side = &self.sides[company];
        let quote = &side.model.quotes[place];
        let documents = side.handle.quotes().documents(id(&quote.id)).await.map_err(text)?;
        same("how many documents are frozen", &documents.len(), &quote.documents)?;
        let sent = documents.len().checked_sub(2).map(|place| documents[place].sha256.clone());
        let signature = &quote.signature;
        // The canonical form sorts the members by name.
        let canonical = json!({
            "acceptedText": signature["acceptedText"], "documentSha256": sent.unwrap_or_default(),
            "number": quote.number, "quoteId": quote.id, "signedAt": signature["signedAt"],
            "signedByEmail": signature["signedByEmail"], "signedByName": signature["signedByName"],
        });
        let digest = Sha256::digest(canonical.to_string());
        let fingerprint = format!("sha256:{}", hex(&digest));
        same_json("the fingerprint", &signature["proofFingerprint"], &fingerprint.into())
    }

    /// Quotes expire and invoices fall overdue; the contract leaves the number of transactions open.
    pub(super) async fn sweep(&mut self) -> Verdict {
        let report = self.world.invoicing.sweep().await.map_err(text)?;
        let (mut expired, mut overdue, mut pruned) = (0, 0, 0);
        for company in 0..self.sides.len() {
            let model = &self.sides[company].model;
            let (from, today) = (model.next_stamp(self.now), model.day(self.now));
            let (ended, late) = (model.ended_quotes(today), model.late_invoices(today));
            for place in &ended {
                let at = self.quote_stamp(company, *place).await?;
                self.swept(company, from, at)?;
                let quote = &mut self.sides[company].model.quotes[*place];
                (quote.status, quote.updated) = ("EXPIRED", at);
            }
            for place in &late {
                let at = self.invoice_stamp(company, *place).await?;
                self.swept(company, from, at)?;
                let invoice = &mut self.sides[company].model.invoices[*place];
                (invoice.status, invoice.updated) = ("OVERDUE", at);
            }
            let before = self.now - MONTH_MS;
            for hook in &mut self.sides[company].model.hooks {
                let kept = hook.log.len();
                hook.log.retain(|at| *at >= before);
                pruned += kept - hook.log.len();
            }
            expired += ended.len() as u64;
            overdue += late.len() as u64;
            let side = &self.sides[company];
            same("the last stamp", &last_stamp(&side.handle).await?, &side.model.last_stamp)?;
            self.check_events(company).await?;
        }
        same("the sweep's report", &(report.expired_quotes, report.overdue_invoices), &(expired, overdue))?;
        self.pruned += report.pruned_attempts;
        same("pruned attempts", &report.pruned_attempts, &(pruned as u64))
    }

    fn swept(&mut self, company: usize, from: Millis, at: Millis) -> Verdict {
        let max = from + 10;
        if !(from..=max).contains(&at) {
            return Err(format!("swept at {}, expected about {}", instant(at), instant(from)));
        }
        let model = &mut self.sides[company].model;
        model.last_stamp = model.last_stamp.max(at);
        Ok(())
    }

    async fn quote_stamp(&self, company: usize, place: usize) -> Verdict<Millis> {
        let side = &self.sides[company];
        let quote = side.handle.quotes().get(id(&side.model.quotes[place].id)).await.map_err(text)?;
        Ok(quote.summary.updated_at.as_millis())
    }

    async fn invoice_stamp(&self, company: usize, place: usize) -> Verdict<Millis> {
        let side = &self.sides[company];
        let invoice = side.handle.invoices().get(id(&side.model.invoices[place].id)).await.map_err(text)?;
        Ok(invoice.summary.updated_at.as_millis())
    }

    /// Lets every delivery end, then compares everything.
    pub(super) async fn finish(&mut self) -> Verdict {
        let fine = vec![vec![Scripted { status: 200, retry_after: None }]; 3];
        for _ in 0..MAX_ROUNDS {
            self.move_clock(&Step::Forward(LONG_GAP_MS));
            self.dispatch(&fine).await?;
            if self.sides.iter().all(|side| side.model.all_ended()) {
                break;
            }
        }
        for company in 0..self.sides.len() {
            self.check_end(company).await?;
        }
        self.check_metrics().await
    }

    /// The metrics agree with the reference's counts.
    async fn check_metrics(&self) -> Verdict {
        const ATTEMPTS: &str = "invoicing_webhook_attempts_total";
        let metrics = &self.world.metrics;
        let kept = u64::try_from(self.world.count("SELECT count(*) FROM attempt").await).map_err(text)?;
        let all = self.pruned + kept;
        let outcomes =
            ["delivered", "retried", "failed"].map(|end| metrics.sum_with(ATTEMPTS, "outcome", end));
        same("attempts by outcome", &outcomes.iter().sum::<u64>(), &all)?;
        same("attempts by reason", &metrics.sum(ATTEMPTS), &all)?;
        let events = u64::try_from(self.world.count("SELECT count(*) FROM event").await).map_err(text)?;
        same("events", &metrics.sum("invoicing_events_total"), &events)
    }

    async fn check_end(&mut self, company: usize) -> Verdict {
        let all = self.sides[company].handle.events().list(None, 10_000).await.map_err(text)?;
        same("how many events there are", &all.len(), &self.sides[company].model.events.len())?;
        self.check_all_deliveries(company).await?;
        let mut deliveries = self.sides[company].model.events.iter().flat_map(|event| &event.deliveries);
        if let Some(pending) = deliveries.find(|delivery| delivery.status == "pending") {
            return Err(format!("never ended: {pending:?}"));
        }
        self.check_hooks(company).await?;
        let side = &self.sides[company];
        for quote in &side.model.quotes {
            let documents = side.handle.quotes().documents(id(&quote.id)).await.map_err(text)?;
            same("how many documents are frozen", &documents.len(), &quote.documents)?;
        }
        for project in &side.model.projects {
            let found = side.handle.projects().get(id(&project.id)).await.map_err(text)?;
            same_json("a project", &serde_json::to_value(found).map_err(text)?, &project.json())?;
        }
        self.count(company);
        self.check_numbers(company)?;
        self.check_lists(company).await
    }

    fn count(&self, company: usize) {
        let (model, db) = (&self.sides[company].model, self.db);
        model.quotes.iter().for_each(|quote| tally::count(db, &format!("quote {}", quote.status), 1));
        model.invoices.iter().for_each(|invoice| tally::count(db, &format!("invoice {}", invoice.status), 1));
        for event in &model.events {
            tally::count(db, &format!("event {}", event.kind), 1);
            for delivery in &event.deliveries {
                tally::count(db, &format!("delivery {}", delivery.status), 1);
                tally::count(db, "attempts", delivery.attempts_in_all.into());
            }
        }
        for hook in &model.hooks {
            tally::count(db, &format!("webhook disabled: {}", hook.disabled.unwrap_or("no")), 1);
        }
    }

    /// Numbers run from 1 without a gap, in the order of their allocation.
    fn check_numbers(&self, company: usize) -> Verdict {
        let model = &self.sides[company].model;
        let mut numbers: Vec<&String> = model.quotes.iter().map(|quote| &quote.number).collect();
        numbers.extend(model.invoices.iter().filter_map(|invoice| invoice.number.as_ref()));
        numbers.extend(model.credit_notes().map(|note| &note.number));
        let mut series = BTreeMap::<&str, Vec<u32>>::new();
        for number in numbers {
            let (name, n) = number.rsplit_once('-').ok_or("a number without a series")?;
            series.entry(name).or_default().push(n.parse().map_err(text)?);
        }
        for (name, mut found) in series {
            found.sort_unstable();
            let count = u32::try_from(found.len()).map_err(text)?;
            same(name, &found, &(1..=count).collect())?;
        }
        Ok(())
    }
}

/// Lowercase hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
