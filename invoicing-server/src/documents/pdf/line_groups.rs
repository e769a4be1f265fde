//! The lines of a quote by lot and section, with their totals.

use std::collections::HashMap;

use invoicing_core::Line;
use rust_decimal::Decimal;

/// The lines of a lot, or those without one.
#[derive(Debug)]
pub(super) struct Lot<'q> {
    pub(super) name: Option<&'q str>,
    pub(super) sections: Vec<Section<'q>>,
}

/// The lines of a section, or those of its lot without one.
#[derive(Debug)]
pub(super) struct Section<'q> {
    pub(super) name: Option<&'q str>,
    /// Each with its index in the quote.
    pub(super) lines: Vec<(usize, &'q Line)>,
}

impl Lot<'_> {
    pub(super) fn total_ht(&self) -> Decimal {
        self.sections.iter().map(Section::total_ht).sum()
    }
}

impl Section<'_> {
    /// Exact: amounts have 15 digits at most, and `Decimal` holds 28.
    pub(super) fn total_ht(&self) -> Decimal {
        self.lines.iter().map(|(_, line)| line.total_ht.get()).sum()
    }
}

/// Lots in the order of their first lines; the lines without a lot count as one. Within a lot the lines without a
/// section come first, or they would seem to belong to the section above them.
pub(super) fn by_lot_and_section(lines: &[Line]) -> Vec<Lot<'_>> {
    let mut lots = Vec::<Lot<'_>>::new();
    let (mut lot_indexes, mut section_indexes) = (HashMap::new(), HashMap::new());
    for (index, line) in lines.iter().enumerate() {
        let (lot, section) = (line.lot.as_deref(), line.section.as_deref());
        let index_of_group = *lot_indexes.entry(lot).or_insert_with(|| {
            lots.push(Lot { name: lot, sections: Vec::new() });
            lots.len() - 1
        });
        let sections = &mut lots[index_of_group].sections;
        let index_of_group = *section_indexes.entry((lot, section)).or_insert_with(|| {
            sections.push(Section { name: section, lines: Vec::new() });
            sections.len() - 1
        });
        sections[index_of_group].lines.push((index, line));
    }
    for lot in &mut lots {
        lot.sections.sort_by_key(|section| section.name.is_some());
    }
    lots
}
