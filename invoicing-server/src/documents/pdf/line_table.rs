//! The table of a document: its lines by lot and section, with subtotals.

use std::num::NonZeroU32;

use krilla::tagging::{TableHeaderScope, Tag};

use super::Result;
use super::composer::{Composer, Look, Side, TextColumn, WIDTH, block, widest};
use super::pagination::{Block, Edge, Ink, LEFT, RIGHT};
use super::tags::NodeId;
use crate::documents::content::line_groups::{IndexedLine, Lot, by_lot_and_section};
use crate::documents::content::line_table::{LABELS, Subtotal, TableRow, cells, continued, named, rows};
use crate::documents::content::view::DocumentView;
use crate::documents::content::{Field, Text, french};

const HEAD: Look = Look::new(7.5).ink(Ink::Muted);
const TEXT: Look = Look::new(9.0);
const FIGURES: Look = TEXT.figures();
const LOT: Look = Look::new(10.5).bold().ink(Ink::Accent);
const SECTION: Look = Look::new(9.0).bold();
const SUBTOTAL: Look = Look::new(8.5).ink(Ink::Muted);
const SUBTOTAL_FIGURES: Look = Look::new(8.5).bold().figures();

/// Room between two columns, in points.
const GUTTER: f32 = 12.0;
/// Room above the name of a lot that goes on, below the head of the table.
const ABOVE_CONTINUATION: f32 = 5.0;
/// Room above and below the text of a row.
const PADDING: f32 = 4.0;
/// Smallest width of a description. Figures that leave less are printed in a smaller size.
const DESCRIPTION: f32 = 140.0;
/// Largest width of a unit. A longer one is broken into lines.
const UNIT: f32 = 52.0;

const COLUMNS: NonZeroU32 = NonZeroU32::new(6).expect("not zero");
const BEFORE_TOTAL: NonZeroU32 = NonZeroU32::new(5).expect("not zero");

/// The table, from its head to the last subtotal.
pub(super) fn line_table(to: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<()> {
    let currency = view.currency;
    let lots = by_lot_and_section(view.lines);
    let columns = columns(widths(to, &lots, currency)?);
    let root = to.tags.add(None, Tag::Table);
    let head = to.tags.add(Some(root), Tag::THead);
    let body = to.tags.add(Some(root), Tag::TBody);
    let mut table = LineTableLayout { to, columns, body, currency, lot: None };
    table.head(head)?;
    let rows = rows(&lots, currency);
    for (index, row) in rows.iter().enumerate() {
        table.row(row, rows.get(index + 1))?;
    }
    to.pages.end_repetition()
}

/// The widest text of each column.
fn widths(to: &mut Composer<'_>, lots: &[Lot<'_>], currency: &str) -> Result<[f32; 6]> {
    let mut widths = [0.0_f32; 6];
    let mut widen = |place: usize, (field, text): (Field, &str), look: Look| -> Result<()> {
        let lines = to.lines(field, text, look.style, None)?;
        widths[place] = widths[place].max(widest(&lines));
        Ok(())
    };
    for (place, label) in LABELS.into_iter().enumerate() {
        widen(place, (Field::Own, label), HEAD)?;
    }
    let sections = || lots.iter().flat_map(|lot| &lot.sections);
    for line in sections().flat_map(|section| &section.lines) {
        // A description takes the width that is left.
        for (place, text) in cells(line, currency).iter().enumerate().skip(1) {
            widen(place, text.entry(), FIGURES)?;
        }
    }
    let sums_of_lots = lots.iter().filter_map(|lot| lot.total);
    for sum in sums_of_lots.chain(sections().filter_map(|section| section.total)) {
        widen(5, (Field::Named("currency"), &french::amount(sum, currency)), SUBTOTAL_FIGURES)?;
    }
    widths[2] = widths[2].min(UNIT);
    Ok(widths)
}

/// Left edges and widths of the columns: each is as wide as its widest text, and the description
/// gets the rest.
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

/// The table while it is composed.
struct LineTableLayout<'t, 'f, 'q> {
    to: &'t mut Composer<'f>,
    /// Left edges and widths of the columns.
    columns: [(f32, f32); 6],
    body: NodeId,
    currency: &'t str,
    /// The name of the lot that is being composed.
    lot: Option<Text<'q>>,
}

impl<'q> LineTableLayout<'_, '_, 'q> {
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

    fn row(&mut self, row: &TableRow<'q>, next: Option<&TableRow<'_>>) -> Result<()> {
        // A row stays with the subtotal below it, which would have no meaning at the top of a page.
        let keeps_with_next = matches!(next, Some(TableRow::Subtotal(_)));
        match row {
            TableRow::Lot(name) => {
                self.to.pages.run_on(None);
                self.lot = Some(name.clone());
                let cell = self.group(name.entry(), LOT, 14.0, &name.text)?;
                self.to.tags.outline(cell, name.text.clone().into_owned());
            }
            TableRow::Section(name) => {
                let mut full = name.text.clone();
                // The name of the earlier section is no longer repeated, but the name of the lot
                // is.
                if let Some(lot) = self.lot.clone() {
                    let runs_on = self.continuation(&lot.text)?;
                    self.to.pages.run_on(Some(runs_on));
                    full = format!("{} — {}", named(&lot.text), name.text).into();
                } else {
                    self.to.pages.run_on(None);
                }
                self.group(name.entry(), SECTION, 8.0, &full)?;
            }
            TableRow::Line(line) => self.line(line, keeps_with_next)?,
            TableRow::Subtotal(subtotal) => self.subtotal(subtotal, keeps_with_next)?,
        }
        Ok(())
    }

    /// The name of a lot or section across the table. `full`: the name on pages on which its lines
    /// go on.
    fn group(&mut self, text: (Field, &str), look: Look, gap: f32, full: &str) -> Result<NodeId> {
        let row = self.to.tags.add(Some(self.body), Tag::TR);
        let scope = Tag::TH(TableHeaderScope::Row).with_col_span(Some(COLUMNS));
        let cell = self.to.tags.add(Some(row), scope);
        let mut column = TextColumn::new(LEFT, WIDTH);
        self.to.put(&mut column, text, look, cell)?;
        let runs_on = Some(Box::new(self.continuation(full)?));
        self.to.pages.push(Block { gap, keeps_with_next: true, runs_on, ..block([column], 3.0) })?;
        Ok(cell)
    }

    /// The name of a lot or section for the top of a page on which its lines go on. It is cut to
    /// one line. Its parts were set before, so a character without a glyph is refused there.
    fn continuation(&mut self, name: &str) -> Result<Block> {
        let mut column = TextColumn::new(LEFT, WIDTH);
        let lines = self.to.lines(Field::Own, &continued(name), SECTION.style, Some(WIDTH))?;
        column.add(&lines[..lines.len().min(1)], SECTION.ink(Ink::Accent), Side::Left, self.body);
        Ok(Block { gap: ABOVE_CONTINUATION, ..block([column], 3.0) })
    }

    fn line(&mut self, line: &IndexedLine<'_>, keeps_with_next: bool) -> Result<()> {
        let row = self.to.tags.add(Some(self.body), Tag::TR);
        let mut columns = Vec::with_capacity(6);
        for (place, text) in cells(line, self.currency).iter().enumerate() {
            let cell = self.to.tags.add(Some(row), Tag::TD);
            let look = if side(place) == Side::Left { TEXT } else { FIGURES };
            columns.push(self.cell(place, text.entry(), look, cell)?);
        }
        let row = block(columns, PADDING).rule((LEFT, RIGHT), Edge::Bottom(0.4), Ink::Hairline);
        self.to.pages.push(Block { keeps_with_next, ..row })
    }

    /// A text in its column. A figure stays on one line, in a smaller size if it is too wide.
    fn cell(&mut self, place: usize, text: (Field, &str), look: Look, node: NodeId) -> Result<TextColumn> {
        let (x, width) = self.columns[place];
        let mut column = TextColumn::new(x, width);
        match side(place) {
            Side::Left => self.to.put(&mut column, text, look, node)?,
            Side::Right => self.to.put_figure(&mut column, text, look, node)?,
        }
        Ok(column)
    }

    fn subtotal(&mut self, subtotal: &Subtotal, keeps_with_next: bool) -> Result<()> {
        let row = self.to.tags.add(Some(self.body), Tag::TR);
        let scope = Tag::TH(TableHeaderScope::Row).with_col_span(Some(BEFORE_TOTAL));
        let label = self.to.tags.add(Some(row), scope);
        let cell = self.to.tags.add(Some(row), Tag::TD);
        let width = self.columns[5].0 - GUTTER - LEFT;
        let mut left = TextColumn::new(LEFT, width);
        // Without the field of the name, which has been checked as the heading of the group.
        let lines = self.to.lines(Field::Own, &subtotal.label, SUBTOTAL.style, Some(width))?;
        left.add(&lines, SUBTOTAL, Side::Right, label);
        let ink = if subtotal.of_lot { Ink::Accent } else { Ink::Text };
        let right = self.cell(5, (Field::Own, &subtotal.amount), SUBTOTAL_FIGURES.ink(ink), cell)?;
        self.to.pages.push(Block { keeps_with_next, ..block([left, right], PADDING) })
    }
}
