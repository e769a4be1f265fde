//! The lines of a quote by lot and section, with their totals.

use indexmap::IndexMap;
use invoicing_core::Line;
use rust_decimal::Decimal;

/// A line and its index in the quote.
pub(crate) type IndexedLine<'q> = (usize, &'q Line);
/// The lines of a lot by section; those of the lot without one are under `None`.
pub(crate) type Sections<'q> = IndexMap<Option<&'q str>, Vec<IndexedLine<'q>>>;

/// Lots in the order of their first lines; the lines without a lot count as one. Within a lot the lines without a
/// section come first, or they would seem to belong to the section above them.
pub(crate) fn by_lot_and_section(lines: &[Line]) -> IndexMap<Option<&str>, Sections<'_>> {
    let mut lots = IndexMap::<_, Sections<'_>>::new();
    for (index, line) in lines.iter().enumerate() {
        let sections = lots.entry(line.lot.as_deref()).or_default();
        sections.entry(line.section.as_deref()).or_default().push((index, line));
    }
    for sections in lots.values_mut() {
        sections.sort_by_key(|name, _| name.is_some());
    }
    lots
}

/// Exact: amounts have 15 digits at most, and `Decimal` holds 28.
pub(crate) fn total_ht<'q>(lines: impl IntoIterator<Item = &'q IndexedLine<'q>>) -> Decimal {
    lines.into_iter().map(|(_, line)| line.total_ht.get()).sum()
}
