//! The mentions that the law requires, and the company's conditions.

use super::Result;
use super::composer::{Composer, Look};
use super::pagination::Ink;
use crate::documents::content::mentions::{self, CONDITIONS, MENTIONS};
use crate::documents::content::view::DocumentView;

const SMALL: Look = Look::new(8.0).ink(Ink::Muted);

/// The mentions, then the conditions.
pub(super) fn mentions(to: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<()> {
    let mentions = mentions::mentions(view);
    if !mentions.is_empty() {
        to.heading(MENTIONS)?;
        for mention in &mentions {
            to.paragraph(mention.entry(), SMALL, 3.0)?;
        }
    }
    if let Some(conditions) = mentions::conditions(view) {
        to.heading(CONDITIONS)?;
        to.paragraph(conditions.entry(), SMALL, 2.0)?;
    }
    Ok(())
}
