//! The places that the VAT of a document depends on.

/// The member states of the European Union but for France (ISO 3166-1).
const UNION: [&str; 26] = [
    "AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "GR", "HR", "HU", "IE", "IT", "LT", "LU",
    "LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK",
];

/// The place of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Territory {
    /// France, with Corsica.
    Mainland,
    /// Monaco, which has the VAT of France (convention of 18 May 1963).
    Monaco,
    /// Guadeloupe, Martinique, Réunion: rates of their own (CGI, art. 296).
    Overseas,
    /// French Guiana and Mayotte, without VAT (CGI, art. 294).
    Untaxed,
    /// Another member state of the European Union.
    Union,
    Abroad,
    /// A place without a country, and with a postal code that is not French.
    Unknown,
}

impl Territory {
    /// The place of a country, as an address is read.
    pub(crate) fn of(country: Option<&str>) -> Self {
        match country {
            None => Self::Unknown,
            Some("FR") => Self::Mainland,
            Some("MC") => Self::Monaco,
            Some("GP" | "MQ" | "RE") => Self::Overseas,
            Some("GF" | "YT") => Self::Untaxed,
            Some(country) if UNION.contains(&country) => Self::Union,
            Some(_) => Self::Abroad,
        }
    }

    /// True if businesses there get electronic invoices (CGI, art. 289 bis): where French VAT is
    /// due, but for Monaco.
    pub(crate) fn has_electronic_invoices(self) -> bool {
        matches!(self, Self::Mainland | Self::Overseas)
    }

    pub(crate) fn is_foreign(self) -> bool {
        matches!(self, Self::Union | Self::Abroad)
    }
}
