//! An invoice or a credit note as the XML needs it.

use invoicing_core::{CompanyIdentity, Invalid, Percent, Rule};

use super::vat::Category;
use crate::documents::content::view::{DocumentView, Issued};
use crate::documents::{Buyer, DocumentKind};

/// The electronic addresses of the French directory (EAS).
pub(crate) const DIRECTORY: &str = "0225";
/// E-mail addresses (EAS).
pub(crate) const EMAIL: &str = "EM";
/// The country of a company or a work site whose address does not tell it. A client in such a
/// place has no electronic invoices.
pub(super) const FRANCE: &str = "FR";

/// The electronic address of a client with its scheme: its own one, the SIREN of a business, or the
/// e-mail of a private person.
pub(crate) fn electronic_address_of_buyer<'a>(
    buyer: &'a Buyer,
    email: Option<&'a str>,
) -> Option<(&'static str, &'a str)> {
    let siren = || buyer.siren.as_deref().filter(|_| buyer.is_business());
    let own = buyer.electronic_address.as_deref().or_else(siren);
    own.map(|address| (DIRECTORY, address)).or_else(|| email.map(|email| (EMAIL, email)))
}

/// A view of an invoice or a credit note.
#[derive(Clone, Copy)]
pub(super) struct EInvoice<'a> {
    pub(super) view: &'a DocumentView<'a>,
    pub(super) issued: &'a Issued<'a>,
}

impl<'a> EInvoice<'a> {
    /// The invoice or credit note that a view shows; `None` for a quote.
    pub(super) fn of(view: &'a DocumentView<'a>) -> Option<Self> {
        view.issued.as_ref().map(|issued| Self { view, issued })
    }

    pub(super) fn is_credit_note(self) -> bool {
        self.view.kind == DocumentKind::CreditNote
    }

    pub(super) fn identity(self) -> &'a CompanyIdentity {
        &self.view.company.identity
    }

    /// The client, if it is a business: the numbers of a private person are not written.
    pub(super) fn business(self) -> Option<&'a Buyer> {
        Some(self.view.buyer).filter(|buyer| buyer.is_business())
    }

    /// The electronic address of the company: its own one, or its SIREN.
    pub(super) fn seller_address(self) -> Option<&'a str> {
        let identity = self.identity();
        identity.electronic_address.as_deref().or_else(|| identity.siren())
    }

    /// The electronic address of the client with its scheme.
    pub(super) fn buyer_address(self) -> Option<(&'static str, &'a str)> {
        electronic_address_of_buyer(self.view.buyer, self.view.client.email)
    }

    /// The VAT category of a rate.
    ///
    /// # Errors
    /// [`Invalid`] about this field, for a rate of 0 without a reason in law.
    pub(super) fn category(self, rate: Percent, field: impl FnOnce() -> String) -> Result<Category, Invalid> {
        let category = Category::of(rate, self.view.exemption);
        category.ok_or_else(|| Invalid::new(field(), Rule::RateOf0))
    }
}
