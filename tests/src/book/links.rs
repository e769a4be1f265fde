//! The links, anchors and paths of pages.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use super::page::Page;

const REPOSITORY: &str = "https://github.com/invoicing-rs/invoicing/";
/// Folders whose Markdown is published without the rest of the repository.
const APART: [&str; 5] = ["docs", "invoicing-client", "invoicing-core", "invoicing-server", "webhook-verify"];
/// Beginnings of the paths that texts name in backquotes.
const PATHS: [&str; 8] = [
    ".ci/",
    "docs/",
    "examples/",
    "invoicing-client/",
    "invoicing-core/",
    "invoicing-server/",
    "tests/",
    "webhook-verify/",
];
const SUMMARY: &str = "docs/SUMMARY.md";

/// Every link and path that leads nowhere, and every page that the summary lacks or has twice.
pub(super) fn faults(root: &Path, pages: &[Page]) -> Vec<String> {
    let mut faults = unlisted(pages);
    for page in pages {
        let faults_of = page.links.iter().filter_map(|link| fault(root, pages, page, link));
        faults.extend(faults_of.map(|fault| format!("{}: {fault}", page.path)));
        let gone = page.spans.iter().filter(|span| is_gone(root, span));
        faults.extend(gone.map(|span| format!("{}: nothing is at `{span}`", page.path)));
    }
    faults
}

/// The fault of a link, if it has one.
fn fault(root: &Path, pages: &[Page], page: &Page, link: &str) -> Option<String> {
    let (target, anchor) =
        link.split_once('#').map_or((link, None), |(target, anchor)| (target, Some(anchor)));
    let path = match target.strip_prefix(REPOSITORY) {
        Some(rest) => {
            // Others are services of the forge, such as its advisories.
            let (kind, path) = ["blob/main/", "tree/main/", "raw/main/"]
                .into_iter()
                .find_map(|kind| Some((kind, rest.strip_prefix(kind)?)))?;
            if root.join(path).is_dir() != (kind == "tree/main/") {
                return Some(format!("{link}: a file is a blob and a folder a tree, or nothing is there"));
            }
            path.to_owned()
        }
        None if target.contains("://") || target.starts_with("mailto:") => return None,
        None if target.is_empty() => page.path.clone(),
        None => normal(&page.folder().join(target))?,
    };
    let apart = APART.iter().find(|folder| Path::new(&page.path).starts_with(folder));
    if !target.starts_with(REPOSITORY) && apart.is_some_and(|folder| !Path::new(&path).starts_with(folder)) {
        return Some(format!("{link} leaves the folder, which is published apart"));
    }
    if !root.join(&path).exists() {
        return Some(format!("{link} leads nowhere"));
    }
    let anchor = anchor?;
    let leads = pages.iter().any(|page| page.path == path && page.anchors.iter().any(|a| a == anchor));
    (!leads).then(|| format!("{link}: no heading has this anchor"))
}

/// A path without `..`; `None` if it leaves the repository.
fn normal(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = parts.pop()?,
            Component::Normal(name) => parts.push(name.to_str()?),
            _ => {}
        }
    }
    Some(parts.join("/"))
}

/// True for a path that the repository lacks. One with a blank or a placeholder is a command or a pattern.
fn is_gone(root: &Path, span: &str) -> bool {
    let is_path =
        PATHS.iter().any(|beginning| span.starts_with(beginning)) && !span.contains([' ', '<', '*', '…']);
    is_path && !root.join(span).exists()
}

fn unlisted(pages: &[Page]) -> Vec<String> {
    let Some(summary) = pages.iter().find(|page| page.path == SUMMARY) else {
        return vec![format!("{SUMMARY} is missing")];
    };
    let mut listed = BTreeSet::new();
    let paths = summary.links.iter().filter_map(|link| normal(&summary.folder().join(link)));
    let twice: Vec<_> = paths.filter(|path| !listed.insert(path.clone())).collect();
    let book = pages.iter().filter(|page| page.path.starts_with("docs/") && page.path != SUMMARY);
    let missing = book.filter(|page| !listed.contains(&page.path));
    let missing = missing.map(|page| format!("{SUMMARY} lacks {}", page.path));
    missing.chain(twice.iter().map(|path| format!("{SUMMARY} has {path} twice"))).collect()
}
