//! The lines of a quote by lot and section, with their totals, in the order of the quote.
//!
//! A lot or section that comes again after others is named again. Its total stands below its last
//! lines.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use invoicing_core::Line;
use rust_decimal::Decimal;

/// A line and its index in the quote.
pub(crate) type IndexedLine<'q> = (usize, &'q Line);

/// Consecutive lines of a lot, or without one.
#[derive(Debug)]
pub(crate) struct Lot<'q> {
    pub(crate) heading: Option<Heading<'q>>,
    pub(crate) sections: Vec<Section<'q>>,
    /// The total of all lines of the lot; only with its last lines.
    pub(crate) total: Option<Decimal>,
}

/// Consecutive lines of a section of a lot, or without one.
#[derive(Debug)]
pub(crate) struct Section<'q> {
    pub(crate) heading: Option<Heading<'q>>,
    pub(crate) lines: Vec<IndexedLine<'q>>,
    /// The total of all lines of the section; only with its last lines.
    pub(crate) total: Option<Decimal>,
}

/// The heading above lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Heading<'q> {
    /// `None` above lines without a lot or section that come after others. Without a heading they
    /// would seem to belong to those.
    pub(crate) name: Option<&'q str>,
    /// True if the same heading has been above earlier lines.
    pub(crate) again: bool,
}

impl<'q> Lot<'q> {
    /// The name of the lot.
    pub(crate) fn name(&self) -> Option<&'q str> {
        self.heading.and_then(|heading| heading.name)
    }
}

impl<'q> Section<'q> {
    /// The name of the section.
    pub(crate) fn name(&self) -> Option<&'q str> {
        self.heading.and_then(|heading| heading.name)
    }
}

/// The lines in lots and sections.
pub(crate) fn by_lot_and_section(lines: &[Line]) -> Vec<Lot<'_>> {
    let indexed: Vec<IndexedLine<'_>> = lines.iter().enumerate().collect();
    let (mut named_lots, mut named_sections) = (HashSet::new(), HashSet::new());
    let mut lots = Vec::new();
    for lines in indexed.chunk_by(|(_, one), (_, next)| one.lot == next.lot) {
        let lot = lines[0].1.lot.as_deref();
        let mut sections = Vec::new();
        for lines in lines.chunk_by(|(_, one), (_, next)| one.section == next.section) {
            let name = lines[0].1.section.as_deref();
            let heading = heading(&mut named_sections, (lot, name), name, sections.is_empty());
            sections.push(Section { heading, lines: lines.to_vec(), total: None });
        }
        let heading = heading(&mut named_lots, lot, lot, lots.is_empty());
        lots.push(Lot { heading, sections, total: None });
    }
    set_totals(&mut lots, lines);
    lots
}

fn heading<'q, K: Eq + Hash>(
    named: &mut HashSet<K>,
    key: K,
    name: Option<&'q str>,
    is_first: bool,
) -> Option<Heading<'q>> {
    (name.is_some() || !is_first).then(|| Heading { name, again: !named.insert(key) })
}

fn set_totals<'q>(lots: &mut [Lot<'q>], lines: &'q [Line]) {
    // Exact: amounts have 15 digits at most, and `Decimal` holds 28.
    let (mut of_lots, mut of_sections) = (HashMap::new(), HashMap::new());
    for line in lines {
        let (lot, section) = (line.lot.as_deref(), line.section.as_deref());
        *of_lots.entry(lot).or_insert(Decimal::ZERO) += line.total_ht.get();
        *of_sections.entry((lot, section)).or_insert(Decimal::ZERO) += line.total_ht.get();
    }
    // From the last line back, so that each total goes to the last lines of its lot or section.
    for lot in lots.iter_mut().rev() {
        let name = lot.name();
        lot.total = name.and_then(|_| of_lots.remove(&name));
        for section in lot.sections.iter_mut().rev() {
            let inner = section.name();
            section.total = inner.and_then(|_| of_sections.remove(&(name, inner)));
        }
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::{NewLine, price_lines};
    use proptest::prelude::*;

    use super::*;

    fn priced(places: &[(Option<u8>, Option<u8>)]) -> Vec<Line> {
        let lines = places.iter().enumerate().map(|(index, (lot, section))| {
            let mut line = NewLine::new(format!("line {index}"), 1, 10, 20);
            (line.lot, line.section) = (lot.map(|n| format!("L{n}")), section.map(|n| format!("S{n}")));
            line
        });
        price_lines(&lines.collect::<Vec<_>>()).unwrap().lines
    }

    proptest! {
        #[test]
        fn lines_keep_their_order_and_each_group_has_one_total(
            places in proptest::collection::vec((proptest::option::of(0..3_u8), proptest::option::of(0..3_u8)), 0..40),
        ) {
            let lines = priced(&places);
            let lots = by_lot_and_section(&lines);
            let sections = || lots.iter().flat_map(|lot| lot.sections.iter().map(move |section| (lot, section)));
            let order: Vec<_> = sections().flat_map(|(_, section)| &section.lines).map(|line| line.0).collect();
            prop_assert_eq!(order, (0..lines.len()).collect::<Vec<_>>());
            for (lot, section) in sections() {
                for (_, line) in &section.lines {
                    prop_assert_eq!((lot.name(), section.name()), (line.lot.as_deref(), line.section.as_deref()));
                }
            }
            let count = |of: &dyn Fn(&Line) -> bool| lines.iter().filter(|line| of(line)).count();
            for lot in (0..3).map(|n| format!("L{n}")) {
                let totals: Vec<_> =
                    lots.iter().filter(|of| of.name() == Some(&*lot)).filter_map(|lot| lot.total).collect();
                let held = count(&|line| line.lot.as_deref() == Some(&lot));
                let expected = (held > 0).then_some(Decimal::from(10 * held));
                prop_assert_eq!(totals, expected.into_iter().collect::<Vec<_>>());
            }
            let totals = sections().filter_map(|(_, section)| section.total).sum::<Decimal>();
            prop_assert_eq!(totals, Decimal::from(10 * count(&|line| line.section.is_some())));
        }
    }

    #[test]
    fn lines_outside_of_groups_are_named_after_others_only() {
        let lines = priced(&[
            (None, None),
            (Some(1), Some(1)),
            (Some(1), None),
            (None, None),
            (Some(1), Some(1)),
            (None, None),
        ]);
        let lots = by_lot_and_section(&lines);
        let heading = |name, again| Some(Heading { name, again });
        let headings: Vec<_> = lots.iter().map(|lot| lot.heading).collect();
        let expected = [
            None,
            heading(Some("L1"), false),
            heading(None, false),
            heading(Some("L1"), true),
            heading(None, true),
        ];
        assert_eq!(headings, expected);
        let inner: Vec<_> = lots[1].sections.iter().map(|section| section.heading).collect();
        assert_eq!(inner, [heading(Some("S1"), false), heading(None, false)]);
        assert_eq!(lots[3].sections[0].heading, heading(Some("S1"), true));
        assert_eq!((lots[1].total, lots[3].total), (None, Some(Decimal::from(30))));
        assert_eq!(lots[3].sections[0].total, Some(Decimal::from(20)));
    }
}
