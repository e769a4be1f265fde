//! The story, step by step.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use invoicing_core::{Client, EventKind, Invoice, Money, NewCreditNote, Percent, ProjectStatus, Quote};
use invoicing_examples::Failure;
use invoicing_server::{CompanyHandle, NewPayment, NewProject, NewWebhook, PaymentMethod, PaymentSource};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::host::Host;
use crate::input::Renovation;
use crate::integration::Integration;
use crate::phone;
use crate::receiver::{Delivery, Inbox, Receiver};
use crate::timeline::Timeline;

/// The line of the advice, which is charged by the hour.
const ADVICE: usize = 7;

/// The parties in the story.
pub(crate) struct Story {
    pub(crate) input: Renovation,
    pub(crate) host: Host,
    pub(crate) company: CompanyHandle,
    pub(crate) key: String,
    pub(crate) integration: Integration,
    pub(crate) deliveries: UnboundedReceiver<Delivery>,
    pub(crate) timeline: Timeline,
    pub(crate) folder: PathBuf,
}

pub(crate) async fn run() -> Result<(), Failure> {
    // Kept, so that its files can be looked at afterwards.
    let folder = tempfile::Builder::new().prefix("invoicing-quickstart-").tempdir()?.keep();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let (mut story, inbox) = Story::open(folder, &format!("http://{address}/hook")).await?;

    let receiver = Receiver::start(listener, inbox.clone());
    story.timeline.say("receiver", format_args!("listens on http://{address}/hook"));
    let invoice = story.main_job().await?;
    story.nothing_lost_or_doubled().await?;
    story.catch_up("before").await?;

    receiver.stop().await?;
    story.timeline.say("receiver", "stops: connections are refused from here on");
    let missed = story.changes_while_away(&invoice).await?;
    let receiver = Receiver::restart(address, inbox).await?;
    story
        .timeline
        .say("receiver", "is back, and asks for what it missed: GET …?since=<asOf of the last pass>");
    story.catch_up_after(&missed).await?;
    story.ping().await?;
    story.nothing_private_came_out(missed.quote.summary.id).await?;
    receiver.stop().await?;
    story.end().await
}

impl Story {
    async fn open(folder: PathBuf, hook: &str) -> Result<(Self, Arc<Inbox>), Failure> {
        let timeline = Timeline::start();
        let input = Renovation::read()?;
        let host = Host::start(&folder.join("invoicing.db")).await?;
        timeline.say(
            "host",
            format_args!("serves {} from {}", host.base_url, folder.join("invoicing.db").display()),
        );
        let company = host.invoicing.companies().create(&input.company).await?;
        let name = company.name;
        let company = host.invoicing.company(company.id);
        let key = company.keys().issue("CRM").await?.key.reveal().to_owned();
        let webhook = company.webhooks().register(&NewWebhook::for_all_events(hook)).await?;
        timeline.say(
            "host",
            format_args!("company {name}: a key, and a webhook for all {} events", EventKind::ALL.len()),
        );
        let (inbox, deliveries) = Inbox::new(webhook.secret.reveal())?;
        let integration = Integration::new(&host.base_url, &key, &folder)?;
        Ok((Self { input, host, company, key, integration, deliveries, timeline, folder }, inbox))
    }

    /// Draft, sent, signed, converted, issued, credited in part, paid in two parts, project completed.
    async fn main_job(&mut self) -> Result<Invoice, Failure> {
        let client = self.company.clients().create(&self.input.client).await?;
        let quote = self.company.quotes().create(&self.input.quote(client.id)).await?;
        let (lines, rates) = (quote.lines.len(), quote.detail.vat_breakdown.len());
        let totals = format!("{:.2} EUR + VAT = {:.2} EUR", quote.summary.total_ht, quote.summary.total_ttc);
        self.say(
            "painter",
            format_args!(
                "drafts {} for {}: {lines} lines, {rates} VAT rates, {totals}",
                quote.summary.number, client.name
            ),
        );
        self.expect(1).await?;

        let quote = self.company.quotes().send(quote.summary.id, None).await?;
        let until = quote.summary.valid_until.map(|day| day.to_string()).unwrap_or_default();
        self.say("painter", format_args!("sends it: the PDF is frozen, valid until {until}"));
        self.sign(&quote, &client).await?;
        self.expect(2).await?;

        let invoice = self.company.invoices().convert(quote.summary.id).await?;
        self.say("painter", "converts it to a draft invoice");
        self.expect(1).await?;
        self.issue(&invoice).await?;
        let invoice = self.credit(&invoice).await?;
        let invoice =
            self.pay(&invoice, invoice.summary.amount_due.percent(Percent::from(40))?, "VIR-0001").await?;
        let invoice = self.pay(&invoice, invoice.summary.amount_due, "VIR-0002").await?;
        self.expect(1).await?;

        let project =
            NewProject::named(&self.input.project).client_id(client.id).quote_ids([quote.summary.id]);
        let project = self.company.projects().create(&project).await?;
        self.company.projects().set_status(project.id, ProjectStatus::Completed).await?;
        self.say("painter", format_args!("completes the project: {}", project.name));
        self.expect(1).await?;
        Ok(invoice)
    }

    /// With e-invoicing ON the document is a Factur-X: a PDF with the invoice as XML in it.
    async fn issue(&mut self, draft: &Invoice) -> Result<(), Failure> {
        let invoice = self.company.invoices().issue(draft.summary.id, None).await?.summary;
        let (number, due) = (invoice.number.unwrap_or_default(), invoice.amount_due);
        let held = invoice.retention_amount;
        self.say(
            "painter",
            format_args!("issues {number}: {due:.2} EUR due, {held:.2} EUR held back (5 % retention)"),
        );
        self.expect(1).await
    }

    /// An hour of advice was not needed.
    async fn credit(&mut self, invoice: &Invoice) -> Result<Invoice, Failure> {
        let new = NewCreditNote::new("Une heure de conseil non utilisée").quantity(ADVICE, 1);
        let note = self.company.invoices().credit(invoice.summary.id, &new).await?.summary;
        let invoice = self.company.invoices().get(invoice.summary.id).await?;
        let (number, total, due) = (&note.number, note.total_ttc, invoice.summary.amount_due);
        self.say("painter", format_args!("credits an hour: {number} of {total:.2} EUR, {due:.2} EUR due"));
        self.expect(1).await?;
        Ok(invoice)
    }

    async fn sign(&mut self, quote: &Quote, client: &Client) -> Result<(), Failure> {
        let token = self.company.quotes().create_signing_link(quote.summary.id).await?;
        let document = self.host.invoicing.signing_links().document(token.reveal()).await?;
        let file = self.folder.join(format!("{}-{}.pdf", quote.summary.number, &document.sha256[..8]));
        std::fs::write(&file, &document.bytes)?;
        self.integration.files.push(file);
        let email = client.email.as_deref().unwrap_or_default();
        let path = format!("/sign/{}", token.reveal());
        phone::sign(&self.host.base_url, &path, &client.name, email).await?;
        let signed = self.company.quotes().get(quote.summary.id).await?;
        let proof = signed.detail.signature.map(|block| block.proof_fingerprint).unwrap_or_default();
        self.say(
            "client",
            format_args!("reads it and signs through the public link: {}…", &proof[..20.min(proof.len())]),
        );
        Ok(())
    }

    pub(crate) async fn pay(
        &mut self,
        invoice: &Invoice,
        amount: Money,
        reference: &str,
    ) -> Result<Invoice, Failure> {
        let payment = NewPayment::new(amount, PaymentSource::Bank)
            .method(PaymentMethod::Transfer)
            .reference(reference)
            .movement_id(reference);
        let invoice = self.company.invoices().pay(invoice.summary.id, &payment).await?.invoice;
        self.say(
            "client",
            format_args!(
                "pays {amount:.2} EUR ({reference}): {}, {:.2} EUR due",
                invoice.summary.status, invoice.summary.amount_due
            ),
        );
        Ok(invoice)
    }

    /// Waits for webhooks and lets the integration handle them.
    async fn expect(&mut self, count: usize) -> Result<(), Failure> {
        for _ in 0..count {
            let delivery = self.deliveries.recv().await.ok_or("the receiver is gone")?;
            self.integration.handle(&delivery, &mut self.timeline).await?;
        }
        Ok(())
    }

    async fn ping(&mut self) -> Result<(), Failure> {
        let webhook = self.company.webhooks().list().await?.pop().ok_or("the webhook is still there")?;
        self.timeline.check(webhook.disabled.is_none(), "two failures do not disable a webhook")?;
        self.company.webhooks().ping(webhook.id).await?;
        self.say("painter", "presses the test button of the webhook");
        self.expect(1).await
    }

    async fn end(self) -> Result<(), Failure> {
        let Self { host, integration, timeline, folder, .. } = self;
        let report = host.stop().await?;
        timeline.say(
            "host",
            format_args!(
                "stopped: {} attempts, {} delivered, {} failed",
                report.attempts, report.delivered, report.failed
            ),
        );
        println!("\nAll {} checks hold. Written:", timeline.checks());
        print_files(&folder, &integration.files);
        Ok(())
    }

    pub(crate) fn say(&self, who: &str, what: impl std::fmt::Display) {
        self.timeline.say(who, what);
    }
}

fn print_files(folder: &Path, pdfs: &[PathBuf]) {
    println!("  {}  (database)", folder.join("invoicing.db").display());
    println!("  {}  (frozen documents)", folder.join("invoicing.db.documents").display());
    for pdf in pdfs {
        println!("  {}", pdf.display());
    }
    for name in ["quotes", "invoices", "credit-notes", "clients"] {
        println!("  {}", folder.join(format!("{name}.checkpoint.json")).display());
    }
}
