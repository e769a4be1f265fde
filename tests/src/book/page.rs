//! A Markdown file, taken apart.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use scraper::{Html, Selector};

use crate::files_below;

/// A file, with all that the tests look at.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// From the root of the repository.
    pub(super) path: String,
    /// Targets of links and of pictures, those of HTML too.
    pub(super) links: Vec<String>,
    /// The anchors of its headings.
    pub(super) anchors: Vec<String>,
    pub(super) blocks: Vec<Block>,
    /// Texts in backquotes.
    pub(super) spans: Vec<String>,
}

/// A block of code.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// All that stands behind the fence, such as `rust,no_run`.
    pub(super) info: String,
    pub(super) text: String,
}

impl Block {
    pub(super) fn language(&self) -> &str {
        self.info.split(',').next().unwrap_or_default()
    }
}

impl Page {
    pub(super) fn read(root: &Path, file: &Path) -> Self {
        let path = file.strip_prefix(root).unwrap().to_str().unwrap();
        Self::parse(path, &fs::read_to_string(file).unwrap())
    }

    pub(super) fn parse(path: &str, text: &str) -> Self {
        let mut page = Self { path: path.to_owned(), ..Self::default() };
        let (mut heading, mut block, mut html) = (None::<String>, None::<Block>, String::new());
        let mut headings = Vec::new();
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push(dest_url.into_string());
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => headings.extend(heading.take()),
                Event::Start(Tag::CodeBlock(kind)) => {
                    let info = match kind {
                        CodeBlockKind::Fenced(info) => info.into_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    block = Some(Block { info, text: String::new() });
                }
                Event::End(TagEnd::CodeBlock) => page.blocks.extend(block.take()),
                Event::Text(text) => {
                    if let Some(block) = &mut block {
                        block.text.push_str(&text);
                    } else if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::Code(span) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&span);
                    }
                    page.spans.push(span.into_string());
                }
                Event::Html(part) | Event::InlineHtml(part) => html.push_str(&part),
                _ => {}
            }
        }
        page.anchors = anchors(&headings);
        page.links.extend(of_html(&html));
        page
    }

    /// The folder of the file, from the root.
    pub(super) fn folder(&self) -> &Path {
        Path::new(&self.path).parent().unwrap()
    }
}

/// The anchors that GitHub gives to headings: words in lower case, joined by hyphens, and numbered if they repeat.
fn anchors(headings: &[String]) -> Vec<String> {
    let mut seen = BTreeMap::<String, usize>::new();
    let anchor = |heading: &String| {
        let kept = heading.to_lowercase().replace(' ', "-");
        let slug: String = kept.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
        let before = seen.entry(slug.clone()).or_default();
        *before += 1;
        if *before == 1 { slug } else { format!("{slug}-{}", *before - 1) }
    };
    headings.iter().map(anchor).collect()
}

/// The targets in HTML, such as a `<picture>`.
fn of_html(html: &str) -> Vec<String> {
    let all = Selector::parse("[href], [src], [srcset]").unwrap();
    let fragment = Html::parse_fragment(html);
    let targets = fragment.select(&all).flat_map(|tag| {
        let attribute = |name| tag.value().attr(name);
        let sources = attribute("srcset").into_iter().flat_map(|set| set.split(','));
        let sources = sources.filter_map(|source| source.split_whitespace().next());
        attribute("href")
            .into_iter()
            .chain(attribute("src"))
            .chain(sources)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    targets.collect()
}

/// All Markdown below a folder.
pub(super) fn pages(root: &Path) -> Vec<Page> {
    let mut files = files_below(root);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.iter().map(|file| Page::read(root, file)).collect()
}
