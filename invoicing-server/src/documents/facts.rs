//! The data that a document shows besides its record: the parties, and the facts that the record
//! does not have.

use chrono::NaiveDate;
use invoicing_core::internal::PostalAddress;
use invoicing_core::{BillingAddress, Client, ClientType, Company, OperationNature};
use serde::{Deserialize, Serialize};

use super::territory::Territory;

/// The data of a document besides its record, as they were when it was frozen.
///
/// They are stored with the document. The copy that is frozen at a signature repeats those of the
/// sent one, and a credit note those of its invoice, even if the company or the client has changed
/// since. Customers see all of it, so these types hold no internal costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentFacts {
    /// The company and the client.
    pub parties: Parties,
    /// Date of a quote's document: the local date of sending, in the company's time zone. `None`
    /// for an invoice or a credit note, whose dates are in the record.
    pub quote_date: Option<NaiveDate>,
    /// The number of the quote that an invoice was converted from.
    pub quote_number: Option<String>,
    /// The work site, if it is not the client's address; lines separated by `\n`.
    pub work_site: Option<String>,
    /// The nature of the operations.
    pub operations: OperationNature,
    /// True if the client owes the VAT (CGI, art. 283-2 nonies).
    pub reverse_charge: bool,
    /// True for works in housing, of which the client states what reduced rates of VAT need.
    pub housing_works: bool,
}

/// The two sides of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parties {
    /// The company that makes the offer, or invoices.
    pub seller: Company,
    /// The client.
    pub buyer: Buyer,
}

/// A client as a document names it, with fields of [`Client`]: without the name and
/// the e-mail, which the record itself has.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields of the client have the same names")]
pub struct Buyer {
    pub r#type: Option<ClientType>,
    pub phone: Option<String>,
    pub address: Option<String>,
    pub zip_code: Option<String>,
    pub city: Option<String>,
    pub country: Option<String>,
    pub siren: Option<String>,
    pub vat_number: Option<String>,
    pub electronic_address: Option<String>,
    pub billing_address: Option<BillingAddress>,
}

impl Buyer {
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
            billing_address: client.billing_address.clone(),
        }
    }

    /// The postal address below the name; lines separated by `\n`. The last one is the French name
    /// of a country other than France.
    pub fn postal_address(&self) -> Option<String> {
        self.address_parts().printed()
    }

    pub(crate) fn address_parts(&self) -> PostalAddress<'_> {
        let town = (self.zip_code.as_deref(), self.city.as_deref());
        PostalAddress::read(self.address.as_deref(), town.0, town.1, self.country.as_deref())
    }

    /// The address that invoices are made out to, if it is another one.
    pub(crate) fn billing_parts(&self) -> Option<PostalAddress<'_>> {
        self.billing_address.as_ref().map(BillingAddress::address_parts)
    }

    pub(crate) fn territory(&self) -> Territory {
        Territory::of(self.address_parts().country)
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
