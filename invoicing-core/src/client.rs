//! Clients: the record, and the input with its checks.

use std::borrow::Cow;

use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

use strum::{Display, IntoStaticStr, VariantArray};

use crate::address::PostalAddress;
use crate::billing_address::entered_billing_address;
use crate::identifiers::{
    optional_country, optional_electronic_address, optional_siren, optional_vat_number,
};
use crate::setters::text_setters;
use crate::text::{LONG_TEXT, SHORT_TEXT, fold_for_search, optional_email, optional_text, required_text};
use crate::{BillingAddress, ChangeTime, ClientId, Invalid, Timestamp};

/// The kind of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum ClientType {
    /// A private person.
    Particulier,
    /// A business.
    Professionnel,
}

/// A client record. `T` is [`ClientType`] in the service and
/// [`OpenEnum<ClientType>`](crate::OpenEnum) for readers of the API.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de>"))]
pub struct Client<T = ClientType> {
    /// Identifier on the service's side.
    pub id: ClientId,
    /// Name, 1 to 255 characters.
    pub name: String,
    /// E-mail address.
    pub email: Option<String>,
    /// Telephone number, as entered.
    pub phone: Option<String>,
    /// Street address, at most 2,000 characters.
    pub address: Option<String>,
    /// City.
    pub city: Option<String>,
    /// Postal code.
    pub zip_code: Option<String>,
    /// Private person or business.
    pub r#type: Option<T>,
    /// Notes, at most 2,000 characters. Visible through the API.
    pub notes: Option<String>,
    /// The caller's identifier, unique per company.
    pub external_id: Option<String>,
    /// SIREN of a business, 9 digits.
    pub siren: Option<String>,
    /// Intra-community VAT number of a business.
    pub vat_number: Option<String>,
    /// Address in the directory of e-invoicing; by default the SIREN of a business.
    pub electronic_address: Option<String>,
    /// Country of the address, two letters (ISO 3166-1); `None` is France.
    pub country: Option<String>,
    /// Address that invoices are made out to, if it is not this one.
    pub billing_address: Option<BillingAddress>,
    /// Instant of creation.
    pub created_at: Timestamp,
    /// Instant of the last change.
    pub updated_at: Timestamp,
}

/// The input of a client: the body of `POST /clients`.
///
/// ```
/// use invoicing_core::{ClientType, NewClient};
///
/// let client = NewClient::named("Claire Lefèvre")
///     .r#type(ClientType::Particulier)
///     .email("claire.lefevre@exemple.fr")
///     .address("14 rue des Lilas")
///     .zip_code("69100")
///     .city("Villeurbanne");
/// # client.check()?;
/// # Ok::<(), invoicing_core::Invalid>(())
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewClient {
    /// Name, 1 to 255 characters.
    pub name: String,
    /// E-mail address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Telephone number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// Street address, at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// City.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// Postal code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zip_code: Option<String>,
    /// Private person or business.
    #[serde(default, deserialize_with = "type_or_empty", skip_serializing_if = "Option::is_none")]
    pub r#type: Option<ClientType>,
    /// Notes, at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The caller's identifier; makes the creation idempotent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// SIREN of a business, 9 digits with a check digit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub siren: Option<String>,
    /// Intra-community VAT number of a business.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vat_number: Option<String>,
    /// Address in the directory of e-invoicing; by default the SIREN of a business.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub electronic_address: Option<String>,
    /// Country of the address, two letters (ISO 3166-1); by default France.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Address that invoices are made out to, if it is not this one. One without any text is none.
    #[serde(default, deserialize_with = "entered_billing_address", skip_serializing_if = "Option::is_none")]
    pub billing_address: Option<BillingAddress>,
}

/// Reads a type like every optional text: white space around the word does not count, and an empty
/// word is null.
fn type_or_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ClientType>, D::Error> {
    let text = Option::<Cow<'de, str>>::deserialize(deserializer)?;
    match text.as_deref().map(str::trim) {
        None | Some("") => Ok(None),
        Some(word) => ClientType::deserialize(word.into_deserializer()).map(Some),
    }
}

/// A change of a client by the host: all fields with their new values.
pub type ClientChange = NewClient;

/// The fields of a client, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientFields(NewClient);

text_setters! {
    NewClient: email phone address city zip_code notes external_id siren vat_number electronic_address
        country
}

impl NewClient {
    /// A client with a name and no other field.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// The fields of a client, of which a change sets some.
    ///
    /// ```
    /// # use invoicing_core::{Client, ClientChange, NewClient};
    /// # fn change(client: &Client) -> ClientChange {
    /// NewClient::of(client).phone("07 12 34 56 78")
    /// # }
    /// ```
    pub fn of(client: &Client) -> Self {
        let Client {
            id: _,
            name,
            email,
            phone,
            address,
            city,
            zip_code,
            r#type,
            notes,
            external_id,
            siren,
            vat_number,
            electronic_address,
            country,
            billing_address,
            created_at: _,
            updated_at: _,
        } = client.clone();
        Self {
            name,
            email,
            phone,
            address,
            city,
            zip_code,
            r#type,
            notes,
            external_id,
            siren,
            vat_number,
            electronic_address,
            country,
            billing_address,
        }
    }

    /// Sets [`billing_address`](Self#structfield.billing_address).
    pub fn billing_address(mut self, address: BillingAddress) -> Self {
        self.billing_address = Some(address);
        self
    }

    /// Sets [`type`](Self#structfield.type).
    pub fn r#type(mut self, kind: ClientType) -> Self {
        self.r#type = Some(kind);
        self
    }

    /// Trims, normalises and checks every field.
    pub fn check(&self) -> Result<ClientFields, Invalid> {
        let field = |name, entered: &Option<String>, max| optional_text(name, entered.as_deref(), max);
        Ok(ClientFields(Self {
            name: required_text("name", &self.name, SHORT_TEXT)?,
            email: optional_email("email", self.email.as_deref())?,
            phone: field("phone", &self.phone, SHORT_TEXT)?,
            address: field("address", &self.address, LONG_TEXT)?,
            city: field("city", &self.city, SHORT_TEXT)?,
            zip_code: field("zipCode", &self.zip_code, SHORT_TEXT)?,
            r#type: self.r#type,
            notes: field("notes", &self.notes, LONG_TEXT)?,
            siren: optional_siren("siren", self.siren.as_deref())?,
            vat_number: optional_vat_number("vatNumber", self.vat_number.as_deref())?,
            electronic_address: optional_electronic_address(
                "electronicAddress",
                self.electronic_address.as_deref(),
            )?,
            country: optional_country("country", self.country.as_deref())?,
            billing_address: match &self.billing_address {
                Some(address) => address.check()?,
                None => None,
            },
            // Checked last, so that an error about it means that every other field is accepted.
            external_id: check_external_id(self.external_id.as_deref())?,
        }))
    }
}

/// Checks an `externalId`: null is fine, empty is not.
pub(crate) fn check_external_id(id: Option<&str>) -> Result<Option<String>, Invalid> {
    id.map(|id| required_text("externalId", id, SHORT_TEXT)).transpose()
}

impl ClientFields {
    /// The checked `externalId`.
    pub fn external_id(&self) -> Option<&str> {
        self.0.external_id.as_deref()
    }

    /// The record of a new client.
    pub fn create(self, id: ClientId, at: ChangeTime) -> Client {
        self.record(id, at.now, at.stamp)
    }

    /// The client with these fields, or `None` if no field changes.
    pub fn apply(self, client: &Client, stamp: Timestamp) -> Option<Client> {
        let changed = self.record(client.id, client.created_at, stamp);
        let same = Client { updated_at: client.updated_at, ..changed.clone() } == *client;
        (!same).then_some(changed)
    }

    fn record(self, id: ClientId, created_at: Timestamp, updated_at: Timestamp) -> Client {
        let NewClient {
            name,
            email,
            phone,
            address,
            city,
            zip_code,
            r#type,
            notes,
            external_id,
            siren,
            vat_number,
            electronic_address,
            country,
            billing_address,
        } = self.0;
        Client {
            id,
            name,
            email,
            phone,
            address,
            city,
            zip_code,
            r#type,
            notes,
            external_id,
            siren,
            vat_number,
            electronic_address,
            country,
            billing_address,
            created_at,
            updated_at,
        }
    }
}

impl<T> Client<T> {
    /// The postal address for documents, below the name; lines separated by `\n`. The last one is
    /// the French name of a country other than France.
    pub fn postal_address(&self) -> Option<String> {
        let town = (self.zip_code.as_deref(), self.city.as_deref());
        PostalAddress::read(self.address.as_deref(), town.0, town.1, self.country.as_deref()).printed()
    }

    /// The text that `q` searches: name, e-mail and city, without case and accents, one per
    /// line.
    pub fn search_text(&self) -> String {
        [Some(&self.name), self.email.as_ref(), self.city.as_ref()]
            .into_iter()
            .flatten()
            .map(|text| fold_for_search(text))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

#[cfg(test)]
mod tests;
