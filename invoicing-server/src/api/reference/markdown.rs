//! `CommonMark`, as descriptions of an OpenAPI document are written in, to HTML.
//!
//! Code that names an operation, an event or an error becomes a link to it, as does an emphasised
//! title of a chapter.

use std::collections::HashMap;

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, html};

/// The start tag around content that scrolls inside itself.
const SCROLLS: &str = "<div class=\"scroll\">";

/// The targets of links: the id of a section, by the text that names it.
#[derive(Default)]
pub(super) struct Links(HashMap<String, String>);

impl Links {
    pub(super) fn add(&mut self, text: impl Into<String>, id: impl Into<String>) {
        self.0.entry(text.into()).or_insert_with(|| id.into());
    }

    /// The HTML of a text.
    pub(super) fn render(&self, text: &str) -> Markup {
        let mut html = String::new();
        html::push_html(&mut html, self.events(text));
        // In a text, `<` is escaped.
        PreEscaped(html.replace("<th>", "<th scope=\"col\">"))
    }

    /// The HTML of a text of one paragraph, without the paragraph.
    pub(super) fn render_inline(&self, text: &str) -> Markup {
        let is_paragraph =
            |event: &Event<'_>| matches!(event, Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph));
        let mut html = String::new();
        html::push_html(&mut html, self.events(text).filter(|event| !is_paragraph(event)));
        PreEscaped(html)
    }

    fn events<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Event<'t>> {
        let mut is_emphasised = false;
        Parser::new_ext(text, Options::ENABLE_TABLES).flat_map(move |event| {
            let linked = match &event {
                Event::Code(name) => self.0.get(&**name),
                Event::Text(name) if is_emphasised => self.0.get(&**name),
                _ => None,
            };
            is_emphasised = matches!(event, Event::Start(Tag::Emphasis));
            match (event, linked) {
                (event, Some(id)) => vec![Event::Start(link(id)), event, Event::End(TagEnd::Link)],
                // A description has no HTML, so its tags are shown as text.
                (Event::Html(text) | Event::InlineHtml(text), _) => vec![Event::Text(text)],
                (Event::Start(Tag::Table(columns)), _) => {
                    vec![Event::Html(SCROLLS.into()), Event::Start(Tag::Table(columns))]
                }
                (Event::End(TagEnd::Table), _) => {
                    vec![Event::End(TagEnd::Table), Event::Html("</div>".into())]
                }
                (event, None) => vec![event],
            }
        })
    }
}

fn link(id: &str) -> Tag<'static> {
    let target = CowStr::from(format!("#{id}"));
    Tag::Link { link_type: LinkType::Inline, dest_url: target, title: "".into(), id: "".into() }
}

/// A part of a text that begins with a heading.
pub(super) struct Chapter<'t> {
    pub(super) title: &'t str,
    pub(super) text: &'t str,
}

impl Chapter<'_> {
    pub(super) fn id(&self) -> String {
        slug(self.title)
    }
}

/// The level of the headings that divide a text into chapters.
pub(super) fn top_level(text: &str) -> usize {
    if text.contains("\n# ") { 1 } else { 2 }
}

/// The text before the first heading of a level, and the chapters that begin with one.
pub(super) fn chapters(text: &str, level: usize) -> (&str, Vec<Chapter<'_>>) {
    let mark = format!("\n{} ", "#".repeat(level));
    let (intro, rest) = text.find(&mark).map_or((text, ""), |at| text.split_at(at));
    let parts = rest.split(&*mark).skip(1);
    let chapter = |part| {
        let (title, text) = str::split_once(part, '\n').unwrap_or((part, ""));
        Chapter { title: title.trim(), text }
    };
    (intro, parts.map(chapter).collect())
}

/// An id: `Catching up` is `catching-up`.
pub(super) fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_links_and_html_becomes_text() {
        let mut links = Links::default();
        links.add("not_found", "error-not_found");
        links.add("Catching up", "catching-up");
        let shown = |text| links.render_inline(text).into_string();
        assert_eq!(shown("`not_found`"), "<a href=\"#error-not_found\"><code>not_found</code></a>");
        assert_eq!(shown("*Catching up*"), "<em><a href=\"#catching-up\">Catching up</a></em>");
        assert_eq!(shown("Catching up, *soon*, `x`"), "Catching up, <em>soon</em>, <code>x</code>");
        assert_eq!(shown("a <b>c</b>"), "a &lt;b&gt;c&lt;/b&gt;");
    }

    #[test]
    fn tables_scroll_and_have_headers() {
        let shown = Links::default().render("| A |\n|---|\n| 1 |").into_string();
        assert!(
            shown.starts_with("<div class=\"scroll\"><table><thead>") && shown.ends_with("</table>\n</div>"),
            "{shown}"
        );
        assert!(shown.contains("<th scope=\"col\">A</th>"), "{shown}");
    }

    #[test]
    fn chapters_begin_with_headings_of_their_level() {
        let text = "Hello.\n\n# One\n\nText.\n\n## Sub\n\nDeep.\n\n# Two words\nMore.";
        let (intro, found) = chapters(text, 1);
        assert_eq!(intro.trim(), "Hello.");
        let ids: Vec<_> = found.iter().map(Chapter::id).collect();
        assert_eq!(ids, ["one", "two-words"]);
        let (intro, found) = chapters(found[0].text, 2);
        assert_eq!((intro.trim(), found[0].title, found[0].text.trim()), ("Text.", "Sub", "Deep."));
        assert_eq!(chapters("", 1).1.len(), 0);
    }
}
