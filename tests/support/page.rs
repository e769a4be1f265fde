//! A page by its structure, as a browser reads it. A CSS selector chooses the elements.

use scraper::{ElementRef, Html, Selector};

pub(crate) struct Page(Html);

impl Page {
    pub(crate) fn read(html: &str) -> Self {
        Self(Html::parse_document(html))
    }

    /// The texts of the elements, in the order of the page, with single spaces.
    pub(crate) fn texts(&self, selector: &str) -> Vec<String> {
        self.find(selector).into_iter().map(text).collect()
    }

    /// The text of the only such element.
    pub(crate) fn text(&self, selector: &str) -> String {
        self.only(selector, self.texts(selector))
    }

    /// An attribute of the elements that have it, in the order of the page.
    pub(crate) fn attrs(&self, selector: &str, name: &str) -> Vec<String> {
        self.find(selector).into_iter().filter_map(|element| element.attr(name)).map(str::to_owned).collect()
    }

    /// The attribute of the only such element.
    pub(crate) fn attr(&self, selector: &str, name: &str) -> String {
        self.only(selector, self.attrs(selector, name))
    }

    pub(crate) fn has(&self, selector: &str) -> bool {
        !self.find(selector).is_empty()
    }

    fn find(&self, selector: &str) -> Vec<ElementRef<'_>> {
        self.0
            .select(&Selector::parse(selector).unwrap_or_else(|error| panic!("{selector}: {error:?}")))
            .collect()
    }

    fn only(&self, selector: &str, mut found: Vec<String>) -> String {
        assert_eq!(found.len(), 1, "{selector}: {found:?} in {}", self.0.html());
        found.remove(0)
    }
}

fn text(element: ElementRef<'_>) -> String {
    let pieces = element.text().collect::<Vec<_>>().join(" ");
    pieces.split_whitespace().collect::<Vec<_>>().join(" ")
}
