//! The gaps of the company.

use invoicing_core::internal::is_electronic_address;
use invoicing_core::{Company, CompanyIdentity, VatRegime, is_siren, is_vat_number};

use super::is_blank;
use crate::documents::facturx::einvoice::FRANCE;
use crate::documents::facturx::parties::seller_address;
use crate::records::ReadinessGap;

/// The gaps of a company. A client that owes the VAT changes only the rule of a missing VAT number.
pub(super) fn gaps(company: &Company, reverse_charge: bool) -> impl Iterator<Item = ReadinessGap> {
    let identity = &company.identity;
    let vat_number = vat_number(identity, reverse_charge);
    let gaps =
        [name(&company.name), address(identity), siret(identity), vat_number, electronic_address(identity)];
    let notes = [
        note("company.latePenalty", identity.late_penalty.as_deref()),
        note("company.earlyPayment", identity.early_payment.as_deref()),
    ];
    gaps.into_iter().chain(notes).flatten()
}

fn name(name: &str) -> Option<ReadinessGap> {
    is_blank(name).then(|| {
        ReadinessGap::new("company.name", "BR-06", "The company has no name.", "L’entreprise n’a pas de nom.")
    })
}

fn address(identity: &CompanyIdentity) -> Option<ReadinessGap> {
    seller_address(identity).is_empty().then(|| {
        let french = "L’entreprise n’a pas d’adresse.";
        ReadinessGap::new("company.address", "BR-08", "The company has no address.", french)
    })
}

fn siret(identity: &CompanyIdentity) -> Option<ReadinessGap> {
    let gap = |rule, english, french| Some(ReadinessGap::new("company.siret", rule, english, french));
    match (identity.siret.as_deref(), identity.siren()) {
        (None, _) => gap("BR-FR-10", "The company has no SIRET.", "L’entreprise n’a pas de SIRET."),
        (Some(_), None) => {
            gap("BR-FR-09", "The SIRET must have 14 digits.", "Le SIRET doit avoir 14 chiffres.")
        }
        (Some(_), Some(siren)) if !is_siren(siren) => {
            let english = "The SIRET begins with a SIREN that cannot exist: its check digit is wrong.";
            gap("BR-FR-10", english, "Le SIREN en tête du SIRET n’existe pas : sa clé est fausse.")
        }
        _ => None,
    }
}

fn vat_number(identity: &CompanyIdentity, reverse_charge: bool) -> Option<ReadinessGap> {
    let gap = |rule, english, french| Some(ReadinessGap::new("company.vatNumber", rule, english, french));
    match (identity.vat_number.as_deref(), identity.siren()) {
        (None, _) if identity.vat_regime == VatRegime::Franchise => None,
        (None, _) => {
            let rule = if reverse_charge { "BR-AE-02" } else { "BR-S-02" };
            gap(rule, "The company has no VAT number.", "L’entreprise n’a pas de numéro de TVA.")
        }
        (Some(number), Some(siren)) if !is_of(number, siren) => {
            let english = "The VAT number is not the one of the SIREN, or its key is wrong.";
            gap("BR-CO-09", english, "Le numéro de TVA n’est pas celui du SIREN, ou sa clé est fausse.")
        }
        _ => None,
    }
}

/// True for a French VAT number of a SIREN.
pub(super) fn is_of(number: &str, siren: &str) -> bool {
    number.starts_with(FRANCE) && is_vat_number(number) && number.ends_with(siren)
}

fn electronic_address(identity: &CompanyIdentity) -> Option<ReadinessGap> {
    let address = identity
        .electronic_address
        .as_deref()
        .or_else(|| identity.siren())
        .filter(|address| !is_electronic_address(address))?;
    let english = format!("{address:?} is no address of the directory of e-invoicing.");
    let french = format!("« {address} » n’est pas une adresse de l’annuaire de la facturation électronique.");
    Some(ReadinessGap::new("company.electronicAddress", "BR-FR-23", english, french))
}

/// The gap of a sentence about payment that the company has of its own.
fn note(field: &str, text: Option<&str>) -> Option<ReadinessGap> {
    is_blank(text?).then(|| {
        let french = "La mention sur le paiement est vide.";
        ReadinessGap::new(field, "BR-FR-05", "The sentence about payment is empty.", french)
    })
}
