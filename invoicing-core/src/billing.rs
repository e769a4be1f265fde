//! The vocabulary of invoices as documents: kinds, formats, and the facts of VAT that a document
//! states.

use strum::{Display, IntoStaticStr, VariantArray};

/// The kind of an invoice.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Display, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum InvoiceType {
    /// The invoice of a whole quote, net of its deposits.
    #[default]
    Standard,
    /// An invoice of a part before the works. Reserved: this version makes none.
    Deposit,
    /// An invoice of the works done so far. Reserved: this version makes none.
    Progress,
}

/// The format of the document of an invoice or a credit note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum DocumentFormat {
    /// A PDF for people only (PDF/A-3).
    Pdf,
    /// A PDF with the same invoice as XML inside (Factur-X, profile EN 16931).
    FacturX,
}

/// The VAT regime of a company.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Display, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum VatRegime {
    /// The company charges VAT.
    #[default]
    Standard,
    /// The company is exempt and charges none (CGI, art. 293 B).
    Franchise,
}

/// The nature of the operations that an invoice is about (CGI, ann. II, art. 242 nonies A, 8° bis).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Display, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum OperationNature {
    /// Services, such as works.
    #[default]
    Services,
    /// Deliveries of goods.
    Goods,
    /// Both.
    Mixed,
}

/// The state of e-invoicing of a company.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Display, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum EInvoicing {
    /// Invoices are PDF documents.
    #[default]
    Off,
    /// Invoices are Factur-X documents, and one that lacks legal data is refused when it is issued.
    On,
}
