//! What follows the totals: mentions, conditions, and the signature or the room for it.

use chrono_tz::Tz;
use invoicing_core::{Percent, SignatureBlock};
use krilla::tagging::Tag;
use rust_decimal::Decimal;

use super::compose::{Column, Composer, Field, Look, WIDTH, heading, strip};
use super::flow::{Edge, Ink, LEFT, Mark, Strip};
use super::french;
use crate::documents::{DocumentInput, RenderError};

const HEADING: Look = Look::new(9.5).bold();
const SMALL: Look = Look::new(8.0).ink(Ink::Muted);
const LABEL: Look = Look::new(7.5).ink(Ink::Muted);
const VALUE: Look = Look::new(8.5);
const GAP: f32 = 16.0;

/// The two boxes of a quote that is still to be signed, and the room between them.
const BOX_HEIGHT: f32 = 74.0;
const BOX_GUTTER: f32 = 14.0;
/// Thickness of their sides.
const SIDE: f32 = 0.6;

/// Where the labels of a signature end.
const LABELS: f32 = 124.0;
/// The bar beside it, and the room to the text.
const BAR: f32 = 2.5;
const INDENT: f32 = 14.0;

/// The law's words, and the company's.
pub(super) fn mentions(to: &mut Composer<'_>, input: &DocumentInput<'_>) -> Result<(), RenderError> {
    let (identity, terms) = (&input.company.identity, &input.quote.detail);
    let mut mentions: Vec<(Field, String)> = terms
        .vat_breakdown
        .iter()
        .filter_map(|share| reduced_rate(share.tva_rate))
        .map(|text| (Field::Own, text))
        .collect();
    if !terms.retention_rate.is_zero() {
        let text = "Retenue de garantie : loi n° 71-584 du 16 juillet 1971. Elle est libérée un an après la \
                    réception des travaux, sauf opposition motivée.";
        mentions.push((Field::Own, text.to_owned()));
    }
    let insurance = identity.insurance.as_ref();
    mentions.extend(
        insurance.map(|cover| (Field::Named("company.insurance"), format!("Assurance décennale : {cover}"))),
    );
    if !mentions.is_empty() {
        to.heading("Mentions", GAP, HEADING)?;
        for (field, mention) in &mentions {
            to.paragraph((*field, mention), SMALL, 3.0)?;
        }
    }
    if let Some(conditions) = &identity.terms {
        to.heading("Conditions", GAP, HEADING)?;
        to.paragraph((Field::Named("company.terms"), conditions), SMALL, 2.0)?;
    }
    Ok(())
}

/// What the client certifies by signing, in place of the separate attestation (CGI, art. 279-0 bis and 278-0 bis A,
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

/// The signature, or the room for it.
pub(super) fn signature(to: &mut Composer<'_>, input: &DocumentInput<'_>) -> Result<(), RenderError> {
    match &input.quote.detail.signature {
        Some(signature) => signed(to, input, signature),
        None => to_be_signed(to),
    }
}

fn to_be_signed(to: &mut Composer<'_>) -> Result<(), RenderError> {
    to.heading("Bon pour accord", GAP, HEADING)?;
    let parent = to.tags.add(None, Tag::Div);
    let width = (WIDTH - BOX_GUTTER) / 2.0;
    let labels = ["Date, et mention manuscrite « Bon pour accord »", "Nom et signature du client"];
    let mut columns = Vec::new();
    let mut marks = Vec::new();
    for (x, label) in [LEFT, LEFT + width + BOX_GUTTER].into_iter().zip(labels) {
        let mut column = Column::new(x + 9.0, width - 18.0);
        column.space(7.0);
        to.put_in(&mut column, (Field::Own, label), LABEL, parent, Tag::P)?;
        columns.push(column);
        let side = |x, width, edge| Mark { x, width, edge, ink: Ink::Hairline };
        marks.push(side(x, width, Edge::Top(SIDE)));
        marks.push(side(x, width, Edge::Bottom(SIDE)));
        marks.push(side(x, SIDE, Edge::Side));
        marks.push(side(x + width - SIDE, SIDE, Edge::Side));
    }
    to.push(Strip { marks, height: BOX_HEIGHT, gap: 4.0, ..strip(columns, 0.0) })
}

fn signed(
    to: &mut Composer<'_>,
    input: &DocumentInput<'_>,
    signature: &SignatureBlock,
) -> Result<(), RenderError> {
    let title = "Signature électronique";
    let node = to.tags.add(None, heading(2, title));
    to.tags.outline(node, 1, title.to_owned());
    let mut column = Column::new(LEFT + INDENT, WIDTH - INDENT);
    to.put(&mut column, (Field::Own, title), HEADING.ink(Ink::Accent), node)?;
    to.push(beside_bar(strip([column], 3.0)).gap(GAP).kept())?;

    let mut rows = vec![
        ("Signé par", Field::Named("signedByName"), signature.signed_by_name.clone()),
        ("E-mail", Field::Named("signedByEmail"), signature.signed_by_email.clone()),
        ("Signé le", Field::Own, moment(signature, &input.company.time_zone)?),
        ("Texte accepté", Field::Named("acceptedText"), signature.accepted_text.clone()),
        ("Empreinte de la preuve", Field::Named("proofFingerprint"), signature.proof_fingerprint.clone()),
    ];
    if let Some(copy) = &input.signed_copy {
        rows.push(("SHA-256 du devis signé", Field::Own, copy.sha256.to_string()));
        let text = format!(
            "Le devis tel qu’il a été signé ({}) et la preuve de sa signature (proof.json) sont joints à ce document.",
            copy.file_name,
        );
        rows.push(("Pièces jointes", Field::Named("number"), text));
    }
    let last = rows.len() - 1;
    for (index, (label, field, text)) in rows.into_iter().enumerate() {
        let parent = to.tags.add(None, Tag::P);
        let mut left = Column::new(LEFT + INDENT, LABELS - INDENT);
        let label_node = to.tags.add(Some(parent), Tag::Span);
        to.put(&mut left, (Field::Own, label), VALUE.ink(Ink::Muted), label_node)?;
        let mut right = Column::new(LEFT + LABELS + 6.0, WIDTH - LABELS - 6.0);
        let value_node = to.tags.add(Some(parent), Tag::Span);
        to.put(&mut right, (field, &text), VALUE, value_node)?;
        let strip = beside_bar(strip([left, right], 1.5));
        to.push(if index == last { strip } else { strip.kept() })?;
    }
    Ok(())
}

fn beside_bar(strip: Strip) -> Strip {
    strip.rule((LEFT, LEFT + BAR), Edge::Side, Ink::Accent)
}

/// `14 septembre 2026 à 11:41:07 (Europe/Paris), soit 2026-09-14T09:41:07.123Z`.
fn moment(signature: &SignatureBlock, time_zone: &str) -> Result<String, RenderError> {
    let unknown = |_| RenderError::new(format!("the company's time zone {time_zone:?} is unknown"));
    let zone: Tz = time_zone.parse().map_err(unknown)?;
    let local = signature.signed_at.to_chrono().with_timezone(&zone);
    let day = french::date(local.date_naive());
    Ok(format!("{day} à {} ({time_zone}), soit {}", local.format("%H:%M:%S"), signature.signed_at))
}
