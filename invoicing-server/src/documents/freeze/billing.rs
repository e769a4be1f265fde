//! Freezing the document of an invoice or a credit note.

use bytes::Bytes;
use chrono::NaiveDate;
use invoicing_core::{CreditNote, DocumentFormat, Invalid, Invoice};
use uuid::Uuid;

use super::{Documents, Frozen};
use crate::documents::content::view::DocumentView;
use crate::documents::facturx;
use crate::documents::{
    BilledRecord, ContentHash, DocumentKey, DocumentLogo, InvoiceDocumentInput, InvoiceParticulars,
    InvoiceRenderer, RenderDeadline, RenderError, StoredDocument,
};
use crate::error::Error;
use crate::records::Missing;

/// The record of a document, owned for the thread that renders it.
#[derive(Debug, Clone)]
pub(crate) enum IssuedRecord {
    Invoice(Box<Invoice>),
    CreditNote { note: Box<CreditNote>, invoice_date: NaiveDate },
}

/// The content of the document of an invoice or a credit note.
#[derive(Debug, Clone)]
pub(crate) struct BillingDocument {
    pub(crate) record: IssuedRecord,
    pub(crate) particulars: InvoiceParticulars,
    pub(crate) logo: Option<DocumentLogo>,
}

impl IssuedRecord {
    fn borrowed(&self) -> BilledRecord<'_> {
        match self {
            Self::Invoice(invoice) => BilledRecord::Invoice(invoice),
            Self::CreditNote { note, invoice_date } => {
                BilledRecord::CreditNote { note, invoice_date: *invoice_date }
            }
        }
    }

    fn number(&self) -> &str {
        match self {
            Self::Invoice(invoice) => invoice.summary.number.as_deref().unwrap_or_default(),
            Self::CreditNote { note, .. } => &note.summary.number,
        }
    }
}

impl BillingDocument {
    fn input<'a>(
        &'a self,
        factur_x: Option<&'a [u8]>,
        deadline: RenderDeadline<'a>,
    ) -> InvoiceDocumentInput<'a> {
        let (record, particulars, logo) = (self.record.borrowed(), &self.particulars, self.logo.as_ref());
        InvoiceDocumentInput { record, particulars, logo, factur_x, deadline }
    }

    fn view(&self) -> DocumentView<'_> {
        DocumentView::of_billing(&self.input(None, RenderDeadline::NONE))
    }

    /// The legal data that the document lacks as Factur-X.
    pub(crate) fn missing(&self) -> Vec<Missing> {
        facturx::missing(&self.view())
    }

    /// True if the client has an address for electronic documents.
    pub(crate) fn can_be_electronic(&self) -> bool {
        facturx::can_be_electronic(&self.view())
    }

    fn render(
        &self,
        format: DocumentFormat,
        renderer: &dyn InvoiceRenderer,
        deadline: RenderDeadline<'_>,
    ) -> Result<Vec<u8>, RenderError> {
        let xml = match format {
            DocumentFormat::FacturX => Some(facturx::factur_x(&self.input(None, deadline))?),
            _ => None,
        };
        renderer.render_invoice(&self.input(xml.as_deref(), deadline))
    }
}

impl Documents {
    /// True if invoices and credit notes have documents.
    pub(crate) fn renders_invoices(&self) -> bool {
        self.invoice_renderer.is_some()
    }

    /// Renders an invoice or a credit note, for an upload with this id. Waits for a slot before.
    ///
    /// # Errors
    /// As [`render`](Self::render).
    pub(crate) async fn render_billing(
        &self,
        upload: Uuid,
        billing: BillingDocument,
        format: DocumentFormat,
    ) -> Result<(Frozen<InvoiceParticulars>, Bytes), Error> {
        let company = billing.particulars.company.id;
        let renderer = self.invoice_renderer.clone();
        self.in_slot(company, move |deadline| {
            let renderer = renderer.ok_or_else(|| RenderError::new("no renderer of invoices is given"))?;
            let bytes = Bytes::from(billing.render(format, &*renderer, deadline)?);
            let document = StoredDocument {
                key: DocumentKey { company, upload },
                sha256: ContentHash::of(&bytes),
                file_name: format!("{}.pdf", billing.record.number()),
            };
            let size_bytes = bytes.len() as u64;
            Ok((Frozen { document, size_bytes, particulars: billing.particulars }, bytes))
        })
        .await
    }

    /// The texts that the document of an invoice could not show; empty without a renderer.
    pub(crate) async fn check_billing(&self, billing: BillingDocument) -> Result<Vec<Invalid>, Error> {
        let Some(renderer) = self.invoice_renderer.clone() else { return Ok(Vec::new()) };
        self.in_slot(billing.particulars.company.id, move |deadline| {
            renderer.check_invoice(&billing.input(None, deadline))
        })
        .await
    }
}
