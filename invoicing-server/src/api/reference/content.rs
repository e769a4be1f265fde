//! The source of all parts of the page, and the heading of a part.

use maud::{Markup, html};

use super::document::Document;
use super::markdown::Links;

/// The document and the links that the chapters are rendered from.
pub(super) struct ReferencePage<'d> {
    pub(super) document: Document<'d>,
    pub(super) links: Links,
}

/// The heading of a part.
pub(super) fn heading(id: &str, title: &str) -> Markup {
    html! { h3 id=(id) { a href={ "#" (id) } { (title) } } }
}
