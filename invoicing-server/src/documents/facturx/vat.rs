//! The VAT categories that an e-invoice can have (UNTDID 5305).

use invoicing_core::Percent;

use crate::documents::content::legal_notices::FRANCHISE;
use crate::documents::vat_exemption::VatExemption;

/// A VAT category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Category {
    /// A rate above 0.
    Standard,
    /// A company in franchise (CGI, art. 293 B).
    Exempt,
    /// The client owes the VAT (CGI, art. 283-2 nonies).
    ReverseCharge,
}

impl Category {
    /// The category of a rate; `None` for 0 without a reason that an e-invoice can have.
    pub(super) fn of(rate: Percent, exemption: Option<VatExemption>) -> Option<Self> {
        match exemption {
            _ if !rate.is_zero() => Some(Self::Standard),
            Some(VatExemption::Franchise) => Some(Self::Exempt),
            Some(VatExemption::ReverseCharge) => Some(Self::ReverseCharge),
            // No e-invoice goes to a place without VAT.
            Some(VatExemption::Untaxed) | None => None,
        }
    }

    pub(super) const fn code(self) -> &'static str {
        match self {
            Self::Standard => "S",
            Self::Exempt => "E",
            Self::ReverseCharge => "AE",
        }
    }

    /// The reason for charging no VAT: its text, and its code (VATEX).
    pub(super) const fn exemption(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Standard => None,
            Self::Exempt => Some((FRANCHISE, "VATEX-FR-FRANCHISE")),
            Self::ReverseCharge => Some(("Autoliquidation", "VATEX-FR-AE")),
        }
    }
}
