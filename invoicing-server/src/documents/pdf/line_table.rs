//! The table of a document: its lines by lot and section, with subtotals.

use std::num::NonZeroU32;

use krilla::tagging::{TableHeaderScope, Tag};

use super::Result;
use super::composer::{Composer, Look, Side, TextColumn, WIDTH, block, widest};
use super::pagination::{Block, Edge, Ink, LEFT, RIGHT};
use super::tags::NodeId;
use crate::documents::content::line_groups::{IndexedLine, Lot, by_lot_and_section};
use crate::documents::content::line_table::{self, Column, Subtotal, TableRow, continued, named, rows};
use crate::documents::content::vat_display::VatDisplay;
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

/// The table, from its head to the last subtotal.
pub(super) fn line_table(to: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<()> {
    let currency = view.currency;
    let lots = by_lot_and_section(view.lines);
    let display = VatDisplay::of(view);
    let shown = line_table::columns(display);
    let columns = placed(shown, &widths(to, &lots, display, currency)?);
    let root = to.tags.add(None, Tag::Table);
    let head = to.tags.add(Some(root), Tag::THead);
    let body = to.tags.add(Some(root), Tag::TBody);
    let mut table = LineTableLayout { to, columns, display, body, currency, lot: None };
    table.head(head)?;
    let rows = rows(&lots, currency);
    for (index, row) in rows.iter().enumerate() {
        table.row(row, rows.get(index + 1))?;
    }
    to.pages.end_repetition()
}

/// The widest text of each column.
fn widths(to: &mut Composer<'_>, lots: &[Lot<'_>], display: VatDisplay, currency: &str) -> Result<Vec<f32>> {
    let shown = line_table::columns(display);
    let last = shown.len() - 1;
    let mut widths = vec![0.0_f32; shown.len()];
    let mut widen = |place: usize, (field, text): (Field, &str), look: Look| -> Result<()> {
        let lines = to.lines(field, text, look.style, None)?;
        widths[place] = widths[place].max(widest(&lines));
        Ok(())
    };
    for (place, column) in shown.iter().enumerate() {
        widen(place, (Field::Own, column.label(display)), HEAD)?;
    }
    let sections = || lots.iter().flat_map(|lot| &lot.sections);
    for line in sections().flat_map(|section| &section.lines) {
        // A description takes the width that is left.
        for (place, column) in shown.iter().enumerate().skip(1) {
            widen(place, column.cell(line, currency).entry(), FIGURES)?;
        }
    }
    let sums_of_lots = lots.iter().filter_map(|lot| lot.total);
    for sum in sums_of_lots.chain(sections().filter_map(|section| section.total)) {
        widen(last, (Field::Named("currency"), &french::amount(sum, currency)), SUBTOTAL_FIGURES)?;
    }
    for (width, column) in widths.iter_mut().zip(shown) {
        *width = if *column == Column::Unit { width.min(UNIT) } else { *width };
    }
    Ok(widths)
}

/// A column with its left edge and its width.
#[derive(Debug, Clone, Copy)]
struct PlacedColumn {
    column: Column,
    x: f32,
    width: f32,
}

/// The places of the columns: each is as wide as its widest text, and the description gets the rest.
fn placed(shown: &[Column], widths: &[f32]) -> Vec<PlacedColumn> {
    let gutters: f32 = shown[1..].iter().map(|_| GUTTER).sum();
    let sum = |is_counted: fn(Column) -> bool| -> f32 {
        shown.iter().zip(widths).filter(|(column, _)| is_counted(**column)).map(|(_, width)| width).sum()
    };
    // Units keep their width: they are broken into lines, while a figure has to stay on one.
    let room = WIDTH - DESCRIPTION - sum(|column| column == Column::Unit) - gutters;
    let scale = (room / sum(|column| !column.is_text())).min(1.0);
    let scaled = |(column, width): (&Column, &f32)| match column {
        Column::Description => 0.0,
        Column::Unit => *width,
        _ => width * scale,
    };
    let mut widths: Vec<f32> = shown.iter().zip(widths).map(scaled).collect();
    widths[0] = WIDTH - widths.iter().sum::<f32>() - gutters;
    let mut x = LEFT;
    let place = |(column, width): (&Column, f32)| {
        let placed = PlacedColumn { column: *column, x, width };
        x += width + GUTTER;
        placed
    };
    shown.iter().zip(widths).map(place).collect()
}

/// A number of columns that a cell spans.
fn columns_of(count: usize) -> Option<NonZeroU32> {
    u32::try_from(count).ok().and_then(NonZeroU32::new)
}

/// The table while it is composed.
struct LineTableLayout<'t, 'f, 'q> {
    to: &'t mut Composer<'f>,
    columns: Vec<PlacedColumn>,
    display: VatDisplay,
    body: NodeId,
    currency: &'t str,
    /// The name of the lot that is being composed.
    lot: Option<Text<'q>>,
}

impl<'q> LineTableLayout<'_, '_, 'q> {
    fn head(&mut self, section: NodeId) -> Result<()> {
        let row = self.to.tags.add(Some(section), Tag::TR);
        let mut columns = Vec::new();
        for place in self.columns.clone() {
            let cell = self.to.tags.add(Some(row), Tag::TH(TableHeaderScope::Column));
            let label = place.column.label(self.display);
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
        let scope = Tag::TH(TableHeaderScope::Row).with_col_span(columns_of(self.columns.len()));
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
        let mut columns = Vec::with_capacity(self.columns.len());
        for place in self.columns.clone() {
            let cell = self.to.tags.add(Some(row), Tag::TD);
            let look = if place.column.is_text() { TEXT } else { FIGURES };
            columns.push(self.cell(place, place.column.cell(line, self.currency).entry(), look, cell)?);
        }
        let row = block(columns, PADDING).rule((LEFT, RIGHT), Edge::Bottom(0.4), Ink::Hairline);
        self.to.pages.push(Block { keeps_with_next, ..row })
    }

    /// A text in its column. A figure stays on one line, in a smaller size if it is too wide.
    fn cell(
        &mut self,
        place: PlacedColumn,
        text: (Field, &str),
        look: Look,
        node: NodeId,
    ) -> Result<TextColumn> {
        let mut column = TextColumn::new(place.x, place.width);
        // Figures are right-aligned, so that their digits line up; texts are left-aligned.
        if place.column.is_text() {
            self.to.put(&mut column, text, look, node)?;
        } else {
            self.to.put_figure(&mut column, text, look, node)?;
        }
        Ok(column)
    }

    fn subtotal(&mut self, subtotal: &Subtotal, keeps_with_next: bool) -> Result<()> {
        let row = self.to.tags.add(Some(self.body), Tag::TR);
        let scope = Tag::TH(TableHeaderScope::Row).with_col_span(columns_of(self.columns.len() - 1));
        let label = self.to.tags.add(Some(row), scope);
        let cell = self.to.tags.add(Some(row), Tag::TD);
        let total = self.columns[self.columns.len() - 1];
        let width = total.x - GUTTER - LEFT;
        let mut left = TextColumn::new(LEFT, width);
        // Without the field of the name, which has been checked as the heading of the group.
        let lines = self.to.lines(Field::Own, &subtotal.label, SUBTOTAL.style, Some(width))?;
        left.add(&lines, SUBTOTAL, Side::Right, label);
        let ink = if subtotal.of_lot { Ink::Accent } else { Ink::Text };
        let right = self.cell(total, (Field::Own, &subtotal.amount), SUBTOTAL_FIGURES.ink(ink), cell)?;
        self.to.pages.push(Block { keeps_with_next, ..block([left, right], PADDING) })
    }
}
