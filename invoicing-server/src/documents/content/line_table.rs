//! The table of a quote: its lines by lot and section, with subtotals.

use indexmap::IndexMap;
use rust_decimal::Decimal;

use super::line_groups::{IndexedLine, Sections, total_ht};
use super::{Text, french};

/// The headings of the columns.
pub(crate) const LABELS: [&str; 6] =
    ["Désignation", "Quantité", "Unité", "Prix unitaire HT", "TVA", "Total HT"];
/// The heading of lines without a lot, unless they come first.
const OUTSIDE: &str = "Hors lot";

/// The lines by lot, then by section.
pub(crate) type Lots<'q> = IndexMap<Option<&'q str>, Sections<'q>>;

/// A row of the table.
#[derive(Debug)]
pub(crate) enum Row<'q> {
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
    #[cfg_attr(not(feature = "pdf"), expect(dead_code, reason = "only the renderer tells them apart"))]
    pub(in crate::documents) of_lot: bool,
}

/// The rows below the headings, in order.
pub(crate) fn rows<'q>(lots: &Lots<'q>, currency: &str) -> Vec<Row<'q>> {
    let mut rows = Vec::new();
    for (index, (lot, sections)) in lots.iter().enumerate() {
        // After a lot, lines without one need a heading, or they would seem to belong to that lot.
        if let Some(name) = lot.or((index > 0).then_some(OUTSIDE)) {
            rows.push(Row::Lot(Text::of_line(sections[0][0].0, "lot", name)));
        }
        for (section, lines) in sections {
            if let Some(name) = *section {
                rows.push(Row::Section(Text::of_line(lines[0].0, "section", name)));
            }
            rows.extend(lines.iter().copied().map(Row::Line));
            if let Some(name) = *section {
                rows.push(subtotal(name, total_ht(lines), currency, false));
            }
        }
        if let Some(name) = *lot {
            rows.push(subtotal(name, total_ht(sections.values().flatten()), currency, true));
        }
    }
    rows
}

fn subtotal<'q>(name: &str, sum: Decimal, currency: &str, of_lot: bool) -> Row<'q> {
    let label = format!("Sous-total {name}");
    Row::Subtotal(Subtotal { label, amount: french::amount(sum, currency), of_lot })
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
