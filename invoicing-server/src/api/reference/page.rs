//! The layout of the page: header, contents, and the chapters in their order.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

use super::content::{ReferencePage, heading};
use super::document::{Document, Operation};
use super::markdown::{Chapter, Links, chapters, top_level};
use super::{STYLE, code, errors, events, failures, operations, records};
use crate::snippets::{LANGUAGES, Language};

/// The changes for integrators.
const CHANGELOG: &str = include_str!("../../../reference/changelog.md");

/// A chapter of the page.
struct Section {
    id: String,
    title: String,
    body: Markup,
    /// The ids and the titles of the parts that the contents name.
    parts: Vec<(String, String)>,
}

/// The page for an OpenAPI document.
pub(super) fn render(document: &Value) -> String {
    let document = Document::new(document);
    let links = links(&document);
    let page = ReferencePage { document, links };
    let description = page.document.text(&["info", "description"]);
    let (intro, guide) = chapters(description, top_level(description));
    let sections: Vec<_> = guide.iter().map(|chapter| page.guide(chapter)).chain(page.generated()).collect();
    page.layout(intro, &sections).into_string()
}

impl ReferencePage<'_> {
    fn layout(&self, intro: &str, sections: &[Section]) -> Markup {
        let title = self.document.text(&["info", "title"]);
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="description" content=(self.document.text(&["info", "summary"]));
                    title { (title) " reference" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#content" { "Skip to the content" }
                    header.bar {
                        a.brand href="#content" { (title) }
                        (languages())
                    }
                    div.layout {
                        (contents(sections))
                        main #content tabindex="-1" {
                            (self.introduction(title, intro))
                            @for section in sections { (section.render()) }
                        }
                    }
                }
            }
        }
    }

    fn introduction(&self, title: &str, intro: &str) -> Markup {
        html! {
            section.introduction aria-labelledby="introduction" {
                h1 #introduction { (title) " reference" }
                p.lead { (self.document.text(&["info", "summary"])) }
                dl.facts {
                    div { dt { "Address" } dd { code { (self.document.base_url()) } } }
                    div { dt { "Version" } dd { (self.document.text(&["info", "version"])) } }
                    div { dt { "For machines" } dd { a href="openapi.json" { "openapi.json" } " (OpenAPI 3.1)" } }
                }
                (self.links.render(intro))
            }
        }
    }

    /// A chapter of the document's description, with its code and tables.
    fn guide(&self, chapter: &Chapter<'_>) -> Section {
        let (intro, parts) = chapters(chapter.text, self.level() + 1);
        let body = html! {
            (self.links.render(intro))
            (self.supplement(&chapter.id()))
            @for part in &parts {
                section.part aria-labelledby=(part.id()) {
                    (heading(&part.id(), part.title))
                    (self.links.render(part.text))
                    (self.supplement(&part.id()))
                }
            }
        };
        let parts = parts.iter().map(|part| (part.id(), part.title.to_owned())).collect();
        Section { id: chapter.id(), title: chapter.title.to_owned(), body, parts }
    }

    /// The level of the description's chapters.
    fn level(&self) -> usize {
        top_level(self.document.text(&["info", "description"]))
    }

    /// Code and tables that a chapter of the description lacks.
    fn supplement(&self, chapter: &str) -> Markup {
        match chapter {
            "authentication" => html! {
                p { "The requests of this page use what is set up here:" }
                (code::snippets("Set up", Language::setup))
            },
            "errors" => errors::codes(self),
            "answering" => failures::table(),
            "verifying-a-delivery" => code::snippets("Verify a delivery", Language::verification),
            _ => Markup::default(),
        }
    }

    /// The chapters that are made of the document's parts.
    fn generated(&self) -> impl Iterator<Item = Section> {
        let tags = self.document.tags().filter_map(|tag| self.tag(tag));
        tags.chain([self.events(), self.records(), self.headers(), self.changelog()])
    }

    /// The operations of a tag, if there are any.
    fn tag(&self, tag: &Value) -> Option<Section> {
        let name = tag["name"].as_str()?;
        let operations: Vec<_> = self.document.operations().filter(|it| it.has_tag(name)).collect();
        let body = html! {
            (self.links.render(tag["description"].as_str().unwrap_or_default()))
            (operations::overview(&operations))
            @for operation in &operations { (operations::render(self, operation)) }
        };
        let section = || Section {
            id: super::markdown::slug(name),
            title: name.to_owned(),
            body,
            parts: titles(&operations),
        };
        (!operations.is_empty()).then(section)
    }

    fn events(&self) -> Section {
        let events: Vec<_> = self.document.events().collect();
        let body = html! {
            (events::overview(&events))
            @for event in &events { (events::render(self, event)) }
        };
        let parts = events.iter().map(|event| (events::id(event.path), event.path.to_owned())).collect();
        Section { id: "events".into(), title: "Events".into(), body, parts }
    }

    fn records(&self) -> Section {
        let records: Vec<_> = self.document.nested_schemas().map(|(name, _)| name).collect();
        let body = html! {
            p { "The records that answers, requests and events are made of." }
            @for name in &records {
                section.part aria-labelledby=(records::id(name)) {
                    (heading(&records::id(name), name))
                    (records::schema(self, name))
                }
            }
        };
        let parts = records.iter().map(|name| (records::id(name), (*name).to_owned())).collect();
        Section { id: "records".into(), title: "Records".into(), body, parts }
    }

    fn headers(&self) -> Section {
        let body = errors::headers(self);
        Section { id: "headers".into(), title: "Headers of answers".into(), body, parts: Vec::new() }
    }

    fn changelog(&self) -> Section {
        let body = self.links.render(CHANGELOG);
        Section { id: "changelog".into(), title: "Changelog".into(), body, parts: Vec::new() }
    }
}

impl Section {
    fn render(&self) -> Markup {
        html! {
            section aria-labelledby=(self.id) {
                h2 id=(self.id) { a href={ "#" (self.id) } { (self.title) } }
                (self.body)
            }
        }
    }
}

/// One choice for all examples. The style shows the examples in the chosen language.
fn languages() -> Markup {
    html! {
        fieldset.languages {
            legend { "Language of the examples" }
            @for (index, language) in LANGUAGES.iter().enumerate() {
                label {
                    input type="radio" name="language" id={ "language-" (language.id) } checked[index == 0];
                    span { (language.name) }
                }
            }
        }
    }
}

fn contents(sections: &[Section]) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            details {
                summary { "Contents" }
                ul {
                    @for section in sections {
                        li {
                            a href={ "#" (section.id) } { (section.title) }
                            @if !section.parts.is_empty() {
                                ul {
                                    @for (id, title) in &section.parts {
                                        li { a href={ "#" (id) } { (title) } }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn titles(operations: &[Operation<'_>]) -> Vec<(String, String)> {
    operations.iter().map(|it| (it.id().to_owned(), it.text("summary").to_owned())).collect()
}

/// The links of the names in texts: chapters, operations, events, errors and records.
fn links(document: &Document<'_>) -> Links {
    let mut links = Links::default();
    let description = document.text(&["info", "description"]);
    let level = top_level(description);
    for chapter in &chapters(description, level).1 {
        let (_, parts) = chapters(chapter.text, level + 1);
        parts.iter().chain([chapter]).for_each(|part| links.add(part.title, part.id()));
    }
    for operation in document.operations() {
        links.add(format!("{} {}", operation.method.to_ascii_uppercase(), operation.path), operation.id());
    }
    document.events().for_each(|event| links.add(event.path, events::id(event.path)));
    for error in errors::all(document) {
        links.add(error.code, errors::id(error.code));
    }
    document.nested_schemas().for_each(|(name, _)| links.add(name, records::id(name)));
    links
}
