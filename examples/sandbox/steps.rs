//! The steps that the business is made of. Each finds a record that it can move, and moves it.

use chrono::{Days, NaiveDate};
use fastrand::Rng;
use invoicing_core::{
    Client, InvoiceItem, InvoiceStatus, NewClient, NewQuote, Percent, ProjectStatus, QuoteImport, QuoteItem,
    QuoteStatus, SignatureEvidence,
};
use invoicing_server::{
    ClientQuery, Error, InvoiceQuery, NewPayment, NewProject, PageWindow, PaymentMethod, PaymentSource,
    QuoteQuery, Signature,
};

use crate::business::{Business, Done};
use crate::catalogue::{self, one_of};

/// How far back a step looks for a record.
pub(crate) const RECENT: PageWindow = PageWindow { limit: 20, offset: 0, since: None };

/// A step of the business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    CreateClient,
    ChangeClient,
    CreateQuote,
    EditQuote,
    ImportQuote,
    SendQuote,
    SendAgain,
    SignQuote,
    AcceptQuote,
    RejectQuote,
    ConvertQuote,
    DirectInvoice,
    IssueInvoice,
    PayPart,
    PayRest,
    MarkPaid,
    ReversePayment,
    CancelInvoice,
    CreditQuantity,
    CreditReduction,
    CreditRemaining,
    Refund,
    OpenProject,
    CompleteProject,
    ReopenProject,
    Sweep,
}

/// How often each step is drawn.
const WEIGHTS: [(Step, u32); 26] = [
    (Step::CreateClient, 8),
    (Step::ChangeClient, 2),
    (Step::CreateQuote, 18),
    (Step::EditQuote, 4),
    (Step::ImportQuote, 3),
    (Step::SendQuote, 16),
    (Step::SendAgain, 3),
    (Step::SignQuote, 12),
    (Step::AcceptQuote, 4),
    (Step::RejectQuote, 4),
    (Step::ConvertQuote, 14),
    (Step::DirectInvoice, 4),
    (Step::IssueInvoice, 12),
    (Step::PayPart, 7),
    (Step::PayRest, 9),
    (Step::MarkPaid, 4),
    (Step::ReversePayment, 2),
    (Step::CancelInvoice, 2),
    (Step::CreditQuantity, 3),
    (Step::CreditReduction, 2),
    (Step::CreditRemaining, 1),
    (Step::Refund, 3),
    (Step::OpenProject, 5),
    (Step::CompleteProject, 6),
    (Step::ReopenProject, 2),
    (Step::Sweep, 1),
];

/// Draws a step by its weight.
pub(crate) fn draw(rng: &mut Rng) -> Step {
    let all: u32 = WEIGHTS.iter().map(|(_, weight)| weight).sum();
    let mut left = rng.u32(..all);
    for (step, weight) in WEIGHTS {
        if left < weight {
            return step;
        }
        left -= weight;
    }
    Step::CreateQuote
}

/// `None` if the input breaks a rule: a client that an integration has created may lack the legal
/// data of an electronic invoice, and less may be left of an invoice than a credit note takes.
pub(crate) fn unless_invalid<T>(ended: Result<T, Error>) -> Result<Option<T>, Error> {
    match ended {
        Err(Error::Invalid(_)) => Ok(None),
        ended => ended.map(Some),
    }
}

impl Business {
    /// Performs a step; `None` if there is no record for it.
    pub(crate) async fn perform(&mut self, step: Step) -> Result<Option<Done>, Error> {
        match step {
            Step::CreateClient => self.create_client().await.map(Some),
            Step::ChangeClient => self.change_client().await,
            Step::CreateQuote => self.create_quote().await,
            Step::EditQuote => self.edit_quote().await,
            Step::ImportQuote => self.import_quote().await,
            Step::SendQuote => self.send_quote(QuoteStatus::Draft, "quote.send").await,
            Step::SendAgain => {
                let status = if self.rng.bool() { QuoteStatus::Expired } else { QuoteStatus::Rejected };
                self.send_quote(status, "quote.sendAgain").await
            }
            Step::SignQuote => self.sign_quote().await,
            Step::AcceptQuote => self.accept_quote().await,
            Step::RejectQuote => self.reject_quote().await,
            Step::ConvertQuote => self.convert_quote().await,
            Step::DirectInvoice => self.direct_invoice().await,
            Step::IssueInvoice => self.issue_invoice().await,
            Step::PayPart => {
                let rate = Percent::from(self.rng.i32(15..60));
                self.pay(rate, "invoice.payPart").await
            }
            Step::PayRest => {
                // One in twenty pays too much.
                let rate = Percent::from(if self.rng.u8(..20) == 0 { 105 } else { 100 });
                self.pay(rate, "invoice.pay").await
            }
            Step::MarkPaid => self.mark_paid().await,
            Step::ReversePayment => self.reverse_payment().await,
            Step::CancelInvoice => self.cancel_invoice().await,
            Step::CreditQuantity => self.credit_quantity().await,
            Step::CreditReduction => self.credit_reduction().await,
            Step::CreditRemaining => self.credit_remaining().await,
            Step::Refund => self.refund().await,
            Step::OpenProject => self.open_project().await,
            Step::CompleteProject => self.move_project(ProjectStatus::Open, ProjectStatus::Completed).await,
            Step::ReopenProject => self.move_project(ProjectStatus::Completed, ProjectStatus::Open).await,
            Step::Sweep => {
                self.invoicing.sweep().await?;
                Ok(Some(Done::new("sweep", [])))
            }
        }
    }

    /// Needs no record: this is how it begins.
    pub(crate) async fn create_client(&mut self) -> Result<Done, Error> {
        let new = catalogue::client(&mut self.rng);
        let client = self.company.clients().create(&new).await?;
        Ok(Done::new("client.create", [("clientId", client.id.0)]))
    }

    async fn change_client(&mut self) -> Result<Option<Done>, Error> {
        let Some(client) = self.client().await? else { return Ok(None) };
        let phone = format!("07 {:02} {:02} 00 00", self.rng.u8(..100), self.rng.u8(..100));
        let change = NewClient::of(&client).phone(phone);
        self.company.clients().change(client.id, &change).await?;
        Ok(Some(Done::new("client.change", [("clientId", client.id.0)])))
    }

    async fn create_quote(&mut self) -> Result<Option<Done>, Error> {
        let Some(client) = self.client().await? else { return Ok(None) };
        let new = self.content(&client)?;
        let quote = self.company.quotes().create(&new).await?;
        Ok(Some(Done::new("quote.create", [("quoteId", quote.summary.id.0), ("clientId", client.id.0)])))
    }

    async fn edit_quote(&mut self) -> Result<Option<Done>, Error> {
        let (Some(quote), Some(client)) = (self.quote(QuoteStatus::Draft).await?, self.client().await?)
        else {
            return Ok(None);
        };
        let content = self.content(&client)?;
        self.company.quotes().edit(quote.summary.id, &content).await?;
        Ok(Some(Done::new("quote.edit", [("quoteId", quote.summary.id.0), ("clientId", client.id.0)])))
    }

    async fn import_quote(&mut self) -> Result<Option<Done>, Error> {
        let Some(client) = self.client().await? else { return Ok(None) };
        let mut new = self.content(&client)?;
        let status = QuoteStatus::ALL[self.rng.usize(..QuoteStatus::ALL.len())];
        // One that was sent long ago: the next sweep finds it expired.
        new.valid_until = (status == QuoteStatus::Sent).then(|| self.today() - Days::new(3));
        let quote = self.company.quotes().import(&new, &QuoteImport::new(status)).await?;
        Ok(Some(Done::new("quote.import", [("quoteId", quote.summary.id.0), ("clientId", client.id.0)])))
    }

    async fn send_quote(&mut self, status: QuoteStatus, name: &'static str) -> Result<Option<Done>, Error> {
        let Some(quote) = self.quote(status).await? else { return Ok(None) };
        let today = self.today();
        let until = catalogue::later(&mut self.rng, today);
        self.company.quotes().send(quote.summary.id, until).await?;
        Ok(Some(Done::new(name, [("quoteId", quote.summary.id.0)])))
    }

    /// Through the public link, as a client does.
    async fn sign_quote(&mut self) -> Result<Option<Done>, Error> {
        let Some(quote) = self.quote(QuoteStatus::Sent).await? else { return Ok(None) };
        if quote.summary.valid_until.is_some_and(|day| day < self.today()) {
            return Ok(None);
        }
        let token = self.company.quotes().create_signing_link(quote.summary.id).await?;
        let email = quote.summary.client_email.as_deref().unwrap_or("client@exemple.fr");
        let accepted_text = "Bon pour accord, devis reçu avant l'exécution des travaux";
        let signature =
            Signature::new(SignatureEvidence::new(&quote.summary.client_name, email, accepted_text));
        self.invoicing.signing_links().sign(token.reveal(), &signature).await?;
        Ok(Some(Done::new("quote.sign", [("quoteId", quote.summary.id.0)])))
    }

    async fn accept_quote(&mut self) -> Result<Option<Done>, Error> {
        let status = if self.rng.bool() { QuoteStatus::Sent } else { QuoteStatus::Expired };
        let Some(quote) = self.quote(status).await? else { return Ok(None) };
        self.company.quotes().accept(quote.summary.id).await?;
        Ok(Some(Done::new("quote.accept", [("quoteId", quote.summary.id.0)])))
    }

    async fn reject_quote(&mut self) -> Result<Option<Done>, Error> {
        let Some(quote) = self.quote(QuoteStatus::Sent).await? else { return Ok(None) };
        self.company.quotes().reject(quote.summary.id).await?;
        Ok(Some(Done::new("quote.reject", [("quoteId", quote.summary.id.0)])))
    }

    /// A second conversion is refused, and another step is drawn.
    async fn convert_quote(&mut self) -> Result<Option<Done>, Error> {
        let Some(quote) = self.quote(QuoteStatus::Accepted).await? else { return Ok(None) };
        let invoice = self.company.invoices().convert(quote.summary.id).await?;
        Ok(Some(Done::new(
            "quote.convert",
            [("quoteId", quote.summary.id.0), ("invoiceId", invoice.summary.id.0)],
        )))
    }

    /// Without an offer, such as for a small repair.
    async fn direct_invoice(&mut self) -> Result<Option<Done>, Error> {
        let Some(client) = self.client().await? else { return Ok(None) };
        let content = self.content(&client)?;
        let invoice = self.company.invoices().create_direct(&content).await?.summary;
        let mut done = Done::new("invoice.direct", [("invoiceId", invoice.id.0), ("clientId", client.id.0)]);
        done.ids.extend(invoice.quote_id.map(|quote| ("quoteId", quote.0)));
        Ok(Some(done))
    }

    async fn issue_invoice(&mut self) -> Result<Option<Done>, Error> {
        let Some(invoice) = self.invoice(InvoiceStatus::Draft).await? else { return Ok(None) };
        let issued = self.company.invoices().issue(invoice.summary.id, None).await;
        let done = Done::new("invoice.issue", [("invoiceId", invoice.summary.id.0)]);
        Ok(unless_invalid(issued)?.map(|_| done))
    }

    /// A payment of a part of what is due.
    async fn pay(&mut self, part: Percent, name: &'static str) -> Result<Option<Done>, Error> {
        let Some(invoice) = self.invoice(InvoiceStatus::Sent).await? else { return Ok(None) };
        let amount = invoice.summary.amount_due.percent(part)?;
        if amount.is_zero() {
            return Ok(None);
        }
        let ways = [
            (PaymentSource::Entered, PaymentMethod::Cheque),
            (PaymentSource::Online, PaymentMethod::Card),
            (PaymentSource::Bank, PaymentMethod::Transfer),
        ];
        let (source, method) = ways[self.rng.usize(..ways.len())];
        let reference = format!("VIR-{:08}", self.rng.u32(..100_000_000));
        let mut payment = NewPayment::new(amount, source).method(method).reference(&*reference);
        if source != PaymentSource::Entered {
            payment = payment.movement_id(reference);
        }
        let paid = self.company.invoices().pay(invoice.summary.id, &payment).await?;
        Ok(Some(Done::new(name, [("invoiceId", invoice.summary.id.0), ("paymentId", paid.payment.id.0)])))
    }

    async fn mark_paid(&mut self) -> Result<Option<Done>, Error> {
        let status = if self.rng.bool() { InvoiceStatus::Draft } else { InvoiceStatus::Sent };
        let Some(invoice) = self.invoice(status).await? else { return Ok(None) };
        let paid = self.company.invoices().mark_paid(invoice.summary.id).await;
        let done = Done::new("invoice.markPaid", [("invoiceId", invoice.summary.id.0)]);
        Ok(unless_invalid(paid)?.map(|_| done))
    }

    async fn reverse_payment(&mut self) -> Result<Option<Done>, Error> {
        let Some(invoice) = self.invoice(InvoiceStatus::Paid).await? else { return Ok(None) };
        let payments = self.company.invoices().payments(invoice.summary.id).await?;
        let Some(payment) = payments.iter().rfind(|payment| payment.reversed_at.is_none()) else {
            return Ok(None);
        };
        self.company.invoices().reverse_payment(invoice.summary.id, payment.id).await?;
        let ids = [("invoiceId", invoice.summary.id.0), ("paymentId", payment.id.0)];
        Ok(Some(Done::new("invoice.reversePayment", ids)))
    }

    async fn cancel_invoice(&mut self) -> Result<Option<Done>, Error> {
        let status = if self.rng.bool() { InvoiceStatus::Draft } else { InvoiceStatus::Sent };
        let Some(invoice) = self.invoice(status).await? else { return Ok(None) };
        let canceled = self.company.invoices().cancel(invoice.summary.id).await?;
        let mut done = Done::new("invoice.cancel", [("invoiceId", invoice.summary.id.0)]);
        // Of an issued one, the rest is credited.
        let note = canceled.detail.credit_notes.last();
        done.ids.extend(note.map(|note| ("creditNoteId", note.id.0)));
        Ok(Some(done))
    }

    async fn open_project(&mut self) -> Result<Option<Done>, Error> {
        let Some(quote) = self.quote(QuoteStatus::Accepted).await? else { return Ok(None) };
        let name = format!("Chantier {}", quote.summary.client_name);
        let new = NewProject::named(name).client_id(quote.summary.client_id).quote_ids([quote.summary.id]);
        let project = self.company.projects().create(&new).await?;
        Ok(Some(Done::new("project.open", [("projectId", project.id.0), ("quoteId", quote.summary.id.0)])))
    }

    async fn move_project(&mut self, from: ProjectStatus, to: ProjectStatus) -> Result<Option<Done>, Error> {
        let mut projects = self.company.projects().list().await?;
        projects.retain(|project| project.status == from);
        projects.truncate(20);
        let Some(project) = one_of(&mut self.rng, &projects) else { return Ok(None) };
        self.company.projects().set_status(project.id, to).await?;
        let name = if to == ProjectStatus::Completed { "project.complete" } else { "project.reopen" };
        Ok(Some(Done::new(name, [("projectId", project.id.0)])))
    }

    async fn client(&mut self) -> Result<Option<Client>, Error> {
        let page = self.company.clients().list(&ClientQuery::default().window(RECENT)).await?;
        Ok(one_of(&mut self.rng, &page.data).cloned())
    }

    async fn quote(&mut self, status: QuoteStatus) -> Result<Option<QuoteItem>, Error> {
        let query = QuoteQuery::default().status(status).window(RECENT);
        let page = self.company.quotes().list(&query).await?;
        Ok(one_of(&mut self.rng, &page.data).cloned())
    }

    pub(crate) async fn invoice(&mut self, status: InvoiceStatus) -> Result<Option<InvoiceItem>, Error> {
        let query = InvoiceQuery::default().status(status).window(RECENT);
        let page = self.company.invoices().list(&query).await?;
        Ok(one_of(&mut self.rng, &page.data).cloned())
    }

    fn content(&mut self, client: &Client) -> Result<NewQuote, Error> {
        let lines = catalogue::lines(&mut self.rng)?;
        Ok(NewQuote::empty(client.id).lines(lines).retention_rate(catalogue::retention(&mut self.rng)))
    }

    fn today(&self) -> NaiveDate {
        self.invoicing.env().now().to_chrono().date_naive()
    }
}
