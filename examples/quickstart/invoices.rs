//! The integration's part about invoices and credit notes: it downloads their documents, and opens the electronic
//! invoice that a Factur-X document carries.

use invoicing_client::{CreditNoteId, Document, DocumentFormat, InvoiceId, Money, OpenEnum};
use invoicing_examples::Failure;

use crate::attached;
use crate::integration::{Integration, check_totals};
use crate::receiver::Delivery;
use crate::timeline::Timeline;

/// The electronic invoice inside the PDF.
const XML: &str = "factur-x.xml";

/// The facts of a record that its XML repeats.
struct Facts<'a> {
    number: &'a str,
    /// The type of the document in UNTDID 1001.
    code: &'static str,
    total_ttc: Money,
}

impl Integration {
    pub(crate) async fn invoice(
        &mut self,
        webhook: &Delivery,
        timeline: &mut Timeline,
    ) -> Result<(), Failure> {
        let id: InvoiceId = webhook.data.id.parse()?;
        let invoice = self.client.invoices().get(id).await?;
        self.keep(&invoice)?;
        let invoice = invoice.summary;
        check_totals(webhook, invoice.total_ht, invoice.total_ttc, timeline)?;
        let name = invoice.number.as_deref().unwrap_or("the invoice (no number yet)");
        let (status, due) = (&invoice.status, invoice.amount_due);
        timeline.say("integration", format_args!("  detail of {name}: {status}, {due:.2} EUR due"));
        // A payment does not change the document: it is downloaded once.
        let (Some(number), "invoice.issued") = (&invoice.number, &*webhook.event) else { return Ok(()) };
        check_format(invoice.document_format.as_ref(), timeline)?;
        let document = self.client.invoices().download_document(id).await?;
        self.store(&document, number, timeline)?;
        self.open(&document, &Facts { number, code: "380", total_ttc: invoice.total_ttc }, timeline)
    }

    pub(crate) async fn credit_note(
        &mut self,
        webhook: &Delivery,
        timeline: &mut Timeline,
    ) -> Result<(), Failure> {
        let id: CreditNoteId = webhook.data.id.parse()?;
        let note = self.client.credit_notes().get(id).await?;
        self.keep(&note)?;
        let note = note.summary;
        check_totals(webhook, note.total_ht, note.total_ttc, timeline)?;
        let (number, credited, total) = (&note.number, &note.invoice_number, note.total_ttc);
        let reason = &note.reason;
        timeline.say(
            "integration",
            format_args!("  detail of {number}: {total:.2} EUR less on {credited}, {reason:?}"),
        );
        check_format(note.document_format.as_ref(), timeline)?;
        let document = self.client.credit_notes().download_document(id).await?;
        self.store(&document, number, timeline)?;
        self.open(&document, &Facts { number, code: "381", total_ttc: total }, timeline)
    }

    /// Opens the XML, as an accounting program does.
    fn open(
        &mut self,
        document: &Document,
        facts: &Facts<'_>,
        timeline: &mut Timeline,
    ) -> Result<(), Failure> {
        let files = attached::attachments(document.bytes.to_vec())?;
        let xml = files.into_iter().find(|file| file.name == XML).ok_or("the PDF carries no XML")?.bytes;
        let text = std::str::from_utf8(&xml)?;
        let Facts { number, code, total_ttc } = facts;
        let expected = [
            format!("<ram:ID>{number}</ram:ID>"),
            format!("<ram:TypeCode>{code}</ram:TypeCode>"),
            format!("<ram:GrandTotalAmount>{}</ram:GrandTotalAmount>", total_ttc.get().normalize()),
        ];
        for element in &expected {
            timeline.check(text.contains(element), format_args!("{element} is in the XML"))?;
        }
        timeline.say(
            "integration",
            format_args!("  {XML} in it: {} bytes, type {code}, {total_ttc:.2} EUR as promised", xml.len()),
        );
        self.received.push(xml);
        Ok(())
    }
}

fn check_format(format: Option<&OpenEnum<DocumentFormat>>, timeline: &mut Timeline) -> Result<(), Failure> {
    let is_electronic = format.is_some_and(|format| *format == DocumentFormat::FacturX);
    timeline.check(is_electronic, "the document is a Factur-X")
}
