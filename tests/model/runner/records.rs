//! Steps on clients, quotes, invoices and projects.

use std::str::FromStr;

use invoicing_core::{
    NewClient, NewCreditNote, NewLine, NewQuote, Percent, ProjectStatus, QuoteImport, SignatureEvidence,
    Timestamp,
};
use invoicing_server::{Decline, Error, NewPayment, NewProject, PaymentSource, RecordedPayment, Signature};
use serde_json::{Value, json};

use super::{Answered, Link, Run, Verdict, agree, answered, same, same_json, text};
use crate::model::reference::credit_notes::{REASON, Reduction};
use crate::model::reference::invoices::Invoice;
use crate::model::reference::money::{amount, number};
use crate::model::reference::quotes::{Entered, Signer};
use crate::model::reference::{Outcome, Refused, clients, days_after, documents};
use crate::model::steps::{ClientSpec, Content, Credit, Nth, Part, Step, Who};

const STATUSES: [&str; 5] = ["DRAFT", "SENT", "ACCEPTED", "REJECTED", "EXPIRED"];
const PROJECT_STATUSES: [&str; 3] = ["OPEN", "COMPLETED", "CANCELED"];
const REFERENCES: [&str; 3] = ["VIR-1", "VIR-2", "vir-1"];
const LINKS: [Option<&str>; 5] = [Some("deal-1"), Some(" deal-2 "), None, Some("  "), Some("deal-1")];
const SIGNERS: [Signer; 5] = [
    Signer { name: "Léa Lefèvre", email: "lea@exemple.fr", text: "Bon pour accord", is_good: true },
    Signer { name: " Zoé ", email: "zoe@exemple.fr", text: "Lu et \"approuvé\"\n😀", is_good: true },
    Signer { name: "Ann \"A\" \\", email: "a@b", text: "\\ ok\t/ é", is_good: true },
    Signer { name: "Ann", email: "not an address", text: "ok", is_good: false },
    Signer { name: " ", email: "a@b", text: "ok", is_good: false },
];

/// The kind of a step's record.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Quote,
    Invoice,
    Project,
}

pub(super) fn id<T: FromStr>(id: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    id.parse().expect("an id")
}

fn client_fields(spec: &ClientSpec) -> NewClient {
    serde_json::from_value(clients::entered(spec)).expect("a client's fields")
}

/// Cents of an amount.
fn part_of(whole: i128, part: Part) -> i128 {
    match part {
        Part::Cents(cents) => i128::from(cents),
        Part::Half => (whole / 2).max(1),
        Part::Remaining => whole.max(1),
        Part::TooMuch => whole + 12_345,
    }
}

fn percent_of(rate: i128) -> Percent {
    serde_json::from_value(number(rate, 2)).expect("a rate")
}

/// The invoice with the id of the payment in it, and whether the payment is new.
fn recorded_payment(recorded: Result<RecordedPayment, Error>) -> Verdict<(Answered, Value)> {
    let answer =
        answered(recorded.map(|recorded| (recorded.invoice, recorded.payment.id, recorded.created)))?;
    Ok(match answer {
        Ok(Value::Array(parts)) => {
            let [mut invoice, payment, created] = <[Value; 3]>::try_from(parts).map_err(|_| "three parts")?;
            invoice["payment"] = payment;
            (Ok(invoice), created)
        }
        Ok(other) => (Ok(other), Value::Null),
        Err(refused) => (Err(refused), Value::Null),
    })
}

/// Takes the id of the payment out of the invoice.
fn without_payment(answer: Answered) -> (Answered, Option<Value>) {
    match answer {
        Ok(mut invoice) => {
            let payment = invoice.as_object_mut().and_then(|fields| fields.remove("payment"));
            (Ok(invoice), payment)
        }
        Err(refused) => (Err(refused), None),
    }
}

impl Run {
    /// Runs the step if it is one of these. True if it was.
    pub(super) async fn business(&mut self, step: &Step) -> Verdict<bool> {
        match step {
            Step::NewClient(company, spec) => self.new_client(*company, spec).await?,
            Step::ChangeClient(who, nth, spec) => self.change_client(*who, *nth, spec).await?,
            Step::NewQuote(..) | Step::Import(..) | Step::Edit(..) | Step::EditSame(..) => {
                self.content(step).await?;
            }
            Step::SigningLink(who, nth) => self.signing_link(*who, *nth).await?,
            Step::Sign(..) | Step::Decline(_) => self.signed(step).await?,
            Step::Send(who, ..)
            | Step::Accept(who, _)
            | Step::Reject(who, _)
            | Step::Link(who, ..)
            | Step::Convert(who, _) => self.quote(step, *who).await?,
            Step::Issue(who, nth, _)
            | Step::Pay(who, nth, ..)
            | Step::MarkPaid(who, nth)
            | Step::Reverse(who, nth, _)
            | Step::Cancel(who, nth) => self.invoice(step, *who, *nth).await?,
            Step::Credit(who, nth, credit) => self.credit(*who, *nth, *credit).await?,
            Step::Refund(who, nth, part) => self.refund(*who, *nth, *part).await?,
            Step::NewProject(who, client, quotes) => self.new_project(*who, *client, quotes).await?,
            Step::MoveProject(who, nth, to) => self.move_project(*who, *nth, *to).await?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    pub(super) fn pick_quote(&self, who: Who, nth: Nth) -> (Option<usize>, String) {
        self.pick(who, nth, |company| &company.quotes, |quote| &quote.id)
    }

    pub(super) fn pick_invoice(&self, who: Who, nth: Nth) -> (Option<usize>, String) {
        self.pick(who, nth, |company| &company.invoices, |invoice| &invoice.id)
    }

    fn pick_client(&self, who: Who, nth: Nth) -> (Option<usize>, String) {
        self.pick(who, nth, |company| &company.clients, |client| &client.id)
    }

    fn day(&self, company: usize, days: i16) -> chrono::NaiveDate {
        days_after(self.sides[company].model.day(self.now), days)
    }

    /// After a step on which both sides agree: compares the events, and the record with the answer and as it is read.
    pub(super) async fn settle(
        &mut self,
        company: usize,
        answer: &Answered,
        expected: &Outcome,
        record: Option<(Kind, usize)>,
    ) -> Verdict {
        agree(self.db, answer, expected)?;
        self.check_events(company).await?;
        let (Ok(answer), Some((kind, place))) = (answer, record) else { return Ok(()) };
        let side = &self.sides[company];
        let (handle, model) = (&side.handle, &side.model);
        let (expected, read) = match kind {
            Kind::Quote => {
                let quote = &model.quotes[place];
                (quote.detail(), answered(handle.quotes().get(id(&quote.id)).await)?)
            }
            Kind::Invoice => {
                let invoice = &model.invoices[place];
                (invoice.detail(), answered(handle.invoices().get(id(&invoice.id)).await)?)
            }
            Kind::Project => {
                let project = &model.projects[place];
                (project.json(), answered(handle.projects().get(id(&project.id)).await)?)
            }
        };
        same_json("the answer", answer, &expected)?;
        same_json("the record", &read.unwrap_or_default(), &expected)
    }

    pub(super) async fn new_client(&mut self, company: usize, spec: &ClientSpec) -> Verdict {
        let made = self.sides[company].handle.clients().find_or_create(&client_fields(spec)).await;
        let answer = answered(made.map(|made| (made.client, made.created)))?;
        let (client, created) = match &answer {
            Ok(pair) => (Ok(pair[0].clone()), pair[1].as_bool()),
            Err(refused) => (Err(*refused), None),
        };
        let seen = self.seen(company, &client);
        let expected = self.sides[company].model.create_client(spec, &seen);
        agree(self.db, &answer, &expected.as_ref().map(|_| ()).map_err(Clone::clone))?;
        if let (Ok(client), Ok((place, is_new))) = (&client, expected) {
            same("created", &created, &Some(is_new))?;
            same_json("the client", client, &self.sides[company].model.clients[place].json())?;
        }
        Ok(())
    }

    async fn change_client(&mut self, who: Who, nth: Nth, spec: &ClientSpec) -> Verdict {
        let (place, client) = self.pick_client(who, nth);
        let answer = answered(self.handle(who).clients().change(id(&client), &client_fields(spec)).await)?;
        let seen = self.seen(who.through, &answer);
        let model = &mut self.sides[who.through].model;
        agree(self.db, &answer, &model.change_client(place, spec, &seen))?;
        match (&answer, place) {
            (Ok(client), Some(place)) => same_json("the client", client, &model.clients[place].json()),
            _ => Ok(()),
        }
    }

    /// Content in the form of both sides: with a client of this or the other company, or of none.
    fn entered<'a>(&self, who: Who, content: &'a Content) -> (Entered<'a>, NewQuote) {
        let (client, client_id) = self.pick_client(who, content.client);
        let until = content.until.map(|days| self.day(who.through, days));
        let lines: Vec<NewLine> = serde_json::from_value(documents::entered(&content.lines)).expect("lines");
        let retention_rate: Percent =
            serde_json::from_value(number(content.retention.into(), 2)).expect("a rate");
        let new = NewQuote { lines, retention_rate, valid_until: until, ..NewQuote::empty(id(&client_id)) };
        (Entered { client, lines: &content.lines, retention: content.retention, until }, new)
    }

    async fn content(&mut self, step: &Step) -> Verdict {
        match step {
            Step::NewQuote(who, content) => {
                let (entered, new) = self.entered(*who, content);
                let answer = answered(self.handle(*who).quotes().create(&new).await)?;
                let seen = self.seen(who.through, &answer);
                let model = &mut self.sides[who.through].model;
                let expected = model.create_quote(&entered, &seen);
                let place = model.quotes.len().saturating_sub(1);
                self.settle(who.through, &answer, &expected, Some((Kind::Quote, place))).await
            }
            Step::Import(who, content, status, sent, accepted) => {
                let (entered, new) = self.entered(*who, content);
                let status = STATUSES[usize::from(*status)];
                let ago = |days: Option<i16>| days.map(|days| self.now + i64::from(days) * 86_400_000);
                let (sent, accepted) = (ago(*sent), ago(*accepted));
                let import = QuoteImport {
                    status: id(status),
                    sent_at: sent.map(Timestamp::from_millis),
                    accepted_at: accepted.map(Timestamp::from_millis),
                };
                let answer = answered(self.handle(*who).quotes().import(&new, &import).await)?;
                let seen = self.seen(who.through, &answer);
                let model = &mut self.sides[who.through].model;
                let expected = model.import_quote(&entered, status, sent, accepted, &seen);
                let place = model.quotes.len().saturating_sub(1);
                self.settle(who.through, &answer, &expected, Some((Kind::Quote, place))).await
            }
            Step::Edit(who, nth, content) => {
                let (entered, new) = self.entered(*who, content);
                self.edit(*who, *nth, entered, &new).await
            }
            Step::EditSame(who, nth) => self.edit_same(*who, *nth).await,
            _ => Ok(()),
        }
    }

    async fn edit(&mut self, who: Who, nth: Nth, entered: Entered<'_>, new: &NewQuote) -> Verdict {
        let (place, quote) = self.pick_quote(who, nth);
        let answer = answered(self.handle(who).quotes().edit(id(&quote), new).await)?;
        let seen = self.seen(who.through, &answer);
        let expected = self.sides[who.through].model.edit_quote(place, &entered, &seen);
        if expected == Ok(false) {
            self.may_have_stamped(who.through).await?;
        }
        let expected = expected.map(drop);
        self.settle(who.through, &answer, &expected, place.map(|place| (Kind::Quote, place))).await
    }

    /// Enters the content of a quote again: nothing changes, unless its client has.
    async fn edit_same(&mut self, who: Who, nth: Nth) -> Verdict {
        let (Some(place), _) = self.pick_quote(who, nth) else { return Ok(()) };
        let model = &self.sides[who.through].model;
        let quote = model.quotes[place].clone();
        let client = model.clients.iter().position(|client| client.id == quote.client.0);
        let retention = i64::try_from(quote.priced.retention_rate).map_err(text)?;
        let new = NewQuote {
            lines: serde_json::from_value(documents::entered(&quote.lines)).map_err(text)?,
            retention_rate: serde_json::from_value(number(retention.into(), 2)).map_err(text)?,
            valid_until: quote.valid_until,
            ..NewQuote::empty(id(&quote.client.0))
        };
        let entered = Entered { client, lines: &quote.lines, retention, until: quote.valid_until };
        self.edit(who, nth, entered, &new).await
    }

    async fn quote(&mut self, step: &Step, who: Who) -> Verdict {
        let (Step::Send(_, nth, _)
        | Step::Accept(_, nth)
        | Step::Reject(_, nth)
        | Step::Link(_, nth, _)
        | Step::Convert(_, nth)) = step
        else {
            return Ok(());
        };
        let (place, quote) = self.pick_quote(who, *nth);
        let handle = self.handle(who);
        let quotes = handle.quotes();
        let until = match step {
            Step::Send(_, _, Some(days)) => Some(self.day(who.through, *days)),
            _ => None,
        };
        let answer = match step {
            Step::Send(..) => answered(quotes.send(id(&quote), until).await)?,
            Step::Accept(..) => answered(quotes.accept(id(&quote)).await)?,
            Step::Reject(..) => answered(quotes.reject(id(&quote)).await)?,
            Step::Link(_, _, to) => answered(quotes.link(id(&quote), LINKS[usize::from(*to)]).await)?,
            _ => answered(handle.invoices().convert(id(&quote)).await)?,
        };
        let mut seen = self.seen(who.through, &answer);
        seen.invoices = self.new_invoices(who.through).await?;
        let model = &mut self.sides[who.through].model;
        let expected = match step {
            Step::Send(..) => model.send_quote(place, until, &seen),
            Step::Accept(..) => model.accept_quote(place, &seen),
            Step::Reject(..) => model.reject_quote(place, &seen),
            Step::Link(_, _, to) => model.link_quote(place, LINKS[usize::from(*to)], &seen),
            _ => model.convert_quote(place, &seen),
        };
        let record = match step {
            Step::Link(..) => {
                if let (Ok(answer), Some(place)) = (&answer, place) {
                    let quote = &model.quotes[place];
                    same_json("the link", answer, &json!({ "id": quote.id, "externalId": quote.external }))?;
                }
                None
            }
            Step::Convert(..) => Some((Kind::Invoice, model.invoices.len().saturating_sub(1))),
            _ => place.map(|place| (Kind::Quote, place)),
        };
        self.settle(who.through, &answer, &expected, record).await?;
        if let (Step::Send(..) | Step::Accept(..) | Step::Reject(..), Some(place), Ok(_)) =
            (step, place, &answer)
        {
            self.move_links(who.through, place);
        }
        Ok(())
    }

    async fn signing_link(&mut self, who: Who, nth: Nth) -> Verdict {
        let (place, quote) = self.pick_quote(who, nth);
        let link = self.handle(who).quotes().create_signing_link(id(&quote)).await;
        let token = link.as_ref().ok().map(|link| link.reveal().to_owned());
        let answer = answered(link.map(|_| ()))?;
        let model = &self.sides[who.through].model;
        let last_day = place.map(|place| model.last_day_of_links(place, self.now));
        let ended = last_day.is_some_and(|day| day < model.day(self.now));
        let expected = match place {
            None => Err(vec![Refused::NotFound]),
            Some(place) if ended || model.quotes[place].documents == 0 => Err(vec![Refused::Conflict]),
            Some(_) => Ok(()),
        };
        agree(self.db, &answer, &expected)?;
        if let (Some(token), Some(quote), Some(last_day)) = (token, place, last_day) {
            self.links.push(Link { token, company: who.through, quote, last_day });
        }
        Ok(())
    }

    /// Moves the ends of the good links of a quote whose state was changed.
    fn move_links(&mut self, company: usize, quote: usize) {
        let model = &self.sides[company].model;
        let (today, last_day) = (model.day(self.now), model.last_day_of_links(quote, self.now));
        for link in &mut self.links {
            if (link.company, link.quote) == (company, quote) && link.last_day >= today {
                link.last_day = last_day;
            }
        }
    }

    async fn signed(&mut self, step: &Step) -> Verdict {
        let (Step::Sign(Nth(n), _) | Step::Decline(Nth(n))) = step else { return Ok(()) };
        let links = self.world.invoicing.signing_links();
        // With few links, the token is sometimes one that was never issued.
        let link = self.links.len().checked_sub(1 + usize::from(*n)).map(|place| &self.links[place]);
        let token = link.map_or_else(|| format!("sgn_{}", "x".repeat(43)), |link| link.token.clone());
        let is_good = |link: &Link| link.last_day >= self.sides[link.company].model.day(self.now);
        let (company, place) =
            link.map_or((0, None), |link| (link.company, is_good(link).then_some(link.quote)));
        let answer = match step {
            Step::Sign(_, signer) => {
                let Signer { name, email, text, .. } = SIGNERS[usize::from(*signer)];
                let evidence = SignatureEvidence {
                    signed_by_name: name.to_owned(),
                    signed_by_email: email.to_owned(),
                    accepted_text: text.to_owned(),
                };
                let signature = Signature { evidence, ip: None, user_agent: None, document_sha256: None };
                answered(links.sign(&token, &signature).await)?
            }
            _ => answered(links.decline(&token, &Decline::default()).await)?,
        };
        let mut seen = self.seen(company, &answer);
        seen.invoices = self.new_invoices(company).await?;
        let model = &mut self.sides[company].model;
        let expected = match step {
            Step::Sign(_, signer) => model.sign_quote(place, SIGNERS[usize::from(*signer)], &seen),
            _ => model.reject_quote(place, &seen),
        };
        let record = place.map(|place| (Kind::Quote, place));
        self.settle(company, &answer, &expected, record).await?;
        if let (Some(place), Ok(_)) = (place, &answer) {
            self.move_links(company, place);
        }
        match (step, place, &answer) {
            (Step::Sign(..), Some(place), Ok(_)) => self.check_proof(company, place).await,
            _ => Ok(()),
        }
    }

    async fn invoice(&mut self, step: &Step, who: Who, nth: Nth) -> Verdict {
        if let Step::Pay(_, _, part, reference) = step {
            return self.pay(who, nth, *part, *reference).await;
        }
        let (place, invoice) = self.pick_invoice(who, nth);
        let handle = self.handle(who);
        let invoices = handle.invoices();
        let due = match step {
            Step::Issue(_, _, Some(days)) => Some(self.day(who.through, *days)),
            _ => None,
        };
        let owner = &self.sides[who.owner].model;
        let payments =
            owner.invoices.iter().find(|known| known.id == invoice).map(|known| known.payments.clone());
        let payments = payments.unwrap_or_default();
        let payment = match step {
            Step::Reverse(_, _, Nth(n)) if !payments.is_empty() => Some(usize::from(*n) % payments.len()),
            _ => None,
        };
        let answer = match step {
            Step::Issue(..) => answered(invoices.issue(id(&invoice), due).await)?,
            Step::MarkPaid(..) => answered(invoices.mark_paid(id(&invoice)).await)?,
            Step::Reverse(..) => {
                let unknown = || self.world.invoicing.env().uuid().to_string();
                let payment = payment.map_or_else(unknown, |place| payments[place].id.clone());
                answered(invoices.reverse_payment(id(&invoice), id(&payment)).await)?
            }
            _ => answered(invoices.cancel(id(&invoice)).await)?,
        };
        let entered = self.new_payment(who.through, place).await?;
        let seen = self.seen(who.through, &answer);
        let model = &mut self.sides[who.through].model;
        let expected = match step {
            Step::Issue(..) => model.issue_invoice(place, due, &seen),
            Step::MarkPaid(..) => model.mark_paid(place, entered, &seen),
            Step::Reverse(..) => model.reverse(place, payment, &seen),
            _ => model.cancel_invoice(place, &seen),
        };
        self.settle(who.through, &answer, &expected, place.map(|place| (Kind::Invoice, place))).await?;
        self.check_payments(who.through, place).await
    }

    async fn pay(&mut self, who: Who, nth: Nth, part: Part, reference: Option<u8>) -> Verdict {
        let (place, invoice) = self.pick_invoice(who, nth);
        let due = place.map_or(100, |place| self.sides[who.through].model.invoices[place].due());
        let cents = part_of(due, part);
        // The contract leaves open whether 0 with a known reference is the known payment or bad input.
        let reference = reference.filter(|_| cents > 0).map(|n| REFERENCES[usize::from(n)]);
        let payment = NewPayment {
            reference: reference.map(str::to_owned),
            movement_id: reference.map(str::to_owned),
            ..NewPayment::new(amount(cents), PaymentSource::Bank)
        };
        let recorded = self.handle(who).invoices().pay(id(&invoice), &payment).await;
        let (invoice, created) = recorded_payment(recorded)?;
        let seen = self.seen(who.through, &invoice);
        let paid = self.sides[who.through].model.pay_invoice(place, cents, reference, &seen);
        let expected = paid.as_ref().map(drop).map_err(Clone::clone);
        let (answer, payment) = without_payment(invoice);
        self.settle(who.through, &answer, &expected, place.map(|place| (Kind::Invoice, place))).await?;
        if let (Ok((known, is_new)), Some(place)) = (paid, place) {
            same_json("created", &created, &is_new.into())?;
            let expected = &self.sides[who.through].model.invoices[place].payments[known].id;
            same_json("the payment", &payment.unwrap_or_default(), &expected.as_str().into())?;
        }
        self.check_payments(who.through, place).await
    }

    async fn refund(&mut self, who: Who, nth: Nth, part: Part) -> Verdict {
        let (place, invoice) = self.pick_invoice(who, nth);
        let overpaid = place.map_or(100, |place| self.sides[who.through].model.invoices[place].overpaid());
        let cents = part_of(overpaid, part);
        let refund = NewPayment::new(amount(cents), PaymentSource::Bank);
        let recorded = self.handle(who).invoices().refund(id(&invoice), &refund).await;
        let (invoice, _) = recorded_payment(recorded)?;
        let seen = self.seen(who.through, &invoice);
        let expected = self.sides[who.through].model.refund_invoice(place, cents, &seen);
        let (answer, _) = without_payment(invoice);
        self.settle(who.through, &answer, &expected, place.map(|place| (Kind::Invoice, place))).await?;
        self.check_payments(who.through, place).await
    }

    async fn credit(&mut self, who: Who, nth: Nth, credit: Credit) -> Verdict {
        let (place, invoice) = self.pick_invoice(who, nth);
        let owner = &self.sides[who.owner].model;
        let remaining = owner.invoices.iter().find(|known| known.id == invoice).map(Invoice::remaining);
        let remaining = remaining.unwrap_or_default();
        let reduction = match credit {
            // The reference does not know which reductions could close a total that has rates below zero.
            Credit::Reduction(..) if remaining.iter().any(|share| share.base < 0) => return Ok(()),
            Credit::Reduction(n, part) if !remaining.is_empty() => {
                let share = remaining[usize::from(n) % remaining.len()];
                Some(Reduction { rate: share.rate, cents: part_of(share.base, part) })
            }
            _ => None,
        };
        let new = match reduction {
            Some(Reduction { rate, cents }) => {
                NewCreditNote::new(REASON).reduction("Remise", percent_of(rate), amount(cents))
            }
            None => NewCreditNote::of_remaining(REASON),
        };
        let answer = answered(self.handle(who).invoices().credit(id(&invoice), &new).await)?;
        let seen = self.seen(who.through, &answer);
        let expected = self.sides[who.through].model.credit_invoice(place, reduction, &seen);
        agree(self.db, &answer, &expected)?;
        self.check_events(who.through).await?;
        let (Ok(mut answer), Some(place)) = (answer, place) else { return Ok(()) };
        let side = &self.sides[who.through];
        let invoice = &side.model.invoices[place];
        let read = answered(side.handle.invoices().get(id(&invoice.id)).await)?;
        same_json("the credited invoice", &read.unwrap_or_default(), &invoice.detail())?;
        let Some(note) = invoice.notes.last() else { return Err("no credit note".to_owned()) };
        let read = answered(side.handle.credit_notes().get(id(&note.id)).await)?;
        same_json("the credit note as it is read", &read.unwrap_or_default(), &answer)?;
        answer.as_object_mut().map(|fields| fields.remove("lines"));
        same_json("the credit note", &answer, &note.detail())
    }

    async fn new_project(&mut self, who: Who, client: Option<Nth>, quotes: &[Nth]) -> Verdict {
        let client = client.map(|nth| self.pick_client(who, nth));
        let quotes: Vec<_> = quotes.iter().map(|nth| self.pick_quote(who, *nth)).collect();
        let new = NewProject {
            name: " Chantier ".to_owned(),
            client_id: client.as_ref().map(|(_, client)| id(client)),
            quote_ids: quotes.iter().map(|(_, quote)| id(quote)).collect(),
        };
        let answer = answered(self.handle(who).projects().create(&new).await)?;
        let seen = self.seen(who.through, &answer);
        let places: Vec<_> = quotes.iter().map(|(place, _)| *place).collect();
        let model = &mut self.sides[who.through].model;
        let expected =
            model.create_project(client.map(|(place, _)| place.ok_or(Refused::Invalid)), &places, &seen);
        let place = model.projects.len().saturating_sub(1);
        self.settle(who.through, &answer, &expected, Some((Kind::Project, place))).await
    }

    async fn move_project(&mut self, who: Who, nth: Nth, to: u8) -> Verdict {
        let (place, project) = self.pick(who, nth, |company| &company.projects, |project| &project.id);
        let to = PROJECT_STATUSES[usize::from(to)];
        let status: ProjectStatus = id(to);
        let answer = answered(self.handle(who).projects().set_status(id(&project), status).await)?;
        let seen = self.seen(who.through, &answer);
        let expected = self.sides[who.through].model.move_project(place, to, &seen);
        self.settle(who.through, &answer, &expected, place.map(|place| (Kind::Project, place))).await
    }
}
