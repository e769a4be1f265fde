//! Companies: the tenants of the service.

use serde::{Deserialize, Serialize};

use strum::{Display, IntoStaticStr, VariantArray};

use crate::address::postal_address;
use crate::currency::has_two_decimals;
use crate::setters::text_setters;
use crate::text::{LONG_TEXT, SHORT_TEXT, optional_email, optional_text, required_text, unless_stored};
use crate::{CompanyId, Conflict, DomainError, Invalid, Timestamp};

/// The subscription of a company. Only [`Plan::Team`] may use the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[non_exhaustive]
pub enum Plan {
    /// The smallest plan.
    Starter,
    /// The plan with automatic conversion of accepted quotes.
    Pro,
    /// The plan with automatic conversion and the API.
    Team,
}

impl Plan {
    /// True if the plan includes the API.
    pub const fn has_api(self) -> bool {
        matches!(self, Self::Team)
    }

    /// True if the plan includes the automatic conversion of accepted quotes to invoices.
    pub const fn has_automatic_invoicing(self) -> bool {
        matches!(self, Self::Pro | Self::Team)
    }
}

/// The input of a company.
///
/// ```
/// use invoicing_core::{CompanyIdentity, NewCompany, Plan};
///
/// let company = NewCompany::named("Martin Peinture", Plan::Team)
///     .automatic_invoicing(true)
///     .identity(CompanyIdentity::default().city("Lyon").siret("732 829 320 00074"));
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewCompany {
    /// Trading name, 1 to 255 characters.
    pub name: String,
    /// The subscription.
    pub plan: Plan,
    /// IANA time zone of its calendar dates.
    #[serde(default = "default_time_zone")]
    pub time_zone: String,
    /// ISO 4217 code of its documents: a currency with two decimals.
    #[serde(default = "default_currency")]
    pub currency: String,
    /// True if each quote is converted to an invoice when it is accepted. Needs
    /// [`Plan::has_automatic_invoicing`].
    #[serde(default)]
    pub automatic_invoicing: bool,
    /// The text about the company on its documents.
    #[serde(default)]
    pub identity: CompanyIdentity,
}

/// The text about a company on its documents, besides its name. Customers see all of it.
///
/// A reader ignores unknown fields: the text is stored, and a newer version may have added some.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompanyIdentity {
    /// Street address, or the whole address as one text; at most 2,000 characters.
    pub address: Option<String>,
    /// Postal code. A missing postal code or town is left out when the identity is written: the
    /// first version of the service refuses unknown fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zip_code: Option<String>,
    /// Town.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// E-mail.
    pub email: Option<String>,
    /// Telephone number.
    pub phone: Option<String>,
    /// SIRET, 14 digits.
    pub siret: Option<String>,
    /// Intra-community VAT number.
    pub vat_number: Option<String>,
    /// Ten-year liability insurance: insurer, policy and cover (Code de la construction, art.
    /// L243-2).
    pub insurance: Option<String>,
    /// Terms printed on documents, at most 2,000 characters.
    pub terms: Option<String>,
}

/// A company record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each other field is the one of the same name in `NewCompany`")]
pub struct Company {
    pub id: CompanyId,
    pub name: String,
    pub plan: Plan,
    pub time_zone: String,
    pub currency: String,
    pub automatic_invoicing: bool,
    pub identity: CompanyIdentity,
    /// Instant of creation.
    pub created_at: Timestamp,
}

fn default_time_zone() -> String {
    "Europe/Paris".to_owned()
}

fn default_currency() -> String {
    "EUR".to_owned()
}

text_setters! {
    CompanyIdentity: address zip_code city email phone siret vat_number insurance terms
}

impl NewCompany {
    /// A company in France that invoices in euros.
    pub fn named(name: impl Into<String>, plan: Plan) -> Self {
        Self {
            name: name.into(),
            plan,
            time_zone: default_time_zone(),
            currency: default_currency(),
            automatic_invoicing: false,
            identity: CompanyIdentity::default(),
        }
    }

    /// Sets [`time_zone`](Self#structfield.time_zone).
    pub fn time_zone(mut self, name: impl Into<String>) -> Self {
        self.time_zone = name.into();
        self
    }

    /// Sets [`currency`](Self#structfield.currency).
    pub fn currency(mut self, code: impl Into<String>) -> Self {
        self.currency = code.into();
        self
    }

    /// Sets [`automatic_invoicing`](Self#structfield.automatic_invoicing).
    pub fn automatic_invoicing(mut self, on: bool) -> Self {
        self.automatic_invoicing = on;
        self
    }

    /// Sets [`identity`](Self#structfield.identity).
    pub fn identity(mut self, identity: CompanyIdentity) -> Self {
        self.identity = identity;
        self
    }

    /// The record. The caller checks the time zone, for which this crate has no data.
    pub fn create(&self, id: CompanyId, at: Timestamp) -> Result<Company, DomainError> {
        if self.automatic_invoicing && !self.plan.has_automatic_invoicing() {
            let message = format!("automatic conversion is not part of the plan {}", self.plan);
            return Err(Conflict::new(message).into());
        }
        if !has_two_decimals(&self.currency) {
            let rule = "must be the ISO 4217 code of a currency with two decimals, such as EUR";
            return Err(Invalid::new("currency", rule).into());
        }
        Ok(Company {
            id,
            name: required_text("name", &self.name, SHORT_TEXT)?,
            plan: self.plan,
            time_zone: self.time_zone.clone(),
            currency: self.currency.clone(),
            automatic_invoicing: self.automatic_invoicing,
            identity: self.identity.check()?,
            created_at: at,
        })
    }
}

impl CompanyIdentity {
    /// The postal address for documents, below the name; lines separated by `\n`.
    pub fn postal_address(&self) -> Option<String> {
        postal_address(self.address.as_deref(), self.zip_code.as_deref(), self.city.as_deref())
    }

    /// Trims, normalises and checks every field.
    pub fn check(&self) -> Result<Self, Invalid> {
        self.check_change(&Self::default())
    }

    /// As [`check`](Self::check) for a change of this identity. Texts that the identity has already
    /// stay unchanged, even if only an earlier version accepted them.
    pub fn check_change(&self, stored: &Self) -> Result<Self, Invalid> {
        let field = |name, entered: &Option<String>, stored: &Option<String>, max| {
            let entered = entered.as_deref();
            unless_stored(entered, stored.as_deref(), || optional_text(name, entered, max))
        };
        let email = self.email.as_deref();
        let identity = Self {
            address: field("address", &self.address, &stored.address, LONG_TEXT)?,
            zip_code: field("zipCode", &self.zip_code, &stored.zip_code, SHORT_TEXT)?,
            city: field("city", &self.city, &stored.city, SHORT_TEXT)?,
            email: unless_stored(email, stored.email.as_deref(), || optional_email("email", email))?,
            phone: field("phone", &self.phone, &stored.phone, SHORT_TEXT)?,
            siret: optional_text("siret", self.siret.as_deref(), SHORT_TEXT)?
                .map(|siret| siret.replace(char::is_whitespace, "")),
            vat_number: field("vatNumber", &self.vat_number, &stored.vat_number, SHORT_TEXT)?,
            insurance: field("insurance", &self.insurance, &stored.insurance, LONG_TEXT)?,
            terms: field("terms", &self.terms, &stored.terms, LONG_TEXT)?,
        };
        match &identity.siret {
            Some(siret) if siret.len() != 14 || !siret.bytes().all(|byte| byte.is_ascii_digit()) => {
                Err(Invalid::new("siret", "must have 14 digits"))
            }
            _ => Ok(identity),
        }
    }
}

#[cfg(test)]
mod tests;
