//! The signature of a quote, or the boxes in which it is to be signed.

use chrono_tz::Tz;
use invoicing_core::SignatureBlock;

use super::vat_display::VatDisplay;
use super::view::DocumentView;
use super::{Text, french, header};
use crate::documents::RenderError;

/// The heading of the boxes of a quote that is not signed.
pub(crate) const TO_BE_SIGNED: &str = "Bon pour accord";
/// The labels of these boxes.
pub(crate) const BOXES: [&str; 2] =
    ["Date, et mention manuscrite « Bon pour accord »", "Nom et signature du client"];
/// The heading of a signature.
pub(crate) const SIGNED: &str = "Signature électronique";
/// The label of the fingerprint.
const FINGERPRINT: &str = "Empreinte de la preuve";

/// `Devis DEV-2026-0042, total TTC 4 015,90 €`: the quote and its total, beside the heading, as the
/// totals may be on another page.
pub(crate) fn subject(view: &DocumentView<'_>) -> String {
    let total = french::amount(view.total_ttc.get(), view.currency);
    format!("{}, total{} {total}", header::title(view), VatDisplay::of(view).of_total())
}

/// The rows of a signature, each with its label.
///
/// # Errors
/// [`RenderError::Failed`] if the company's time zone is unknown.
pub(crate) fn signed<'a>(
    view: &DocumentView<'a>,
    signature: &'a SignatureBlock,
) -> Result<Vec<(&'static str, Text<'a>)>, RenderError> {
    let signed_at = signed_at(signature, &view.company.time_zone)?;
    let mut rows = vec![
        ("Signé par", Text::of("signedByName", &*signature.signed_by_name)),
        ("E-mail", Text::of("signedByEmail", &*signature.signed_by_email)),
        ("Signé le", Text::own(signed_at)),
        ("Texte accepté", Text::of("acceptedText", &*signature.accepted_text)),
        (FINGERPRINT, Text::of("proofFingerprint", &*signature.proof_fingerprint)),
    ];
    if let Some(copy) = view.offer.and_then(|offer| offer.sent_copy) {
        rows.push(("SHA-256 du devis signé", Text::own(copy.sha256.to_string())));
        let text = format!(
            "Le devis tel qu’il a été signé ({}) et la preuve de sa signature (proof.json)",
            copy.file_name,
        );
        rows.push(("Pièces jointes", Text::of("number", text)));
    }
    Ok(rows)
}

/// Adds a row below the fingerprint to a signature with boxes in place of characters: the evidence
/// has all characters.
pub(in crate::documents) fn explain_boxes(rows: &mut Vec<(&'static str, Text<'_>)>) {
    let text = "Dans la preuve qui porte cette empreinte (□ : caractère non imprimé)";
    let below = rows.iter().position(|(label, _)| *label == FINGERPRINT).map_or(rows.len(), |at| at + 1);
    rows.insert(below, ("Nom complet", Text::own(text)));
}

/// `14 septembre 2026 à 11:41:07 (Europe/Paris), soit 2026-09-14T09:41:07.123Z`.
fn signed_at(signature: &SignatureBlock, time_zone: &str) -> Result<String, RenderError> {
    let unknown = |_| RenderError::new(format!("the company's time zone {time_zone:?} is unknown"));
    let zone: Tz = time_zone.parse().map_err(unknown)?;
    let local = signature.signed_at.to_chrono().with_timezone(&zone);
    let day = french::date(local.date_naive());
    Ok(format!("{day} à {} ({time_zone}), soit {}", local.format("%H:%M:%S"), signature.signed_at))
}
