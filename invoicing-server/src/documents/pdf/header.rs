//! The head of a document: logo, company, title, dates, references, work site and client.

use krilla::tagging::Tag;

use super::Result;
use super::composer::{Composer, Look, Side, TextColumn, WIDTH, block, heading, widest};
use super::logo;
use super::pagination::{Block, Edge, Ink, LEFT, RIGHT};
use super::tags::NodeId;
use crate::documents::content::view::DocumentView;
use crate::documents::content::{Field, header};

/// Left edge of the client's address, in the window of a French envelope.
const CLIENT: f32 = 318.0;
/// Left edges and widths of the columns beside the address.
const FACTS: (f32, f32) = (LEFT, 116.0);
const SITE: (f32, f32) = (178.0, 126.0);
/// Room between the company and the title.
const GUTTER: f32 = 24.0;
/// Room below the logo.
const BELOW_LOGO: f32 = 8.0;

const NAME: Look = Look::new(14.0).bold();
const TITLE: Look = Look::new(25.0).bold().ink(Ink::Accent);
const NUMBER: Look = Look::new(11.0).bold();
const DETAIL: Look = Look::new(8.5).ink(Ink::Muted);
const LABEL: Look = Look::new(7.5).ink(Ink::Muted);
const VALUE: Look = Look::new(9.5);
const STRONG: Look = Look::new(10.5).bold();

/// The company and the title, and below them the dates, the site and the client.
pub(super) fn head(to: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<()> {
    // The title comes first in reading order, although the company is printed to its left.
    let section = to.tags.add(None, Tag::Div);
    let (title, title_width) = title(to, view, section)?;
    let logo = view.logo.map(|logo| logo::logo(to, logo, &view.company.name, section)).transpose()?;
    let room = logo.as_ref().map_or(0.0, |logo| logo.size.1 + BELOW_LOGO);
    let issuer = issuer(to, view, section, (room, WIDTH - title_width - GUTTER))?;
    to.pages.push(Block { keeps_with_next: true, image: logo, ..block([title, issuer], 0.0) })?;
    let rule = Block { height: 16.0, ..Block::default() };
    to.pages.push(rule.rule((LEFT, RIGHT), Edge::Bottom(1.5), Ink::Accent))?;

    let parties = to.tags.add(None, Tag::Div);
    let facts = facts(to, view, parties)?;
    let site = site(to, view, parties)?;
    let client = client(to, view, parties)?;
    to.pages.push(Block { gap: 20.0, ..block([facts, site, client], 0.0) })?;
    references(to, view)
}

/// The title at the right, in a column of its width.
fn title(to: &mut Composer<'_>, view: &DocumentView<'_>, parent: NodeId) -> Result<(TextColumn, f32)> {
    let number = (Field::Named("number"), view.number);
    let title = header::title(view);
    let node = to.tags.add(Some(parent), heading(1, &title));
    to.tags.outline(node, title);
    let word = to.lines(Field::Own, header::word(view.kind), TITLE.style, None)?;
    let lines = to.lines(number.0, number.1, NUMBER.style, Some(WIDTH * 0.45))?;
    let width = widest(&word).max(widest(&lines));
    let mut column = TextColumn::new(RIGHT - width, width);
    column.add(&word, TITLE, Side::Right, node);
    column.add(&lines, NUMBER, Side::Right, node);
    Ok((column, width))
}

/// The company, with some room above its name.
fn issuer(
    to: &mut Composer<'_>,
    view: &DocumentView<'_>,
    parent: NodeId,
    (room, width): (f32, f32),
) -> Result<TextColumn> {
    let mut column = TextColumn::new(LEFT, width);
    column.space(6.0_f32.max(room));
    to.put_in(&mut column, header::issuer_name(view.company).entry(), NAME, parent)?;
    column.space(3.0);
    for detail in header::issuer(view.company) {
        to.put_in(&mut column, detail.entry(), DETAIL, parent)?;
    }
    Ok(column)
}

fn facts(to: &mut Composer<'_>, view: &DocumentView<'_>, parent: NodeId) -> Result<TextColumn> {
    let mut column = TextColumn::new(FACTS.0, FACTS.1);
    for (label, fact) in header::facts(view) {
        to.put_in(&mut column, (Field::Own, label), LABEL, parent)?;
        to.put_in(&mut column, fact.entry(), VALUE, parent)?;
        column.space(7.0);
    }
    Ok(column)
}

fn site(to: &mut Composer<'_>, view: &DocumentView<'_>, parent: NodeId) -> Result<TextColumn> {
    let mut column = TextColumn::new(SITE.0, SITE.1);
    if let Some(address) = header::work_site(view) {
        to.put_in(&mut column, (Field::Own, header::site_label(view)), LABEL, parent)?;
        to.put_in(&mut column, address.entry(), VALUE, parent)?;
    }
    Ok(column)
}

fn client(to: &mut Composer<'_>, view: &DocumentView<'_>, parent: NodeId) -> Result<TextColumn> {
    let mut column = TextColumn::new(CLIENT, RIGHT - CLIENT);
    to.put_in(&mut column, (Field::Own, header::CLIENT), LABEL, parent)?;
    to.put_in(&mut column, header::client_name(view).entry(), STRONG, parent)?;
    if let Some(address) = header::client_address(view) {
        to.put_in(&mut column, address.entry(), VALUE, parent)?;
    }
    column.space(2.0);
    for detail in header::client_details(view) {
        to.put_in(&mut column, detail.entry(), DETAIL, parent)?;
    }
    if let Some(address) = header::billing_address(view) {
        column.space(7.0);
        to.put_in(&mut column, (Field::Own, header::BILLING_ADDRESS), LABEL, parent)?;
        to.put_in(&mut column, address.entry(), VALUE, parent)?;
    }
    Ok(column)
}

/// The documents that this one is about, the first one in bold.
fn references(to: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<()> {
    for (index, reference) in header::references(view).iter().enumerate() {
        let (look, gap) = if index == 0 { (STRONG, 12.0) } else { (VALUE, 2.0) };
        to.paragraph(reference.entry(), look, gap)?;
    }
    Ok(())
}
