//! A parsed page, with look-ups for tests.

use std::fmt;

use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// A page.
pub(super) struct Html(RcDom);

/// An element of a page.
pub(super) struct Element(Handle);

impl Html {
    pub(super) fn parse(text: &str) -> Self {
        Self(parse_document(RcDom::default(), ParseOpts::default()).one(text))
    }

    /// The errors that the parser corrected.
    pub(super) fn errors(&self) -> Vec<String> {
        self.0.errors.borrow().iter().map(ToString::to_string).collect()
    }

    /// Every element, in the order of the page.
    pub(super) fn elements(&self) -> Vec<Element> {
        Element(self.0.document.clone()).descendants()
    }

    /// The elements of this name.
    pub(super) fn all(&self, name: &str) -> Vec<Element> {
        Element(self.0.document.clone()).all(name)
    }

    pub(super) fn by_id(&self, id: &str) -> Option<Element> {
        self.elements().into_iter().find(|it| it.attribute("id").as_deref() == Some(id))
    }

    /// The section that has the heading of this id.
    pub(super) fn section(&self, id: &str) -> Element {
        let of_heading = |it: &Element| it.attribute("aria-labelledby").as_deref() == Some(id);
        self.elements().into_iter().find(of_heading).unwrap_or_else(|| panic!("there is no section {id}"))
    }
}

impl Element {
    pub(super) fn name(&self) -> String {
        match &self.0.data {
            NodeData::Element { name, .. } => name.local.to_string(),
            _ => String::new(),
        }
    }

    pub(super) fn attributes(&self) -> Vec<String> {
        match &self.0.data {
            NodeData::Element { attrs, .. } => {
                attrs.borrow().iter().map(|it| it.name.local.to_string()).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let NodeData::Element { attrs, .. } = &self.0.data else { return None };
        attrs.borrow().iter().find(|it| &*it.name.local == name).map(|it| it.value.to_string())
    }

    /// The text in it.
    pub(super) fn text(&self) -> String {
        if let NodeData::Text { contents } = &self.0.data {
            return contents.borrow().to_string();
        }
        self.0.children.borrow().iter().map(|child| Self(child.clone()).text()).collect()
    }

    /// The elements of this name in it.
    pub(super) fn all(&self, name: &str) -> Vec<Self> {
        self.descendants().into_iter().filter(|element| element.name() == name).collect()
    }

    fn descendants(&self) -> Vec<Self> {
        let mut found = Vec::new();
        for child in self.0.children.borrow().iter() {
            if matches!(child.data, NodeData::Element { .. }) {
                found.push(Self(child.clone()));
            }
            found.extend(Self(child.clone()).descendants());
        }
        found
    }
}

impl fmt::Debug for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}> {:.60}", self.name(), self.text())
    }
}
