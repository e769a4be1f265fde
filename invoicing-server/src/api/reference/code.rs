//! Blocks of code, with comments, texts and names set apart.

use maud::{Markup, html};
use serde_json::Value;

use crate::snippets::{LANGUAGES, Language};

/// The same code in each language that has it. The style shows the one that is chosen.
pub(super) fn snippets(title: &str, code: impl Fn(&Language) -> Option<String>) -> Markup {
    let written: Vec<_> = LANGUAGES.iter().filter_map(|it| Some((it, code(it)?))).collect();
    if written.is_empty() {
        return Markup::default();
    }
    // Code in a single language is shown, whatever language is chosen.
    let only = written.len() == 1;
    html! {
        @for (language, code) in &written {
            figure.code.in-language[!only].{ "is-" (language.id) }[!only] {
                figcaption { (title) " " span.language { (language.name) } }
                pre tabindex="0" { code { (highlighted(code, Some(comment_mark(language)))) } }
            }
        }
    }
}

/// A recorded value.
pub(super) fn json(title: &str, value: &Value) -> Markup {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    figure(title, &highlighted(&text, None))
}

/// Text as it is.
pub(super) fn plain(title: &str, text: &str) -> Markup {
    figure(title, &html! { (text) })
}

fn figure(title: &str, code: &Markup) -> Markup {
    html! {
        figure.code {
            figcaption { (title) }
            pre tabindex="0" { code { (code) } }
        }
    }
}

/// The mark that begins a comment.
fn comment_mark(language: &Language) -> &'static str {
    if matches!(language.id, "sh" | "py") { "#" } else { "//" }
}

/// Code whose comments and texts are marked.
fn highlighted(code: &str, comment: Option<&str>) -> Markup {
    html! {
        @for (kind, text) in tokens(code, comment) {
            @match kind {
                TokenKind::Plain => (text),
                TokenKind::Text => span.t { (text) },
                TokenKind::Comment => span.c { (text) },
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Plain,
    /// A text in quotes.
    Text,
    Comment,
}

/// Splits code. A comment ends with its line, a text with its quote or, without one, with its line.
fn tokens<'c>(code: &'c str, comment: Option<&str>) -> Vec<(TokenKind, &'c str)> {
    let mut tokens = Vec::new();
    let mut rest = code;
    while !rest.is_empty() {
        let (kind, length) = next_token(rest, comment, tokens.last().is_none_or(ends_a_word));
        let (token, after) = rest.split_at(length);
        tokens.push((kind, token));
        rest = after;
    }
    tokens
}

/// True if a comment may begin behind a token: `"#!` and `https://` begin none.
fn ends_a_word((_, token): &(TokenKind, &str)) -> bool {
    token.ends_with(char::is_whitespace)
}

fn next_token(rest: &str, comment: Option<&str>, may_comment: bool) -> (TokenKind, usize) {
    let line = rest.find('\n').unwrap_or(rest.len());
    if may_comment && comment.is_some_and(|mark| rest.starts_with(mark)) {
        return (TokenKind::Comment, line);
    }
    if let Some(quote @ ('"' | '\'' | '`')) = rest.chars().next() {
        return match closing_quote(&rest[1..line], quote) {
            Some(length) => (TokenKind::Text, length + 2),
            None => (TokenKind::Plain, 1),
        };
    }
    let is_special = |(at, c): &(usize, char)| {
        *at > 0
            && (matches!(c, '"' | '\'' | '`') || comment.is_some_and(|mark| rest[*at..].starts_with(mark)))
    };
    (TokenKind::Plain, rest.char_indices().find(is_special).map_or(rest.len(), |(at, _)| at))
}

/// The end of a text that began before, as an index.
fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        if c == quote && !is_escaped {
            return Some(at);
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_and_texts_are_told_apart() {
        let of = |kind, code, mark| -> Vec<&str> {
            let tokens: Vec<_> = tokens(code, mark);
            tokens.into_iter().filter(|token| token.0 == kind).map(|token| token.1).collect()
        };
        let code = "x = \"a \\\" # b\"  # why\ny = 'it' + z#\n";
        assert_eq!(of(TokenKind::Text, code, Some("#")), ["\"a \\\" # b\"", "'it'"]);
        assert_eq!(of(TokenKind::Comment, code, Some("#")), ["# why"]);
        assert_eq!(of(TokenKind::Comment, "a https://b // c", Some("//")), ["// c"]);
        assert_eq!(of(TokenKind::Text, "it's\n'x'", None), ["'x'"]);
    }

    proptest! {
        #[test]
        fn no_character_is_lost(code in "[a'\"`#/ \\\\\n{é]{0,40}") {
            for mark in [None, Some("#"), Some("//")] {
                let text: String = tokens(&code, mark).into_iter().map(|(_, token)| token).collect();
                prop_assert_eq!(&text, &code);
            }
        }
    }
}
