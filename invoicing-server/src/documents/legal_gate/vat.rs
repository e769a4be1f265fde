//! VAT: the rates, and the reasons for charging none.

use super::rates::{is_elsewhere, is_in_force};
use super::{BLANK, EVERY, LegalRule, NONE, OFFERED};
use crate::documents::territory::Territory;

pub(super) const RULES: &[LegalRule] = &[
    LegalRule {
        source: "CGI, art. 293 B",
        about: EVERY,
        english: "A company in franchise charges no VAT: the rate must be 0.",
        french: "Une entreprise en franchise ne facture pas de TVA : le taux doit être 0.",
        finds: |case| case.lines_with(|line| case.identity().is_franchise() && !line.tva_rate.is_zero()),
        ..OF_LINES
    },
    LegalRule {
        source: "CGI, art. 283, 2 nonies",
        about: EVERY,
        english: "Under reverse charge the rate must be 0.",
        french: "En autoliquidation, le taux doit être 0.",
        finds: |case| case.lines_with(|line| case.is_reverse_charge() && !line.tva_rate.is_zero()),
        ..OF_LINES
    },
    LegalRule {
        source: "CGI, ann. II, art. 242 nonies A, I, 12°",
        about: EVERY,
        english: "A rate of 0 needs a reason: franchise, reverse charge, or a client in French Guiana or Mayotte.",
        french: "Un taux de 0 demande un motif : franchise, autoliquidation, ou un client en Guyane ou à Mayotte.",
        finds: |case| case.lines_with(|line| line.tva_rate.is_zero() && case.exemption.is_none()),
        ..OF_LINES
    },
    LegalRule {
        source: "CGI, art. 278-281 nonies, 296, 297",
        about: EVERY,
        english: "{} % is no rate of VAT that is in force in France on that day.",
        french: "{} % n’est pas un taux de TVA en vigueur en France à cette date.",
        finds: |case| case.lines_with(|line| !is_in_force(line.tva_rate, case.day_of_supply())),
        ..OF_LINES
    },
    LegalRule {
        source: "CGI, art. 296, 297",
        refused: NONE,
        english: "{} % is in force only in another part of France: in Corsica, or overseas.",
        french: "{} % n’est en vigueur que dans une autre partie de la France : en Corse ou outre-mer.",
        finds: |case| {
            case.lines_with(|line| is_elsewhere(line.tva_rate, case.day_of_supply(), case.territory))
        },
        ..OF_LINES
    },
    LegalRule {
        source: "CGI, art. 294",
        refused: NONE,
        english: "No VAT applies in French Guiana and Mayotte: the rate is 0 for supplies there.",
        french: "La TVA ne s’applique pas en Guyane et à Mayotte : le taux y est 0.",
        finds: |case| {
            case.lines_with(|line| case.territory == Territory::Untaxed && !line.tva_rate.is_zero())
        },
        ..OF_LINES
    },
];

/// The common part of the rules. They are about what lines keep once they are locked, so they
/// refuse quotes too.
const OF_LINES: LegalRule = LegalRule { about: OFFERED, refused: OFFERED, field: "lines[].tvaRate", ..BLANK };
