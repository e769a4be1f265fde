//! The items that a crate declares, with their fields, variants and methods. Tests are left out.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

#[derive(Default)]
pub(super) struct Items {
    names: BTreeSet<String>,
    /// Such as `crate::store::Store::write`. A method is below the module of its `impl`.
    paths: BTreeSet<String>,
}

impl Items {
    /// Reads a crate from its root file on.
    pub(super) fn of_crate(sources: &Path) -> Self {
        let mut reader = Reader { sources, items: Self::default() };
        reader.file("crate", "lib.rs");
        reader.items
    }

    /// True for the name of an item, or the end of a path.
    pub(super) fn contains(&self, name: &str) -> bool {
        let is_end_of = |path: &String| path.strip_suffix(name).is_some_and(|rest| rest.ends_with("::"));
        self.names.contains(name) || name.contains("::") && self.paths.iter().any(is_end_of)
    }
}

struct Reader<'a> {
    sources: &'a Path,
    items: Items,
}

impl Reader<'_> {
    fn file(&mut self, module: &str, file: &str) {
        let text = fs::read_to_string(self.sources.join(file));
        let text = text.unwrap_or_else(|error| panic!("{module} has no file {file}: {error}"));
        self.within(module, text.parse().unwrap_or_else(|error| panic!("{file}: {error}")));
    }

    /// Reads the items of a module, a trait or an implementation.
    fn within(&mut self, owner: &str, tokens: TokenStream) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at += self.item(owner, &tokens[at..]);
        }
    }

    /// Reads the item that the tokens begin with, and returns its length; 1 for another beginning.
    fn item(&mut self, owner: &str, tokens: &[TokenTree]) -> usize {
        let [TokenTree::Ident(word), rest @ ..] = tokens else { return 1 };
        let Some(end) = rest.iter().position(|token| is(token, ';') || body(token).is_some()) else {
            return 1;
        };
        let (head, body) = (&rest[..end], body(&rest[end]).unwrap_or_default());
        let name = head.first().map(ToString::to_string).unwrap_or_default();
        let path = format!("{owner}::{name}");
        match word.to_string().as_str() {
            "const" if MODIFIERS.contains(&&*name) => return 1,
            "mod" if name == "tests" => {}
            "mod" if is(&rest[end], ';') => {
                let file = path.trim_start_matches("crate::").replace("::", "/");
                self.file(&path, &format!("{file}.rs"));
            }
            "mod" => self.within(&path, body),
            "impl" => self.within(&format!("{owner}::{}", implementing(head)), body),
            "fn" | "const" | "static" | "type" => self.declare(name, path),
            "struct" => self.declare_with(name, path, fields(body)),
            "enum" => self.declare_with(name, path, variants(body)),
            "trait" => {
                self.within(&path, body);
                self.declare(name, path);
            }
            _ => return 1,
        }
        end + 2
    }

    fn declare(&mut self, name: String, path: String) {
        self.items.names.insert(name);
        self.items.paths.insert(path);
    }

    fn declare_with(&mut self, name: String, path: String, members: Vec<String>) {
        self.items.paths.extend(members.into_iter().map(|member| format!("{path}::{member}")));
        self.declare(name, path);
    }
}

/// The words that follow the `const` of a function.
const MODIFIERS: [&str; 4] = ["async", "extern", "fn", "unsafe"];

/// The name of the type that an `impl` is for.
fn implementing(head: &[TokenTree]) -> String {
    let (mut name, mut depth) = (String::new(), 0);
    for (at, token) in head.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "where" => break,
            TokenTree::Ident(word) if depth == 0 => name = word.to_string(),
            token if is(token, '<') => depth += 1,
            token if is(token, '>') && !is(&head[at - 1], '-') => depth -= 1,
            _ => {}
        }
    }
    name
}

fn fields(body: TokenStream) -> Vec<String> {
    let tokens: Vec<_> = body.into_iter().collect();
    let name = |pair: &[TokenTree]| match pair {
        [TokenTree::Ident(name), TokenTree::Punct(colon)]
            if colon.as_char() == ':' && colon.spacing() == Spacing::Alone =>
        {
            Some(name.to_string())
        }
        _ => None,
    };
    tokens.windows(2).filter_map(name).collect()
}

fn variants(body: TokenStream) -> Vec<String> {
    let mut names = Vec::new();
    let mut is_begin = true;
    for token in body {
        if let TokenTree::Ident(name) = &token
            && is_begin
        {
            names.push(name.to_string());
        }
        // A comma, or an attribute.
        is_begin = is(&token, ',')
            || is(&token, '#')
            || matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
    }
    names
}

fn is(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn body(token: &TokenTree) -> Option<TokenStream> {
    match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.stream()),
        _ => None,
    }
}
