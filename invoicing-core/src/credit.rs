//! The content of a credit note: what it takes back of an invoice, and how its VAT closes.
//!
//! The credit notes on an invoice add up to at most the invoice, for each VAT rate. The VAT of
//! each is the VAT on all that is credited of the rate's base, less the VAT credited before. So
//! roundings do not add up, and a full credit equals the invoice to the cent, however it was split.

use std::collections::BTreeMap;

use chrono::NaiveDate;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::date::check_date;
use crate::line::LinesSize;
use crate::text::{LONG_TEXT, required_text};
use crate::totals::document_rate;
use crate::{
    ChangeTime, Changed, ConflictReason, CreditNote, CreditNoteDetail, CreditNoteId, CreditNoteSummary,
    DocumentFormat, DomainError, Event, IntoExact, Invalid, Invoice, InvoiceSummary, Line, MAX_LINES, Money,
    Percent, Quantity, Rule, UnitPrice, VatShare,
};

/// The input of a credit note on an issued invoice.
///
/// ```
/// use invoicing_core::{NewCreditNote, money, quantity};
///
/// let everything = NewCreditNote::of_remaining("Travaux annulés");
/// let part = NewCreditNote::new("Deux portes non posées")
///     .quantity(0, quantity!(2))
///     .reduction("Remise commerciale", 20, money!(150));
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCreditNote {
    /// The reason, as the client reads it, 1 to 2,000 characters.
    pub reason: String,
    /// True to credit all that is left of the invoice; `items` is then empty.
    pub remaining: bool,
    /// The credited items; empty for what remains.
    pub items: Vec<CreditItem>,
}

/// An item of a credit note.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CreditItem {
    /// A quantity of a line of the invoice.
    Quantity {
        /// Index of the line, from 0.
        line: usize,
        /// Credited quantity, with the sign of the line's.
        quantity: Quantity,
    },
    /// A reduction of the price.
    Reduction {
        /// The text of its line.
        description: String,
        /// A VAT rate of the invoice.
        tva_rate: Percent,
        /// Amount without VAT, above 0.
        amount: Money,
    },
}

impl NewCreditNote {
    /// A credit note without an item yet; refused until it has one.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), remaining: false, items: Vec::new() }
    }

    /// A credit note of all that is left of the invoice. It takes no items.
    pub fn of_remaining(reason: impl Into<String>) -> Self {
        Self { remaining: true, ..Self::new(reason) }
    }

    /// Credits a quantity of a line, by its index from 0.
    pub fn quantity(mut self, line: usize, quantity: impl IntoExact<Quantity>) -> Self {
        self.items.push(CreditItem::Quantity { line, quantity: quantity.into() });
        self
    }

    /// Reduces the price by an amount without VAT, at a rate of the invoice.
    pub fn reduction(
        mut self,
        description: impl Into<String>,
        tva_rate: impl IntoExact<Percent>,
        amount: impl IntoExact<Money>,
    ) -> Self {
        let (description, tva_rate, amount) = (description.into(), tva_rate.into(), amount.into());
        self.items.push(CreditItem::Reduction { description, tva_rate, amount });
        self
    }

    /// An empty list is never read as everything: a form without a choice must not cancel an
    /// invoice.
    fn check_items(&self) -> Result<(), Invalid> {
        let rule = match (self.remaining, self.items.len()) {
            (true, 1..) => Rule::AllAndItems,
            (false, 0) => Rule::NothingToCredit,
            (false, count) if count > MAX_LINES => Rule::AtMostItems,
            _ => return Ok(()),
        };
        Err(Invalid::new("items", rule))
    }
}

/// A part of a line of the invoice that a credit note takes back. Internal: the record of the
/// credit note has its own lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreditedPart {
    /// Index of the line, from 0.
    pub line: usize,
    /// Credited quantity.
    pub quantity: Quantity,
    /// Credited amount without VAT.
    #[serde(rename = "totalHT")]
    pub total_ht: Money,
}

/// The part of an invoice that is not credited yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditableBalance {
    /// Quantity and amount without VAT left of each line.
    lines: Vec<(Quantity, Money)>,
    rates: BTreeMap<Percent, RateBalance>,
}

/// Base and VAT of a rate, on the invoice and left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct RateBalance {
    invoiced: (Money, Money),
    remaining: (Money, Money),
}

/// The content of a credit note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreditContent {
    /// The reason, checked.
    pub reason: String,
    /// The lines.
    pub lines: Vec<Line>,
    /// The parts of the invoice's lines that they take back.
    pub parts: Vec<CreditedPart>,
    /// Total without VAT.
    pub total_ht: Money,
    /// Total with VAT.
    pub total_ttc: Money,
    /// One share per VAT rate.
    pub vat_breakdown: Vec<VatShare>,
}

/// The data that a credit note gets when it is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreditNoteIssue<'a> {
    /// The id, made by the service.
    pub id: CreditNoteId,
    /// The number, allocated in the same transaction.
    pub number: &'a str,
    /// The day of issue in the company's time zone, not before the last one of the series.
    pub issue_date: NaiveDate,
    /// The format of the document; `None` if the service makes none.
    pub document_format: Option<DocumentFormat>,
    /// Time of the issue.
    pub at: ChangeTime,
}

impl CreditableBalance {
    /// The balance of an invoice without credit notes: all of it.
    pub fn of(invoice: &Invoice) -> Self {
        let lines = invoice.lines.iter().map(|line| (line.quantity, line.total_ht)).collect();
        let shares = &invoice.detail.vat_breakdown;
        let rate = |share: &VatShare| {
            let invoiced = (share.base_ht, share.amount_tva);
            (share.tva_rate, RateBalance { invoiced, remaining: invoiced })
        };
        Self { lines, rates: shares.iter().map(rate).collect() }
    }

    /// Takes back what an earlier credit note has credited.
    ///
    /// # Errors
    /// [`Invalid`] if an amount leaves its range.
    pub fn take(&mut self, parts: &[CreditedPart], shares: &[VatShare]) -> Result<(), Invalid> {
        for part in parts {
            self.take_part(part)?;
        }
        for VatShare { tva_rate, base_ht, amount_tva } in shares {
            if let Some(RateBalance { remaining: (base, vat), .. }) = self.rates.get_mut(tva_rate) {
                (*base, *vat) = (base.minus(*base_ht)?, vat.minus(*amount_tva)?);
            }
        }
        Ok(())
    }

    /// Quantity and amount without VAT left of a line.
    pub fn line(&self, index: usize) -> Option<(Quantity, Money)> {
        self.lines.get(index).copied()
    }

    /// The share of each discount (a line below zero) that these items credit: its index from 0, and
    /// a part of its remaining quantity, pro rata to what they take of the other lines of its rate.
    /// The items that take the last of these lines have all that is left of the discount.
    ///
    /// ```
    /// # use invoicing_core::{CreditableBalance, Invoice, NewCreditNote};
    /// # fn shares(balance: CreditableBalance, invoice: Invoice) -> Result<(), invoicing_core::Invalid> {
    /// let new = NewCreditNote::new("Deux portes non posées").quantity(0, 2);
    /// let shares = balance.discount_shares(&invoice, &new.items)?;
    /// let new = shares.into_iter().fold(new, |new, (line, share)| new.quantity(line, share));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Invalid`] for more than is left of a line.
    pub fn discount_shares(
        &self,
        invoice: &Invoice,
        items: &[CreditItem],
    ) -> Result<Vec<(usize, Quantity)>, Invalid> {
        let Parts { parts, .. } = self.clone().items(invoice, items)?;
        let credited = above_zero(invoice, parts.iter().map(|part| (part.line, part.total_ht)));
        let left = above_zero(invoice, self.lines.iter().map(|(_, left)| *left).enumerate());
        let mut shares = Vec::new();
        for (index, (line, (quantity, _))) in invoice.lines.iter().zip(&self.lines).enumerate() {
            let amounts = credited.get(&line.tva_rate).zip(left.get(&line.tva_rate));
            if let Some((credited, left)) = amounts.filter(|_| line.quantity.is_negative()) {
                let share = Quantity::round(quantity.get() * *credited / *left)?;
                shares.extend((!share.is_zero()).then_some((index, share)));
            }
        }
        Ok(shares)
    }

    /// Base and VAT left of each rate, lowest first.
    pub fn rates(&self) -> impl Iterator<Item = VatShare> {
        self.rates.iter().map(|(rate, RateBalance { remaining: (base, vat), .. })| VatShare {
            tva_rate: *rate,
            base_ht: *base,
            amount_tva: *vat,
        })
    }

    fn take_part(&mut self, part: &CreditedPart) -> Result<(), Invalid> {
        if let Some((quantity, total)) = self.lines.get_mut(part.line) {
            *quantity = Quantity::new(quantity.get() - part.quantity.get())?;
            *total = total.minus(part.total_ht)?;
        }
        Ok(())
    }

    /// The content of a credit note on this invoice.
    ///
    /// # Errors
    /// [`Invalid`] for more than is left, or for nothing.
    pub fn credit(mut self, invoice: &Invoice, new: &NewCreditNote) -> Result<CreditContent, Invalid> {
        let reason = required_text("reason", &new.reason, LONG_TEXT)?;
        new.check_items()?;
        let Parts { lines, parts } =
            if new.remaining { self.everything(invoice)? } else { self.items(invoice, &new.items)? };
        let vat_breakdown = self.shares(&lines)?;
        let (total_ht, total_ttc) = sums(&vat_breakdown)?;
        // A credit note of 0 cancels an invoice of 0.
        if !(new.remaining && invoice.summary.total_ttc.is_zero()) {
            self.check_totals(&vat_breakdown, total_ht, total_ttc)?;
        }
        Ok(CreditContent { reason, lines, parts, total_ht, total_ttc, vat_breakdown })
    }

    /// The base and the VAT of each rate of the lines.
    fn shares(&self, lines: &[Line]) -> Result<Vec<VatShare>, Invalid> {
        let share = |(tva_rate, base_ht)| {
            Ok(VatShare { tva_rate, base_ht, amount_tva: self.vat(tva_rate, base_ht)? })
        };
        bases(lines)?.into_iter().map(share).collect()
    }

    fn check_totals(&self, shares: &[VatShare], ht: Money, ttc: Money) -> Result<(), Invalid> {
        let left: Vec<_> = self.rates().collect();
        let (left_ht, left_ttc) = sums(&left)?;
        if ht > left_ht || ttc > left_ttc {
            return Err(Invalid::new("items", Rule::MoreThanLeft { left: left_ttc.to_string() }));
        }
        if ttc <= Money::ZERO || ht.is_negative() {
            return Err(Invalid::new("items", Rule::CreditAbove0));
        }
        // Rates below zero could close the total before the rates, and nothing could close them.
        let is_open = |share: &VatShare| !share.base_ht.is_zero() || !share.amount_tva.is_zero();
        let closes = left.iter().filter(|share| is_open(share)).all(|share| shares.contains(share));
        if ttc == left_ttc && !closes {
            return Err(Invalid::new("items", Rule::LeavesPartOfRate));
        }
        Ok(())
    }

    /// All that is left: the remainder of each line, and per rate the sum of earlier reductions.
    /// Without a bound on its size, so that every invoice can be cancelled.
    fn everything(&self, invoice: &Invoice) -> Result<Parts, Invalid> {
        let mut all = Parts::default();
        for (index, (quantity, _)) in self.lines.iter().enumerate() {
            if !quantity.is_zero() {
                all.push(self.line_part(invoice, index, *quantity)?);
            }
        }
        // An invoice of 0 may have lines without a quantity alone.
        if all.lines.is_empty() && invoice.summary.total_ttc.is_zero() {
            for (index, (quantity, _)) in self.lines.iter().enumerate() {
                all.lines.push(self.line_part(invoice, index, *quantity)?.0);
            }
        }
        let mut bases = bases(&all.lines)?;
        for (rate, RateBalance { remaining: (left, _), .. }) in &self.rates {
            let reduced = bases.remove(rate).unwrap_or_default().minus(*left)?;
            if !reduced.is_zero() {
                all.lines.push(amount_line("Réductions déjà accordées", *rate, negated(reduced)?)?);
            }
        }
        Ok(all)
    }

    fn items(&mut self, invoice: &Invoice, items: &[CreditItem]) -> Result<Parts, Invalid> {
        let (mut all, mut size) = (Parts::default(), LinesSize::default());
        for (index, item) in items.iter().enumerate() {
            let named = |field: &str| format!("items[{index}].{field}");
            match item {
                CreditItem::Quantity { line, quantity } => {
                    self.check_quantity(*line, *quantity, named)?;
                    let (credited, part) = self.line_part(invoice, *line, *quantity)?;
                    self.take_part(&part)?;
                    size.add("items", &credited)?;
                    all.push((credited, part));
                }
                CreditItem::Reduction { description, tva_rate, amount } => {
                    let description = required_text(&named("description"), description, LONG_TEXT)?;
                    self.check_reduction(*tva_rate, *amount, named)?;
                    let reduced = amount_line(&description, *tva_rate, *amount)?;
                    size.add("items", &reduced)?;
                    all.lines.push(reduced);
                }
            }
        }
        Ok(all)
    }

    fn check_quantity(
        &self,
        line: usize,
        quantity: Quantity,
        named: impl Fn(&str) -> String,
    ) -> Result<(), Invalid> {
        let Some((left, _)) = self.line(line) else {
            return Err(Invalid::new(named("line"), Rule::LineOfInvoice));
        };
        let is_part = !quantity.is_zero()
            && quantity.is_negative() == left.is_negative()
            && quantity.get().abs() <= left.get().abs();
        if is_part {
            return Ok(());
        }
        Err(Invalid::new(named("quantity"), Rule::PartOfQuantity { left: left.to_string() }))
    }

    fn check_reduction(
        &self,
        rate: Percent,
        amount: Money,
        named: impl Fn(&str) -> String,
    ) -> Result<(), Invalid> {
        if !self.rates.contains_key(&rate) {
            return Err(Invalid::new(named("tvaRate"), Rule::RateOfInvoice));
        }
        if amount <= Money::ZERO {
            return Err(Invalid::new(named("amount"), Rule::Above0));
        }
        Ok(())
    }

    /// The line of the credit note for a quantity of a line of the invoice. All that is left of the
    /// quantity takes all that is left of the amount, and no part takes more than that, as rounding
    /// differences add up. If that amount is not the quantity times the price, it becomes the price
    /// of a single item.
    fn line_part(
        &self,
        invoice: &Invoice,
        index: usize,
        quantity: Quantity,
    ) -> Result<(Line, CreditedPart), Invalid> {
        let (line, (left, left_ht)) = (&invoice.lines[index], self.lines[index]);
        let priced = quantity.times(line.unit_price)?;
        let is_more = priced.get().abs() > left_ht.get().abs();
        let total_ht = if quantity == left || is_more { left_ht } else { priced };
        let credited = if total_ht == priced {
            Line { quantity, total_ht, ..line.clone() }
        } else {
            let description = format!("{} (solde)", line.description);
            let (lot, section) = (line.lot.clone(), line.section.clone());
            Line { lot, section, ..amount_line(&description, line.tva_rate, total_ht)? }
        };
        Ok((credited, CreditedPart { line: index, quantity, total_ht }))
    }

    /// The VAT on a base of a rate, which is at most what is left of the base.
    ///
    /// It is at most what is left of the VAT, too: the VAT on a part of a base never rounds to more
    /// than that on the whole.
    fn vat(&self, rate: Percent, base: Money) -> Result<Money, Invalid> {
        let RateBalance { invoiced, remaining: (left, vat_left) } =
            self.rates.get(&rate).copied().unwrap_or_default();
        let is_part = base.is_zero() || base.is_negative() == left.is_negative();
        if !is_part || base.get().abs() > left.get().abs() {
            return Err(Invalid::new(
                "items",
                Rule::MoreThanLeftOfRate { left: left.to_string(), rate: rate.to_string() },
            ));
        }
        if base == left {
            return Ok(vat_left);
        }
        let (base_credited, vat_credited) = (invoiced.0.minus(left)?, invoiced.1.minus(vat_left)?);
        base_credited.plus(base)?.percent(rate)?.minus(vat_credited)
    }
}

/// Lines of a credit note with the parts of the invoice that they take back.
#[derive(Default)]
struct Parts {
    lines: Vec<Line>,
    parts: Vec<CreditedPart>,
}

impl Parts {
    fn push(&mut self, (line, part): (Line, CreditedPart)) {
        self.lines.push(line);
        self.parts.push(part);
    }
}

/// The sums of shares, without VAT and with it.
fn sums(shares: &[VatShare]) -> Result<(Money, Money), Invalid> {
    shares.iter().try_fold((Money::ZERO, Money::ZERO), |(ht, ttc), share| {
        Ok((ht.plus(share.base_ht)?, ttc.plus(share.base_ht)?.plus(share.amount_tva)?))
    })
}

/// The sum of the lines of each rate.
fn bases(lines: &[Line]) -> Result<BTreeMap<Percent, Money>, Invalid> {
    let mut bases = BTreeMap::<Percent, Money>::new();
    for line in lines {
        let base = bases.entry(line.tva_rate).or_default();
        *base = base.plus(line.total_ht)?;
    }
    Ok(bases)
}

fn negated(amount: Money) -> Result<Money, Invalid> {
    Money::ZERO.minus(amount)
}

/// The sum of these amounts for each rate, of the lines that are no discounts. Sums of 0 are left
/// out.
fn above_zero(
    invoice: &Invoice,
    amounts: impl Iterator<Item = (usize, Money)>,
) -> BTreeMap<Percent, Decimal> {
    let mut sums = BTreeMap::new();
    for (index, amount) in amounts {
        let line = &invoice.lines[index];
        if !line.quantity.is_negative() && !amount.is_zero() {
            *sums.entry(line.tva_rate).or_default() += amount.get();
        }
    }
    sums
}

/// A line of one piece with this amount. The price is positive, as everywhere; the quantity has the
/// sign.
fn amount_line(description: &str, tva_rate: Percent, total_ht: Money) -> Result<Line, Invalid> {
    let sign = if total_ht.is_negative() { Decimal::NEGATIVE_ONE } else { Decimal::ONE };
    Ok(Line {
        description: description.to_owned(),
        quantity: Quantity::new(sign)?,
        unit: None,
        unit_price: UnitPrice::new(total_ht.get().abs())?,
        total_ht,
        tva_rate,
        lot: None,
        section: None,
    })
}

impl CreditNote {
    /// A credit note on an issued invoice, and the invoice with it: `credit_note.issued`, then the
    /// events of the invoice.
    ///
    /// # Errors
    /// [`Conflict`](crate::Conflict) on an invoice that is not issued.
    pub fn issue(
        issue: CreditNoteIssue<'_>,
        invoice: &Invoice,
        content: CreditContent,
    ) -> Result<(Self, Changed<Invoice>), DomainError> {
        let at = issue.at;
        let mut changed = invoice.credit(content.total_ttc, at)?;
        let note = Self::with_content(issue, &invoice.summary, content)?;
        changed.record.detail.credit_notes.push(note.summary.reference());
        changed.events.insert(0, Event::credit_note(&note, at.stamp));
        Ok((note, changed))
    }

    fn with_content(
        issue: CreditNoteIssue<'_>,
        source: &InvoiceSummary,
        content: CreditContent,
    ) -> Result<Self, DomainError> {
        let Some(invoice_number) = source.number.clone() else {
            return Err(ConflictReason::NoNumber.into());
        };
        let CreditContent { reason, lines, parts: _, total_ht, total_ttc, vat_breakdown } = content;
        let summary = CreditNoteSummary {
            id: issue.id,
            number: issue.number.to_owned(),
            invoice_id: source.id,
            invoice_number,
            quote_id: source.quote_id,
            client_id: source.client_id,
            client_name: source.client_name.clone(),
            client_email: source.client_email.clone(),
            issue_date: check_date("issueDate", issue.issue_date)?,
            reason,
            document_format: issue.document_format.map(Into::into),
            total_ht,
            total_ttc,
            tva_rate: document_rate(&vat_breakdown, total_ht, total_ttc.minus(total_ht)?)?,
            currency: source.currency.clone(),
            created_at: issue.at.now,
            updated_at: issue.at.stamp,
        };
        Ok(Self { summary, lines, detail: CreditNoteDetail { vat_breakdown } })
    }
}

#[cfg(test)]
mod tests;
