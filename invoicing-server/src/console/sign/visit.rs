//! A request behind a signing link.

use std::net::IpAddr;

use invoicing_core::QuoteId;

use crate::Error;
use crate::api::byte_budget::ByteReservation;
use crate::console::Language;
use crate::console::error::PageError;
use crate::console::form::Form;
use crate::operations::{CompanyHandle, ShownQuote, SigningLinks};

/// How often the bytes of a quote are in memory at most.
const COPIES: usize = 4;

/// A request whose token is known.
pub(in crate::console) struct Visit<'r> {
    pub(in crate::console) links: SigningLinks,
    pub(in crate::console) token: &'r str,
    /// The company and the quote of the token.
    pub(in crate::console) company: CompanyHandle,
    pub(in crate::console) quote: QuoteId,
    pub(in crate::console) language: Language,
    /// Where the console is: links begin with it.
    pub(in crate::console) prefix: &'r str,
    /// The memory that the request and its answer take.
    pub(in crate::console) reservation: &'r ByteReservation,
    /// The fields of the form, or of the query.
    pub(in crate::console) form: Form,
    /// The client's address, where the host says it.
    pub(in crate::console) ip: Option<IpAddr>,
    pub(in crate::console) user_agent: Option<String>,
}

impl Visit<'_> {
    /// The address of a page behind the link: `""` is the signing page.
    pub(in crate::console) fn link(&self, path: impl AsRef<str>) -> String {
        format!("{}/sign/{}{}", self.prefix, self.token, path.as_ref())
    }

    pub(super) fn pick<'t>(&self, english: &'t str, french: &'t str) -> &'t str {
        self.language.pick(english, french)
    }

    pub(super) async fn shown(&self) -> Result<ShownQuote, PageError> {
        // The record, its lines, and these as HTML.
        let reserve = |bytes: usize| {
            self.reservation.cover(bytes.saturating_mul(COPIES)).map_err(|_| Error::Overloaded)
        };
        Ok(self.company.shown_quote(self.quote, &reserve).await?)
    }
}
