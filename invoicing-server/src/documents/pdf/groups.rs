//! The lines of a quote by lot and section, with what each adds up to.

use std::collections::HashMap;

use invoicing_core::Line;
use rust_decimal::Decimal;

/// The lines of a lot, or those that belong to none.
#[derive(Debug)]
pub(super) struct Lot<'q> {
    pub(super) name: Option<&'q str>,
    pub(super) sections: Vec<Section<'q>>,
}

/// The lines of a section of a lot, or those of the lot that belong to none.
#[derive(Debug)]
pub(super) struct Section<'q> {
    pub(super) name: Option<&'q str>,
    /// With their places in the quote.
    pub(super) lines: Vec<(usize, &'q Line)>,
}

impl Lot<'_> {
    pub(super) fn total_ht(&self) -> Decimal {
        self.sections.iter().map(Section::total_ht).sum()
    }
}

impl Section<'_> {
    /// The amounts have at most 15 digits, so that a sum of any number of lines is exact.
    pub(super) fn total_ht(&self) -> Decimal {
        self.lines.iter().map(|(_, line)| line.total_ht.get()).sum()
    }
}

/// Lots in the order in which they first appear, those lines that belong to none as one of them. Within a lot the
/// lines without a section come first, so that they do not seem to belong to the section above them.
pub(super) fn by_lot_and_section(lines: &[Line]) -> Vec<Lot<'_>> {
    let mut lots = Vec::<Lot<'_>>::new();
    let (mut lot_places, mut section_places) = (HashMap::new(), HashMap::new());
    for (index, line) in lines.iter().enumerate() {
        let (lot, section) = (line.lot.as_deref(), line.section.as_deref());
        let place = *lot_places.entry(lot).or_insert_with(|| {
            lots.push(Lot { name: lot, sections: Vec::new() });
            lots.len() - 1
        });
        let sections = &mut lots[place].sections;
        let place = *section_places.entry((lot, section)).or_insert_with(|| {
            sections.push(Section { name: section, lines: Vec::new() });
            sections.len() - 1
        });
        sections[place].lines.push((index, line));
    }
    for lot in &mut lots {
        lot.sections.sort_by_key(|section| section.name.is_some());
    }
    lots
}
