//! The client's legal data.

use invoicing_core::internal::is_electronic_address;
use invoicing_core::{OperationNature, french_vat_number, is_siren, is_vat_number};

use super::case::{Case, found_about, found_if, is_blank};
use super::company::is_french_number_of;
use super::{Asked, BLANK, INVOICES, ISSUED, LegalRule, NONE, OFFERED, is_reachable};
use crate::documents::facturx::{DIRECTORY, EMAIL, electronic_address_of_buyer};
use crate::documents::territory::Territory;
use crate::records::GapPlace;

/// The prefixes of VAT numbers in the European Union, and of those in Northern Ireland.
const MEMBER_STATES: [&str; 28] = [
    "AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "EL", "ES", "FI", "FR", "HR", "HU", "IE", "IT", "LT",
    "LU", "LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK", "XI",
];

pub(super) const RULES: &[LegalRule] = &[
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 1°",
        field: "clientName",
        english: "The client has no name.",
        french: "Le client n’a pas de nom.",
        finds: |case| found_if(is_blank(case.client_name)),
        ..OF_CLIENT
    },
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 1°",
        field: "client.address",
        english: "The client, a business, has no address.",
        french: "Le client, un professionnel, n’a pas d’adresse.",
        finds: |case| found_if(case.business().is_some() && case.client.address_parts().is_empty()),
        ..OF_CLIENT
    },
    LegalRule {
        source: "Arrêté n° 83-50/A du 3 octobre 1983, art. 3",
        refused: NONE,
        field: "client.address",
        english: "The client has no address, which a bill states unless the client objects.",
        french: "Le client n’a pas d’adresse ; une note l’indique, sauf opposition du client.",
        finds: |case| found_if(case.business().is_none() && case.client.address_parts().is_empty()),
        ..OF_CLIENT
    },
    LegalRule {
        source: "BR-10",
        field: "client.address",
        english: "The client has no address.",
        french: "Le client n’a pas d’adresse.",
        finds: |case| {
            let is_private = case.business().is_none() && case.client.billing_address.is_none();
            found_if(is_private && case.client.address_parts().is_empty())
        },
        ..OF_XML
    },
    LegalRule {
        source: "C. com., art. L441-9",
        field: "client.billingAddress.address",
        english: "The client’s billing address has neither a street nor a town.",
        french: "L’adresse de facturation du client n’a ni rue ni ville.",
        finds: |case| found_if(case.client.billing_parts().is_some_and(|billing| billing.is_empty())),
        ..OF_CLIENT
    },
    LegalRule {
        source: "C. com., art. L441-9",
        refused: NONE,
        field: "client.billingAddress.city",
        english: "The client’s billing address has no town.",
        french: "L’adresse de facturation du client n’a pas de ville.",
        finds: |case| {
            let billing = case.client.billing_parts();
            found_if(billing.is_some_and(|billing| billing.city.is_none() && !billing.is_empty()))
        },
        ..OF_CLIENT
    },
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 1°",
        refused: NONE,
        field: "client.siren",
        english: "The client is a business without a SIREN. An association outside VAT is entered as a private client.",
        french: "Le client est un professionnel sans SIREN. Une association hors TVA est à saisir comme particulier.",
        finds: |case| {
            let lacks = case.business().is_some_and(|client| client.siren.is_none());
            found_if(lacks && !case.territory.is_foreign())
        },
        ..OF_CLIENT
    },
    LegalRule {
        source: "BR-FR-11",
        field: "client.siren",
        english: "The client is a business without a SIREN, which an electronic invoice names.",
        french: "Le client est un professionnel sans SIREN, que la facture électronique indique.",
        finds: |case| found_if(case.business().is_some_and(|client| client.siren.is_none())),
        ..OF_XML
    },
    LegalRule {
        source: "BR-FR-11",
        field: "client.siren",
        english: "The client’s SIREN cannot exist: its check digit is wrong.",
        french: "Le SIREN du client n’existe pas : sa clé est fausse.",
        finds: |case| found_if(siren(case).is_some_and(|siren| !is_siren(siren))),
        ..OF_XML
    },
    LegalRule {
        source: "C. cde publ., art. L2192-1",
        refused: NONE,
        field: "client.siren",
        english: "The SIREN is one of a public body, which takes its invoices on the portal Chorus Pro.",
        french: "Ce SIREN est celui d’un organisme public, qui reçoit ses factures sur le portail Chorus Pro.",
        finds: |case| found_if(siren(case).is_some_and(|siren| siren.starts_with(['1', '2']))),
        ..OF_CLIENT
    },
    LegalRule {
        source: "BR-CO-09",
        field: "client.vatNumber",
        english: "The client’s VAT number “{}” is not one of the European Union.",
        french: "Le numéro de TVA « {} » du client n’est pas de l’Union européenne.",
        finds: |case| found_about(vat_number(case).filter(|number| !is_of_union(number)).map(str::to_owned)),
        ..OF_XML
    },
    LegalRule {
        source: "BR-CO-09",
        field: "client.vatNumber",
        english: "The client’s VAT number is not the one of the SIREN, or its key is wrong.",
        french: "Le numéro de TVA du client n’est pas celui de son SIREN, ou sa clé est fausse.",
        finds: |case| found_if(vat_number(case).is_some_and(|number| is_of_another(number, siren(case)))),
        ..OF_XML
    },
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 4°",
        field: "client.vatNumber",
        english: "Under reverse charge the client is a business with a VAT number{}.",
        french: "En autoliquidation, le client est un professionnel avec un numéro de TVA{}.",
        finds: |case| found_about(case.is_reverse_charge().then(|| lacking_number(case)).flatten()),
        ..OF_CLIENT
    },
    LegalRule {
        source: "BR-11",
        about: OFFERED,
        refused: NONE,
        field: "client.country",
        english: "The country of the client is missing: “{}” is not a French postal code. Without the country there is no electronic invoice.",
        french: "Le pays du client manque : « {} » n’est pas un code postal français. Sans le pays, il n’y a pas de facture électronique.",
        finds: |case| {
            let code = case.client.address_parts().zip_code.map(str::to_owned);
            found_about(code.filter(|_| case.territory == Territory::Unknown))
        },
        ..OF_CLIENT
    },
    LegalRule {
        source: "BR-11",
        field: "client.billingAddress.country",
        english: "The country of the billing address is missing: “{}” is not a French postal code.",
        french: "Le pays de l’adresse de facturation manque : « {} » n’est pas un code postal français.",
        finds: |case| {
            let billing = case.client.billing_parts().filter(|billing| billing.country.is_none());
            found_about(billing.and_then(|billing| billing.zip_code.map(str::to_owned)))
        },
        ..OF_XML
    },
    LegalRule {
        source: "Dir. 2006/112/CE, art. 44, 196",
        refused: INVOICES,
        field: "client.country",
        english: "Reverse charge abroad is for services to a business of the European Union.",
        french: "À l’étranger, l’autoliquidation vaut pour les services à un professionnel de l’Union européenne.",
        finds: |case| {
            let is_service = case.operations == OperationNature::Services;
            let is_known = !case.territory.is_foreign() || case.territory == Territory::Union && is_service;
            found_if(case.is_reverse_charge() && !is_known)
        },
        ..OF_CLIENT
    },
    LegalRule {
        source: "CGI, art. 258, 262",
        about: OFFERED,
        refused: NONE,
        field: "client.country",
        english: "Goods that leave France have no French VAT, which this service does not know: charge it only for goods that are handed over in France.",
        french: "Les biens qui quittent la France sont sans TVA française, ce que ce service ne connaît pas : ne la facturez que pour des biens remis en France.",
        finds: |case| found_if(case.territory.is_foreign() && case.operations != OperationNature::Services),
        ..OF_CLIENT
    },
    LegalRule {
        source: "BR-FR-23",
        field: "client.electronicAddress",
        english: "“{}” is no address of the directory of e-invoicing.",
        french: "« {} » n’est pas une adresse de l’annuaire de la facturation électronique.",
        finds: |case| {
            let address = electronic_address(case, DIRECTORY);
            found_about(address.filter(|address| !is_electronic_address(address)).map(str::to_owned))
        },
        ..OF_XML
    },
    LegalRule {
        source: "BR-FR-25",
        about: INVOICES,
        refused: NONE,
        field: "clientEmail",
        english: "No electronic invoice can be sent to the client’s e-mail: it has over 125 characters, or a domain without a dot.",
        french: "Aucune facture électronique ne peut être envoyée à l’e-mail du client : il a plus de 125 caractères, ou un domaine sans point.",
        finds: |case| found_if(electronic_address(case, EMAIL).is_some_and(|address| !is_reachable(address))),
        ..OF_CLIENT
    },
    LegalRule {
        source: "BR-FR-21",
        field: "client.electronicAddress",
        english: "The client’s electronic address must begin with the SIREN.",
        french: "L’adresse électronique du client doit commencer par son SIREN.",
        finds: |case| {
            let own = case.business().and_then(|client| client.electronic_address.as_deref());
            found_if(own.zip(siren(case)).is_some_and(|(address, siren)| !address.starts_with(siren)))
        },
        ..OF_XML
    },
];

/// The common part of the rules about every client.
const OF_CLIENT: LegalRule = LegalRule { place: GapPlace::Client, ..BLANK };

/// The common part of the rules of the XML.
const OF_XML: LegalRule = LegalRule { asked: Asked::InXml, about: ISSUED, refused: INVOICES, ..OF_CLIENT };

fn siren<'a>(case: &Case<'a>) -> Option<&'a str> {
    case.business()?.siren.as_deref()
}

fn vat_number<'a>(case: &Case<'a>) -> Option<&'a str> {
    case.business()?.vat_number.as_deref()
}

fn is_of_union(number: &str) -> bool {
    MEMBER_STATES.iter().any(|state| number.starts_with(state))
}

/// True for a number with a wrong key, or of another business than the SIREN. One of nowhere has a
/// rule of its own.
fn is_of_another(number: &str, siren: Option<&str>) -> bool {
    let is_own = siren.is_none_or(|siren| !number.starts_with("FR") || is_french_number_of(number, siren));
    is_of_union(number) && (!is_vat_number(number) || !is_own)
}

/// A proposal, if the client lacks a VAT number: the French one follows from the SIREN.
fn lacking_number(case: &Case<'_>) -> Option<String> {
    match vat_number(case) {
        Some(_) => None,
        None => {
            Some(siren(case).map_or_else(String::new, |siren| format!(" ({})", french_vat_number(siren))))
        }
    }
}

/// The address that the document is sent to, if it is of this scheme.
fn electronic_address<'a>(case: &Case<'a>, scheme: &str) -> Option<&'a str> {
    let (of, address) = electronic_address_of_buyer(case.client, case.client_email)?;
    (of == scheme).then_some(address)
}
