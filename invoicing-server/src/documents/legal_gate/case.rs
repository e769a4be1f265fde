//! A document as the rules look at it.

use chrono::NaiveDate;
use invoicing_core::{Company, CompanyIdentity, Line, OperationNature};

use crate::documents::content::view::{Credited, DocumentView};
use crate::documents::territory::Territory;
use crate::documents::vat_exemption::VatExemption;
use crate::documents::{Buyer, DocumentKind};

/// The facts of a document.
pub(super) struct Case<'a> {
    pub(super) kind: DocumentKind,
    pub(super) company: &'a Company,
    pub(super) client: &'a Buyer,
    pub(super) client_name: &'a str,
    pub(super) client_email: Option<&'a str>,
    pub(super) number: &'a str,
    pub(super) lines: &'a [Line],
    pub(super) operations: OperationNature,
    pub(super) territory: Territory,
    pub(super) exemption: Option<VatExemption>,
    pub(super) issued_on: NaiveDate,
    pub(super) due_date: Option<NaiveDate>,
    pub(super) supplied_on: Option<NaiveDate>,
    pub(super) period: Option<(NaiveDate, NaiveDate)>,
    pub(super) credited: Option<Credited<'a>>,
}

/// A place in a document that a rule objects to.
pub(super) struct Found {
    /// Index of the line.
    pub(super) line: Option<usize>,
    /// The value that the words name.
    pub(super) detail: String,
}

impl<'a> Case<'a> {
    pub(super) fn new(view: &DocumentView<'a>) -> Self {
        let issued = view.issued.as_ref();
        Self {
            kind: view.kind,
            company: view.company,
            client: view.buyer,
            client_name: view.client.name,
            client_email: view.client.email,
            number: view.number,
            lines: view.lines,
            operations: view.operations,
            territory: view.territory,
            exemption: view.exemption,
            issued_on: view.issued_on,
            due_date: issued.and_then(|issued| issued.due_date),
            supplied_on: issued.and_then(|issued| issued.supplied_on),
            period: issued.and_then(|issued| issued.period),
            credited: issued.and_then(|issued| issued.credited),
        }
    }

    /// The company alone, as on an invoice to a client without any data.
    pub(super) fn of_company(company: &'a Company, client: &'a Buyer) -> Self {
        Self {
            kind: DocumentKind::Invoice,
            company,
            client,
            client_name: "",
            client_email: None,
            number: "",
            lines: &[],
            operations: company.identity.operations,
            territory: client.territory(),
            exemption: VatExemption::of(&company.identity, client.territory(), false),
            issued_on: NaiveDate::default(),
            due_date: None,
            supplied_on: None,
            period: None,
            credited: None,
        }
    }

    pub(super) fn identity(&self) -> &'a CompanyIdentity {
        &self.company.identity
    }

    /// The client, if it is a business: the numbers of a private person do not count.
    pub(super) fn business(&self) -> Option<&'a Buyer> {
        Some(self.client).filter(|client| client.is_business())
    }

    /// True if the client owes the VAT.
    pub(super) fn is_reverse_charge(&self) -> bool {
        self.exemption == Some(VatExemption::ReverseCharge)
    }

    /// The last day of the supply; for a quote the day on which it is made.
    pub(super) fn day_of_supply(&self) -> NaiveDate {
        let end = self.period.map(|(_, last)| last);
        self.supplied_on.or(end).unwrap_or(self.issued_on)
    }

    /// The lines for which this is true.
    pub(super) fn lines_with(&self, is_wrong: impl Fn(&Line) -> bool) -> Vec<Found> {
        let wrong = self.lines.iter().enumerate().filter(|(_, line)| is_wrong(line));
        wrong.map(|(index, line)| Found { line: Some(index), detail: line.tva_rate.to_string() }).collect()
    }
}

/// The whole document, if this is true.
pub(super) fn found_if(is_wrong: bool) -> Vec<Found> {
    found_about(is_wrong.then(String::new))
}

/// The whole document with a value, if there is one.
pub(super) fn found_about(detail: Option<String>) -> Vec<Found> {
    detail.map(|detail| Found { line: None, detail }).into_iter().collect()
}

/// True if no visible character is left of a text.
pub(super) fn is_blank(text: &str) -> bool {
    invoicing_core::internal::trim_invisible(text).is_empty()
}
