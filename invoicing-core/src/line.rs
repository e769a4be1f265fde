//! Lines: the client's part, and the internal costing.

use serde::{Deserialize, Serialize};

use crate::setters::text_setters;
use crate::text::{LONG_TEXT, SHORT_TEXT, optional_text, required_text};
use crate::{IntoExact, Invalid, Money, Percent, Quantity, Rule, UnitPrice};

/// Maximum number of lines that one document may have.
pub const MAX_LINES: usize = 5_000;
/// Maximum number of bytes of JSON that the lines of one document may have together: 2 MiB.
pub const MAX_LINES_BYTES: usize = 2 * 1024 * 1024;

/// One line of a quote or invoice, in the form for the client.
///
/// There is no field for internal costs, private notes or subcontractors: see [`Costing`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    /// The work or goods, 1 to 2,000 characters.
    pub description: String,
    /// The quantity. Negative on a discount line.
    pub quantity: Quantity,
    /// Unit of the quantity (`m2`, `h`, `forfait`).
    pub unit: Option<String>,
    /// Price of one unit without VAT, never negative (EN 16931, BR-27).
    pub unit_price: UnitPrice,
    /// Quantity × unit price, rounded half away from zero to cents.
    #[serde(rename = "totalHT")]
    pub total_ht: Money,
    /// VAT rate in percent, 0 to 100.
    pub tva_rate: Percent,
    /// Lot (trade package) that the line belongs to.
    pub lot: Option<String>,
    /// Section within the lot.
    pub section: Option<String>,
}

/// The internal costs of a line. Stored for the host only; never part of an API answer, a webhook
/// or a document.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Costing {
    /// Cost of labour.
    #[serde(deserialize_with = "crate::fixed::exact_number_or_null")]
    pub labour_cost: Option<Money>,
    /// Cost of materials.
    #[serde(deserialize_with = "crate::fixed::exact_number_or_null")]
    pub material_cost: Option<Money>,
    /// An internal note, at most 2,000 characters.
    pub private_note: Option<String>,
    /// The subcontractor's name, at most 255 characters.
    pub subcontractor: Option<String>,
}

/// The input of a line: the visible part without its total, and the internal part.
///
/// ```
/// use invoicing_core::{Costing, NewLine, quantity, unit_price};
///
/// let painting = NewLine::new("Two coats of matt paint", quantity!(37.5), unit_price!(19.90), 10)
///     .unit("m2")
///     .lot("Painting")
///     .section("Ground floor")
///     .cost(Costing::default().labour_cost(320).material_cost(145).private_note("Damp wall"));
/// # invoicing_core::price_lines(&[painting])?;
/// # Ok::<(), invoicing_core::Invalid>(())
/// ```
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewLine {
    /// The work or goods, 1 to 2,000 characters.
    pub description: String,
    /// The quantity. Negative on a discount line.
    #[serde(deserialize_with = "crate::fixed::exact_number")]
    pub quantity: Quantity,
    /// Unit of the quantity.
    #[serde(default)]
    pub unit: Option<String>,
    /// Price of one unit without VAT, never negative.
    #[serde(deserialize_with = "crate::fixed::exact_number")]
    pub unit_price: UnitPrice,
    /// VAT rate in percent, 0 to 100.
    #[serde(deserialize_with = "crate::fixed::exact_number")]
    pub tva_rate: Percent,
    /// Lot (trade package) that the line belongs to.
    #[serde(default)]
    pub lot: Option<String>,
    /// Section within the lot.
    #[serde(default)]
    pub section: Option<String>,
    /// The internal costs.
    #[serde(default)]
    pub costing: Costing,
}

text_setters! { NewLine: unit lot section }
text_setters! { Costing: private_note subcontractor }

impl NewLine {
    /// A line without unit, lot, section and costs. `tva_rate` is in percent. A number with
    /// decimals is written in the macro of its type.
    ///
    /// ```
    /// use invoicing_core::{NewLine, percent, quantity, unit_price};
    ///
    /// let door = NewLine::new("Front door", 1, 840, 20);
    /// let paint = NewLine::new("Two coats of matt paint", quantity!(37.5), unit_price!(22.50), percent!(5.5));
    /// ```
    pub fn new(
        description: impl Into<String>,
        quantity: impl IntoExact<Quantity>,
        unit_price: impl IntoExact<UnitPrice>,
        tva_rate: impl IntoExact<Percent>,
    ) -> Self {
        Self {
            description: description.into(),
            quantity: quantity.into(),
            unit: None,
            unit_price: unit_price.into(),
            tva_rate: tva_rate.into(),
            lot: None,
            section: None,
            costing: Costing::default(),
        }
    }

    /// Sets [`costing`](Self#structfield.costing), which the client never sees.
    pub fn cost(mut self, costing: Costing) -> Self {
        self.costing = costing;
        self
    }
}

impl Costing {
    /// Sets [`labour_cost`](Self#structfield.labour_cost).
    pub fn labour_cost(mut self, cost: impl IntoExact<Money>) -> Self {
        self.labour_cost = Some(cost.into());
        self
    }

    /// Sets [`material_cost`](Self#structfield.material_cost).
    pub fn material_cost(mut self, cost: impl IntoExact<Money>) -> Self {
        self.material_cost = Some(cost.into());
        self
    }
}

/// Checked lines, split into the visible part and the internal part. Both lists have the same order
/// and length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PricedLines {
    /// The client's part.
    pub lines: Vec<Line>,
    /// The company's part.
    pub costings: Vec<Costing>,
}

/// Checks and prices lines. The error names the line and the field (`lines[3].unitPrice`).
pub fn price_lines(lines: &[NewLine]) -> Result<PricedLines, Invalid> {
    if lines.len() > MAX_LINES {
        return Err(Invalid::new("lines", Rule::AtMostLines { max: MAX_LINES }));
    }
    let mut priced =
        PricedLines { lines: Vec::with_capacity(lines.len()), costings: Vec::with_capacity(lines.len()) };
    let mut size = LinesSize::default();
    for (index, line) in lines.iter().enumerate() {
        let name = |field: &str| format!("lines[{index}].{field}");
        let visible = visible(line, name)?;
        size.add("lines", &visible)?;
        priced.lines.push(visible);
        priced.costings.push(internal(&line.costing, name)?);
    }
    Ok(priced)
}

/// The bytes of JSON of lines, at most [`MAX_LINES_BYTES`].
pub(crate) struct LinesSize {
    bytes: usize,
}

impl Default for LinesSize {
    fn default() -> Self {
        // The opening bracket. Each line adds a comma or the closing bracket.
        Self { bytes: 1 }
    }
}

impl LinesSize {
    /// Adds a line.
    ///
    /// # Errors
    /// [`Invalid`] about the field if the lines become too large together.
    pub(crate) fn add(&mut self, field: &'static str, line: &Line) -> Result<(), Invalid> {
        let bytes = serde_json::to_vec(line).map_or(MAX_LINES_BYTES, |json| json.len());
        self.bytes += bytes + 1;
        if self.bytes > MAX_LINES_BYTES {
            return Err(Invalid::new(field, Rule::LinesTooLong));
        }
        Ok(())
    }
}

fn visible(line: &NewLine, name: impl Fn(&str) -> String) -> Result<Line, Invalid> {
    if line.unit_price.is_negative() {
        return Err(Invalid::new(name("unitPrice"), Rule::NegativePrice));
    }
    if line.tva_rate.is_negative() || line.tva_rate > Percent::from(100) {
        return Err(Invalid::new(name("tvaRate"), Rule::Between0And { max: 100 }));
    }
    let total_ht =
        line.quantity.times(line.unit_price).map_err(|invalid| invalid.in_field(name("totalHT")))?;
    Ok(Line {
        description: required_text(&name("description"), &line.description, LONG_TEXT)?,
        quantity: line.quantity,
        unit: optional_text(&name("unit"), line.unit.as_deref(), SHORT_TEXT)?,
        unit_price: line.unit_price,
        total_ht,
        tva_rate: line.tva_rate,
        lot: optional_text(&name("lot"), line.lot.as_deref(), SHORT_TEXT)?,
        section: optional_text(&name("section"), line.section.as_deref(), SHORT_TEXT)?,
    })
}

fn internal(costing: &Costing, name: impl Fn(&str) -> String) -> Result<Costing, Invalid> {
    Ok(Costing {
        private_note: optional_text(
            &name("costing.privateNote"),
            costing.private_note.as_deref(),
            LONG_TEXT,
        )?,
        subcontractor: optional_text(
            &name("costing.subcontractor"),
            costing.subcontractor.as_deref(),
            SHORT_TEXT,
        )?,
        ..costing.clone()
    })
}

#[cfg(test)]
mod tests;
