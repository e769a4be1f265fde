//! The gaps of the client.

use invoicing_core::internal::is_electronic_address;
use invoicing_core::{is_siren, is_vat_number};

use super::company::is_of;
use super::is_blank;
use crate::documents::facturx::einvoice::{DIRECTORY, EInvoice, EMAIL, FRANCE};
use crate::documents::facturx::parties::buyer_address;
use crate::records::ReadinessGap;

/// The prefixes of VAT numbers in the European Union, and of those in Northern Ireland.
const MEMBER_STATES: [&str; 28] = [
    "AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "EL", "ES", "FI", "FR", "HR", "HU", "IE", "IT", "LT",
    "LU", "LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK", "XI",
];

/// Maximum number of characters of an electronic address.
const ADDRESS: usize = 125;

pub(super) fn gaps(invoice: EInvoice<'_>) -> impl Iterator<Item = ReadinessGap> {
    let parties = [name(invoice), address(invoice), country(invoice)];
    let numbers = [siren(invoice), vat_number(invoice), directory(invoice), email(invoice), owner(invoice)];
    parties.into_iter().chain(numbers).flatten()
}

fn name(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    is_blank(invoice.view.client.name).then(|| {
        ReadinessGap::new("clientName", "BR-07", "The client has no name.", "Le client n’a pas de nom.")
    })
}

fn address(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    buyer_address(invoice).is_empty().then(|| {
        let french = "Le client n’a pas d’adresse.";
        ReadinessGap::new("client.address", "BR-10", "The client has no address.", french)
    })
}

fn country(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    let country = invoice.issued.buyer.country.as_deref().filter(|country| *country != FRANCE)?;
    let english = format!("Electronic invoices are for clients in France, not in {country}.");
    let french = format!("La facture électronique est réservée aux clients en France ({country}).");
    Some(ReadinessGap::new("client.country", "BR-FR-20", english, french))
}

fn siren(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    let gap = |english, french| Some(ReadinessGap::new("client.siren", "BR-FR-11", english, french));
    match invoice.business()?.siren.as_deref() {
        None => {
            gap("The client is a business without a SIREN.", "Le client est un professionnel sans SIREN.")
        }
        Some(siren) if !is_siren(siren) => {
            let english = "The client’s SIREN cannot exist: its check digit is wrong.";
            gap(english, "Le SIREN du client n’existe pas : sa clé est fausse.")
        }
        _ => None,
    }
}

fn vat_number(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    let client = invoice.business()?;
    let number = client.vat_number.as_deref()?;
    if !MEMBER_STATES.iter().any(|state| number.starts_with(state)) {
        let english = format!("The client’s VAT number {number:?} is not one of the European Union.");
        let french = format!("Le numéro de TVA « {number} » du client n’est pas de l’Union européenne.");
        return Some(ReadinessGap::new("client.vatNumber", "BR-CO-09", english, french));
    }
    let is_own =
        client.siren.as_deref().is_none_or(|siren| !number.starts_with(FRANCE) || is_of(number, siren));
    (!is_vat_number(number) || !is_own).then(|| {
        let english = "The client’s VAT number is not the one of the SIREN, or its key is wrong.";
        let french = "Le numéro de TVA du client n’est pas celui de son SIREN, ou sa clé est fausse.";
        ReadinessGap::new("client.vatNumber", "BR-CO-09", english, french)
    })
}

fn directory(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    let (scheme, address) = invoice.buyer_address()?;
    (scheme == DIRECTORY && !is_electronic_address(address)).then(|| {
        let english = format!("{address:?} is no address of the directory of e-invoicing.");
        let french =
            format!("« {address} » n’est pas une adresse de l’annuaire de la facturation électronique.");
        ReadinessGap::new("client.electronicAddress", "BR-FR-23", english, french)
    })
}

/// The e-mail of a private client is the address that the invoice is sent to.
fn email(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    let (scheme, address) = invoice.buyer_address()?;
    (scheme == EMAIL && address.chars().count() > ADDRESS).then(|| {
        let english = format!("The client’s e-mail has more than {ADDRESS} characters.");
        let french = format!("L’e-mail du client a plus de {ADDRESS} caractères.");
        ReadinessGap::new("clientEmail", "BR-FR-25", english, french)
    })
}

/// The electronic address of a business begins with its SIREN.
fn owner(invoice: EInvoice<'_>) -> Option<ReadinessGap> {
    let client = invoice.business()?;
    let siren = client.siren.as_deref()?;
    let address = client.electronic_address.as_deref()?;
    (!address.starts_with(siren)).then(|| {
        let english = "The client’s electronic address must begin with the SIREN.";
        let french = "L’adresse électronique du client doit commencer par son SIREN.";
        ReadinessGap::new("client.electronicAddress", "BR-FR-21", english, french)
    })
}
