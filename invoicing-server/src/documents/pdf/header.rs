//! The head of a quote: company, title, dates, work site and client.

use invoicing_core::{Company, Quote};
use krilla::tagging::Tag;

use super::Result;
use super::composer::{Composer, Look, Side, TextColumn, WIDTH, block, heading, widest};
use super::pagination::{Block, Edge, Ink, LEFT, RIGHT};
use super::tags::NodeId;
use crate::documents::DocumentInput;
use crate::documents::content::{Field, header};

/// Left edge of the client's address, in the window of a French envelope.
const CLIENT: f32 = 318.0;
/// Left edges and widths of the columns beside the address.
const DATES: (f32, f32) = (LEFT, 116.0);
const SITE: (f32, f32) = (178.0, 126.0);
/// Room between the company and the title.
const GUTTER: f32 = 24.0;

const NAME: Look = Look::new(14.0).bold();
const TITLE: Look = Look::new(25.0).bold().ink(Ink::Accent);
const NUMBER: Look = Look::new(11.0).bold();
const DETAIL: Look = Look::new(8.5).ink(Ink::Muted);
const LABEL: Look = Look::new(7.5).ink(Ink::Muted);
const VALUE: Look = Look::new(9.5);
const STRONG: Look = Look::new(10.5).bold();

/// The company and the title, and below them the dates, the site and the client.
pub(super) fn head(to: &mut Composer<'_>, input: &DocumentInput<'_>) -> Result<()> {
    // The title comes first in reading order, although the company is printed to its left.
    let section = to.tags.add(None, Tag::Div);
    let (title, title_width) = title(to, input.quote, section)?;
    let issuer = issuer(to, input.company, section, WIDTH - title_width - GUTTER)?;
    to.pages.push(Block { keeps_with_next: true, ..block([title, issuer], 0.0) })?;
    let rule = Block { height: 16.0, ..Block::default() };
    to.pages.push(rule.rule((LEFT, RIGHT), Edge::Bottom(1.5), Ink::Accent))?;

    let facts = to.tags.add(None, Tag::Div);
    let dates = dates(to, input, facts)?;
    let mut site = TextColumn::new(SITE.0, SITE.1);
    if let Some(address) = header::work_site(input) {
        to.put_in(&mut site, (Field::Own, header::SITE), LABEL, facts)?;
        to.put_in(&mut site, address.entry(), VALUE, facts)?;
    }
    let client = client(to, input, facts)?;
    to.pages.push(Block { gap: 20.0, ..block([dates, site, client], 0.0) })
}

/// The title at the right, in a column of its width.
fn title(to: &mut Composer<'_>, quote: &Quote, parent: NodeId) -> Result<(TextColumn, f32)> {
    let number = (Field::Named("number"), quote.summary.number.as_str());
    let node = to.tags.add(Some(parent), heading(1, &super::writer::title(number.1)));
    to.tags.outline(node, super::writer::title(number.1));
    let word = to.lines(Field::Own, header::TITLE, TITLE.style, None)?;
    let lines = to.lines(number.0, number.1, NUMBER.style, Some(WIDTH * 0.45))?;
    let width = widest(&word).max(widest(&lines));
    let mut column = TextColumn::new(RIGHT - width, width);
    column.add(&word, TITLE, Side::Right, node);
    column.add(&lines, NUMBER, Side::Right, node);
    Ok((column, width))
}

fn issuer(to: &mut Composer<'_>, company: &Company, parent: NodeId, width: f32) -> Result<TextColumn> {
    let mut column = TextColumn::new(LEFT, width);
    column.space(6.0);
    to.put_in(&mut column, (Field::Named("company.name"), &company.name), NAME, parent)?;
    column.space(3.0);
    for detail in header::issuer(company) {
        to.put_in(&mut column, detail.entry(), DETAIL, parent)?;
    }
    Ok(column)
}

fn dates(to: &mut Composer<'_>, input: &DocumentInput<'_>, parent: NodeId) -> Result<TextColumn> {
    let mut column = TextColumn::new(DATES.0, DATES.1);
    for (label, day) in header::dates(input) {
        to.put_in(&mut column, (Field::Own, label), LABEL, parent)?;
        to.put_in(&mut column, (Field::Own, &day), VALUE, parent)?;
        column.space(7.0);
    }
    Ok(column)
}

fn client(to: &mut Composer<'_>, input: &DocumentInput<'_>, parent: NodeId) -> Result<TextColumn> {
    let mut column = TextColumn::new(CLIENT, RIGHT - CLIENT);
    to.put_in(&mut column, (Field::Own, header::CLIENT), LABEL, parent)?;
    to.put_in(&mut column, header::client_name(input).entry(), STRONG, parent)?;
    if let Some(address) = header::client_address(input) {
        to.put_in(&mut column, address.entry(), VALUE, parent)?;
    }
    column.space(2.0);
    for detail in header::client_details(input) {
        to.put_in(&mut column, detail.entry(), DETAIL, parent)?;
    }
    Ok(column)
}
