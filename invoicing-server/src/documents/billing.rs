//! The interface of a renderer of invoices and credit notes: its input, and the data that a
//! document shows besides the record.

use chrono::NaiveDate;
use invoicing_core::{
    Client, ClientType, Company, CreditNote, Invalid, Invoice, OperationNature, postal_address,
};
use serde::{Deserialize, Serialize};

use super::{DocumentLogo, RenderDeadline, RenderError};

/// The data of an invoice's document besides the invoice, as they were when it was issued. Its
/// credit notes repeat them.
///
/// Customers see all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct InvoiceParticulars {
    /// The company that invoices.
    pub company: Company,
    /// The client.
    pub client: BilledClient,
    /// The number of the quote that the invoice was converted from.
    pub quote_number: Option<String>,
    /// The work site, if it is not the client's address; lines separated by `\n`.
    pub work_site: Option<String>,
    /// The nature of the operations.
    pub operations: OperationNature,
    /// True if the client owes the VAT (CGI, art. 283-2 nonies).
    pub reverse_charge: bool,
}

/// A client as an invoice names it, besides the name and the e-mail, which the invoice itself has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each field is the one of the same name in `Client`")]
#[non_exhaustive]
pub struct BilledClient {
    pub r#type: Option<ClientType>,
    pub phone: Option<String>,
    pub address: Option<String>,
    pub zip_code: Option<String>,
    pub city: Option<String>,
    pub country: Option<String>,
    pub siren: Option<String>,
    pub vat_number: Option<String>,
    pub electronic_address: Option<String>,
}

impl BilledClient {
    pub(crate) fn of(client: &Client) -> Self {
        Self {
            r#type: client.r#type,
            phone: client.phone.clone(),
            address: client.address.clone(),
            zip_code: client.zip_code.clone(),
            city: client.city.clone(),
            country: client.country.clone(),
            siren: client.siren.clone(),
            vat_number: client.vat_number.clone(),
            electronic_address: client.electronic_address.clone(),
        }
    }

    /// The postal address below the name, without the country; lines separated by `\n`.
    pub fn postal_address(&self) -> Option<String> {
        postal_address(self.address.as_deref(), self.zip_code.as_deref(), self.city.as_deref())
    }

    /// True for a business: a client of that type, or one with a SIREN or a VAT number and no type.
    pub fn is_business(&self) -> bool {
        is_business(self.r#type, self.siren.as_deref(), self.vat_number.as_deref())
    }
}

/// True for a business: a client of that type, or one with a SIREN or a VAT number and no type.
pub(crate) fn is_business(kind: Option<ClientType>, siren: Option<&str>, vat_number: Option<&str>) -> bool {
    match kind {
        Some(kind) => kind == ClientType::Professionnel,
        None => siren.is_some() || vat_number.is_some(),
    }
}

/// The record of an invoice's or a credit note's document.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum BilledRecord<'a> {
    /// An invoice, with its number and dates.
    Invoice(&'a Invoice),
    /// A credit note.
    CreditNote {
        /// The credit note.
        note: &'a CreditNote,
        /// Day of issue of the credited invoice.
        invoice_date: NaiveDate,
    },
}

/// The data that the document of an invoice or a credit note may show.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct InvoiceDocumentInput<'a> {
    /// The record.
    pub record: BilledRecord<'a>,
    /// The data besides the record.
    pub particulars: &'a InvoiceParticulars,
    /// The company's logo.
    pub logo: Option<&'a DocumentLogo>,
    /// The same document as XML, to be embedded as `factur-x.xml`; `None` for a plain PDF.
    pub factur_x: Option<&'a [u8]>,
    /// The time by which the document must be finished. It is no part of the content.
    pub deadline: RenderDeadline<'a>,
}

/// Turns an invoice or a credit note into the bytes of a PDF.
///
/// The rules of [`DocumentRenderer`](super::DocumentRenderer) apply. If the input has
/// [`factur_x`](InvoiceDocumentInput::factur_x), the document has to be a PDF/A-3 that embeds these
/// bytes as Factur-X demands.
pub trait InvoiceRenderer: Send + Sync {
    /// The finished document, `application/pdf`.
    fn render_invoice(&self, input: &InvoiceDocumentInput<'_>) -> Result<Vec<u8>, RenderError>;

    /// The texts that the document cannot show. By default the one that
    /// [`render_invoice`](Self::render_invoice) refuses.
    fn check_invoice(&self, input: &InvoiceDocumentInput<'_>) -> Result<Vec<Invalid>, RenderError> {
        match self.render_invoice(input) {
            Ok(_) => Ok(Vec::new()),
            Err(RenderError::Text(invalid)) => Ok(vec![invalid]),
            Err(error) => Err(error),
        }
    }
}
