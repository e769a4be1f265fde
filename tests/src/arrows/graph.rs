//! From the paths that modules name to the modules in which the things behind them are declared.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Mention, Module, Modules};

/// More imports in a row than any name has: ends the search if an import is called like its own crate.
const MAX_IMPORTS: usize = 16;

/// A module names another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrow {
    pub(super) from: String,
    pub(super) to: String,
    /// Where, and by which path.
    pub(super) place: String,
}

/// The arrows between the modules of a crate. The root only mounts and exports: what it names is no arrow, and a name
/// that it exports leads on to the module that declares it.
pub(super) fn arrows(modules: &Modules) -> BTreeSet<Arrow> {
    let named = modules.iter().filter(|(from, _)| *from != "crate");
    named
        .flat_map(|(from, module)| {
            module.mentions.iter().flat_map(move |mention| of(modules, from, module, mention))
        })
        .collect()
}

fn of(modules: &Modules, from: &str, module: &Module, mention: &Mention) -> Vec<Arrow> {
    let place = format!("{}:{} names {}", module.file, mention.line, mention.segments.join("::"));
    let arrow = |to| Arrow { from: from.to_owned(), to, place: place.clone() };
    Search { modules, found: Vec::new() }.path(from, &mention.segments, 0).into_iter().map(arrow).collect()
}

struct Search<'a> {
    modules: &'a Modules,
    found: Vec<String>,
}

impl Search<'_> {
    /// The modules that a path leads to: the one that it names, and if it is an import there, the ones behind that.
    fn path(mut self, from: &str, segments: &[String], imports: usize) -> Vec<String> {
        self.follow(from, segments, imports);
        self.found.retain(|to| to != "crate" && to != from);
        self.found
    }

    fn follow(&mut self, from: &str, segments: &[String], imports: usize) {
        let [first, rest @ ..] = segments else { return };
        match first.as_str() {
            "crate" => self.walk("crate", rest, imports),
            "self" => self.walk(from, rest, imports),
            "super" => self.walk(parent(from), rest, imports),
            _ => self.name(from, segments, imports),
        }
    }

    /// Goes on within a module.
    fn walk(&mut self, module: &str, segments: &[String], imports: usize) {
        match segments {
            [first, rest @ ..] if first == "super" => self.walk(parent(module), rest, imports),
            segments => {
                if !segments.first().is_some_and(|first| self.is_child(module, first)) {
                    self.found.push(module.to_owned());
                }
                self.name(module, segments, imports);
            }
        }
    }

    /// Looks a name up in a module. One that is neither a child nor an import is declared there, or of another crate.
    fn name(&mut self, module: &str, segments: &[String], imports: usize) {
        let [first, rest @ ..] = segments else { return };
        if self.is_child(module, first) {
            return self.walk(&format!("{module}::{first}"), rest, imports);
        }
        let modules = self.modules;
        if imports == MAX_IMPORTS {
            return;
        }
        if let Some(import) = modules[module].imports.get(first) {
            return self.follow(module, &[import.as_slice(), rest].concat(), imports + 1);
        }
        if !modules[module].macros.contains(first) {
            for glob in &modules[module].globs {
                self.follow(module, &[glob.as_slice(), segments].concat(), imports + 1);
            }
        }
    }

    fn is_child(&self, module: &str, name: &str) -> bool {
        self.modules.contains_key(&format!("{module}::{name}"))
    }
}

fn parent(module: &str) -> &str {
    module.rsplit_once("::").map_or("crate", |(parent, _)| parent)
}

/// The circles between modules of the same parent, as the arrows that they consist of, each with one place. A module
/// below another one counts as that one; the parent itself counts as none of them.
pub(super) fn circles(arrows: &BTreeSet<Arrow>) -> Vec<String> {
    let mut families: BTreeMap<String, BTreeMap<(String, String), &str>> = BTreeMap::new();
    for arrow in arrows {
        if let Some((family, from, to)) = siblings(&arrow.from, &arrow.to) {
            families.entry(family).or_default().entry((from, to)).or_insert(&arrow.place);
        }
    }
    families.into_iter().flat_map(|(family, arrows)| on_circles(&family, arrows)).collect()
}

/// The circles between files, as the arrows that they consist of, each with one place. A module and those below it may name each
/// other.
pub(super) fn circles_of_files(modules: &Modules, arrows: &BTreeSet<Arrow>) -> Vec<String> {
    let mut between = BTreeMap::new();
    for arrow in arrows {
        let (from, to) = (&modules[&arrow.from].file, &modules[&arrow.to].file);
        if !is_above(from, to) && !is_above(to, from) {
            between.entry((from.clone(), to.clone())).or_insert(&*arrow.place);
        }
    }
    on_circles("files", between)
}

/// True if the module of the first file is the second one's, or above it.
fn is_above(file: &str, other: &str) -> bool {
    let stem = file.trim_end_matches(".rs");
    file == other || other.strip_prefix(stem).is_some_and(|rest| rest.starts_with('/'))
}

/// The closest common ancestor of two modules, and its two children towards them.
fn siblings(from: &str, to: &str) -> Option<(String, String, String)> {
    let (from, to): (Vec<_>, Vec<_>) = (from.split("::").collect(), to.split("::").collect());
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let (from_child, to_child) = (from.get(common)?, to.get(common)?);
    Some((from[..common].join("::"), (*from_child).to_owned(), (*to_child).to_owned()))
}

/// Takes arrows away whose end names nothing, or whose start nothing names, until all that are left lie on circles or
/// between two.
fn on_circles(family: &str, mut arrows: BTreeMap<(String, String), &str>) -> Vec<String> {
    loop {
        let length = arrows.len();
        let starts: BTreeSet<_> = arrows.keys().map(|(from, _)| from.clone()).collect();
        let ends: BTreeSet<_> = arrows.keys().map(|(_, to)| to.clone()).collect();
        arrows.retain(|(from, to), _| starts.contains(to) && ends.contains(from));
        if arrows.len() == length {
            let line = |((from, to), place)| format!("{family}: {from} -> {to}: {place}");
            return arrows.into_iter().map(line).collect();
        }
    }
}
