//! The facts of VAT that a company and an invoice state.

use strum::{Display, IntoStaticStr, VariantArray};

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
