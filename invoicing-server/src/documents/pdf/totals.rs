//! The totals of a document.

use krilla::tagging::{TableHeaderScope, Tag};

use super::Result;
use super::composer::{Composer, Look, Side, TextColumn, block, widest};
use super::pagination::{Block, Edge, Ink, RIGHT};
use crate::documents::content::Field;
use crate::documents::content::totals::{self, TotalKind};
use crate::documents::content::view::DocumentView;

/// Left edge of the totals.
const X: f32 = 270.0;
/// Room between a label and its amount, in points.
const GUTTER: f32 = 14.0;

const PLAIN: Look = Look::new(9.0);
const STRONG: Look = Look::new(9.0).bold();
const GRAND: Look = Look::new(13.0).bold().ink(Ink::Accent);

/// Total without VAT, VAT by rate, total with VAT, retention: kept together if a page can hold
/// them.
pub(super) fn totals(to: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<()> {
    let rows = totals::totals(view);
    let table = to.tags.add(None, Tag::Table);
    let last = rows.len() - 1;
    for (index, row) in rows.into_iter().enumerate() {
        let tr = to.tags.add(Some(table), Tag::TR);
        let label = to.tags.add(Some(tr), Tag::TH(TableHeaderScope::Row));
        let cell = to.tags.add(Some(tr), Tag::TD);
        let (look, rule) = look(row.kind);
        let figures = look.figures();
        let amount = to.lines(Field::Named("currency"), &row.amount, figures.style, None)?;
        let width = widest(&amount);
        let mut left = TextColumn::new(X, RIGHT - X - width - GUTTER);
        to.put(&mut left, (Field::Own, &row.label), look.ink(label_ink(look.ink)), label)?;
        let mut right = TextColumn::new(RIGHT - width, width);
        right.add(&amount, figures, Side::Right, cell);
        let gap = if index == 0 { 16.0 } else { 0.0 };
        let block = Block { gap, keeps_with_next: index < last, ..block([left, right], 3.0) };
        to.pages.push(match rule {
            Some((height, ink)) => block.rule((X, RIGHT), Edge::Top(height), ink),
            None => block,
        })?;
    }
    Ok(())
}

/// A label has the colour of an accented amount; beside a plain amount it is muted.
fn label_ink(amount: Ink) -> Ink {
    if amount == Ink::Text { Ink::Muted } else { amount }
}

/// The look of a total, and the rule above it in points and its colour.
const fn look(kind: TotalKind) -> (Look, Option<(f32, Ink)>) {
    match kind {
        TotalKind::Net | TotalKind::Payable => (STRONG, None),
        TotalKind::Vat => (PLAIN, None),
        TotalKind::Grand => (GRAND, Some((1.0, Ink::Accent))),
        TotalKind::Retained => (PLAIN, Some((0.4, Ink::Hairline))),
    }
}
