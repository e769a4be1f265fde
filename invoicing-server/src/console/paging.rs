//! Lists in pages: each page begins behind the last item of the one before, even if items were
//! added since.

use std::fmt::Display;
use std::str::FromStr;

use invoicing_core::{Invalid, Rule};
use maud::{Markup, html};

use super::request::PageRequest;

/// Number of items of a page.
pub(super) const ITEMS: u32 = 50;
/// The field of a query with the item behind which the page begins.
const BEFORE: &str = "before";

/// A list, and the fields of the query that narrow it.
pub(super) struct List<'l> {
    pub(super) path: String,
    pub(super) filters: &'l [&'l str],
}

impl List<'_> {
    /// The item behind which the requested page begins; `None` for the first page.
    pub(super) fn before<T: FromStr>(request: &PageRequest<'_>) -> Result<Option<T>, Invalid> {
        let wrong = || Invalid::new(BEFORE, Rule::Cursor);
        request.form.given(BEFORE).map(|text| text.parse().map_err(|_| wrong())).transpose()
    }

    /// True if the query narrows the list.
    fn is_narrowed(&self, request: &PageRequest<'_>) -> bool {
        self.filters.iter().any(|name| request.form.given(name).is_some())
    }

    /// The form that narrows the list, folded until the list is narrowed.
    pub(super) fn filter(&self, request: &PageRequest<'_>, fields: &Markup) -> Markup {
        html! {
            details open[self.is_narrowed(request)] {
                summary { (request.pick("Filter", "Filtrer")) }
                form method="get" action=(request.link(&self.path)) {
                    (fields)
                    p.actions {
                        button { (request.pick("Show", "Afficher")) }
                        @if self.is_narrowed(request) {
                            a href=(request.link(&self.path)) { (request.pick("Show all", "Tout afficher")) }
                        }
                    }
                }
            }
        }
    }

    /// The text of a page without items, with the reason.
    pub(super) fn nothing(&self, request: &PageRequest<'_>, goes_on: bool) -> Markup {
        let text = if goes_on {
            request.pick(
                "Nothing in this part. There may be something further back.",
                "Rien dans cette partie. Il peut y en avoir plus loin.",
            )
        } else if self.is_narrowed(request) {
            request.pick("Nothing matches.", "Aucun résultat.")
        } else {
            request.pick("Nothing yet.", "Rien pour l’instant.")
        };
        html! { p { (text) } }
    }

    /// Links to the first page and to the next one, if there are such.
    pub(super) fn links(&self, request: &PageRequest<'_>, next: Option<impl Display>) -> Markup {
        let is_first = request.form.given(BEFORE).is_none();
        if is_first && next.is_none() {
            return Markup::default();
        }
        html! {
            nav.actions aria-label=(request.pick("Pages", "Pages")) {
                @if let Some(next) = next {
                    a.button.plain rel="next" href=(self.address(request, Some(&next.to_string()))) {
                        (request.pick("Continue", "Suite"))
                    }
                }
                @if !is_first {
                    a href=(self.address(request, None)) {
                        (request.pick("Back to the newest", "Revenir aux plus récents"))
                    }
                }
            }
        }
    }

    /// The address of a page with the filters of this one.
    fn address(&self, request: &PageRequest<'_>, before: Option<&str>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for name in self.filters {
            if let Some(value) = request.form.given(name) {
                query.append_pair(name, value);
            }
        }
        if let Some(before) = before {
            query.append_pair(BEFORE, before);
        }
        let query = query.finish();
        request.link(if query.is_empty() { self.path.clone() } else { format!("{}?{query}", self.path) })
    }
}
