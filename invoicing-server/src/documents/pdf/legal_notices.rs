//! The notices that the law requires, and the company's conditions.

use super::Result;
use super::composer::{Composer, Look};
use super::pagination::Ink;
use crate::documents::content::legal_notices::{self, CONDITIONS, LEGAL_NOTICES};
use crate::documents::content::view::DocumentView;

const SMALL: Look = Look::new(8.0).ink(Ink::Muted);

/// The legal notices, then the conditions.
pub(super) fn legal_notices(to: &mut Composer<'_>, view: &DocumentView<'_>) -> Result<()> {
    let notices = legal_notices::legal_notices(view);
    if !notices.is_empty() {
        to.heading(LEGAL_NOTICES)?;
        for notice in &notices {
            to.paragraph(notice.entry(), SMALL, 3.0)?;
        }
    }
    if let Some(conditions) = legal_notices::conditions(view) {
        to.heading(CONDITIONS)?;
        to.paragraph(conditions.entry(), SMALL, 2.0)?;
    }
    Ok(())
}
