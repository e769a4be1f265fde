use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::document::names;
use super::repository::Repository;

/// Words of the document that name nothing in the repository.
const OTHER_WORDS: [&str; 10] = [
    "$1",
    "$1…$n",
    "<database>.lock",
    "API",
    "GET",
    "PostgreSQL",
    "SQLite",
    "max(now, last + 1 ms)",
    "name.rs",
    "name/",
];

/// The names that nothing has and that are not among the other words, and those of these that need
/// not be there.
fn faults(repository: &Repository, document: &str, other_words: &[&str]) -> Vec<String> {
    let unknown = names(document).into_iter().flat_map(|names| repository.unknown(&names));
    let unknown: BTreeSet<_> = unknown.map(|name| name.replace('\n', " ")).collect();
    let others: BTreeSet<_> = other_words.iter().map(ToString::to_string).collect();
    let gone = unknown.difference(&others).map(|name| format!("`{name}` is named, and nothing has the name"));
    let unused = others.difference(&unknown).map(|word| format!("`{word}` is listed, and not needed"));
    gone.chain(unused).collect()
}

const DOCUMENT: &str = r#"# Title

`Store::write` and `max(now,
last)`.

| `store/` | a `file` |
| `next` | |

- `one`
- `two`

```mermaid
flowchart TD
    subgraph outer["the API"]
        alone
    end
    inner["Quotes::page of it"] -->|"by begin_change_1"| other{"in access/local, put-back?"}
    alone --> inner
```

```mermaid
sequenceDiagram
    participant handle as CompanyHandle
    participant core as invoicing-core
    core-->>handle: Changed, with record
```

```arrows
store -> log
```

`last`
"#;

#[test]
fn names_are_spans_words_of_diagrams_and_boxes_without_a_label() {
    let expected: [&[&str]; 8] = [
        &["Store::write", "max(now,\nlast)"],
        &["store/", "file"],
        &["next"],
        &["one"],
        &["two"],
        &["API", "Quotes::page", "begin_change_1", "access/local", "put-back", "alone"],
        &["CompanyHandle", "invoicing-core", "Changed"],
        &["last"],
    ];
    let mut found = names(DOCUMENT);
    found.retain(|names| !names.is_empty());
    assert_eq!(found, expected);
}

#[test]
#[should_panic(expected = "no names are read from this block")]
fn a_block_of_another_kind_is_refused() {
    names("text\n\n```sql\nSELECT 1\n```\n");
}

#[test]
#[should_panic(expected = "a span has no end")]
fn a_span_without_an_end_is_refused() {
    names("text `and\n\n`more`");
}

/// The files of a made-up repository.
const FILES: [(&str, &str); 12] = [
    ("invoicing-server/src/lib.rs", "mod store; #[cfg(test)] mod tests;"),
    (
        "invoicing-server/src/store.rs",
        r#"mod page;
        pub(crate) struct Store<'a> { pub(super) large: Vec<(u8, b::C)>, #[doc = ""] small: ::d::E }
        impl<T: Fn() -> u8> fmt::Debug for &'_ Store<T> where T: Other<u8> {
            const fn written<A>(&self) -> impl Sized + use<A> { fn hidden() {} }
        }
        const LIMIT: &'static [u8] = &[1];
        static SHOWN: Shown = Shown { value: 1 };
        mod tests { fn tested() {} }"#,
    ),
    (
        "invoicing-server/src/store/page.rs",
        r#"enum Kind { #[doc = ""] First, Second(u8, Third), Fourth { inner: u8 } }
        trait Pages { type Page; fn next(&self) -> impl Iterator<Item = u8>; }
        mod inline { pub fn deep() {} }"#,
    ),
    ("invoicing-server/reference/program.py", ""),
    ("invoicing-server/Cargo.toml", "[features]\nmetrics = [\"dep:metrics\"]\nhttp.workspace = true\n"),
    (
        "invoicing-server/migrations/sqlite/0001.sql",
        "CREATE TABLE quote (\n    number TEXT, -- not day\n    UNIQUE (company)\n) WITHOUT ROWID;\n\
         CREATE INDEX quote_number ON quote (number);\nUPDATE quote\n    SET number = 1;\n",
    ),
    (
        "invoicing-server/migrations/sqlite/0002.sql",
        "DROP INDEX quote_number;\nALTER TABLE quote ADD COLUMN total TEXT;\nCREATE VIEW report_quotes AS\n",
    ),
    (
        "invoicing-server/migrations/postgres/0001.sql",
        "CREATE UNIQUE INDEX quote_total ON quote (total);\nCREATE OR REPLACE FUNCTION begin_1(\n",
    ),
    ("invoicing-core/src/lib.rs", "pub struct Record;"),
    ("invoicing-client/src/lib.rs", ""),
    ("webhook-verify/src/lib.rs", ""),
    ("openapi.json", r#"{ "/api/v1/quotes": { "hasMore": true, "kind": "isKind", "route": "/none" } }"#),
];

/// The made-up repository, in a folder.
fn repository() -> (TempDir, Repository) {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in FILES {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let repository = Repository::read(folder.path());
    (folder, repository)
}

/// The names of a paragraph that nothing in the made-up repository has.
fn unknown<'d>(paragraph: &[&'d str]) -> Vec<&'d str> {
    let (_folder, repository) = repository();
    repository.unknown(paragraph)
}

#[test]
fn files_and_folders_have_names() {
    let found =
        ["store/page", "store/page.rs", "store/", "reference", "invoicing-core", "migrations/sqlite/"];
    assert_eq!(unknown(&found), [""; 0]);
    let gone =
        ["store/gone", "pages", "page", "store/page.py", "invoicing-core/src/store", "src/store/gone/"];
    assert_eq!(unknown(&gone), gone);
}

#[test]
fn a_file_may_be_named_from_where_the_paragraph_is() {
    assert_eq!(unknown(&["store/", "page"]), [""; 0]);
    assert_eq!(unknown(&["store/page", "page", "lib"]), [""; 0]);
    assert_eq!(unknown(&["page", "store/"]), ["page"]);
}

#[test]
fn items_fields_variants_and_methods_have_names() {
    let found = [
        "Store",
        "Store::large",
        "Store::small",
        "Store::written",
        "store::Store",
        "LIMIT",
        "SHOWN",
        "Kind::First",
        "Kind::Second",
        "Kind::Fourth",
        "page::Kind",
        "Pages::Page",
        "Pages::next",
        "inline::deep",
        "deep",
        "Record",
    ];
    assert_eq!(unknown(&found), [""; 0]);
    let gone = [
        "Stor",
        "tore::Store",
        "Store::gone",
        "Store::b",
        "Store::fmt",
        "Debug::written",
        "Other::written",
        "large",
        "First",
        "Kind::Third",
        "Kind::inner",
        "hidden",
        "tested",
        "Shown",
        "Shown::value",
    ];
    assert_eq!(unknown(&gone), gone);
}

#[test]
fn the_schema_the_description_and_the_features_have_names() {
    let found = ["quote", "number", "total", "quote_total", "begin_1", "report_…"];
    assert_eq!(unknown(&found), [""; 0]);
    let gone = ["day", "company", "quote_number", "SET", "begin_2", "reports_…", "quotes"];
    assert_eq!(unknown(&gone), gone);

    assert_eq!(unknown(&["hasMore", "/api/v1/quotes", "metrics"]), [""; 0]);
    let gone = ["hasLess", "isKind", "/none", "/api/v1", "http", "kind"];
    assert_eq!(unknown(&gone), gone);
}

#[test]
fn each_other_word_is_listed_and_needed() {
    let (_folder, repository) = repository();
    let faults = |others| faults(&repository, "`Store`, `GET` and `1\n2`", others);
    assert_eq!(faults(&["GET", "1 2"]), [""; 0]);
    assert_eq!(faults(&["1 2"]), ["`GET` is named, and nothing has the name"]);
    assert_eq!(faults(&["GET", "1 2", "Store"]), ["`Store` is listed, and not needed"]);
}

#[test]
fn the_repository_has_what_the_document_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let document = fs::read_to_string(root.join("docs/design.md")).unwrap();
    let faults = faults(&Repository::read(&root), &document, &OTHER_WORDS);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
