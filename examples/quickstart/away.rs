//! Events while the receiver is away, and its catch-up.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::ready;
use std::time::Duration;

use invoicing_client::{CatchUp, FileCheckpoint, RecordVersion, Resource};
use invoicing_core::{Client, DeliveryStatus, EventId, Invoice, NewClient, Quote};
use invoicing_examples::Failure;

use crate::story::Story;

/// The changes while the receiver was away.
pub(crate) struct Missed {
    pub(crate) client: Client,
    pub(crate) quote: Quote,
    pub(crate) invoice: Invoice,
}

impl Story {
    /// A payment bounces and is made again, a client and a quote appear: the webhooks reach no receiver.
    pub(crate) async fn changes_while_away(&mut self, invoice: &Invoice) -> Result<Missed, Failure> {
        let before = self.company.events().list(None, 1_000).await?;
        let payments = self.company.invoices().payments(invoice.summary.id).await?;
        let bounced = payments.last().ok_or("the invoice has payments")?;
        let invoice = self.company.invoices().reverse_payment(invoice.summary.id, bounced.id).await?;
        self.say(
            "bank",
            format_args!(
                "takes {:.2} EUR back: {}, {:.2} EUR due",
                bounced.amount, invoice.summary.status, invoice.summary.amount_due
            ),
        );
        let invoice = self.pay(&invoice, invoice.summary.amount_due, "VIR-0003").await?;
        let new = NewClient::named("Copropriété Les Glycines").city("Lyon");
        let client = self.company.clients().create(&new).await?;
        let quote = self.company.quotes().create(&self.input.small_quote(client.id)).await?;
        let quote = self.company.quotes().send(quote.summary.id, None).await?;
        self.say("painter", format_args!("writes and sends {} for {}", quote.summary.number, client.name));
        let all = self.company.events().list(before.last().map(|event| event.id), 1_000).await?;
        self.timeline.check(all.len() == 2, "invoice.paid and quote.created were recorded")?;
        for event in all {
            self.given_up(event.id, &event.kind).await?;
        }
        Ok(Missed { client, quote, invoice })
    }

    async fn given_up(&mut self, event: EventId, kind: &str) -> Result<(), Failure> {
        loop {
            let deliveries = self.company.events().deliveries(event).await?;
            let [delivery] = &deliveries[..] else { return Err("one webhook, one delivery".into()) };
            match delivery.status {
                DeliveryStatus::Pending => tokio::time::sleep(Duration::from_millis(50)).await,
                DeliveryStatus::Failed => {
                    let attempts = delivery.attempts;
                    self.timeline.check(attempts == 3, "three attempts were made")?;
                    self.say(
                        "dispatcher",
                        format_args!("gives {kind} up after {attempts} attempts (gaps of 1 s and 5 s)"),
                    );
                    return Ok(());
                }
                status => return Err(format!("{kind} cannot be {status}: no receiver listens").into()),
            }
        }
    }

    /// One pass over everything: what has changed since the last one.
    pub(crate) async fn catch_up(
        &mut self,
        when: &str,
    ) -> Result<BTreeMap<&'static str, Vec<RecordVersion>>, Failure> {
        let client = &self.integration.client;
        let file = |name: &str| FileCheckpoint::new(self.folder.join(format!("{name}.checkpoint.json")));
        let changed = BTreeMap::from([
            ("quotes", changed_since(client.quotes().catch_up(file("quotes"))).await?),
            ("invoices", changed_since(client.invoices().catch_up(file("invoices"))).await?),
            ("credit notes", changed_since(client.credit_notes().catch_up(file("credit-notes"))).await?),
            ("clients", changed_since(client.clients().catch_up(file("clients"))).await?),
        ]);
        let counts: Vec<_> = changed.iter().map(|(name, seen)| format!("{} {name}", seen.len())).collect();
        self.say("integration", format_args!("catch-up {when}: {}", counts.join(", ")));
        Ok(changed)
    }

    pub(crate) async fn catch_up_after(&mut self, missed: &Missed) -> Result<(), Failure> {
        let changed = self.catch_up("after").await?;
        let Missed { client, quote, invoice } = missed;
        let expected = BTreeMap::from([
            ("quotes", vec![RecordVersion { updated_at: quote.summary.updated_at, id: quote.summary.id.0 }]),
            (
                "invoices",
                vec![RecordVersion { updated_at: invoice.summary.updated_at, id: invoice.summary.id.0 }],
            ),
            ("credit notes", Vec::new()),
            ("clients", vec![RecordVersion { updated_at: client.updated_at, id: client.id.0 }]),
        ]);
        self.timeline.check(changed == expected, "the catch-up brings exactly what changed")?;
        self.say("check", "exactly the versions that the webhooks could not bring");
        Ok(())
    }
}

/// One pass over one resource. A real integration stores each record here, and only then returns `Ok`.
async fn changed_since<R: Resource>(mut catch_up: CatchUp<R>) -> Result<Vec<RecordVersion>, Failure> {
    let mut versions = Vec::new();
    let pass = catch_up.pass(|record| {
        versions.push(R::version(&record));
        ready(Ok::<(), Infallible>(()))
    });
    pass.await?;
    Ok(versions)
}
