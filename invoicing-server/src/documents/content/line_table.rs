//! The table of a quote: its lines in their order, under the names of their lots and sections, with
//! subtotals.

use std::borrow::Cow;

use rust_decimal::Decimal;

use super::line_groups::{Heading, IndexedLine, Lot};
use super::{Text, french};

/// The headings of the columns.
pub(crate) const LABELS: [&str; 6] =
    ["Désignation", "Quantité", "Unité", "Prix unitaire HT", "TVA", "Total HT"];
/// The headings of lines without a lot or a section, unless they come first.
const OUTSIDE_LOTS: &str = "Hors lot";
const OUTSIDE_SECTIONS: &str = "Hors section";
/// The text behind a name that has been above other lines.
const CONTINUED: &str = " (suite)";

/// A row of the table.
#[derive(Debug)]
pub(crate) enum TableRow<'q> {
    /// The name of a lot, across the table.
    Lot(Text<'q>),
    /// The name of a section, across the table.
    Section(Text<'q>),
    Line(IndexedLine<'q>),
    Subtotal(Subtotal),
}

/// The sum of the lines of a lot or section.
#[derive(Debug)]
pub(crate) struct Subtotal {
    pub(crate) label: String,
    pub(crate) amount: String,
    pub(in crate::documents) of_lot: bool,
}

/// The rows below the headings, in order.
pub(crate) fn rows<'q>(lots: &[Lot<'q>], currency: &str) -> Vec<TableRow<'q>> {
    let mut rows = Vec::new();
    for lot in lots {
        let first = lot.sections.first().and_then(|section| section.lines.first()).map_or(0, |line| line.0);
        rows.extend(lot.heading.map(|heading| TableRow::Lot(name("lot", first, heading, OUTSIDE_LOTS))));
        for section in &lot.sections {
            let first = section.lines.first().map_or(0, |line| line.0);
            let heading = section.heading;
            rows.extend(
                heading.map(|heading| TableRow::Section(name("section", first, heading, OUTSIDE_SECTIONS))),
            );
            rows.extend(section.lines.iter().copied().map(TableRow::Line));
            rows.extend(subtotal(section.name(), section.total, currency, false));
        }
        rows.extend(subtotal(lot.name(), lot.total, currency, true));
    }
    rows
}

/// The name of a lot or section, above this line.
fn name<'q>(field: &'static str, line: usize, heading: Heading<'q>, outside: &'static str) -> Text<'q> {
    let name = heading.name.unwrap_or(outside);
    let text = if heading.again { continued(name).into() } else { Cow::Borrowed(name) };
    Text::of_line(line, field, text)
}

/// A name that stands above further lines of the same lot or section.
pub(crate) fn continued(name: &str) -> String {
    format!("{}{CONTINUED}", named(name))
}

/// The name as it stood above the first lines.
pub(crate) fn named(name: &str) -> &str {
    name.strip_suffix(CONTINUED).unwrap_or(name)
}

fn subtotal<'q>(
    name: Option<&str>,
    sum: Option<Decimal>,
    currency: &str,
    of_lot: bool,
) -> Option<TableRow<'q>> {
    let label = format!("Sous-total {}", name?);
    Some(TableRow::Subtotal(Subtotal { label, amount: french::amount(sum?, currency), of_lot }))
}

/// The texts of a line, one for each column.
pub(crate) fn cells<'q>((index, line): &IndexedLine<'q>, currency: &str) -> [Text<'q>; 6] {
    let figure = |text: String| Text::of("currency", text);
    [
        Text::of_line(*index, "description", &*line.description),
        figure(french::quantity(line.quantity)),
        Text::of_line(*index, "unit", french::unit(line.unit.as_deref().unwrap_or_default())),
        figure(french::amount(line.unit_price.get(), currency)),
        figure(french::percent(line.tva_rate)),
        figure(french::amount(line.total_ht.get(), currency)),
    ]
}
