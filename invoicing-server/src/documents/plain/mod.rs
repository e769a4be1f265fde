//! The renderer that comes with the service: a sober French quote in two standard fonts.
//!
//! It has no fonts, pictures or colours of its own; a host that wants its letterhead plugs in another renderer.
//! Characters outside Western European text are replaced (see [`PlainRenderer`]).

mod font;
mod french;
mod sheet;
#[cfg(test)]
pub(super) mod tests;
mod win_ansi;

use std::collections::HashMap;

use chrono_tz::Tz;
use invoicing_core::{Line, Percent, Quote, SignatureBlock, VatShare};

use self::sheet::{Cell, HEADING_ROOM, MARGIN, RIGHT, Sheet};
use super::{DocumentInput, DocumentRenderer, RenderError};

const WIDTH: f32 = RIGHT - MARGIN;
/// Left edge of the client's block and of the totals.
const MIDDLE: f32 = 315.0;

/// Left edge and width of the table's columns, in points.
const DESCRIPTION: (f32, f32) = (MARGIN, 205.0);
const QUANTITY: (f32, f32) = (254.0, 52.0);
const UNIT: (f32, f32) = (313.0, 50.0);
const PRICE: (f32, f32) = (366.0, 68.0);
const RATE: (f32, f32) = (438.0, 38.0);
const TOTAL: (f32, f32) = (480.0, RIGHT - 480.0);

/// Renders quotes as plain A4 pages, in French, with Helvetica.
///
/// The standard fonts only have Western European characters. An accent that is missing is dropped (`ő` becomes `o`);
/// a character that has no such neighbour, such as an emoji or a Hebrew letter, is printed as `?`.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlainRenderer;

impl PlainRenderer {
    /// The renderer. It has no settings.
    pub const fn new() -> Self {
        Self
    }
}

impl DocumentRenderer for PlainRenderer {
    fn render(&self, input: &DocumentInput<'_>) -> Result<Vec<u8>, RenderError> {
        let mut sheet = Sheet::new();
        parties(&mut sheet, input)?;
        heading(&mut sheet, input)?;
        table(&mut sheet, input.quote)?;
        totals(&mut sheet, input.quote)?;
        mentions(&mut sheet, input)?;
        match &input.quote.terms.signature {
            Some(signature) => signed(&mut sheet, signature, &input.company.time_zone)?,
            None => to_be_signed(&mut sheet)?,
        }
        let title = format!("Devis {}", input.quote.head.number);
        let footer = format!("{title} - {}", input.company.name);
        Ok(sheet.finish(&title, &footer))
    }
}

/// A text across the page.
fn paragraph(sheet: &mut Sheet, text: &str) -> Result<(), RenderError> {
    sheet.row(&[Cell::new(MARGIN, WIDTH, text)])
}

/// A bold line that does not stay behind alone at the foot of a page.
fn title(sheet: &mut Sheet, text: &str) -> Result<(), RenderError> {
    sheet.gap(10.0);
    sheet.keep(HEADING_ROOM)?;
    sheet.row(&[Cell::new(MARGIN, WIDTH, text).bold().size(10.0)])
}

fn parties(sheet: &mut Sheet, input: &DocumentInput<'_>) -> Result<(), RenderError> {
    let (company, head) = (input.company, &input.quote.head);
    let identity = &company.identity;
    let labelled =
        |label: &str, value: &Option<String>| value.as_ref().map(|value| format!("{label}{value}"));
    let issuer = [
        identity.address.clone(),
        labelled("Tél. : ", &identity.phone),
        labelled("E-mail : ", &identity.email),
        labelled("SIRET : ", &identity.siret),
        labelled("N° TVA : ", &identity.vat_number),
    ];
    let client = [
        Some(head.client_name.clone()),
        input.client_address.map(str::to_owned),
        labelled("E-mail : ", &head.client_email),
    ];
    let block = |lines: &[Option<String>]| lines.iter().flatten().cloned().collect::<Vec<_>>().join("\n");
    let (left, right) = (MIDDLE - MARGIN - 20.0, RIGHT - MIDDLE);
    sheet.row(&[
        Cell::new(MARGIN, left, &company.name).bold().size(12.0),
        Cell::new(MIDDLE, right, "Client").bold().size(12.0),
    ])?;
    sheet.row(&[Cell::new(MARGIN, left, &block(&issuer)), Cell::new(MIDDLE, right, &block(&client))])
}

fn heading(sheet: &mut Sheet, input: &DocumentInput<'_>) -> Result<(), RenderError> {
    let head = &input.quote.head;
    sheet.gap(18.0);
    sheet.row(&[Cell::new(MARGIN, WIDTH, &format!("Devis n° {}", head.number)).bold().size(15.0)])?;
    let issued = format!("Date : {}", french::date(input.issued_on));
    paragraph(sheet, &issued)?;
    if let Some(day) = head.valid_until {
        paragraph(sheet, &format!("Valable jusqu'au {}", french::date(day)))?;
    }
    sheet.gap(14.0);
    Ok(())
}

fn table(sheet: &mut Sheet, quote: &Quote) -> Result<(), RenderError> {
    let cell = |(x, width): (f32, f32), text: &str| Cell::new(x, width, text).bold().size(8.0);
    sheet.repeat(Some(vec![
        cell(DESCRIPTION, "Désignation"),
        cell(QUANTITY, "Quantité").right(),
        cell(UNIT, "Unité"),
        cell(PRICE, "Prix unitaire HT").right(),
        cell(RATE, "TVA").right(),
        cell(TOTAL, "Total HT").right(),
    ]))?;
    let mut place = (None, None);
    for line in by_lot_and_section(&quote.lines) {
        let (lot, section) = (line.lot.as_deref(), line.section.as_deref());
        if lot != place.0 {
            group(sheet, lot, 10.0)?;
        }
        if (lot, section) != place {
            group(sheet, section, 9.0)?;
        }
        place = (lot, section);
        row(sheet, line, &quote.head.currency)?;
    }
    sheet.rule();
    sheet.repeat(None)
}

fn group(sheet: &mut Sheet, name: Option<&str>, size: f32) -> Result<(), RenderError> {
    let Some(name) = name else { return Ok(()) };
    sheet.gap(4.0);
    sheet.keep(HEADING_ROOM)?;
    sheet.row(&[Cell::new(MARGIN, WIDTH, name).bold().size(size)])
}

fn row(sheet: &mut Sheet, line: &Line, currency: &str) -> Result<(), RenderError> {
    let cell = |(x, width): (f32, f32), text: &str| Cell::new(x, width, text);
    sheet.gap(2.0);
    sheet.row(&[
        cell(DESCRIPTION, &line.description),
        cell(QUANTITY, &french::quantity(line.quantity)).right(),
        cell(UNIT, line.unit.as_deref().unwrap_or_default()),
        cell(PRICE, &french::unit_price(line.unit_price, currency)).right(),
        cell(RATE, &french::percent(line.tva_rate)).right(),
        cell(TOTAL, &french::money(line.total_ht, currency)).right(),
    ])
}

/// Lots and their sections in the order in which they first appear; what has none comes first, so that it does not
/// seem to belong to the lot above it.
fn by_lot_and_section(lines: &[Line]) -> Vec<&Line> {
    let (mut lots, mut sections) = (HashMap::new(), HashMap::new());
    let mut ranked: Vec<_> = lines
        .iter()
        .map(|line| {
            let (lot, section) = (line.lot.as_deref(), line.section.as_deref());
            let next = lots.len();
            let lot_rank = *lots.entry(lot).or_insert(next);
            let next = sections.len();
            let section_rank = *sections.entry((lot, section)).or_insert(next);
            ((lot.is_some(), lot_rank, section.is_some(), section_rank), line)
        })
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, line)| line).collect()
}

fn totals(sheet: &mut Sheet, quote: &Quote) -> Result<(), RenderError> {
    let (head, terms) = (&quote.head, &quote.terms);
    let currency = head.currency.as_str();
    let mut rows = vec![("Total HT".to_owned(), french::money(head.total_ht, currency), false)];
    for VatShare { tva_rate, base_ht, amount_tva } in &terms.vat_breakdown {
        let label = format!("TVA {} sur {}", french::percent(*tva_rate), french::money(*base_ht, currency));
        rows.push((label, french::money(*amount_tva, currency), false));
    }
    rows.push(("Total TTC".to_owned(), french::money(head.total_ttc, currency), true));
    if !terms.retention_rate.is_zero() {
        let label = format!("Retenue de garantie {}", french::percent(terms.retention_rate));
        rows.push((label, french::money(terms.retention_amount, currency), false));
        let rest = head.total_ttc.get() - terms.retention_amount.get();
        rows.push(("Net à payer hors retenue".to_owned(), french::amount_of(rest, currency), true));
    }
    sheet.gap(8.0);
    sheet.keep(80.0)?;
    for (label, amount, bold) in rows {
        let style = |cell: Cell| if bold { cell.bold() } else { cell };
        let label = style(Cell::new(MIDDLE, 150.0, &label));
        sheet.row(&[label, style(Cell::new(470.0, RIGHT - 470.0, &amount).right())])?;
    }
    Ok(())
}

fn mentions(sheet: &mut Sheet, input: &DocumentInput<'_>) -> Result<(), RenderError> {
    let (identity, terms) = (&input.company.identity, &input.quote.terms);
    let mut mentions: Vec<String> =
        terms.vat_breakdown.iter().filter_map(|share| reduced_rate(share.tva_rate)).collect();
    if !terms.retention_rate.is_zero() {
        mentions.push(
            "Retenue de garantie : loi n° 71-584 du 16 juillet 1971. Elle est libérée un an après la réception des \
             travaux, sauf opposition motivée."
                .to_owned(),
        );
    }
    mentions.extend(identity.insurance.as_ref().map(|cover| format!("Assurance décennale : {cover}")));
    if !mentions.is_empty() {
        title(sheet, "Mentions")?;
        mentions.iter().try_for_each(|mention| paragraph(sheet, mention))?;
    }
    if let Some(conditions) = &identity.terms {
        title(sheet, "Conditions")?;
        paragraph(sheet, conditions)?;
    }
    Ok(())
}

/// What the client certifies by signing, in place of the separate attestation (CGI, art. 279-0 bis and 278-0 bis A,
/// as amended by loi 2025-127, art. 41).
fn reduced_rate(rate: Percent) -> Option<String> {
    let (works, article) = match rate {
        _ if rate == Percent::from(10) => {
            ("d'amélioration, de transformation, d'aménagement ou d'entretien", "279-0 bis")
        }
        _ if rate.get() == rust_decimal::Decimal::new(55, 1) => ("de rénovation énergétique", "278-0 bis A"),
        _ => return None,
    };
    Some(format!(
        "TVA à {} : le client certifie que les travaux {works} portent sur des locaux à usage d'habitation achevés \
         depuis plus de deux ans et répondent aux conditions de l'article {article} du code général des impôts.",
        french::percent(rate),
    ))
}

fn to_be_signed(sheet: &mut Sheet) -> Result<(), RenderError> {
    title(sheet, "Bon pour accord")?;
    sheet.keep(70.0)?;
    paragraph(sheet, "Date, nom et signature du client :")
}

fn signed(sheet: &mut Sheet, signature: &SignatureBlock, time_zone: &str) -> Result<(), RenderError> {
    let unknown = |_| RenderError::new(format!("the company's time zone {time_zone:?} is unknown"));
    let zone: Tz = time_zone.parse().map_err(unknown)?;
    let local = signature.signed_at.to_chrono().with_timezone(&zone).format("%d/%m/%Y à %H:%M:%S");
    title(sheet, "Signature électronique")?;
    for text in [
        format!("Signé le {local} ({time_zone}), soit {}", signature.signed_at),
        format!("Par : {} <{}>", signature.signed_by_name, signature.signed_by_email),
        format!("Texte accepté : {}", signature.accepted_text),
        format!("Empreinte de la preuve : {}", signature.proof_fingerprint),
    ] {
        paragraph(sheet, &text)?;
    }
    Ok(())
}
