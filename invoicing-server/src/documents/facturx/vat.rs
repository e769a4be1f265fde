//! The VAT categories that an e-invoice can have (UNTDID 5305).

use invoicing_core::Percent;

use crate::documents::content::legal_notices::FRANCHISE;

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
    /// The category of a rate; `None` for 0 without a reason.
    pub(super) fn of(rate: Percent, is_franchise: bool, reverse_charge: bool) -> Option<Self> {
        match (is_franchise, reverse_charge) {
            _ if !rate.is_zero() => Some(Self::Standard),
            (true, _) => Some(Self::Exempt),
            (false, true) => Some(Self::ReverseCharge),
            (false, false) => None,
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
