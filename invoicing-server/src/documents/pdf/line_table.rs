//! The table of a quote: its lines by lot and section, with subtotals.

use std::num::NonZeroU32;

use invoicing_core::Line;
use krilla::tagging::{TableHeaderScope, Tag};
use rust_decimal::Decimal;

use super::composer::{Column, Composer, Field, Look, Side, WIDTH, block, too_long};
use super::french;
use super::line_groups::{Lot, Section, by_lot_and_section};
use super::pagination::{Block, Edge, Ink, LEFT, RIGHT};
use super::tags::NodeId;
use crate::documents::{DocumentInput, RenderError};

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
pub(super) fn line_table(to: &mut Composer<'_>, input: &DocumentInput<'_>) -> Result<(), RenderError> {
    let currency = input.quote.summary.currency.as_str();
    let lots = by_lot_and_section(&input.quote.lines);
    let grid = Grid::measured(to, &lots, currency)?;
    let root = to.tags.add(None, Tag::Table);
    let head = grid.head(to, root)?;
    to.push(Block { repeats: true, ..head.gap(20.0).keep_with_next() })?;
    let body = to.tags.add(Some(root), Tag::TBody);
    let mut table = Table { grid, body, currency };
    for (index, lot) in lots.iter().enumerate() {
        table.lot(to, lot, index == 0)?;
    }
    to.pages.end_repetition().map_err(too_long)
}

/// Left edges and widths of the columns.
struct Grid([(f32, f32); 6]);

impl Grid {
    /// Each column is as wide as its widest text; the description gets the rest.
    fn measured(to: &mut Composer<'_>, lots: &[Lot<'_>], currency: &str) -> Result<Self, RenderError> {
        let mut widths = [0.0_f32; 6];
        for (width, label) in widths.iter_mut().zip(LABELS) {
            *width = to
                .lines(Field::Own, label, HEAD.style, None)?
                .iter()
                .map(|line| line.width)
                .fold(0.0, f32::max);
        }
        let sections = || lots.iter().flat_map(|lot| &lot.sections);
        for (index, line) in sections().flat_map(|section| &section.lines) {
            for (width, (field, text)) in widths[1..].iter_mut().zip(figures(*index, line, currency)) {
                let lines = to.lines(field, &text, FIGURES.style, None)?;
                *width = lines.iter().map(|line| line.width).fold(*width, f32::max);
            }
        }
        let sums = lots.iter().map(Lot::total_ht).chain(sections().map(Section::total_ht));
        for sum in sums {
            let text = french::amount_of(sum, currency);
            let lines = to.lines(Field::Named("currency"), &text, SUBTOTAL_FIGURES.style, None)?;
            widths[5] = lines.iter().map(|line| line.width).fold(widths[5], f32::max);
        }
        widths[2] = widths[2].min(UNIT);
        Ok(Self::of(widths))
    }

    fn of([_, quantity, unit, price, rate, total]: [f32; 6]) -> Self {
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
        Self(columns)
    }

    /// Figures are right-aligned, so that their digits line up; texts are left-aligned.
    fn side(column: usize) -> Side {
        if matches!(column, 0 | 2) { Side::Left } else { Side::Right }
    }

    /// A text in its column. A figure stays on one line, in a smaller size if it is too wide.
    fn cell(
        &self,
        to: &mut Composer<'_>,
        place: usize,
        (field, text): (Field, &str),
        look: Look,
        node: NodeId,
    ) -> Result<Column, RenderError> {
        let (x, width) = self.0[place];
        let mut column = Column::new(x, width);
        match Self::side(place) {
            Side::Left => to.put(&mut column, (field, text), look, node)?,
            Side::Right => to.put_figure(&mut column, (field, text), look, node)?,
        }
        Ok(column)
    }

    fn head(&self, to: &mut Composer<'_>, table: NodeId) -> Result<Block, RenderError> {
        let section = to.tags.add(Some(table), Tag::THead);
        let row = to.tags.add(Some(section), Tag::TR);
        let mut columns = Vec::new();
        for (index, label) in LABELS.into_iter().enumerate() {
            let cell = to.tags.add(Some(row), Tag::TH(TableHeaderScope::Column));
            columns.push(self.cell(to, index, (Field::Own, label), HEAD, cell)?);
        }
        Ok(block(columns, PADDING).rule((LEFT, RIGHT), Edge::Bottom(0.8), Ink::Text))
    }
}

/// The texts of a line's columns after the description, each with its field.
fn figures(index: usize, line: &Line, currency: &str) -> [(Field, String); 5] {
    let own = |text| (Field::Named("currency"), text);
    [
        own(french::quantity(line.quantity)),
        (Field::Line(index, "unit"), line.unit.clone().unwrap_or_default()),
        own(french::unit_price(line.unit_price, currency)),
        own(french::percent(line.tva_rate)),
        own(french::money(line.total_ht, currency)),
    ]
}

struct Table<'q> {
    grid: Grid,
    body: NodeId,
    currency: &'q str,
}

impl Table<'_> {
    fn lot(&mut self, to: &mut Composer<'_>, lot: &Lot<'_>, is_first: bool) -> Result<(), RenderError> {
        let field = Field::Line(lot.sections[0].lines[0].0, "lot");
        // After a lot, lines without one need a heading, or they would seem to belong to that lot.
        if let Some(name) = lot.name.or((!is_first).then_some(OUTSIDE)) {
            let cell = self.group(to, (field, name), LOT, 14.0)?;
            to.tags.outline(cell, 1, name.to_owned());
        }
        let last = lot.sections.len() - 1;
        for (index, section) in lot.sections.iter().enumerate() {
            let closes_lot = index == last && lot.name.is_some();
            self.section(to, section, closes_lot)?;
        }
        match lot.name {
            Some(name) => self.subtotal(to, name, lot.total_ht(), false, Ink::Accent),
            None => Ok(()),
        }
    }

    fn section(
        &mut self,
        to: &mut Composer<'_>,
        section: &Section<'_>,
        closes_lot: bool,
    ) -> Result<(), RenderError> {
        if let Some(name) = section.name {
            let field = Field::Line(section.lines[0].0, "section");
            self.group(to, (field, name), SECTION, 8.0)?;
        }
        let last = section.lines.len() - 1;
        for (place, (index, line)) in section.lines.iter().enumerate() {
            // The last row stays with its subtotal, which would say nothing at the top of a page.
            let keep = place == last && (section.name.is_some() || closes_lot);
            self.row(to, *index, line, keep)?;
        }
        match section.name {
            Some(name) => self.subtotal(to, name, section.total_ht(), closes_lot, Ink::Text),
            None => Ok(()),
        }
    }

    /// The name of a lot or section across the table.
    fn group(
        &mut self,
        to: &mut Composer<'_>,
        text: (Field, &str),
        look: Look,
        gap: f32,
    ) -> Result<NodeId, RenderError> {
        let row = to.tags.add(Some(self.body), Tag::TR);
        let cell = to.tags.add(Some(row), Tag::TH(TableHeaderScope::Row).with_col_span(Some(COLUMNS)));
        let mut column = Column::new(LEFT, WIDTH);
        to.put(&mut column, text, look, cell)?;
        to.push(block([column], 3.0).gap(gap).keep_with_next())?;
        Ok(cell)
    }

    fn row(
        &mut self,
        to: &mut Composer<'_>,
        index: usize,
        line: &Line,
        keep: bool,
    ) -> Result<(), RenderError> {
        let row = to.tags.add(Some(self.body), Tag::TR);
        let description = (Field::Line(index, "description"), line.description.clone());
        let cells = std::iter::once(description).chain(figures(index, line, self.currency));
        let mut columns = Vec::with_capacity(6);
        for (place, (field, text)) in cells.enumerate() {
            let cell = to.tags.add(Some(row), Tag::TD);
            let look = if Grid::side(place) == Side::Left { TEXT } else { FIGURES };
            columns.push(self.grid.cell(to, place, (field, &text), look, cell)?);
        }
        let block = block(columns, PADDING).rule((LEFT, RIGHT), Edge::Bottom(0.4), Ink::Hairline);
        to.push(if keep { block.keep_with_next() } else { block })
    }

    fn subtotal(
        &mut self,
        to: &mut Composer<'_>,
        name: &str,
        sum: Decimal,
        keep: bool,
        ink: Ink,
    ) -> Result<(), RenderError> {
        let row = to.tags.add(Some(self.body), Tag::TR);
        let scope = Tag::TH(TableHeaderScope::Row).with_col_span(Some(BEFORE_TOTAL));
        let label = to.tags.add(Some(row), scope);
        let cell = to.tags.add(Some(row), Tag::TD);
        let width = self.grid.0[5].0 - GUTTER - LEFT;
        let mut left = Column::new(LEFT, width);
        // Not the field of the name: it has been checked as the heading of the group.
        let lines = to.lines(Field::Own, &format!("Sous-total {name}"), SUBTOTAL.style, Some(width))?;
        left.add(&lines, SUBTOTAL, Side::Right, label);
        let sum = french::amount_of(sum, self.currency);
        let right = self.grid.cell(to, 5, (Field::Own, &sum), SUBTOTAL_FIGURES.ink(ink), cell)?;
        let block = block([left, right], PADDING);
        to.push(if keep { block.keep_with_next() } else { block })
    }
}
