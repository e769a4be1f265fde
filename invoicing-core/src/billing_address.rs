//! The address that a client wants invoices made out to.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::Invalid;
use crate::address::PostalAddress;
use crate::identifiers::optional_country;
use crate::setters::text_setters;
use crate::text::{LONG_TEXT, SHORT_TEXT, optional_text};

/// The address that a client wants invoices made out to, if it is another one than the client's own
/// (Code de commerce, art. L441-9).
///
/// ```
/// use invoicing_core::{BillingAddress, NewClient};
///
/// let accounting = BillingAddress::default().address("CS 40102").zip_code("69401").city("Lyon Cedex 03");
/// let client = NewClient::named("Martin SARL").billing_address(accounting);
/// # client.check()?;
/// # Ok::<(), invoicing_core::Invalid>(())
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BillingAddress {
    /// Street address, at most 2,000 characters.
    pub address: Option<String>,
    /// Postal code.
    pub zip_code: Option<String>,
    /// City.
    pub city: Option<String>,
    /// Country, two letters (ISO 3166-1); `None` is the one that the address names, else France.
    pub country: Option<String>,
}

text_setters! { BillingAddress: address zip_code city country }

impl BillingAddress {
    /// The postal address for documents, below the name; lines separated by `\n`. The last one is
    /// the French name of a country other than France.
    pub fn postal_address(&self) -> Option<String> {
        self.address_parts().printed()
    }

    #[doc(hidden)]
    pub fn address_parts(&self) -> PostalAddress<'_> {
        let town = (self.zip_code.as_deref(), self.city.as_deref());
        PostalAddress::read(self.address.as_deref(), town.0, town.1, self.country.as_deref())
    }

    /// Trims, normalises and checks every field; `None` if all are empty.
    pub(crate) fn check(&self) -> Result<Option<Self>, Invalid> {
        let field = |name, entered: &Option<String>, max| optional_text(name, entered.as_deref(), max);
        let checked = Self {
            address: field("billingAddress.address", &self.address, LONG_TEXT)?,
            zip_code: field("billingAddress.zipCode", &self.zip_code, SHORT_TEXT)?,
            city: field("billingAddress.city", &self.city, SHORT_TEXT)?,
            country: optional_country("billingAddress.country", self.country.as_deref())?,
        };
        Ok((checked != Self::default()).then_some(checked))
    }
}

/// Reads a billing address that is entered, or null. Unlike in a record, an unknown field is refused.
pub(crate) fn entered_billing_address<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BillingAddress>, D::Error> {
    #[derive(Deserialize)]
    #[serde(remote = "BillingAddress", rename_all = "camelCase", deny_unknown_fields)]
    struct Fields {
        address: Option<String>,
        zip_code: Option<String>,
        city: Option<String>,
        country: Option<String>,
    }

    /// Takes no list of the four texts, which a derived `Deserialize` would read as an object.
    struct Entered;

    impl<'de> Visitor<'de> for Entered {
        type Value = Option<BillingAddress>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object or null")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Fields::deserialize(MapAccessDeserializer::new(map)).map(Some)
        }
    }

    deserializer.deserialize_any(Entered)
}
