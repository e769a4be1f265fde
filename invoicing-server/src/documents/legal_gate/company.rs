//! The company's legal data.

use invoicing_core::internal::is_electronic_address;
use invoicing_core::{CompanyIdentity, OperationNature, is_siren, is_vat_number};

use super::case::{found_about, found_if, is_blank};
use super::{Asked, BLANK, EURO, INVOICES, ISSUED, LegalRule, NONE, OFFERED, Quote};
use crate::records::GapPlace;

/// Forms without a register of commerce and without capital.
const SOLE_TRADERS: [&str; 2] = ["ei", "entrepreneur individuel"];

pub(super) const RULES: &[LegalRule] = &[
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 1°",
        field: "company.name",
        english: "The company has no name.",
        french: "L’entreprise n’a pas de nom.",
        finds: |case| found_if(is_blank(&case.company.name)),
        ..OF_COMPANY
    },
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 1°",
        field: "company.address",
        english: "The company has no address.",
        french: "L’entreprise n’a pas d’adresse.",
        finds: |case| found_if(case.identity().address_parts().is_empty()),
        ..OF_COMPANY
    },
    LegalRule {
        source: "C. com., art. R123-237",
        field: "company.siret",
        english: "The company has no SIRET.",
        french: "L’entreprise n’a pas de SIRET.",
        finds: |case| found_if(case.identity().siret.is_none()),
        ..OF_COMPANY
    },
    LegalRule {
        source: "C. com., art. R123-237",
        field: "company.siret",
        english: "The SIRET cannot exist: it must have 14 digits, and begin with a SIREN with a right check digit.",
        french: "Le SIRET n’existe pas : il doit avoir 14 chiffres et commencer par un SIREN dont la clé est juste.",
        finds: |case| {
            let is_wrong = case.identity().siret.is_some() && !case.identity().siren().is_some_and(is_siren);
            found_if(is_wrong)
        },
        ..OF_COMPANY
    },
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 2°",
        field: "company.vatNumber",
        english: "The company has no VAT number.",
        french: "L’entreprise n’a pas de numéro de TVA.",
        finds: |case| found_if(case.identity().vat_number.is_none() && !case.identity().is_franchise()),
        ..OF_COMPANY
    },
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 2°",
        field: "company.vatNumber",
        english: "The VAT number is not the one of the SIREN, or its key is wrong.",
        french: "Le numéro de TVA n’est pas celui du SIREN, ou sa clé est fausse.",
        finds: |case| found_if(has_number_of_another(case.identity())),
        ..OF_COMPANY
    },
    LegalRule {
        source: "C. com., art. R123-237, R123-238",
        refused: NONE,
        field: "company.legalForm",
        english: "The legal form is missing; “EI” for a sole trader.",
        french: "La forme juridique manque ; « EI » pour un entrepreneur individuel.",
        finds: |case| found_if(case.identity().legal_form.is_none()),
        ..OF_COMPANY
    },
    LegalRule {
        source: "C. com., art. R123-237",
        refused: NONE,
        field: "company.registration",
        english: "The entry in the register is missing, such as “RCS Lyon 732 829 320” or “RNE”.",
        french: "L’inscription au registre manque, comme « RCS Lyon 732 829 320 » ou « RNE ».",
        finds: |case| found_if(case.identity().registration.is_none()),
        ..OF_COMPANY
    },
    LegalRule {
        source: "C. com., art. R123-238",
        refused: NONE,
        field: "company.shareCapital",
        english: "The share capital is missing.",
        french: "Le capital social manque.",
        finds: |case| found_if(is_corporation(case.identity()) && case.identity().share_capital.is_none()),
        ..OF_COMPANY
    },
    LegalRule {
        source: "C. assur., art. L243-2",
        about: OFFERED,
        refused: NONE,
        field: "company.insurance",
        english: "The ten-year insurance is missing, which building trades state: insurer, policy, cover.",
        french: "L’assurance décennale manque, que les métiers du bâtiment indiquent : assureur, police, couverture.",
        finds: |case| {
            found_if(case.operations != OperationNature::Goods && case.identity().insurance.is_none())
        },
        ..OF_COMPANY
    },
    LegalRule {
        source: "C. conso., art. L616-1",
        about: OFFERED,
        refused: NONE,
        field: "company.mediator",
        english: "The mediator for private clients is missing: name, address, site.",
        french: "Le médiateur de la consommation manque : nom, adresse, site.",
        finds: |case| found_if(case.business().is_none() && case.identity().mediator.is_none()),
        ..OF_COMPANY
    },
    LegalRule {
        source: "C. envir., art. L541-21-2-3",
        about: &[Quote],
        refused: NONE,
        field: "company.wasteTerms",
        english: "The handling of the waste of the works is missing.",
        french: "La gestion des déchets du chantier manque.",
        finds: |case| {
            found_if(case.operations != OperationNature::Goods && case.identity().waste_terms.is_none())
        },
        ..OF_COMPANY
    },
    LegalRule {
        source: "BR-FR-05",
        field: "company.latePenalty",
        english: "The sentence about late payment is empty.",
        french: "La mention sur le retard de paiement est vide.",
        finds: |case| found_if(case.identity().late_penalty.as_deref().is_some_and(is_blank)),
        ..OF_XML
    },
    LegalRule {
        source: "BR-FR-05",
        field: "company.earlyPayment",
        english: "The sentence about early payment is empty.",
        french: "La mention sur le paiement anticipé est vide.",
        finds: |case| found_if(case.identity().early_payment.as_deref().is_some_and(is_blank)),
        ..OF_XML
    },
    LegalRule {
        source: "BR-FR-23",
        field: "company.electronicAddress",
        english: "“{}” is no address of the directory of e-invoicing.",
        french: "« {} » n’est pas une adresse de l’annuaire de la facturation électronique.",
        finds: |case| {
            let own = case.identity().electronic_address.as_deref();
            found_about(own.filter(|address| !is_electronic_address(address)).map(str::to_owned))
        },
        ..OF_XML
    },
    LegalRule {
        source: "BR-FR-CO-12",
        field: "currency",
        english: "An electronic invoice is in EUR, not in {}.",
        french: "Une facture électronique est en EUR, et non en {}.",
        finds: |case| found_about(Some(case.company.currency.clone()).filter(|currency| currency != EURO)),
        ..OF_XML
    },
];

/// The common part of the rules about every company.
const OF_COMPANY: LegalRule = LegalRule { place: GapPlace::Company, ..BLANK };

/// The common part of the rules of the XML.
const OF_XML: LegalRule = LegalRule { asked: Asked::InXml, about: ISSUED, refused: INVOICES, ..OF_COMPANY };

fn has_number_of_another(identity: &CompanyIdentity) -> bool {
    let (Some(number), Some(siren)) = (identity.vat_number.as_deref(), identity.siren()) else {
        return false;
    };
    !is_french_number_of(number, siren)
}

/// True for a French VAT number of a SIREN.
pub(super) fn is_french_number_of(number: &str, siren: &str) -> bool {
    number.starts_with("FR") && is_vat_number(number) && number.ends_with(siren)
}

/// True for a company with a capital: any form but a sole trader's.
fn is_corporation(identity: &CompanyIdentity) -> bool {
    let form = identity.legal_form.as_deref().map(str::to_lowercase);
    form.is_some_and(|form| !SOLE_TRADERS.contains(&form.as_str()))
}
