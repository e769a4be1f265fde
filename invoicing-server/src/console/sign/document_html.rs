//! The frozen document as HTML, with every text of it unchanged.
//!
//! A long table is divided into parts, each on a separate page. The first one has the head of the
//! document, the last one the totals and everything below them. Only the shown part is written: the
//! beginnings of the parts are computed from the lengths of the texts.

use std::ops::Range;

use maud::{Markup, html};

use crate::company_slots::Slot;
use crate::documents::RenderError;
use crate::documents::content::line_groups::by_lot_and_section;
use crate::documents::content::line_table::{Column, TableRow, columns, rows};
use crate::documents::content::totals::{TotalKind, totals};
use crate::documents::content::vat_display::VatDisplay;
use crate::documents::content::view::DocumentView;
use crate::documents::content::{header, legal_notices, running_title, signature, visible};

/// Maximum number of lines in a part, and maximum number of bytes of its rows.
const PART_LINES: usize = 50;
const PART_BYTES: usize = 60_000;
/// Maximum number of bytes of the tags and figures of a row.
const ROW_BYTES: usize = 700;

/// A part of a document as HTML.
pub(super) struct Sheet {
    pub(super) html: Markup,
    /// Its number and that of the last part, counted from 0.
    pub(super) part: usize,
    pub(super) last: usize,
    /// The slot of this page, held until the page is written.
    _place: Slot,
}

/// A document whose table is divided into parts.
pub(super) struct DocumentHtml<'q> {
    view: DocumentView<'q>,
    rows: Vec<TableRow<'q>>,
    parts: Vec<Range<usize>>,
}

impl<'q> DocumentHtml<'q> {
    pub(super) fn of(view: DocumentView<'q>) -> Self {
        let rows = rows(&by_lot_and_section(view.lines), view.currency);
        let parts = parts(&rows);
        Self { view, rows, parts }
    }

    /// Number of parts, at least 1.
    fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The part with this number, counted from 0; the last one if the number is larger.
    pub(super) fn sheet(&self, part: usize, place: Slot) -> Result<Sheet, RenderError> {
        let last = self.parts() - 1;
        let part = part.min(last);
        Ok(Sheet { html: self.part(part)?, part, last, _place: place })
    }

    fn part(&self, part: usize) -> Result<Markup, RenderError> {
        let view = &self.view;
        let (display, is_last) = (VatDisplay::of(view), part + 1 >= self.parts.len());
        let end = if is_last { self.end()? } else { Markup::default() };
        Ok(html! {
            article.paper lang="fr" {
                h2 { (visible(&header::title(view))) }
                @if part == 0 { (self.head()) }
                table.cards.lines {
                    caption { "Lignes du devis" @if self.parts.len() > 1 { ", partie " (part + 1) " sur " (self.parts.len()) } }
                    thead { tr { @for column in columns(display) {
                        th.figure[!column.is_text()] scope="col" { (column.label(display)) }
                    } } }
                    tbody { @for row in self.rows_of(part) { (row_html(row, display, view.currency)) } }
                }
                (end)
                p.soft { (visible(&running_title(view))) }
            }
        })
    }

    fn rows_of(&self, part: usize) -> &[TableRow<'q>] {
        self.parts.get(part).map_or(&[], |rows| &self.rows[rows.clone()])
    }

    /// Company, client, dates and work site.
    fn head(&self) -> Markup {
        let view = &self.view;
        html! {
            div.parties {
                div {
                    p.name dir="auto" { (visible(&header::issuer_name(view.company).text)) }
                    @for detail in header::issuer(view.company) { p dir="auto" { (visible(&detail.text)) } }
                }
                div {
                    p.label { (header::CLIENT) }
                    p.name dir="auto" { (visible(&header::client_name(view).text)) }
                    @let address = header::client_address(view);
                    @for detail in address.into_iter().chain(header::client_details(view)) {
                        p dir="auto" { (visible(&detail.text)) }
                    }
                    @if let Some(address) = header::billing_address(view) {
                        p.label { (header::BILLING_ADDRESS) }
                        p dir="auto" { (visible(&address.text)) }
                    }
                }
            }
            dl.facts {
                @for (label, fact) in header::facts(view) { div { dt { (label) } dd { (visible(&fact.text)) } } }
                @if let Some(site) = header::work_site(view) {
                    div { dt { (header::site_label(view)) } dd dir="auto" { (visible(&site.text)) } }
                }
            }
        }
    }

    /// Totals, legal notices, conditions, and the signature or the text in its place.
    fn end(&self) -> Result<Markup, RenderError> {
        let view = &self.view;
        let notices = legal_notices::legal_notices(view);
        let signature = self.signature()?;
        Ok(html! {
            table.totals {
                caption { "Totaux" }
                tbody { @for total in totals(view) {
                    tr.grand[total.kind == TotalKind::Grand] {
                        th scope="row" { (total.label) }
                        td.figure { (total.amount) }
                    }
                } }
            }
            @if !notices.is_empty() {
                h3 { (legal_notices::LEGAL_NOTICES) }
                @for notice in &notices { p dir="auto" { (visible(&notice.text)) } }
            }
            @if let Some(conditions) = legal_notices::conditions(view) {
                h3 { (legal_notices::CONDITIONS) }
                p dir="auto" { (visible(&conditions.text)) }
            }
            (signature)
        })
    }

    fn signature(&self) -> Result<Markup, RenderError> {
        let Some(signed) = self.view.offer.and_then(|offer| offer.signature) else {
            return Ok(html! {
                h3 { (signature::TO_BE_SIGNED) }
                p { (visible(&signature::subject(&self.view))) }
                ul.boxes { @for label in signature::BOXES { li { (label) } } }
            });
        };
        let rows = signature::signed(&self.view, signed)?;
        Ok(html! {
            h3 { (signature::SIGNED) }
            p { (visible(&signature::subject(&self.view))) }
            dl.facts { @for (label, text) in &rows { div { dt { (label) } dd dir="auto" { (visible(&text.text)) } } } }
        })
    }
}

/// The total with VAT, and its label.
pub(super) fn grand_total(view: &DocumentView<'_>) -> Option<(String, String)> {
    let grand = totals(view).into_iter().find(|total| total.kind == TotalKind::Grand)?;
    Some((grand.label, grand.amount))
}

/// The rows of each part. No part ends with the name of a lot or section, which stays with its
/// first line.
fn parts(rows: &[TableRow<'_>]) -> Vec<Range<usize>> {
    let (mut parts, mut begin, mut lines, mut bytes) = (Vec::new(), 0, 0, 0);
    // The index of the first name before the next line, and the size of these names.
    let (mut names, mut name_bytes) = (None, 0);
    for (index, row) in rows.iter().enumerate() {
        let size = max_bytes(row);
        if matches!(row, TableRow::Lot(_) | TableRow::Section(_)) {
            names.get_or_insert(index);
            name_bytes += size;
            continue;
        }
        let is_line = matches!(row, TableRow::Line(_));
        let is_full = lines == PART_LINES || bytes + name_bytes + size > PART_BYTES;
        if is_line && lines > 0 && is_full {
            let end = names.unwrap_or(index);
            parts.push(begin..end);
            (begin, lines, bytes) = (end, 0, 0);
        }
        (names, bytes, name_bytes) = (None, bytes + name_bytes + size, 0);
        lines += usize::from(is_line);
    }
    parts.push(begin..rows.len());
    parts
}

/// Upper bound of the bytes of a row in HTML.
fn max_bytes(row: &TableRow<'_>) -> usize {
    ROW_BYTES
        + match row {
            TableRow::Lot(text) | TableRow::Section(text) => max_escaped(&text.text),
            TableRow::Subtotal(subtotal) => max_escaped(&subtotal.label),
            TableRow::Line((_, line)) => {
                max_escaped(&line.description) + max_escaped(line.unit.as_deref().unwrap_or_default())
            }
        }
}

/// Upper bound of the bytes of a text in HTML.
fn max_escaped(text: &str) -> usize {
    let size = |byte| match byte {
        b'"' => "&quot;".len(),
        b'&' => "&amp;".len(),
        b'<' | b'>' => "&lt;".len(),
        // The composed form of a character can be three times as long.
        0x80.. => 3,
        _ => 1,
    };
    text.bytes().map(size).sum()
}

fn row_html(row: &TableRow<'_>, display: VatDisplay, currency: &str) -> Markup {
    let columns = columns(display);
    match row {
        TableRow::Lot(name) => {
            html! { tr.lot { th scope="row" colspan=(columns.len()) dir="auto" { (visible(&name.text)) } } }
        }
        TableRow::Section(name) => {
            html! { tr.section { th scope="row" colspan=(columns.len()) dir="auto" { (visible(&name.text)) } } }
        }
        TableRow::Subtotal(subtotal) => html! {
            tr.subtotal {
                th scope="row" colspan=(columns.len() - 1) { (visible(&subtotal.label)) }
                td.figure { (subtotal.amount) }
            }
        },
        TableRow::Line(line) => html! {
            tr { @for column in columns { (cell(*column, display, &column.cell(line, currency).text)) } }
        },
    }
}

fn cell(column: Column, display: VatDisplay, text: &str) -> Markup {
    let name = column.label(display);
    if column.is_text() {
        return html! { td data-name=(name) dir="auto" { (visible(text)) } };
    }
    html! { td.figure data-name=(name) { (text) } }
}

#[cfg(all(test, feature = "pdf"))]
mod tests;
