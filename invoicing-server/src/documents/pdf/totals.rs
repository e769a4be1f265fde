//! The totals of a quote.

use invoicing_core::VatShare;
use krilla::tagging::{TableHeaderScope, Tag};

use super::Result;
use super::composer::{Column, Composer, Field, Look, Side, block, widest};
use super::french;
use super::pagination::{Block, Edge, Ink, RIGHT};
use crate::documents::DocumentInput;

/// Left edge of the totals.
const X: f32 = 270.0;
/// Between a label and its amount, in points.
const GUTTER: f32 = 14.0;

const PLAIN: Look = Look::new(9.0);
const STRONG: Look = Look::new(9.0).bold();
const GRAND: Look = Look::new(13.0).bold().ink(Ink::Accent);

struct Row {
    label: String,
    amount: String,
    look: Look,
    /// The rule above, in points and its colour.
    rule: Option<(f32, Ink)>,
}

/// Total without VAT, VAT by rate, total with VAT, retention: kept together where a page can hold them.
pub(super) fn totals(to: &mut Composer<'_>, input: &DocumentInput<'_>) -> Result<()> {
    let rows = rows(input);
    let table = to.tags.add(None, Tag::Table);
    let last = rows.len() - 1;
    for (index, row) in rows.into_iter().enumerate() {
        let tr = to.tags.add(Some(table), Tag::TR);
        let label = to.tags.add(Some(tr), Tag::TH(TableHeaderScope::Row));
        let cell = to.tags.add(Some(tr), Tag::TD);
        let figures = row.look.figures();
        let amount = to.lines(Field::Named("currency"), &row.amount, figures.style, None)?;
        let width = widest(&amount);
        let mut left = Column::new(X, RIGHT - X - width - GUTTER);
        to.put(&mut left, (Field::Own, &row.label), row.look.ink(label_ink(row.look.ink)), label)?;
        let mut right = Column::new(RIGHT - width, width);
        right.add(&amount, figures, Side::Right, cell);
        let gap = if index == 0 { 16.0 } else { 0.0 };
        let block = Block { gap, keeps_with_next: index < last, ..block([left, right], 3.0) };
        to.pages.push(match row.rule {
            Some((height, ink)) => block.rule((X, RIGHT), Edge::Top(height), ink),
            None => block,
        })?;
    }
    Ok(())
}

/// A label has the colour of an accented amount; beside a plain amount it is muted.
fn label_ink(amount: Ink) -> Ink {
    if amount == Ink::Text { Ink::Muted } else { amount }
}

fn rows(input: &DocumentInput<'_>) -> Vec<Row> {
    let (head, terms) = (&input.quote.summary, &input.quote.detail);
    let currency = head.currency.as_str();
    let row = |label: String, amount, look| Row { label, amount, look, rule: None };
    let mut rows = vec![row("Total HT".to_owned(), french::amount(head.total_ht.get(), currency), STRONG)];
    for VatShare { tva_rate, base_ht, amount_tva } in &terms.vat_breakdown {
        let label =
            format!("TVA {} sur {}", french::percent(*tva_rate), french::amount(base_ht.get(), currency));
        rows.push(row(label, french::amount(amount_tva.get(), currency), PLAIN));
    }
    let total = row("Total TTC".to_owned(), french::amount(head.total_ttc.get(), currency), GRAND);
    rows.push(Row { rule: Some((1.0, Ink::Accent)), ..total });
    if !terms.retention_rate.is_zero() {
        let label = format!("Retenue de garantie {}", french::percent(terms.retention_rate));
        let retained = row(label, french::amount(-terms.retention_amount.get(), currency), PLAIN);
        rows.push(Row { rule: Some((0.4, Ink::Hairline)), ..retained });
        let rest = head.total_ttc.get() - terms.retention_amount.get();
        rows.push(row("Net à payer hors retenue".to_owned(), french::amount(rest, currency), STRONG));
    }
    rows
}
