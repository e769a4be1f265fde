//! The lines of a record by lot and section, as its document has them, in parts that keep a page
//! small.

use std::ops::Range;

use invoicing_core::Line;
use maud::{Markup, html};
use rust_decimal::Decimal;

use super::error::PageError;
use super::figures::Figures;
use super::layout::entered;
use super::request::PageRequest;
use crate::documents::content::french;
use crate::documents::content::line_groups::{Heading, Section, by_lot_and_section};

/// The lines of a quote, an invoice or a credit note.
pub(super) struct RecordLines<'r> {
    pub(super) lines: &'r [Line],
    pub(super) currency: &'r str,
    /// The path of the page.
    pub(super) page: String,
}

/// Maximum number of lines of a part.
pub(super) const LINES_PER_PART: usize = 50;
/// About the maximum number of bytes of a part. A single line takes less.
const MAX_BYTES: usize = 48 * 1024;
/// Bytes of the markup of a line, and of a heading with its subtotal.
const LINE_MARKUP: usize = 530;
const GROUP_MARKUP: usize = 320;

/// A row of the table.
#[derive(Debug, PartialEq)]
enum LineRow<'q> {
    Lot(Heading<'q>),
    Section(Heading<'q>),
    /// A line, and its number among all of the record.
    Line(usize, &'q Line),
    Subtotal(&'q str, Decimal),
}

/// Consecutive lines, with the headings above them.
struct Part<'q> {
    rows: Vec<LineRow<'q>>,
    /// Number of lines of the record up to the end of the part.
    end: usize,
}

/// The part that begins behind the first `from` lines.
fn part<'q>(lines: &'q [Line], from: usize) -> Part<'q> {
    let (mut rows, mut end, mut bytes) = (Vec::new(), 0, 0);
    for lot in by_lot_and_section(lines) {
        let mut lot_heading = lot.heading;
        for section in &lot.sections {
            let mut section_heading = section.heading;
            for &(_, line) in &section.lines {
                if end < from {
                    end += 1;
                    continue;
                }
                let groups = [lot_heading, section_heading].map(|heading| heading.and_then(|of| of.name));
                let size = size(line, groups);
                if end > from && (end - from == LINES_PER_PART || bytes + size > MAX_BYTES) {
                    return Part { rows, end };
                }
                end += 1;
                bytes += size;
                // A group that began on an earlier part is named again.
                let again =
                    |heading: Heading<'q>, begun: bool| Heading { again: heading.again || begun, ..heading };
                rows.extend(
                    lot_heading.take().map(|of| LineRow::Lot(again(of, begins(&lot.sections[0]) < from))),
                );
                rows.extend(
                    section_heading.take().map(|of| LineRow::Section(again(of, begins(section) < from))),
                );
                rows.push(LineRow::Line(end, line));
            }
            if let (Some(name), Some(total)) = (section.name(), section.total)
                && end > from
            {
                rows.push(LineRow::Subtotal(name, total));
            }
        }
        if let (Some(name), Some(total)) = (lot.name(), lot.total)
            && end > from
        {
            rows.push(LineRow::Subtotal(name, total));
        }
    }
    Part { rows, end }
}

/// Number of lines before the lines of a section.
fn begins(section: &Section<'_>) -> usize {
    section.lines.first().map_or(0, |line| line.0)
}

/// Bytes that a line takes on a page, with the headings above it and their subtotals.
fn size(line: &Line, groups: [Option<&str>; 2]) -> usize {
    let groups: usize = groups.into_iter().flatten().map(|name| GROUP_MARKUP + 2 * escaped(name)).sum();
    LINE_MARKUP + escaped(&line.description) + line.unit.as_deref().map_or(0, escaped) + groups
}

/// Bytes of a text once it is escaped.
fn escaped(text: &str) -> usize {
    let marks = text.bytes().filter(|byte| matches!(byte, b'&' | b'<' | b'>' | b'"')).count();
    text.len() + 5 * marks
}

/// The table of the lines. `lines` in the query: the number of lines before the part.
pub(super) fn lines(request: &PageRequest<'_>, record: &RecordLines<'_>) -> Result<Markup, PageError> {
    let (from, all) = (from(request, record.lines)?, record.lines.len());
    let part = part(record.lines, from);
    Ok(html! {
        h2 #lines { (request.pick("Lines", "Lignes")) }
        @if all == 0 {
            p { (request.pick("There is no line yet.", "Il n’y a pas encore de ligne.")) }
        } @else {
            (table(request, record, &part, from))
        }
        (parts_of(request, &record.page, from..part.end, all))
    })
}

/// Links to the other parts of the lines. `shown`: the lines of this part.
pub(super) fn parts_of(request: &PageRequest<'_>, page: &str, shown: Range<usize>, all: usize) -> Markup {
    let address = |query: &str| request.link(format!("{page}{query}#lines"));
    html! {
        @if shown.len() < all {
            nav.actions aria-label=(request.pick("Parts of the lines", "Parties des lignes")) {
                @if shown.end < all {
                    a.button.plain rel="next" href=(address(&format!("?lines={}", shown.end))) {
                        (request.pick("Further lines", "Lignes suivantes"))
                    }
                }
                @if shown.start > 0 { a href=(address("")) { (request.pick("First lines", "Premières lignes")) } }
            }
        }
    }
}

/// Number of lines before the part that the query names.
pub(super) fn from(request: &PageRequest<'_>, lines: &[Line]) -> Result<usize, PageError> {
    let Some(text) = request.form.given("lines") else { return Ok(0) };
    let from = text.parse().ok().filter(|from| *from < lines.len());
    from.ok_or(PageError::NOT_FOUND)
}

fn table(request: &PageRequest<'_>, record: &RecordLines<'_>, part: &Part<'_>, from: usize) -> Markup {
    let names = names(request);
    html! {
        table.cards.lines {
            caption {
                (request.pick("Lines", "Lignes")) " " (from + 1) "–" (part.end) " " (request.pick("of", "sur")) " " (record.lines.len())
            }
            thead { tr {
                @for (place, name) in names.iter().enumerate() {
                    th.figure[is_figure(place)] scope="col" { (name) }
                }
            } }
            tbody { @for row in &part.rows { (self::row(request, record.currency, row, names)) } }
        }
    }
}

fn names(request: &PageRequest<'_>) -> [&'static str; 7] {
    [
        request.pick("No.", "N°"),
        request.pick("Description", "Désignation"),
        request.pick("Quantity", "Quantité"),
        request.pick("Unit", "Unité"),
        request.pick("Unit price excl. VAT", "Prix unitaire HT"),
        request.pick("VAT", "TVA"),
        request.pick("Total excl. VAT", "Total HT"),
    ]
}

fn name(request: &PageRequest<'_>, heading: Heading<'_>, outside: &str) -> Markup {
    html! {
        (entered(heading.name.unwrap_or(outside))) @if heading.again { " " (request.pick("(continued)", "(suite)")) }
    }
}

const fn is_figure(place: usize) -> bool {
    matches!(place, 2 | 4..)
}

fn row(request: &PageRequest<'_>, currency: &str, row: &LineRow<'_>, names: [&str; 7]) -> Markup {
    let figures = Figures::new(request.language, currency);
    match row {
        LineRow::Lot(heading) => {
            let name = name(request, *heading, request.pick("Outside of lots", "Hors lot"));
            html! { tr.lot { th scope="colgroup" colspan="7" { (name) } } }
        }
        LineRow::Section(heading) => {
            let name = name(request, *heading, request.pick("Outside of sections", "Hors section"));
            html! { tr.section { th scope="colgroup" colspan="7" { (name) } } }
        }
        LineRow::Subtotal(name, sum) => html! {
            tr.subtotal {
                th scope="row" colspan="6" { (request.pick("Subtotal", "Sous-total")) " " (entered(name)) }
                td.figure { (figures.amount(*sum)) }
            }
        },
        LineRow::Line(number, line) => {
            let [no, description, quantity, unit, price, rate, total] = names;
            html! {
                tr {
                    td data-name=(no) { (number) }
                    td.text data-name=(description) { (entered(&line.description)) }
                    td.figure data-name=(quantity) { (figures.quantity(line.quantity)) }
                    td data-name=(unit) { (entered(french::unit(line.unit.as_deref().unwrap_or_default()))) }
                    td.figure data-name=(price) { (figures.amount(line.unit_price.get())) }
                    td.figure data-name=(rate) { (figures.percent(line.tva_rate)) }
                    td.figure data-name=(total) { (figures.amount(line.total_ht.get())) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use invoicing_core::{NewLine, price_lines};

    use super::*;

    fn line(number: usize, lot: Option<&str>, section: Option<&str>) -> NewLine {
        let mut line = NewLine::new(format!("line {number}"), 1, 10, 20);
        (line.lot, line.section) = (lot.map(str::to_owned), section.map(str::to_owned));
        line
    }

    fn priced(lines: &[NewLine]) -> Vec<Line> {
        price_lines(lines).unwrap().lines
    }

    /// The parts of some lines, one after the other.
    fn parts(lines: &[Line]) -> Vec<Part<'_>> {
        let (mut parts, mut from) = (Vec::new(), 0);
        while from < lines.len() {
            let part = part(lines, from);
            assert!(part.end > from && part.end - from <= LINES_PER_PART);
            from = part.end;
            parts.push(part);
        }
        parts
    }

    fn numbers(parts: &[Part<'_>]) -> Vec<usize> {
        let rows = parts.iter().flat_map(|part| &part.rows);
        rows.filter_map(|row| if let LineRow::Line(number, _) = row { Some(*number) } else { None }).collect()
    }

    #[test]
    fn each_line_is_in_one_part_and_each_subtotal_where_its_group_ends() {
        let lots = [Some("a"), None, Some("b")];
        let lines: Vec<_> = (0..170).map(|n| line(n, lots[n % 3], (n % 2 == 0).then_some("s"))).collect();
        let lines = priced(&lines);
        let parts = parts(&lines);
        assert_eq!(parts.len(), 4);
        assert_eq!(numbers(&parts), (1..=170).collect::<Vec<_>>());
        let rows = || parts.iter().flat_map(|part| &part.rows);
        let subtotals: Vec<_> = rows().filter(|row| matches!(row, LineRow::Subtotal(..))).collect();
        let of = |name, lines: i64| LineRow::Subtotal(name, Decimal::from(10 * lines));
        assert_eq!(subtotals, [&of("s", 28), &of("s", 28), &of("b", 56), &of("s", 29), &of("a", 57)]);
        // A part begins with the headings above its lines.
        let again = |name| Heading { name: Some(name), again: true };
        assert_eq!(parts[1].rows[..2], [LineRow::Lot(again("b")), LineRow::Section(again("s"))]);
        assert!(rows().any(|row| matches!(row, LineRow::Lot(Heading { name: None, .. }))));
        assert_eq!(part(&lines[..0], 0).end, 0);
    }

    #[test]
    fn long_texts_make_short_parts() {
        let long = |n| NewLine { description: "\"".repeat(2_000), ..line(n, None, None) };
        let lines = priced(&(0..20).map(long).collect::<Vec<_>>());
        let parts = parts(&lines);
        assert_eq!(numbers(&parts), (1..=20).collect::<Vec<_>>());
        assert!(parts.iter().all(|part| part.rows.len() <= 4) && parts.len() < 20);
        assert_eq!((escaped("a<é>&\""), escaped("")), (27, 0));
    }
}
