//! Companies: the tenants of the service.

use serde::{Deserialize, Serialize};

use strum::{Display, IntoStaticStr, VariantArray};

use crate::address::PostalAddress;
use crate::currency::has_two_decimals;
use crate::identifiers::{compact, optional_bic, optional_electronic_address, optional_iban, siren_of};
use crate::setters::text_setters;
use crate::text::{LONG_TEXT, SHORT_TEXT, optional_email, optional_text, required_text};
use crate::{
    CompanyId, ConflictReason, DomainError, Invalid, OperationNature, Plan, Rule, Timestamp, VatRegime,
};

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
    /// Postal code.
    pub zip_code: Option<String>,
    /// Town.
    pub city: Option<String>,
    /// E-mail.
    pub email: Option<String>,
    /// Telephone number.
    pub phone: Option<String>,
    /// SIRET, 14 digits.
    pub siret: Option<String>,
    /// Intra-community VAT number.
    pub vat_number: Option<String>,
    /// Ten-year liability insurance: insurer, policy and cover (Code des assurances, art. L243-2).
    pub insurance: Option<String>,
    /// Terms printed on documents, at most 2,000 characters.
    pub terms: Option<String>,
    /// Legal form, such as `SARL`; `EI` for a sole trader, whose documents show it beside the name
    /// (Code de commerce, art. R526-27).
    pub legal_form: Option<String>,
    /// Share capital as it is printed, such as `10 000 €`.
    pub share_capital: Option<String>,
    /// Entry in the register, such as `RCS Lyon 732 829 320`.
    pub registration: Option<String>,
    /// The VAT regime.
    pub vat_regime: VatRegime,
    /// True if the company has opted to pay VAT when it invoices (`option pour les débits`).
    pub vat_on_debits: bool,
    /// The nature of its operations, unless a quote states another one.
    pub operations: OperationNature,
    /// Penalties for late payment, as a sentence; by default the rate of the law.
    pub late_penalty: Option<String>,
    /// Discount for early payment, as a sentence; by default none.
    pub early_payment: Option<String>,
    /// IBAN of the account that clients pay to.
    pub iban: Option<String>,
    /// BIC of the bank of this account.
    pub bic: Option<String>,
    /// Mediator for private clients: name, address and site (Code de la consommation, art. L616-1).
    pub mediator: Option<String>,
    /// Handling of the waste of the works, printed on quotes (Code de l’environnement, art.
    /// L541-21-2-3).
    pub waste_terms: Option<String>,
    /// Address in the directory of e-invoicing; by default the SIREN.
    pub electronic_address: Option<String>,
    /// The state of e-invoicing.
    pub e_invoicing: EInvoicing,
    /// Colour of the title and the totals on documents, as `#16486e`. A document uses it only if
    /// its contrast against white is 4.5 to 1 or more.
    pub color: Option<String>,
}

/// A company record: the fields of [`NewCompany`], with an id, a logo and the instant of the
/// creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields of the input have the same names")]
pub struct Company {
    pub id: CompanyId,
    pub name: String,
    pub plan: Plan,
    pub time_zone: String,
    pub currency: String,
    pub automatic_invoicing: bool,
    pub identity: CompanyIdentity,
    /// SHA-256 of the logo on its documents, 64 lowercase hex digits; left out while there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logo: Option<String>,
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
    CompanyIdentity: address zip_code city email phone siret vat_number insurance terms legal_form
        share_capital registration late_penalty early_payment iban bic mediator waste_terms
        electronic_address color
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
            return Err(ConflictReason::AutomaticInvoicing { plan: self.plan }.into());
        }
        if !has_two_decimals(&self.currency) {
            return Err(Invalid::new("currency", Rule::Currency).into());
        }
        Ok(Company {
            id,
            name: required_text("name", &self.name, SHORT_TEXT)?,
            plan: self.plan,
            time_zone: self.time_zone.clone(),
            currency: self.currency.clone(),
            automatic_invoicing: self.automatic_invoicing,
            identity: self.identity.check()?,
            logo: None,
            created_at: at,
        })
    }
}

impl CompanyIdentity {
    /// Sets [`vat_regime`](Self#structfield.vat_regime).
    pub fn vat_regime(mut self, regime: VatRegime) -> Self {
        self.vat_regime = regime;
        self
    }

    /// Sets [`vat_on_debits`](Self#structfield.vat_on_debits).
    pub fn vat_on_debits(mut self, on: bool) -> Self {
        self.vat_on_debits = on;
        self
    }

    /// Sets [`operations`](Self#structfield.operations).
    pub fn operations(mut self, nature: OperationNature) -> Self {
        self.operations = nature;
        self
    }

    /// Sets [`e_invoicing`](Self#structfield.e_invoicing).
    pub fn e_invoicing(mut self, state: EInvoicing) -> Self {
        self.e_invoicing = state;
        self
    }

    /// True for a company in franchise, which charges no VAT (CGI, art. 293 B).
    pub fn is_franchise(&self) -> bool {
        self.vat_regime == VatRegime::Franchise
    }

    /// The SIREN: the first nine digits of the SIRET.
    pub fn siren(&self) -> Option<&str> {
        self.siret.as_deref().and_then(siren_of)
    }

    /// The postal address for documents, below the name; lines separated by `\n`.
    pub fn postal_address(&self) -> Option<String> {
        self.address_parts().printed()
    }

    #[doc(hidden)]
    pub fn address_parts(&self) -> PostalAddress<'_> {
        let town = (self.zip_code.as_deref(), self.city.as_deref());
        PostalAddress::read(self.address.as_deref(), town.0, town.1, None)
    }

    /// Trims, normalises and checks every field.
    pub fn check(&self) -> Result<Self, Invalid> {
        let field = |name, entered: &Option<String>, max| optional_text(name, entered.as_deref(), max);
        let identity = Self {
            address: field("address", &self.address, LONG_TEXT)?,
            zip_code: field("zipCode", &self.zip_code, SHORT_TEXT)?,
            city: field("city", &self.city, SHORT_TEXT)?,
            email: optional_email("email", self.email.as_deref())?,
            phone: field("phone", &self.phone, SHORT_TEXT)?,
            siret: optional_text("siret", self.siret.as_deref(), SHORT_TEXT)?.map(|siret| compact(&siret)),
            vat_number: field("vatNumber", &self.vat_number, SHORT_TEXT)?.map(|number| compact(&number)),
            insurance: field("insurance", &self.insurance, LONG_TEXT)?,
            terms: field("terms", &self.terms, LONG_TEXT)?,
            legal_form: field("legalForm", &self.legal_form, SHORT_TEXT)?,
            share_capital: field("shareCapital", &self.share_capital, SHORT_TEXT)?,
            registration: field("registration", &self.registration, SHORT_TEXT)?,
            vat_regime: self.vat_regime,
            vat_on_debits: self.vat_on_debits,
            operations: self.operations,
            late_penalty: field("latePenalty", &self.late_penalty, LONG_TEXT)?,
            early_payment: field("earlyPayment", &self.early_payment, LONG_TEXT)?,
            iban: optional_iban("iban", self.iban.as_deref())?,
            bic: optional_bic("bic", self.bic.as_deref())?,
            mediator: field("mediator", &self.mediator, LONG_TEXT)?,
            waste_terms: field("wasteTerms", &self.waste_terms, LONG_TEXT)?,
            electronic_address: optional_electronic_address(
                "electronicAddress",
                self.electronic_address.as_deref(),
            )?,
            e_invoicing: self.e_invoicing,
            color: optional_color(self.color.as_deref())?,
        };
        match &identity.siret {
            Some(siret) if siret.len() != 14 || !siret.bytes().all(|byte| byte.is_ascii_digit()) => {
                Err(Invalid::new("siret", Rule::Siret))
            }
            _ => Ok(identity),
        }
    }
}

/// A colour as entered: `#` and six hex digits.
fn optional_color(text: Option<&str>) -> Result<Option<String>, Invalid> {
    let color = optional_text("color", text, SHORT_TEXT)?.map(|color| color.to_ascii_lowercase());
    let is_hex = |color: &str| {
        color
            .strip_prefix('#')
            .is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    match color {
        Some(color) if !is_hex(&color) => Err(Invalid::new("color", Rule::Color)),
        color => Ok(color),
    }
}

#[cfg(test)]
mod tests;
