//! The payment of an invoice, in a box of its own: how much, until when, to which account.

use krilla::tagging::Tag;

use super::Result;
use super::composer::{Composer, HEADING, Look, TextColumn, WIDTH, block, heading_block};
use super::pagination::{Block, BlockRule, Edge, Ink, LEFT, RIGHT};
use super::tags::NodeId;
use crate::documents::content::payment::{self, PAYMENT};
use crate::documents::content::view::DocumentView;
use crate::documents::content::{Field, Text};

/// Left edges and widths of the two columns.
const DUE: (f32, f32) = (LEFT + 12.0, 190.0);
const ACCOUNT: (f32, f32) = (LEFT + 226.0, WIDTH - 238.0);
/// Room above and below the texts.
const PADDING: f32 = 9.0;
/// Thickness of the frame.
const FRAME: f32 = 1.0;

const LABEL: Look = Look::new(7.5).ink(Ink::Muted);
const AMOUNT: Look = Look::new(17.0).bold().figures().ink(Ink::Accent);
const VALUE: Look = Look::new(10.5).bold();

/// The box, kept whole; nothing on a document that asks for no payment.
pub(super) fn payment(to: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<()> {
    let Some(payment) = payment::payment(view) else { return Ok(()) };
    let heading = to.heading_in(TextColumn::new(LEFT, WIDTH), PAYMENT, HEADING)?;
    to.pages.push(heading_block([heading], 2.0))?;
    let parent = to.tags.add(None, Tag::Div);
    let due = column(to, DUE, &payment.due, AMOUNT, parent)?;
    let account = column(to, ACCOUNT, &payment.account, VALUE, parent)?;
    to.pages.push(Block { gap: 3.0, ..framed(block([due, account], PADDING)) })
}

/// Values below their labels, the first one in a look of its own.
fn column(
    to: &mut Composer<'_>,
    (x, width): (f32, f32),
    rows: &[(&'static str, Text<'_>)],
    first: Look,
    parent: NodeId,
) -> Result<TextColumn> {
    let mut column = TextColumn::new(x, width);
    for (index, (label, value)) in rows.iter().enumerate() {
        let look = if index == 0 { first } else { VALUE };
        column.space(if index == 0 { 0.0 } else { 4.0 });
        to.put_in(&mut column, (Field::Own, label), LABEL, parent)?;
        to.put_in(&mut column, value.entry(), look, parent)?;
    }
    Ok(column)
}

fn framed(block: Block) -> Block {
    let side = |x| BlockRule { x, width: FRAME, edge: Edge::Side, ink: Ink::Accent };
    let sides = [side(LEFT), side(RIGHT - FRAME)];
    let mut framed = block.rule((LEFT, RIGHT), Edge::Top(FRAME), Ink::Accent).rule(
        (LEFT, RIGHT),
        Edge::Bottom(FRAME),
        Ink::Accent,
    );
    framed.marks.extend(sides);
    framed
}
