//! The table of a quote: its lines in their order, under the names of their lots and sections, with
//! subtotals.

use std::borrow::Cow;

use rust_decimal::Decimal;

use super::line_groups::{Heading, IndexedLine, Lot};
use super::vat_display::VatDisplay;
use super::{Text, french};

/// A column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Description,
    Quantity,
    Unit,
    UnitPrice,
    Rate,
    Total,
}

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

/// The columns of a document. Only VAT that is charged has one.
pub(crate) const fn columns(display: VatDisplay) -> &'static [Column] {
    use Column::{Description, Quantity, Rate, Total, Unit, UnitPrice};
    match display {
        VatDisplay::Charged => &[Description, Quantity, Unit, UnitPrice, Rate, Total],
        VatDisplay::ReverseCharged | VatDisplay::NotApplicable => {
            &[Description, Quantity, Unit, UnitPrice, Total]
        }
    }
}

impl Column {
    pub(crate) const fn label(self, display: VatDisplay) -> &'static str {
        match (self, display) {
            (Self::Description, _) => "Désignation",
            (Self::Quantity, _) => "Quantité",
            (Self::Unit, _) => "Unité",
            (Self::UnitPrice, VatDisplay::NotApplicable) => "Prix unitaire",
            (Self::UnitPrice, _) => "Prix unitaire HT",
            (Self::Rate, _) => "TVA",
            (Self::Total, VatDisplay::NotApplicable) => "Total",
            (Self::Total, _) => "Total HT",
        }
    }

    /// True for a column of texts. The others have figures.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::Description | Self::Unit)
    }

    /// The text of a line in this column.
    pub(crate) fn cell<'q>(self, (index, line): &IndexedLine<'q>, currency: &str) -> Text<'q> {
        let figure = |text: String| Text::of("currency", text);
        match self {
            Self::Description => Text::of_line(*index, "description", &*line.description),
            Self::Quantity => figure(french::quantity(line.quantity)),
            Self::Unit => {
                Text::of_line(*index, "unit", french::unit(line.unit.as_deref().unwrap_or_default()))
            }
            Self::UnitPrice => figure(french::amount(line.unit_price.get(), currency)),
            Self::Rate => figure(french::percent(line.tva_rate)),
            Self::Total => figure(french::amount(line.total_ht.get(), currency)),
        }
    }
}
