//! The signature of a quote, or the boxes for it.
//!
//! Either moves to the next page as a whole where it does not fit. A signature of short texts is no taller than the boxes,
//! so that signing adds no page. A long text of it may break, or it would leave a large part of a page empty.

use chrono_tz::Tz;
use invoicing_core::SignatureBlock;
use krilla::tagging::Tag;

use super::Result;
use super::composer::{Column, Composer, Field, HEADING, Look, Side, WIDTH, block};
use super::french;
use super::pagination::{Block, BlockRule, Edge, Ink, LEFT};
use crate::documents::{DocumentInput, RenderError};

const LABEL: Look = Look::new(7.5).ink(Ink::Muted);
const VALUE: Look = Look { leading: 1.5, ..Look::new(8.0) };

/// Height of the two boxes of an unsigned quote, and the gap between them.
const BOX_HEIGHT: f32 = 80.0;
const BOX_GUTTER: f32 = 14.0;
/// Thickness of their sides.
const SIDE: f32 = 0.6;

/// Left edge and width of the values of a signature, and width of the labels.
const VALUES: (f32, f32) = (LEFT + 130.0, WIDTH - 130.0);
const LABELS: f32 = 110.0;
/// Width of the bar beside a signature, and the indentation of the text.
const BAR: f32 = 2.5;
const INDENT: f32 = 14.0;

/// The signature, or the boxes for it.
pub(super) fn signature(to: &mut Composer<'_>, input: &DocumentInput<'_>) -> Result<()> {
    match &input.quote.detail.signature {
        Some(signature) => signed(to, input, signature),
        None => to_be_signed(to),
    }
}

fn to_be_signed(to: &mut Composer<'_>) -> Result<()> {
    to.heading("Bon pour accord")?;
    let parent = to.tags.add(None, Tag::Div);
    let width = (WIDTH - BOX_GUTTER) / 2.0;
    let labels = ["Date, et mention manuscrite « Bon pour accord »", "Nom et signature du client"];
    let mut columns = Vec::new();
    let mut marks = Vec::new();
    for (x, label) in [LEFT, LEFT + width + BOX_GUTTER].into_iter().zip(labels) {
        let mut column = Column::new(x + 9.0, width - 18.0);
        column.space(7.0);
        to.put_in(&mut column, (Field::Own, label), LABEL, parent)?;
        columns.push(column);
        let side = |x, width, edge| BlockRule { x, width, edge, ink: Ink::Hairline };
        marks.push(side(x, width, Edge::Top(SIDE)));
        marks.push(side(x, width, Edge::Bottom(SIDE)));
        marks.push(side(x, SIDE, Edge::Side));
        marks.push(side(x + width - SIDE, SIDE, Edge::Side));
    }
    to.pages.push(Block { marks, height: BOX_HEIGHT, gap: 4.0, ..block(columns, 0.0) })
}

fn signed(to: &mut Composer<'_>, input: &DocumentInput<'_>, signature: &SignatureBlock) -> Result<()> {
    let column = Column::new(LEFT + INDENT, WIDTH - INDENT);
    let title = to.heading_in(column, "Signature électronique", HEADING.ink(Ink::Accent), 1.0)?;
    to.pages.push(beside_bar(title))?;

    let mut rows = vec![
        ("Signé par", Field::Named("signedByName"), signature.signed_by_name.clone()),
        ("E-mail", Field::Named("signedByEmail"), signature.signed_by_email.clone()),
        ("Signé le", Field::Own, signed_at(signature, &input.company.time_zone)?),
        ("Texte accepté", Field::Named("acceptedText"), signature.accepted_text.clone()),
        ("Empreinte de la preuve", Field::Named("proofFingerprint"), signature.proof_fingerprint.clone()),
    ];
    if let Some(copy) = &input.sent_copy {
        rows.push(("SHA-256 du devis signé", Field::Own, copy.sha256.to_string()));
        let text = format!(
            "Le devis tel qu’il a été signé ({}) et la preuve de sa signature (proof.json)",
            copy.file_name,
        );
        rows.push(("Pièces jointes", Field::Named("number"), text));
    }
    let last = rows.len() - 1;
    for (index, (label, field, text)) in rows.into_iter().enumerate() {
        row(to, label, (field, &text), index == last)?;
    }
    Ok(())
}

/// A label and its value. Each row but the last one stays with the next.
///
/// A value of many lines may break, but neither after its first line nor before its last.
fn row(to: &mut Composer<'_>, label: &str, (field, value): (Field, &str), is_last: bool) -> Result<()> {
    let parent = to.tags.add(None, Tag::P);
    let mut left = Column::new(LEFT + INDENT, LABELS);
    let label_node = to.tags.add(Some(parent), Tag::Span);
    to.put(&mut left, (Field::Own, label), VALUE.ink(Ink::Muted), label_node)?;
    let value_node = to.tags.add(Some(parent), Tag::Span);
    let lines = to.lines(field, value, VALUE.style, Some(VALUES.1))?;
    let mut label = Some(left);
    for (index, line) in lines.iter().enumerate() {
        let mut right = Column::new(VALUES.0, VALUES.1);
        right.add(std::slice::from_ref(line), VALUE, Side::Left, value_node);
        let keeps_with_next = match lines.len() - index {
            1 => !is_last,
            lines_left => index == 0 || lines_left == 2,
        };
        let columns = label.take().into_iter().chain([right]);
        to.pages.push(beside_bar(Block { keeps_with_next, ..block(columns, 0.0) }))?;
    }
    Ok(())
}

fn beside_bar(block: Block) -> Block {
    block.rule((LEFT, LEFT + BAR), Edge::Side, Ink::Accent)
}

/// `14 septembre 2026 à 11:41:07 (Europe/Paris), soit 2026-09-14T09:41:07.123Z`.
fn signed_at(signature: &SignatureBlock, time_zone: &str) -> Result<String> {
    let unknown = |_| RenderError::new(format!("the company's time zone {time_zone:?} is unknown"));
    let zone: Tz = time_zone.parse().map_err(unknown)?;
    let local = signature.signed_at.to_chrono().with_timezone(&zone);
    let day = french::date(local.date_naive());
    Ok(format!("{day} à {} ({time_zone}), soit {}", local.format("%H:%M:%S"), signature.signed_at))
}
