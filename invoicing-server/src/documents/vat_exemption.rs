//! The reason in law for charging no VAT, which page, legal gate and XML share.

use invoicing_core::CompanyIdentity;

use super::territory::Territory;

/// The reason in law for charging no VAT. In franchise, and in a place without VAT, there is none
/// that the client could owe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VatExemption {
    /// A company in franchise (CGI, art. 293 B).
    Franchise,
    /// A client in a part of France without VAT (CGI, art. 294).
    Untaxed,
    /// The client owes the VAT (CGI, art. 283-2 nonies).
    ReverseCharge,
}

impl VatExemption {
    pub(crate) fn of(company: &CompanyIdentity, client: Territory, reverse_charge: bool) -> Option<Self> {
        if company.is_franchise() {
            return Some(Self::Franchise);
        }
        if client == Territory::Untaxed {
            return Some(Self::Untaxed);
        }
        reverse_charge.then_some(Self::ReverseCharge)
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::VatRegime;

    use super::*;

    #[test]
    fn a_document_has_one_reason_for_charging_no_vat() {
        let of = |regime, country: &str, reverse_charge| {
            let company = CompanyIdentity::default().vat_regime(regime);
            VatExemption::of(&company, Territory::of(Some(country)), reverse_charge)
        };
        for (country, reverse_charge) in [("FR", false), ("GF", true), ("BE", true)] {
            assert_eq!(of(VatRegime::Franchise, country, reverse_charge), Some(VatExemption::Franchise));
        }
        for reverse_charge in [false, true] {
            assert_eq!(of(VatRegime::Standard, "YT", reverse_charge), Some(VatExemption::Untaxed));
        }
        assert_eq!(of(VatRegime::Standard, "FR", true), Some(VatExemption::ReverseCharge));
        assert_eq!(of(VatRegime::Standard, "RE", false), None);
    }
}
