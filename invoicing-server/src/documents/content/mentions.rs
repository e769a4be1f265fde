//! The mentions that the law requires, the company's conditions, and the statements that the client
//! certifies by signing.

use invoicing_core::{Percent, QuoteDetail};
use rust_decimal::Decimal;

use super::{Text, french};
use crate::documents::DocumentInput;

/// The heading of the mentions.
pub(crate) const MENTIONS: &str = "Mentions";
/// The heading of the conditions.
pub(crate) const CONDITIONS: &str = "Conditions";

/// Mentions that depend on rates, retention and insurance.
pub(crate) fn mentions<'a>(input: &DocumentInput<'a>) -> Vec<Text<'a>> {
    let (identity, terms) = (&input.company.identity, &input.quote.detail);
    let mut mentions: Vec<_> = certified(terms).map(Text::own).collect();
    if !terms.retention_rate.is_zero() {
        let text = "Retenue de garantie : loi n° 71-584 du 16 juillet 1971. Elle est libérée un an après la \
                    réception des travaux, sauf opposition motivée.";
        mentions.push(Text::own(text));
    }
    if let Some(cover) = &identity.insurance {
        mentions.push(Text::labelled("company.insurance", "Assurance décennale : ", cover));
    }
    mentions
}

/// The company's conditions.
pub(crate) fn conditions<'a>(input: &DocumentInput<'a>) -> Option<Text<'a>> {
    input.company.identity.terms.as_deref().map(|terms| Text::of("company.terms", terms))
}

/// The statements that the client certifies by signing: one for each reduced rate that a line has.
pub(crate) fn certified(terms: &QuoteDetail) -> impl Iterator<Item = String> {
    terms.vat_breakdown.iter().filter_map(|share| reduced_rate(share.tva_rate))
}

/// The statement for a reduced rate, in place of a separate attestation (CGI, art. 279-0 bis and
/// 278-0 bis A, as amended by loi 2025-127, art. 41).
fn reduced_rate(rate: Percent) -> Option<String> {
    let (works, article) = match rate {
        _ if rate == Percent::from(10) => {
            ("d’amélioration, de transformation, d’aménagement ou d’entretien", "279-0 bis")
        }
        _ if rate.get() == Decimal::new(55, 1) => ("de rénovation énergétique", "278-0 bis A"),
        _ => return None,
    };
    Some(format!(
        "TVA à {} : le client certifie que les travaux {works} portent sur des locaux à usage d’habitation achevés \
         depuis plus de deux ans et répondent aux conditions de l’article {article} du code général des impôts.",
        french::percent(rate),
    ))
}

/// The text that the client agrees to, with the statements that this certifies.
#[cfg(feature = "console")]
pub(crate) fn accepted_text(input: &DocumentInput<'_>) -> String {
    let head = &input.quote.summary;
    let total = french::amount(head.total_ttc.get(), &head.currency);
    let agreed = format!("Bon pour accord sur le devis {}, d’un montant de {total} TTC.", head.number);
    [agreed].into_iter().chain(certified(&input.quote.detail)).collect::<Vec<_>>().join("\n")
}
