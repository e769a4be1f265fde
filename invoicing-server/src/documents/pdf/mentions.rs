//! The mentions that the law requires, and the company's conditions.

use invoicing_core::Percent;
use rust_decimal::Decimal;

use super::Result;
use super::composer::{Composer, Field, Look};
use super::french;
use super::pagination::Ink;
use crate::documents::DocumentInput;

const SMALL: Look = Look::new(8.0).ink(Ink::Muted);

/// Mentions that depend on rates, retention and insurance, then the conditions.
pub(super) fn mentions(to: &mut Composer<'_>, input: &DocumentInput<'_>) -> Result<()> {
    let (identity, terms) = (&input.company.identity, &input.quote.detail);
    let rates = terms.vat_breakdown.iter().filter_map(|share| reduced_rate(share.tva_rate));
    let mut mentions: Vec<_> = rates.map(|text| (Field::Own, text)).collect();
    if !terms.retention_rate.is_zero() {
        let text = "Retenue de garantie : loi n° 71-584 du 16 juillet 1971. Elle est libérée un an après la \
                    réception des travaux, sauf opposition motivée.";
        mentions.push((Field::Own, text.to_owned()));
    }
    if let Some(cover) = &identity.insurance {
        mentions.push((Field::Named("company.insurance"), format!("Assurance décennale : {cover}")));
    }
    if !mentions.is_empty() {
        to.heading("Mentions")?;
        for (field, mention) in &mentions {
            to.paragraph((*field, mention), SMALL, 3.0)?;
        }
    }
    if let Some(conditions) = &identity.terms {
        to.heading("Conditions")?;
        to.paragraph((Field::Named("company.terms"), conditions), SMALL, 2.0)?;
    }
    Ok(())
}

/// The statement that the client certifies by signing, in place of a separate attestation (CGI, art. 279-0 bis and 278-0 bis A,
/// as amended by loi 2025-127, art. 41).
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
