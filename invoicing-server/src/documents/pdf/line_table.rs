//! The table of a quote: its lines by lot and section, with subtotals.

use std::borrow::Cow;
use std::num::NonZeroU32;

use indexmap::IndexMap;
use krilla::tagging::{TableHeaderScope, Tag};
use rust_decimal::Decimal;

use super::Result;
use super::composer::{Column, Composer, Field, Look, Side, WIDTH, block, widest};
use super::french;
use super::line_groups::{IndexedLine, Sections, by_lot_and_section, total_ht};
use super::pagination::{Block, Edge, Ink, LEFT, RIGHT};
use super::tags::NodeId;
use crate::documents::DocumentInput;

const HEAD: Look = Look::new(7.5).ink(Ink::Muted);
const TEXT: Look = Look::new(9.0);
const FIGURES: Look = TEXT.figures();
const LOT: Look = Look::new(10.5).bold().ink(Ink::Accent);
const SECTION: Look = Look::new(9.0).bold();
const SUBTOTAL: Look = Look::new(8.5).ink(Ink::Muted);
const SUBTOTAL_FIGURES: Look = Look::new(8.5).bold().figures();

/// Between two columns, in points.
const GUTTER: f32 = 12.0;
/// Above and below the text of a row.
const PADDING: f32 = 4.0;
/// Smallest width of a description. Figures that leave less are printed in a smaller size.
const DESCRIPTION: f32 = 140.0;
/// Largest width of a unit. A longer one is broken into lines.
const UNIT: f32 = 52.0;

const LABELS: [&str; 6] = ["Désignation", "Quantité", "Unité", "Prix unitaire HT", "TVA", "Total HT"];
/// The heading of lines without a lot, unless they come first.
const OUTSIDE: &str = "Hors lot";
const COLUMNS: NonZeroU32 = NonZeroU32::new(6).expect("not zero");
const BEFORE_TOTAL: NonZeroU32 = NonZeroU32::new(5).expect("not zero");

/// The table, from its head to the last subtotal.
pub(super) fn line_table(to: &mut Composer<'_>, input: &DocumentInput<'_>) -> Result<()> {
    let currency = input.quote.summary.currency.as_str();
    let lots = by_lot_and_section(&input.quote.lines);
    let columns = columns(widths(to, &lots, currency)?);
    let root = to.tags.add(None, Tag::Table);
    let head = to.tags.add(Some(root), Tag::THead);
    let body = to.tags.add(Some(root), Tag::TBody);
    let mut table = Table { to, columns, body, currency };
    table.head(head)?;
    for (index, (name, sections)) in lots.iter().enumerate() {
        table.lot(*name, sections, index == 0)?;
    }
    to.pages.end_repetition()
}

/// The widest text of each column.
fn widths(
    to: &mut Composer<'_>,
    lots: &IndexMap<Option<&str>, Sections<'_>>,
    currency: &str,
) -> Result<[f32; 6]> {
    let mut widths = [0.0_f32; 6];
    let mut widen = |place: usize, (field, text): (Field, &str), look: Look| -> Result<()> {
        let lines = to.lines(field, text, look.style, None)?;
        widths[place] = widths[place].max(widest(&lines));
        Ok(())
    };
    for (place, label) in LABELS.into_iter().enumerate() {
        widen(place, (Field::Own, label), HEAD)?;
    }
    let sections = || lots.values().flat_map(IndexMap::values);
    for line in sections().flatten() {
        // A description takes the width that is left.
        for (place, (field, text)) in texts(line, currency).into_iter().enumerate().skip(1) {
            widen(place, (field, &text), FIGURES)?;
        }
    }
    let sums_of_lots = lots.values().map(|sections| total_ht(sections.values().flatten()));
    for sum in sums_of_lots.chain(sections().map(total_ht)) {
        widen(5, (Field::Named("currency"), &french::amount(sum, currency)), SUBTOTAL_FIGURES)?;
    }
    widths[2] = widths[2].min(UNIT);
    Ok(widths)
}

/// Left edges and widths of the columns: each is as wide as its widest text, and the description gets the rest.
fn columns([_, quantity, unit, price, rate, total]: [f32; 6]) -> [(f32, f32); 6] {
    // Units keep their width: they are broken into lines, while a figure has to stay on one.
    let room = WIDTH - DESCRIPTION - unit - 5.0 * GUTTER;
    let scale = (room / (quantity + price + rate + total)).min(1.0);
    let widths = [quantity * scale, unit, price * scale, rate * scale, total * scale];
    let description = WIDTH - widths.iter().sum::<f32>() - 5.0 * GUTTER;
    let mut columns = [(LEFT, description); 6];
    let mut x = LEFT + description;
    for (column, width) in columns[1..].iter_mut().zip(widths) {
        *column = (x + GUTTER, width);
        x += GUTTER + width;
    }
    columns
}

/// Figures are right-aligned, so that their digits line up; texts are left-aligned.
fn side(place: usize) -> Side {
    if matches!(place, 0 | 2) { Side::Left } else { Side::Right }
}

/// The texts of a line's columns, each with its field.
fn texts<'q>((index, line): &IndexedLine<'q>, currency: &str) -> [(Field, Cow<'q, str>); 6] {
    let own = |text| (Field::Named("currency"), Cow::Owned(text));
    [
        (Field::Line(*index, "description"), line.description.as_str().into()),
        own(french::quantity(line.quantity)),
        (Field::Line(*index, "unit"), french::unit(line.unit.as_deref().unwrap_or_default()).into()),
        own(french::amount(line.unit_price.get(), currency)),
        own(french::percent(line.tva_rate)),
        own(french::amount(line.total_ht.get(), currency)),
    ]
}

/// The table while it is composed.
struct Table<'t, 'f> {
    to: &'t mut Composer<'f>,
    /// Left edges and widths.
    columns: [(f32, f32); 6],
    body: NodeId,
    currency: &'t str,
}

impl Table<'_, '_> {
    fn head(&mut self, section: NodeId) -> Result<()> {
        let row = self.to.tags.add(Some(section), Tag::TR);
        let mut columns = Vec::new();
        for (place, label) in LABELS.into_iter().enumerate() {
            let cell = self.to.tags.add(Some(row), Tag::TH(TableHeaderScope::Column));
            columns.push(self.cell(place, (Field::Own, label), HEAD, cell)?);
        }
        let head = block(columns, PADDING).rule((LEFT, RIGHT), Edge::Bottom(0.8), Ink::Text);
        self.to.pages.push(Block { gap: 20.0, keeps_with_next: true, repeats: true, ..head })
    }

    fn lot(&mut self, lot: Option<&str>, sections: &Sections<'_>, is_first: bool) -> Result<()> {
        // After a lot, lines without one need a heading, or they would seem to belong to that lot.
        if let Some(name) = lot.or((!is_first).then_some(OUTSIDE)) {
            let first = sections[0][0].0;
            let cell = self.group((Field::Line(first, "lot"), name), LOT, 14.0)?;
            self.to.tags.outline(cell, name.to_owned());
        }
        for (index, (name, lines)) in sections.iter().enumerate() {
            let closes_lot = index + 1 == sections.len() && lot.is_some();
            self.section(*name, lines, closes_lot)?;
        }
        let Some(name) = lot else { return Ok(()) };
        self.subtotal(name, total_ht(sections.values().flatten()), false, Ink::Accent)
    }

    fn section(&mut self, section: Option<&str>, lines: &[IndexedLine<'_>], closes_lot: bool) -> Result<()> {
        if let Some(name) = section {
            self.group((Field::Line(lines[0].0, "section"), name), SECTION, 8.0)?;
        }
        for (place, line) in lines.iter().enumerate() {
            // The last row stays with its subtotal, which would say nothing at the top of a page.
            let is_last = place + 1 == lines.len();
            self.row(line, is_last && (section.is_some() || closes_lot))?;
        }
        let Some(name) = section else { return Ok(()) };
        self.subtotal(name, total_ht(lines), closes_lot, Ink::Text)
    }

    /// The name of a lot or section across the table.
    fn group(&mut self, text: (Field, &str), look: Look, gap: f32) -> Result<NodeId> {
        let row = self.to.tags.add(Some(self.body), Tag::TR);
        let scope = Tag::TH(TableHeaderScope::Row).with_col_span(Some(COLUMNS));
        let cell = self.to.tags.add(Some(row), scope);
        let mut column = Column::new(LEFT, WIDTH);
        self.to.put(&mut column, text, look, cell)?;
        self.to.pages.push(Block { gap, keeps_with_next: true, ..block([column], 3.0) })?;
        Ok(cell)
    }

    fn row(&mut self, line: &IndexedLine<'_>, keeps_with_next: bool) -> Result<()> {
        let row = self.to.tags.add(Some(self.body), Tag::TR);
        let mut columns = Vec::with_capacity(6);
        for (place, (field, text)) in texts(line, self.currency).into_iter().enumerate() {
            let cell = self.to.tags.add(Some(row), Tag::TD);
            let look = if side(place) == Side::Left { TEXT } else { FIGURES };
            columns.push(self.cell(place, (field, &text), look, cell)?);
        }
        let row = block(columns, PADDING).rule((LEFT, RIGHT), Edge::Bottom(0.4), Ink::Hairline);
        self.to.pages.push(Block { keeps_with_next, ..row })
    }

    /// A text in its column. A figure stays on one line, in a smaller size if it is too wide.
    fn cell(&mut self, place: usize, text: (Field, &str), look: Look, node: NodeId) -> Result<Column> {
        let (x, width) = self.columns[place];
        let mut column = Column::new(x, width);
        match side(place) {
            Side::Left => self.to.put(&mut column, text, look, node)?,
            Side::Right => self.to.put_figure(&mut column, text, look, node)?,
        }
        Ok(column)
    }

    fn subtotal(&mut self, name: &str, sum: Decimal, keeps_with_next: bool, ink: Ink) -> Result<()> {
        let row = self.to.tags.add(Some(self.body), Tag::TR);
        let scope = Tag::TH(TableHeaderScope::Row).with_col_span(Some(BEFORE_TOTAL));
        let label = self.to.tags.add(Some(row), scope);
        let cell = self.to.tags.add(Some(row), Tag::TD);
        let width = self.columns[5].0 - GUTTER - LEFT;
        let mut left = Column::new(LEFT, width);
        // Not the field of the name: it has been checked as the heading of the group.
        let lines = self.to.lines(Field::Own, &format!("Sous-total {name}"), SUBTOTAL.style, Some(width))?;
        left.add(&lines, SUBTOTAL, Side::Right, label);
        let sum = french::amount(sum, self.currency);
        let right = self.cell(5, (Field::Own, &sum), SUBTOTAL_FIGURES.ink(ink), cell)?;
        self.to.pages.push(Block { keeps_with_next, ..block([left, right], PADDING) })
    }
}
