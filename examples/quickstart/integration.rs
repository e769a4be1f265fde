//! The integration: for each webhook it fetches the detail, links quotes to its own records, and downloads the PDF. It
//! has the API's address, its key and the webhooks, and nothing else.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use invoicing_client::{Document, ErrorCode, InvoicingClient, Money, QuoteId};
use invoicing_examples::Failure;
use serde::Serialize;

use crate::receiver::Delivery;
use crate::timeline::Timeline;

/// The integrator's side.
pub(crate) struct Integration {
    pub(crate) client: InvoicingClient,
    folder: PathBuf,
    linked: HashSet<QuoteId>,
    /// Every key that was handled, in order, with the sender's id of the event.
    pub(crate) handled: Vec<(String, String)>,
    /// Every PDF that was written.
    pub(crate) files: Vec<PathBuf>,
    /// Everything that came in, to look for what must not.
    pub(crate) received: Vec<Vec<u8>>,
}

impl Integration {
    pub(crate) fn new(base_url: &str, key: &str, folder: &Path) -> Result<Self, Failure> {
        Ok(Self {
            client: InvoicingClient::builder(base_url, key).build()?,
            folder: folder.to_owned(),
            linked: HashSet::new(),
            handled: Vec::new(),
            files: Vec::new(),
            received: Vec::new(),
        })
    }

    /// Handles one delivery.
    pub(crate) async fn handle(
        &mut self,
        delivery: &Delivery,
        timeline: &mut Timeline,
    ) -> Result<(), Failure> {
        timeline.say(
            "receiver",
            format_args!("{} of {}: signature verified", delivery.event, delivery.timestamp),
        );
        self.handled.push((delivery.key(), delivery.event_id.clone()));
        self.received.push(delivery.body.to_vec());
        match delivery.event.split_once('.') {
            Some(("quote", _)) => self.quote(delivery.data.id.parse()?, Some(delivery), timeline).await,
            Some(("invoice", _)) => self.invoice(delivery, timeline).await,
            Some(("credit_note", _)) => self.credit_note(delivery, timeline).await,
            Some(("project", _)) => {
                // The API has no projects; their quotes are what there is to fetch.
                for id in &delivery.data.quote_ids {
                    self.quote(*id, None, timeline).await?;
                }
                Ok(())
            }
            // A ping, or a kind that did not exist when this was written.
            _ => Ok(()),
        }
    }

    async fn quote(
        &mut self,
        id: QuoteId,
        webhook: Option<&Delivery>,
        timeline: &mut Timeline,
    ) -> Result<(), Failure> {
        let quote = self.client.quotes().get(id).await?;
        self.keep(&quote)?;
        if let Some(webhook) = webhook {
            check_totals(webhook, quote.summary.total_ht, quote.summary.total_ttc, timeline)?;
        }
        let deal = format!("deal-{}", quote.summary.number);
        if self.linked.contains(&id) {
            timeline.check(
                quote.summary.external_id.as_deref() == Some(&*deal),
                "the detail shows the externalId",
            )?;
        }
        let (lines, total, status) = (quote.lines.len(), quote.summary.total_ttc, &quote.summary.status);
        timeline.say(
            "integration",
            format_args!("  detail of {}: {status}, {lines} lines, {total:.2} EUR", quote.summary.number),
        );
        self.link(id, &deal, timeline).await?;
        self.download(id, &quote.summary.number, timeline).await
    }

    async fn link(&mut self, id: QuoteId, deal: &str, timeline: &mut Timeline) -> Result<(), Failure> {
        let link = self.client.quotes().link(id, deal).await?;
        timeline
            .check(link.external_id.as_deref() == Some(deal), "the link is the one that was asked for")?;
        if self.linked.insert(id) {
            timeline.say("integration", format_args!("  linked: externalId {deal}"));
        }
        Ok(())
    }

    async fn download(&mut self, id: QuoteId, number: &str, timeline: &mut Timeline) -> Result<(), Failure> {
        let document = match self.client.quotes().download_document(id).await {
            Err(error) if error.code() == Some(&ErrorCode::DocumentUnavailable) => {
                timeline.say("integration", "  no PDF yet: the quote is a draft (409 document_unavailable)");
                return Ok(());
            }
            document => document?,
        };
        self.store(&document, number, timeline)
    }

    /// Checks a document and writes it to a file.
    pub(crate) fn store(
        &mut self,
        document: &Document,
        number: &str,
        timeline: &mut Timeline,
    ) -> Result<(), Failure> {
        // The client has checked it; so does this, because it is what this program is about.
        timeline
            .check(document.link.matches(&document.bytes), "the PDF has the promised size and SHA-256")?;
        timeline.check(document.bytes.starts_with(b"%PDF-"), "the PDF is one")?;
        let short = document.link.sha256.get(..8).unwrap_or_default();
        let file = self.folder.join(format!("{number}-{short}.pdf"));
        let size = document.bytes.len();
        timeline.say("integration", format_args!("  PDF: {size} bytes, SHA-256 {short}… as promised"));
        self.received.push(document.bytes.to_vec());
        if !self.files.contains(&file) {
            std::fs::write(&file, &document.bytes)?;
            self.files.push(file);
        }
        Ok(())
    }

    pub(crate) fn keep(&mut self, record: &impl Serialize) -> Result<(), Failure> {
        self.received.push(serde_json::to_vec(record)?);
        Ok(())
    }
}

pub(crate) fn check_totals(
    webhook: &Delivery,
    ht: Money,
    ttc: Money,
    timeline: &mut Timeline,
) -> Result<(), Failure> {
    let same = (webhook.data.total_ht, webhook.data.total_ttc) == (Some(ht), Some(ttc));
    timeline.check(same, format_args!("the detail has the totals of {}", webhook.event))
}
