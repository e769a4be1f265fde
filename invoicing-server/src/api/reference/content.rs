//! What every part of the page is rendered from, and what all parts have.

use maud::{Markup, html};

use super::document::Document;
use super::markdown::Links;

/// What the chapters are rendered from.
pub(super) struct Page<'d> {
    pub(super) document: Document<'d>,
    pub(super) links: Links,
}

/// The heading of a part.
pub(super) fn heading(id: &str, title: &str) -> Markup {
    html! { h3 id=(id) { a href={ "#" (id) } { (title) } } }
}
