//! The signature of a quote, or the boxes for it.
//!
//! Either moves to the next page as a whole if it does not fit. A signature of short texts is no
//! taller than the boxes, so that signing adds no page. A long text in a signature may break, as it
//! would otherwise leave a large part of a page empty.

use invoicing_core::SignatureBlock;
use krilla::tagging::Tag;

use super::Result;
use super::composer::{Composer, HEADING, Look, Side, TextColumn, WIDTH, block, heading_block};
use super::pagination::{Block, BlockRule, Edge, Ink, LEFT};
use crate::documents::content::view::DocumentView;
use crate::documents::content::{self, Field, signature};

const LABEL: Look = Look::new(7.5).ink(Ink::Muted);
const VALUE: Look = Look { leading: 1.5, ..Look::new(8.0) };
/// The look of values with less leading, so that a further row takes no further room.
const CLOSE_VALUE: Look = Look { leading: 1.3, ..VALUE };

/// Height of the two boxes of an unsigned quote, and the gap between them.
const BOX_HEIGHT: f32 = 80.0;
const BOX_GUTTER: f32 = 14.0;
/// Thickness of the sides of the boxes.
const SIDE: f32 = 0.6;

/// Width of the heading. The rest of the line names the quote and its total.
const TITLE: f32 = 160.0;

/// Left edge and width of the values of a signature, and width of the labels.
const VALUES: (f32, f32) = (LEFT + 130.0, WIDTH - 130.0);
const LABELS: f32 = 110.0;
/// Width of the bar beside a signature, and the indentation of the text.
const BAR: f32 = 2.5;
const INDENT: f32 = 14.0;

/// The signature of a quote, or the boxes for it.
pub(super) fn signature(to: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<()> {
    match view.offer.map(|offer| offer.signature) {
        Some(Some(signature)) => signed(to, view, signature),
        Some(None) => to_be_signed(to, view),
        None => Ok(()),
    }
}

/// The heading, and beside it the quote and its total.
fn title(
    to: &mut Composer<'_>,
    view: &DocumentView<'_>,
    text: &str,
    indent: f32,
    look: Look,
) -> Result<[TextColumn; 2]> {
    let heading = to.heading_in(TextColumn::new(LEFT + indent, TITLE), text, look)?;
    let mut subject = TextColumn::new(LEFT + indent + TITLE, WIDTH - indent - TITLE);
    let node = to.tags.add(None, Tag::P);
    let text = signature::subject(view);
    to.put_figure(&mut subject, (Field::Named("number"), &text), HEADING, node)?;
    Ok([heading, subject])
}

fn to_be_signed(to: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<()> {
    let title = title(to, view, signature::TO_BE_SIGNED, 0.0, HEADING)?;
    to.pages.push(heading_block(title, 2.0))?;
    let parent = to.tags.add(None, Tag::Div);
    let width = (WIDTH - BOX_GUTTER) / 2.0;
    let mut columns = Vec::new();
    let mut marks = Vec::new();
    for (x, label) in [LEFT, LEFT + width + BOX_GUTTER].into_iter().zip(signature::BOXES) {
        let mut column = TextColumn::new(x + 9.0, width - 18.0);
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

fn signed(to: &mut Composer<'_>, view: &DocumentView<'_>, signature: &SignatureBlock) -> Result<()> {
    let title = title(to, view, signature::SIGNED, INDENT, HEADING.ink(Ink::Accent))?;
    to.pages.push(beside_bar(heading_block(title, 1.0)))?;

    let mut rows = signature::signed(view, signature)?;
    let mut look = VALUE;
    if has_box(to, &rows)? {
        look = CLOSE_VALUE;
        signature::explain_boxes(&mut rows);
    }
    let last = rows.len() - 1;
    for (index, (label, text)) in rows.iter().enumerate() {
        row(to, (label, look), text.entry(), index == last)?;
    }
    Ok(())
}

/// True if a box stands for a character of a value.
fn has_box(to: &mut Composer<'_>, rows: &[(&str, content::Text<'_>)]) -> Result<bool> {
    for (_, text) in rows {
        let (field, value) = text.entry();
        if to.lines(field, value, VALUE.style, Some(VALUES.1))?.iter().any(|line| line.has_box) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A label and its value. Each row but the last one stays with the next.
///
/// A value of many lines may break, but neither after its first line nor before its last.
fn row(
    to: &mut Composer<'_>,
    (label, look): (&str, Look),
    (field, value): (Field, &str),
    is_last: bool,
) -> Result<()> {
    let parent = to.tags.add(None, Tag::P);
    let mut left = TextColumn::new(LEFT + INDENT, LABELS);
    let label_node = to.tags.add(Some(parent), Tag::Span);
    to.put(&mut left, (Field::Own, label), look.ink(Ink::Muted), label_node)?;
    let value_node = to.tags.add(Some(parent), Tag::Span);
    let lines = to.lines(field, value, look.style, Some(VALUES.1))?;
    let mut label = Some(left);
    for (index, line) in lines.iter().enumerate() {
        let mut right = TextColumn::new(VALUES.0, VALUES.1);
        right.add(std::slice::from_ref(line), look, Side::Left, value_node);
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
