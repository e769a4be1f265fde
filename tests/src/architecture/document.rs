//! The names in a document.

use std::collections::BTreeSet;

/// The names of each paragraph, entry of a list, row of a table, and diagram.
pub(super) fn names(document: &str) -> Vec<Vec<&str>> {
    let mut names = Vec::new();
    for (number, part) in document.split("\n```").enumerate() {
        match part.split_once('\n') {
            _ if number % 2 == 0 => names.extend(paragraphs(part).map(spans)),
            Some(("mermaid", diagram)) => names.push(of_diagram(diagram)),
            Some(("arrows", _)) => {}
            _ => panic!("no names are read from this block: {part}"),
        }
    }
    names
}

fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").flat_map(|text| text.split("\n|")).flat_map(|text| text.split("\n- "))
}

fn spans(paragraph: &str) -> Vec<&str> {
    let parts: Vec<_> = paragraph.split('`').collect();
    assert!(parts.len() % 2 == 1, "a span has no end: {paragraph}");
    parts.into_iter().skip(1).step_by(2).collect()
}

fn of_diagram(diagram: &str) -> Vec<&str> {
    let (kind, diagram) = diagram.split_once('\n').expect("a diagram below its kind");
    let words = diagram.split(|sign: char| !sign.is_alphanumeric() && !"_:/-".contains(sign));
    let words = words.map(|word| word.trim_matches([':', '/', '-']));
    let mut names: Vec<_> = words.filter(|word| is_written_like_code(word)).collect();
    if kind.starts_with("flowchart") {
        names.extend(boxes_without_label(diagram));
    }
    names
}

fn is_written_like_code(word: &str) -> bool {
    word.contains([':', '_', '/', '-']) || word.contains(char::is_uppercase)
}

/// The boxes of a flowchart that show their id.
fn boxes_without_label(flowchart: &str) -> BTreeSet<&str> {
    let (mut ids, mut others) = (BTreeSet::new(), BTreeSet::from(["subgraph", "end"]));
    for outside_of_quotes in flowchart.split('"').step_by(2) {
        let words = outside_of_quotes.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
        let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        if outside_of_quotes.ends_with(['[', '{', '(']) {
            others.extend(words.last());
        }
        ids.extend(words);
    }
    &ids - &others
}
