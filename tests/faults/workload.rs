//! Writers that do business of all kinds and announce each operation *after* it has returned, so that what was
//! announced must be found again. Shared by the process that is there to be killed and the tests that cut connections.

use std::fmt::Display;
use std::sync::Arc;

use invoicing_core::{
    CreditNoteId, Invoice, InvoiceId, Money, NewClient, NewCreditNote, NewQuote, Percent, Project,
    ProjectStatus, Quote, QuoteId, QuoteImport, QuoteStatus, SignatureEvidence, Timestamp,
};
use invoicing_server::{
    CompanyHandle, Env, Error, InvoiceQuery, Invoicing, NewPayment, NewProject, PageWindow, PaymentSource,
    Signature,
};
use invoicing_tests::new_quote;
use serde_json::{Value, json};

pub(crate) type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The error of an import if other quotes have taken each number that it tried.
const NUMBER_TAKEN: &str = "keep taking the number of the import";

/// Where a writer announces what has returned.
pub(crate) type Say = Arc<dyn Fn(&Value) + Send + Sync>;

/// A task that does business with a company.
pub(crate) struct Writer {
    invoicing: Invoicing,
    handle: CompanyHandle,
    /// Whether the company makes an invoice of each accepted quote by itself.
    automatic: bool,
    say: Say,
    /// No two writers of any process have the same.
    name: String,
}

impl Writer {
    pub(crate) fn new(invoicing: &Invoicing, handle: &CompanyHandle, automatic: bool, say: &Say) -> Self {
        let name = format!("{:016x}", u64::from_le_bytes(Env::system().bytes()));
        Self { invoicing: invoicing.clone(), handle: handle.clone(), automatic, say: Arc::clone(say), name }
    }

    /// Makes a deal. Where storage is unavailable in the middle of it, that is said and the deal stays as it is: what
    /// was to happen then may have happened or not.
    pub(crate) async fn try_deal(&self, turn: u64) -> Result<(), Failure> {
        match self.deal(turn).await {
            Err(error) if matches!(error.downcast_ref(), Some(Error::StorageUnavailable(_))) => {
                let cause = error.source().map(ToString::to_string);
                (self.say)(&json!({ "unavailable": cause }));
                Ok(())
            }
            other => other,
        }
    }

    fn say(&self, kind: &str, id: &dyn Display, status: &str, stamp: Timestamp, events: &[&str]) {
        let company = self.handle.id().to_string();
        let (id, stamp) = (id.to_string(), stamp.to_string());
        (self.say)(&json!({
            "company": company, "kind": kind, "id": id, "status": status, "stamp": stamp, "events": events,
        }));
    }

    fn say_quote(&self, quote: &Quote, events: &[&str]) {
        self.say("quote", &quote.summary.id, quote.summary.status.as_str(), quote.summary.updated_at, events);
    }

    fn say_invoice(&self, invoice: &Invoice, events: &[&str]) {
        self.say(
            "invoice",
            &invoice.summary.id,
            invoice.summary.status.as_str(),
            invoice.summary.updated_at,
            events,
        );
    }

    /// A credit note has the stamp of the change of its invoice, which is therefore not said.
    fn say_credit_note(&self, id: CreditNoteId, stamp: Timestamp) {
        self.say("credit note", &id, "", stamp, &["credit_note.issued"]);
    }

    fn say_project(&self, project: &Project, events: &[&str]) {
        self.say("project", &project.id, project.status.as_str(), project.updated_at, events);
    }

    /// From a new client to a paid invoice and a completed project, each time a little differently. No client, quote,
    /// payment without a movement or project is like another, so that what happens twice is found.
    async fn deal(&self, turn: u64) -> Result<(), Failure> {
        let name = format!("Lefèvre {} {turn}", self.name);
        let external_id = (turn % 2 == 1).then(|| format!("crm-{}-{turn}", self.name));
        let client =
            NewClient { email: Some("client@exemple.fr".into()), external_id, ..NewClient::named(name) };
        let creation = self.handle.clients().find_or_create(&client).await?;
        if !creation.created {
            return Err("a client was there before it was created".into());
        }
        let client = creation.client;
        self.say("client", &client.id, "", client.updated_at, &[]);
        if turn.is_multiple_of(6) {
            return self.direct(&new_quote(client.id)).await;
        }
        let accepted = self.accepted(turn, &new_quote(client.id)).await?;
        self.invoiced(turn, accepted).await?;
        self.project(accepted).await
    }

    async fn accepted(&self, turn: u64, new: &NewQuote) -> Result<QuoteId, Failure> {
        let quotes = self.handle.quotes();
        if turn % 5 == 4 {
            let import = QuoteImport { status: QuoteStatus::Accepted, sent_at: None, accepted_at: None };
            // Beside many writers the numbers of an import may run out of tries: it is then to be called again.
            let quote = loop {
                match quotes.import(new, &import).await {
                    Err(Error::StorageUnavailable(cause)) if cause.to_string().contains(NUMBER_TAKEN) => {}
                    imported => break imported?,
                }
            };
            self.say_quote(&quote, &["quote.created"]);
            return Ok(quote.summary.id);
        }
        let quote = quotes.create(new).await?;
        self.say_quote(&quote, &["quote.created"]);
        let mut quote = quotes.send(quote.summary.id, None).await?;
        self.say_quote(&quote, &[]);
        if turn % 5 == 3 {
            self.say_quote(&quotes.reject(quote.summary.id).await?, &[]);
            quote = quotes.send(quote.summary.id, None).await?;
            self.say_quote(&quote, &[]);
        }
        if turn.is_multiple_of(2) {
            let token = quotes.create_signing_link(quote.summary.id).await?;
            let evidence = SignatureEvidence {
                signed_by_name: "Léa Lefèvre".into(),
                signed_by_email: "lea@exemple.fr".into(),
                accepted_text: "Bon pour accord".into(),
            };
            let signature = Signature { evidence, ip: None, user_agent: None, document_sha256: None };
            let quote = self.invoicing.signing_links().sign(token.reveal(), &signature).await?;
            self.say_quote(&quote, &["quote.signed", "quote.accepted"]);
        } else {
            self.say_quote(&quotes.accept(quote.summary.id).await?, &["quote.accepted"]);
        }
        Ok(quote.summary.id)
    }

    async fn invoiced(&self, turn: u64, quote: QuoteId) -> Result<(), Failure> {
        let invoices = self.handle.invoices();
        let invoice = if self.automatic && turn % 5 != 4 {
            let since = self.handle.quotes().get(quote).await?.summary.accepted_at;
            let query = InvoiceQuery {
                window: PageWindow { since, limit: 100, ..PageWindow::default() },
                ..InvoiceQuery::default()
            };
            let made = invoices
                .list(&query)
                .await?
                .data
                .into_iter()
                .find(|invoice| invoice.summary.quote_id == Some(quote));
            made.ok_or("an accepted quote was not converted")?.summary.id
        } else {
            let invoice = invoices.convert(quote).await?;
            self.say_invoice(&invoice, &["invoice.created"]);
            invoice.summary.id
        };
        if turn % 3 == 2 {
            let paid = invoices.mark_paid(invoice).await?;
            self.say_invoice(&paid, &["invoice.issued", "invoice.paid"]);
            return if turn.is_multiple_of(2) { Ok(()) } else { self.refunded(invoice).await };
        }
        let issued = invoices.issue(invoice, None).await?;
        self.say_invoice(&issued, &["invoice.issued"]);
        if turn % 6 == 4 {
            return self.canceled(invoice).await;
        }
        let part = invoices.pay(invoice, &payment(Money::from(100), None)).await?;
        self.say_invoice(&part.invoice, &[]);
        let rest = invoices.pay(invoice, &payment(part.invoice.summary.amount_due, Some("rest"))).await?;
        self.say_invoice(&rest.invoice, &["invoice.paid"]);
        if turn % 3 == 1 {
            self.say_invoice(&invoices.reverse_payment(invoice, part.payment.id).await?, &[]);
            let again = invoices.pay(invoice, &payment(Money::from(100), Some("again"))).await?;
            self.say_invoice(&again.invoice, &["invoice.paid"]);
        }
        Ok(())
    }

    /// A sale that is invoiced at once, and credited in part. It takes few operations, so that most processes that are
    /// killed early have credited something.
    async fn direct(&self, new: &NewQuote) -> Result<(), Failure> {
        let invoices = self.handle.invoices();
        let draft = invoices.create_direct(new).await?;
        self.say_invoice(&draft, &["invoice.created"]);
        let issued = invoices.issue(draft.summary.id, None).await?;
        self.say_invoice(&issued, &["invoice.issued"]);
        self.credited(draft.summary.id, Money::from(20)).await
    }

    /// Credits a part.
    async fn credited(&self, invoice: InvoiceId, amount: Money) -> Result<(), Failure> {
        let part = NewCreditNote::new("Moins de travaux").reduction("Remise", Percent::from(10), amount);
        let note = self.handle.invoices().credit(invoice, &part).await?;
        self.say_credit_note(note.summary.id, note.summary.updated_at);
        Ok(())
    }

    /// Credits more of a paid invoice than is retained, and pays the difference back.
    async fn refunded(&self, invoice: InvoiceId) -> Result<(), Failure> {
        self.credited(invoice, Money::from(50)).await?;
        let invoices = self.handle.invoices();
        let overpaid = invoices.get(invoice).await?.summary.amount_overpaid;
        let refund = invoices.refund(invoice, &payment(overpaid, Some("refund"))).await?;
        self.say_invoice(&refund.invoice, &[]);
        Ok(())
    }

    async fn canceled(&self, invoice: InvoiceId) -> Result<(), Failure> {
        let canceled = self.handle.invoices().cancel(invoice).await?;
        let note = canceled.detail.credit_notes.first().ok_or("a cancelled invoice was not credited")?;
        self.say_credit_note(note.id, canceled.summary.updated_at);
        Ok(())
    }

    async fn project(&self, quote: QuoteId) -> Result<(), Failure> {
        let projects = self.handle.projects();
        let new = NewProject { name: "Façade".into(), client_id: None, quote_ids: vec![quote] };
        let project = projects.create(&new).await?;
        self.say_project(&project, &[]);
        for status in [ProjectStatus::Completed, ProjectStatus::Open, ProjectStatus::Completed] {
            let moved = projects.set_status(project.id, status).await?;
            let events: &[&str] =
                if status == ProjectStatus::Completed { &["project.completed"] } else { &[] };
            self.say_project(&moved, events);
        }
        Ok(())
    }
}

fn payment(amount: Money, reference: Option<&str>) -> NewPayment {
    let reference = reference.map(str::to_owned);
    NewPayment {
        reference: reference.clone(),
        movement_id: reference,
        ..NewPayment::new(amount, PaymentSource::Bank)
    }
}
