//! Quotes: the answer, changes and events of each operation.

use chrono::NaiveDate;
use serde_json::{Value, json};

use super::documents::{Priced, price};
use super::money::{money, number};
use super::{
    Company, Millis, Outcome, Refused, Seen, date_or_null, days_after, instant, instant_or_null, unless,
};
use crate::model::steps::LineSpec;

/// A quote.
#[derive(Debug, Clone)]
pub(crate) struct Quote {
    pub(crate) id: String,
    pub(crate) number: String,
    pub(crate) status: &'static str,
    pub(crate) external: Option<String>,
    pub(crate) client: (String, String, Option<String>),
    pub(crate) priced: Priced,
    /// The entered content, so that it can be entered again.
    pub(crate) lines: Vec<LineSpec>,
    pub(crate) valid_until: Option<NaiveDate>,
    pub(crate) created: Millis,
    pub(crate) updated: Millis,
    sent: Option<Millis>,
    signed: Option<Millis>,
    accepted: Option<Millis>,
    pub(crate) signature: Value,
    /// Number of frozen documents.
    pub(crate) documents: usize,
}

/// Content with the client looked up and the day computed.
pub(crate) struct Entered<'a> {
    /// `None` if the client is not the company's.
    pub(crate) client: Option<usize>,
    pub(crate) lines: &'a [LineSpec],
    pub(crate) retention: i64,
    pub(crate) until: Option<NaiveDate>,
}

/// The signer's input.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signer {
    pub(crate) name: &'static str,
    pub(crate) email: &'static str,
    pub(crate) text: &'static str,
    pub(crate) is_good: bool,
}

impl Quote {
    /// The quote in the form of a list.
    pub(crate) fn item(&self, with_lines: bool) -> Value {
        let mut json = json!({
            "id": self.id, "number": self.number, "status": self.status, "externalId": self.external,
            "clientId": self.client.0, "clientName": self.client.1, "clientEmail": self.client.2,
            "totalHT": money(self.priced.ht), "totalTTC": money(self.priced.ttc),
            "tvaRate": number(self.priced.rate, 2), "currency": "EUR", "validUntil": date_or_null(self.valid_until),
            "createdAt": instant(self.created), "updatedAt": instant(self.updated),
            "sentAt": instant_or_null(self.sent), "signedAt": instant_or_null(self.signed),
            "acceptedAt": instant_or_null(self.accepted),
            "signedByName": self.signature["signedByName"], "signedByEmail": self.signature["signedByEmail"],
        });
        if with_lines {
            json["lines"] = self.priced.lines.clone().into();
        }
        json
    }

    pub(crate) fn detail(&self) -> Value {
        let mut json = self.item(true);
        json["retentionRate"] = number(self.priced.retention_rate, 2);
        json["retentionAmount"] = money(self.priced.retention);
        json["vatBreakdown"] = self.priced.shares.iter().map(|share| share.json()).collect();
        json["signature"] = self.signature.clone();
        json["orderNumber"] = Value::Null;
        json
    }

    /// The twelve fields; conditional fields only if they apply.
    fn data(&self) -> Value {
        let item = self.item(false);
        let always =
            ["id", "number", "status", "clientName", "clientEmail", "totalHT", "totalTTC", "tvaRate"];
        let sometimes = ["signedAt", "acceptedAt", "signedByName", "signedByEmail"];
        let mut data = serde_json::Map::new();
        for name in always {
            data.insert(name.to_owned(), item[name].clone());
        }
        for name in sometimes.into_iter().filter(|name| !item[*name].is_null()) {
            data.insert(name.to_owned(), item[name].clone());
        }
        data.into()
    }
}

impl Company {
    fn check(entered: &Entered<'_>) -> Result<Priced, Vec<Refused>> {
        let mut reasons = Vec::new();
        let priced = price(entered.lines, entered.retention);
        reasons.extend(priced.as_ref().err().copied());
        if entered.client.is_none() {
            reasons.push(Refused::Invalid);
        }
        priced.map_err(|_| reasons.clone()).and_then(|priced| unless(reasons).map(|()| priced))
    }

    fn snapshot(&self, client: Option<usize>) -> (String, String, Option<String>) {
        let client = &self.clients[client.expect("checked before")];
        (client.id.clone(), client.name.clone(), client.email.clone())
    }

    fn push_quote(&mut self, entered: &Entered<'_>, priced: Priced, seen: &Seen<'_>) -> &mut Quote {
        let quote = Quote {
            id: seen.id(),
            number: self.number("DEV", seen.now),
            status: "DRAFT",
            external: None,
            client: self.snapshot(entered.client),
            priced,
            lines: entered.lines.to_vec(),
            valid_until: entered.until,
            created: seen.now,
            updated: seen.at,
            sent: None,
            signed: None,
            accepted: None,
            signature: Value::Null,
            documents: 0,
        };
        self.last_stamp = seen.at;
        self.quotes.push(quote);
        self.quotes.last_mut().expect("just pushed")
    }

    pub(crate) fn create_quote(&mut self, entered: &Entered<'_>, seen: &Seen<'_>) -> Outcome {
        let priced = Self::check(entered)?;
        let data = self.push_quote(entered, priced, seen).data();
        self.emit("quote.created", seen, &data);
        Ok(())
    }

    pub(crate) fn import_quote(
        &mut self,
        entered: &Entered<'_>,
        status: &'static str,
        sent: Option<Millis>,
        accepted: Option<Millis>,
        seen: &Seen<'_>,
    ) -> Outcome {
        let mut reasons = Self::check(entered).err().unwrap_or_default();
        if (status == "DRAFT" && sent.is_some()) || (status != "ACCEPTED" && accepted.is_some()) {
            reasons.push(Refused::Invalid);
        }
        let is_future = |at: Option<Millis>| at.is_some_and(|at| at > seen.now + 60_000);
        if is_future(sent) || is_future(accepted) || matches!((sent, accepted), (Some(s), Some(a)) if s > a) {
            reasons.push(Refused::Invalid);
        }
        if ["SENT", "ACCEPTED"].contains(&status) && entered.lines.is_empty() {
            reasons.push(Refused::Invalid);
        }
        unless(reasons)?;
        let priced = Self::check(entered)?;
        let today = self.day(seen.now);
        let quote = self.push_quote(entered, priced, seen);
        quote.status = status;
        if status != "DRAFT" {
            quote.sent = sent.or_else(|| accepted.filter(|at| *at < seen.now)).or(Some(seen.now));
            quote.documents = 1;
        }
        if status == "SENT" && quote.valid_until.is_none() {
            quote.valid_until = Some(days_after(today, 30));
        }
        if status == "ACCEPTED" {
            quote.accepted = accepted.or(quote.sent.max(Some(seen.now)));
        }
        let data = quote.data();
        self.emit("quote.created", seen, &data);
        Ok(())
    }

    /// Returns true if a field changed.
    pub(crate) fn edit_quote(
        &mut self,
        place: Option<usize>,
        entered: &Entered<'_>,
        seen: &Seen<'_>,
    ) -> Result<bool, Vec<Refused>> {
        let checked = Self::check(entered);
        let mut reasons = checked.as_ref().err().cloned().unwrap_or_default();
        match place {
            None => reasons.push(Refused::NotFound),
            Some(place) if self.quotes[place].status != "DRAFT" => reasons.push(Refused::Conflict),
            Some(_) => {}
        }
        unless(reasons)?;
        let (priced, client) = (checked?, self.snapshot(entered.client));
        let quote = &mut self.quotes[place.expect("checked above")];
        quote.lines = entered.lines.to_vec();
        let same = quote.priced == priced && quote.client == client && quote.valid_until == entered.until;
        if !same {
            quote.priced = priced;
            quote.client = client;
            quote.valid_until = entered.until;
            quote.updated = seen.at;
            self.last_stamp = seen.at;
        }
        Ok(!same)
    }

    pub(crate) fn send_quote(
        &mut self,
        place: Option<usize>,
        until: Option<NaiveDate>,
        seen: &Seen<'_>,
    ) -> Outcome {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let today = self.day(seen.now);
        let quote = &mut self.quotes[place];
        let mut reasons = Vec::new();
        if !["DRAFT", "EXPIRED", "REJECTED"].contains(&quote.status) {
            reasons.push(Refused::Conflict);
        }
        if quote.priced.lines.is_empty() {
            reasons.push(Refused::Conflict);
        }
        let own = quote.valid_until.filter(|_| quote.status == "DRAFT");
        let until = until.or(own).unwrap_or_else(|| days_after(today, 30));
        if until < today {
            reasons.push(Refused::Invalid);
        }
        unless(reasons)?;
        quote.status = "SENT";
        quote.sent = Some(seen.now);
        quote.valid_until = Some(until);
        quote.documents += 1;
        quote.updated = seen.at;
        self.last_stamp = seen.at;
        Ok(())
    }

    pub(crate) fn accept_quote(&mut self, place: Option<usize>, seen: &Seen<'_>) -> Outcome {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let quote = &mut self.quotes[place];
        if quote.status == "ACCEPTED" || quote.priced.lines.is_empty() {
            return Err(vec![Refused::Conflict]);
        }
        if quote.documents == 0 {
            quote.documents = 1;
        }
        quote.status = "ACCEPTED";
        quote.accepted = Some(seen.now);
        quote.updated = seen.at;
        self.accepted(place, &["quote.accepted"], seen);
        Ok(())
    }

    pub(crate) fn sign_quote(&mut self, place: Option<usize>, signer: Signer, seen: &Seen<'_>) -> Outcome {
        let mut reasons = Vec::new();
        if !signer.is_good {
            reasons.push(Refused::Invalid);
        }
        let Some(place) = place else {
            reasons.push(Refused::NotFound);
            return Err(reasons);
        };
        let today = self.day(seen.now);
        let quote = &mut self.quotes[place];
        let is_valid = match (quote.status, quote.valid_until) {
            ("SENT", None) => true,
            ("SENT" | "EXPIRED", Some(day)) => day >= today,
            _ => false,
        };
        if !is_valid {
            reasons.push(Refused::Conflict);
        }
        unless(reasons)?;
        quote.status = "ACCEPTED";
        quote.signed = Some(seen.now);
        quote.accepted = Some(seen.now);
        // The runner checks the fingerprint, as it has the document.
        quote.signature = json!({
            "signedAt": instant_or_null(quote.signed), "signedByName": signer.name.trim(),
            "signedByEmail": signer.email, "acceptedText": signer.text,
            "proofFingerprint": seen.answer["signature"]["proofFingerprint"],
        });
        quote.documents += 1;
        quote.updated = seen.at;
        self.accepted(place, &["quote.signed", "quote.accepted"], seen);
        Ok(())
    }

    /// The events of an acceptance, and the invoice if the company converts automatically.
    fn accepted(&mut self, place: usize, kinds: &[&'static str], seen: &Seen<'_>) {
        self.last_stamp = seen.at;
        let data = self.quotes[place].data();
        for kind in kinds {
            self.emit(kind, seen, &data);
        }
        if self.automatic {
            let id = seen.invoices.get(&self.quotes[place].id).cloned().unwrap_or_default();
            self.push_invoice(place, id, seen);
        }
    }

    pub(crate) fn reject_quote(&mut self, place: Option<usize>, seen: &Seen<'_>) -> Outcome {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let quote = &mut self.quotes[place];
        if !["DRAFT", "SENT"].contains(&quote.status) {
            return Err(vec![Refused::Conflict]);
        }
        quote.status = "REJECTED";
        quote.updated = seen.at;
        self.last_stamp = seen.at;
        Ok(())
    }

    /// `external`: the identifier as entered; an empty one is refused.
    pub(crate) fn link_quote(
        &mut self,
        place: Option<usize>,
        external: Option<&str>,
        seen: &Seen<'_>,
    ) -> Outcome {
        let mut reasons = Vec::new();
        let external = external.map(str::trim);
        if external == Some("") {
            reasons.push(Refused::Invalid);
        }
        let Some(place) = place else {
            reasons.push(Refused::NotFound);
            return Err(reasons);
        };
        unless(reasons)?;
        let quote = &mut self.quotes[place];
        if quote.external.as_deref() != external {
            quote.external = external.map(str::to_owned);
            quote.updated = seen.at;
            self.last_stamp = seen.at;
        }
        Ok(())
    }

    /// The last day of the signing links of a quote: 30 days after its validity, or after the decision if that is later.
    pub(crate) fn last_day_of_links(&self, place: usize, now: Millis) -> NaiveDate {
        let quote = &self.quotes[place];
        let decided = match quote.status {
            "ACCEPTED" => quote.accepted,
            "REJECTED" => Some(quote.updated.min(now)),
            _ => None,
        };
        let decided = decided.map(|at| self.day(at));
        days_after(quote.valid_until.max(decided).unwrap_or_else(|| self.day(quote.created)), 30)
    }

    /// Quotes that a sweep expires on that day.
    pub(crate) fn ended_quotes(&self, today: NaiveDate) -> Vec<usize> {
        let ended =
            |quote: &Quote| quote.status == "SENT" && quote.valid_until.is_some_and(|day| day < today);
        (0..self.quotes.len()).filter(|place| ended(&self.quotes[*place])).collect()
    }
}
