//! The modules of a crate, as its source text declares them: what each imports, and which paths it names.
//!
//! Reads tokens and no syntax tree. The bodies of macros then need no rule of their own, and no test waits for a parser
//! to be built.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};

/// A module. Modules are known by their path from the crate's root, which is `crate`.
#[derive(Default)]
pub(super) struct Module {
    pub(super) file: String,
    /// The names of the module, each with the path behind it.
    pub(super) imports: BTreeMap<String, Vec<String>>,
    /// The paths that end in `*`.
    pub(super) globs: Vec<Vec<String>>,
    pub(super) macros: BTreeSet<String>,
    pub(super) mentions: Vec<Mention>,
}

/// A path that is named outside of test code.
pub(super) struct Mention {
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
}

/// The modules of a crate by path.
pub(super) type Modules = BTreeMap<String, Module>;

/// Reads a crate from its root file on. `text` returns the text of a file, if it exists.
pub(super) fn modules(text: &dyn Fn(&str) -> Option<String>) -> Modules {
    let mut reader = Reader { text, modules: Modules::new() };
    reader.file("crate", "lib.rs");
    reader.modules
}

struct Reader<'a> {
    text: &'a dyn Fn(&str) -> Option<String>,
    modules: Modules,
}

impl Reader<'_> {
    fn file(&mut self, path: &str, file: &str) {
        let text = (self.text)(file).unwrap_or_else(|| panic!("{path} has no file {file}"));
        let tokens = text.parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        self.module(path, file, tokens);
    }

    fn module(&mut self, path: &str, file: &str, tokens: TokenStream) {
        self.modules.insert(path.to_owned(), Module { file: file.to_owned(), ..Module::default() });
        self.tokens(path, tokens);
    }

    fn tokens(&mut self, path: &str, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let (before, rest) = tokens.split_at(at);
            at += self.item(path, before, rest);
        }
    }

    /// Reads what the tokens begin with, and returns how many of them that is.
    fn item(&mut self, path: &str, before: &[TokenTree], tokens: &[TokenTree]) -> usize {
        match tokens {
            [TokenTree::Punct(hash), TokenTree::Group(attribute), rest @ ..]
                if hash.as_char() == '#' && is_for_tests(attribute) =>
            {
                2 + length_of_item(rest)
            }
            [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Punct(_), ..] if word == "mod" => {
                self.declared(path, name);
                3
            }
            [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body), ..] if word == "mod" => {
                let file = self.modules[path].file.clone();
                self.module(&format!("{path}::{name}"), &file, body.stream());
                3
            }
            [TokenTree::Ident(word), TokenTree::Punct(_), TokenTree::Ident(name), ..]
                if word == "macro_rules" =>
            {
                self.of(path).macros.insert(name.to_string());
                3
            }
            // `impl Trait + use<'a>` imports nothing.
            [TokenTree::Ident(word), rest @ ..] if word == "use" && !is(&rest[0], '<') => {
                let length = rest.iter().position(|token| is(token, ';')).unwrap_or(rest.len());
                self.imports(path, &[], &rest[..length]);
                1 + length
            }
            [TokenTree::Group(group), ..] => {
                self.tokens(path, group.stream());
                1
            }
            [TokenTree::Ident(_), ..] => self.path(path, before, tokens),
            _ => 1,
        }
    }

    fn of(&mut self, path: &str) -> &mut Module {
        self.modules.get_mut(path).expect("a module that is being read")
    }

    /// `mod name;`
    fn declared(&mut self, path: &str, name: &Ident) {
        let path = format!("{path}::{name}");
        let stem = path.trim_start_matches("crate::").replace("::", "/");
        self.file(&path, &format!("{stem}.rs"));
    }

    /// One tree of a `use`, below the path that leads to it.
    fn imports(&mut self, path: &str, base: &[String], tree: &[TokenTree]) {
        let names = tree.iter().take_while(|token| !matches!(token, TokenTree::Ident(word) if word == "as"));
        let names = names.filter(|token| matches!(token, TokenTree::Ident(_))).map(ToString::to_string);
        let mut segments: Vec<_> = base.iter().cloned().chain(names).collect();
        match tree {
            [.., TokenTree::Group(trees)] => {
                let trees: Vec<_> = trees.stream().into_iter().collect();
                for tree in trees.split(|token| is(token, ',')).filter(|tree| !tree.is_empty()) {
                    self.imports(path, &segments, tree);
                }
            }
            [.., TokenTree::Ident(name)] => {
                segments.pop_if(|last| last == "self");
                self.import(path, name, segments);
            }
            [.., star] => {
                self.mention(path, segments.clone(), star.span());
                self.of(path).globs.push(segments);
            }
            [] => {}
        }
    }

    /// The name is the last word of the path, or of `as`.
    fn import(&mut self, path: &str, name: &Ident, segments: Vec<String>) {
        let called = if name == "self" { segments.last().cloned() } else { Some(name.to_string()) };
        self.mention(path, segments.clone(), name.span());
        self.of(path).imports.extend(called.map(|called| (called, segments)));
    }

    fn mention(&mut self, path: &str, segments: Vec<String>, at: Span) {
        self.of(path).mentions.push(Mention { segments, line: at.start().line });
    }

    /// A path in code, `crate::store::Store` or `on!`. A single word names something of the same module or an import,
    /// unless a macro is called by it.
    fn path(&mut self, path: &str, before: &[TokenTree], tokens: &[TokenTree]) -> usize {
        let mut segments = vec![tokens[0].to_string()];
        while let [a, b, TokenTree::Ident(next), ..] = &tokens[3 * segments.len() - 2..]
            && is(a, ':')
            && is(b, ':')
        {
            segments.push(next.to_string());
        }
        let length = 3 * segments.len() - 2;
        let is_call = tokens.get(length).is_some_and(|token| is(token, '!'));
        if can_begin_path(before, &segments[0]) && (segments.len() > 1 || is_call) {
            self.mention(path, segments, tokens[0].span());
        }
        length
    }
}

/// True if a word begins a path.
fn can_begin_path(before: &[TokenTree], word: &str) -> bool {
    match before {
        // A range, or the rest of a struct.
        [.., a, b] if is(a, '.') && is(b, '.') => true,
        // `<T as Trait>::name`, or `::name` of another crate.
        [.., a, b] if is(a, ':') && is(b, ':') => false,
        // `self.name`, or a lifetime.
        [.., a] if is(a, '.') || is(a, '\'') => false,
        [.., a] if is(a, '$') => word == "crate",
        _ => true,
    }
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// `#[cfg(test)]`, alone or with further conditions. Code with `any(test, feature = "testing")` is shipped to hosts.
fn is_for_tests(attribute: &Group) -> bool {
    let text: String = attribute.stream().to_string().split_whitespace().collect();
    text.starts_with("cfg(test") || text.starts_with("cfg(all(test")
}

/// How many tokens the item, field or statement takes that these begin with.
fn length_of_item(tokens: &[TokenTree]) -> usize {
    let ends_with_body = tokens
        .iter()
        .take_while(|token| !is(token, ';') && !is(token, '=') && !is(token, ','))
        .any(|token| matches!(token, TokenTree::Ident(word) if BODIES.contains(&word.to_string().as_str())));
    let is_end = |token: &TokenTree| match token {
        TokenTree::Group(group) => ends_with_body && group.delimiter() == Delimiter::Brace,
        token => is(token, ';') || !ends_with_body && is(token, ','),
    };
    tokens.iter().position(is_end).map_or(tokens.len(), |at| at + 1)
}

/// The words of items that a body in braces ends.
const BODIES: [&str; 7] = ["fn", "mod", "impl", "struct", "enum", "trait", "macro_rules"];
