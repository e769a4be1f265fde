//! Credit notes on issued invoices: reductions at a rate, and all that is left.

use chrono::{Datelike, NaiveDate};
use serde_json::{Value, json};

use super::documents::{Share, mean_rate};
use super::invoices::{ISSUED, Invoice};
use super::money::{divide, money, number};
use super::{Company, Millis, Outcome, Refused, Seen, date_or_null, instant, unless};

/// The reason that the service gives for a cancellation, and the one that the steps give.
const CANCELED: &str = "Annulation de la facture";
pub(crate) const REASON: &str = "Moins de travaux";

/// A credit note.
#[derive(Debug, Clone)]
pub(crate) struct CreditNote {
    pub(crate) id: String,
    pub(crate) number: String,
    issued: NaiveDate,
    shares: Vec<Share>,
    reason: &'static str,
    invoice: Value,
    pub(crate) created: Millis,
    pub(crate) updated: Millis,
}

/// A reduction: the rate and the amount without VAT.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reduction {
    pub(crate) rate: i128,
    pub(crate) cents: i128,
}

impl CreditNote {
    fn ht(&self) -> i128 {
        self.shares.iter().map(|share| share.base).sum()
    }

    fn ttc(&self) -> i128 {
        self.ht() + self.shares.iter().map(|share| share.vat).sum::<i128>()
    }

    /// The credit note as its invoice names it.
    pub(super) fn reference(&self) -> Value {
        json!({
            "id": self.id, "number": self.number, "issueDate": date_or_null(Some(self.issued)),
            "totalTTC": money(self.ttc()),
        })
    }

    pub(crate) fn item(&self) -> Value {
        let mut json = json!({
            "id": self.id, "number": self.number, "issueDate": date_or_null(Some(self.issued)),
            "reason": self.reason, "documentFormat": "PDF",
            "totalHT": money(self.ht()), "totalTTC": money(self.ttc()),
            "tvaRate": number(mean_rate(&self.shares), 2), "currency": "EUR",
            "createdAt": instant(self.created), "updatedAt": instant(self.updated),
        });
        for (name, value) in self.invoice.as_object().into_iter().flatten() {
            json[name] = value.clone();
        }
        json
    }

    /// The detail without its lines.
    pub(crate) fn detail(&self) -> Value {
        let mut json = self.item();
        json["vatBreakdown"] = self.shares.iter().map(|share| share.json()).collect();
        json
    }

    fn data(&self) -> Value {
        let item = self.item();
        let names = [
            "id",
            "number",
            "invoiceId",
            "invoiceNumber",
            "clientName",
            "clientEmail",
            "totalHT",
            "totalTTC",
            "tvaRate",
            "issueDate",
        ];
        names
            .into_iter()
            .map(|name| (name.to_owned(), item[name].clone()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

impl Invoice {
    pub(crate) fn credited(&self) -> i128 {
        self.notes.iter().map(CreditNote::ttc).sum()
    }

    /// True if nothing is left to credit.
    pub(super) fn is_credited(&self) -> bool {
        !self.notes.is_empty() && self.remaining().iter().all(|share| share.base == 0 && share.vat == 0)
    }

    /// Base and VAT of each rate that no credit note has taken back.
    pub(crate) fn remaining(&self) -> Vec<Share> {
        let credited = |rate: i128| {
            let shares =
                self.notes.iter().flat_map(|note| &note.shares).filter(move |share| share.rate == rate);
            shares.fold((0, 0), |(base, vat), share| (base + share.base, vat + share.vat))
        };
        let left = |share: &Share| {
            let (base, vat) = credited(share.rate);
            Share { rate: share.rate, base: share.base - base, vat: share.vat - vat }
        };
        self.priced.shares.iter().map(left).collect()
    }

    /// The share that a reduction takes: its VAT is that of all that is credited at the rate, less what was credited before.
    fn reduced(&self, Reduction { rate, cents }: Reduction) -> Option<Share> {
        let left = self.remaining().into_iter().find(|share| share.rate == rate)?;
        let whole = self.priced.shares.iter().find(|share| share.rate == rate)?;
        let credited = (whole.base - left.base, whole.vat - left.vat);
        let vat = divide((credited.0 + cents) * rate, 10_000) - credited.1;
        let vat = if cents == left.base { left.vat } else { vat };
        (1..=left.base).contains(&cents).then_some(Share { rate, base: cents, vat })
    }

    /// The shares that a credit of all that remains takes.
    fn shares_of_remaining(&self) -> Vec<Share> {
        let is_shown = |share: &Share| share.base != 0 || self.priced.charged.contains(&share.rate);
        let shown: Vec<_> = self.remaining().into_iter().filter(is_shown).collect();
        // A credit note of nothing has all rates.
        if shown.is_empty() { self.remaining() } else { shown }
    }
}

impl Company {
    pub(crate) fn credit_notes(&self) -> impl Iterator<Item = &CreditNote> {
        self.invoices.iter().flat_map(|invoice| &invoice.notes)
    }

    /// A reduction, or all that is left.
    pub(crate) fn credit_invoice(
        &mut self,
        place: Option<usize>,
        reduction: Option<Reduction>,
        seen: &Seen<'_>,
    ) -> Outcome {
        let place = place.ok_or_else(|| vec![Refused::NotFound])?;
        let invoice = &self.invoices[place];
        let mut reasons = Vec::new();
        if !ISSUED.contains(&invoice.status) {
            reasons.push(Refused::Conflict);
        }
        let is_of_0 = reduction.is_none() && invoice.priced.ttc == 0;
        if is_of_0 && invoice.paid != 0 {
            reasons.push(Refused::Conflict);
        }
        let takes_something = match reduction {
            Some(reduction) => invoice.reduced(reduction).is_some_and(|share| share.base + share.vat > 0),
            None => is_of_0 || invoice.priced.ttc > invoice.credited(),
        };
        if !takes_something {
            reasons.push(Refused::Invalid);
        }
        unless(reasons)?;
        self.push_credit_note(place, reduction, seen);
        Ok(())
    }

    pub(super) fn push_credit_note(&mut self, place: usize, reduction: Option<Reduction>, seen: &Seen<'_>) {
        let invoice = &self.invoices[place];
        let first = invoice.issued.map_or(self.day(seen.now), |issued| issued.max(self.day(seen.now)));
        let date = self.credited.get(&first.year()).map_or(first, |last| first.max(*last));
        let last = self.series.entry(("AVO", first.year())).or_insert(0);
        *last += 1;
        let number = format!("AVO-{}-{last:04}", first.year());
        self.credited.insert(date.year(), date);
        let shares = match reduction {
            Some(reduction) => invoice.reduced(reduction).into_iter().collect(),
            None => invoice.shares_of_remaining(),
        };
        // A cancellation answers with the invoice.
        let named = seen.answer["creditNotes"].as_array().and_then(|notes| notes.last());
        let id = named.map_or_else(|| seen.id(), |note| note["id"].as_str().unwrap_or_default().to_owned());
        let note = CreditNote {
            id,
            number,
            issued: date,
            shares,
            reason: if named.is_some() { CANCELED } else { REASON },
            invoice: json!({
                "invoiceId": invoice.id, "invoiceNumber": invoice.number, "quoteId": invoice.quote,
                "clientId": invoice.client.0, "clientName": invoice.client.1, "clientEmail": invoice.client.2,
            }),
            created: seen.now,
            updated: seen.at,
        };
        let data = note.data();
        self.invoices[place].notes.push(note);
        self.emit("credit_note.issued", seen, &data);
        self.settle(place, seen);
    }
}
