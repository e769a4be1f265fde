//! The content of a document, owned for the thread that renders it.

use chrono::NaiveDate;
use invoicing_core::{CompanyId, CreditNote, DocumentFormat, EInvoicing, Invalid, Invoice, Quote};
use uuid::Uuid;

use super::StoredCopy;
use crate::documents::content::view::DocumentView;
use crate::documents::{
    DocumentFacts, DocumentInput, DocumentKind, DocumentLogo, DocumentRef, DocumentRenderer, RenderDeadline,
    RenderError, SentCopy, facturx, legal_gate,
};
use crate::records::{GapLevel, ReadinessGap};

/// The record of a document.
#[derive(Debug, Clone)]
pub(crate) enum Document {
    Quote {
        quote: Box<Quote>,
        /// The copy that the client signed, if the quote is signed.
        sent: Option<StoredCopy>,
    },
    Invoice(Box<Invoice>),
    CreditNote {
        note: Box<CreditNote>,
        /// Day of issue of the credited invoice.
        invoice_date: NaiveDate,
        /// Day of the supply of that invoice.
        supplied_on: NaiveDate,
        /// Order number of that invoice.
        order_number: Option<String>,
    },
}

/// Everything that a document is rendered from.
#[derive(Debug, Clone)]
pub(crate) struct DocumentContent {
    pub(crate) document: Document,
    pub(crate) facts: DocumentFacts,
    pub(crate) logo: Option<DocumentLogo>,
    pub(crate) format: DocumentFormat,
}

impl Document {
    fn borrowed(&self) -> DocumentRef<'_> {
        match self {
            Self::Quote { quote, sent } => {
                DocumentRef::Quote { quote, sent_copy: sent.as_ref().map(StoredCopy::borrowed) }
            }
            Self::Invoice(invoice) => DocumentRef::Invoice(invoice),
            Self::CreditNote { note, invoice_date, supplied_on, order_number } => DocumentRef::CreditNote {
                note,
                invoice_date: *invoice_date,
                supplied_on: *supplied_on,
                order_number: order_number.as_deref(),
            },
        }
    }
}

impl StoredCopy {
    fn borrowed(&self) -> SentCopy<'_> {
        let Self { document, bytes } = self;
        SentCopy { file_name: &document.file_name, sha256: document.sha256, bytes }
    }
}

impl DocumentContent {
    /// The content of a quote's document, which is a plain PDF.
    pub(crate) fn of_quote(
        quote: Quote,
        sent: Option<StoredCopy>,
        facts: DocumentFacts,
        logo: Option<DocumentLogo>,
    ) -> Self {
        let document = Document::Quote { quote: quote.into(), sent };
        Self { document, facts, logo, format: DocumentFormat::Pdf }
    }

    /// The content with the format that its document can have: XML only with e-invoicing ON, and
    /// only if it can be sent.
    pub(crate) fn in_possible_format(mut self) -> Self {
        let is_on = self.facts.parties.seller.identity.e_invoicing == EInvoicing::On;
        let is_electronic = is_on && legal_gate::can_be_electronic(&self.view());
        self.format = if is_electronic { DocumentFormat::FacturX } else { DocumentFormat::Pdf };
        self
    }

    /// All that the law and the platforms ask of the document and that it lacks.
    pub(crate) fn gaps(&self) -> Vec<ReadinessGap> {
        legal_gate::gaps(&self.view(), self.format)
    }

    /// # Errors
    /// [`Invalid`] about the first gap that refuses the document.
    pub(crate) fn check_lawful(&self) -> Result<(), Invalid> {
        match self.gaps().into_iter().find(|gap| gap.level == GapLevel::Refused) {
            Some(gap) => Err(gap.into()),
            None => Ok(()),
        }
    }

    pub(crate) fn kind(&self) -> DocumentKind {
        self.document.borrowed().kind()
    }

    /// Id of the record.
    pub(super) fn record(&self) -> Uuid {
        match &self.document {
            Document::Quote { quote, .. } => quote.summary.id.0,
            Document::Invoice(invoice) => invoice.summary.id.0,
            Document::CreditNote { note, .. } => note.summary.id.0,
        }
    }

    pub(super) fn company(&self) -> CompanyId {
        self.facts.parties.seller.id
    }

    pub(super) fn file_name(&self) -> String {
        format!("{}.pdf", self.document.borrowed().number())
    }

    /// The input of a renderer.
    pub(super) fn input<'a>(
        &'a self,
        factur_x: Option<&'a [u8]>,
        deadline: RenderDeadline<'a>,
    ) -> DocumentInput<'a> {
        let (record, facts, logo) = (self.document.borrowed(), &self.facts, self.logo.as_ref());
        DocumentInput { record, facts, logo, factur_x, deadline }
    }

    pub(super) fn render(
        &self,
        renderer: &dyn DocumentRenderer,
        deadline: RenderDeadline<'_>,
    ) -> Result<Vec<u8>, RenderError> {
        let xml = match self.format {
            DocumentFormat::FacturX => Some(facturx::factur_x(&self.input(None, deadline))?),
            _ => None,
        };
        renderer.render(&self.input(xml.as_deref(), deadline))
    }

    fn view(&self) -> DocumentView<'_> {
        DocumentView::of(&self.input(None, RenderDeadline::NONE))
    }
}
