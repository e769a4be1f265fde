use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::page::{Block, Page, pages};
use super::{blocks, links};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

#[test]
fn every_link_anchor_picture_and_path_leads_somewhere() {
    let pages = pages(&root());
    assert!(pages.len() > 25, "{} pages", pages.len());
    let faults = links::faults(&root(), &pages);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_block_of_code_is_held_by_a_test() {
    let faults = blocks::faults(&root(), &pages(&root()));
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// As if the repository that they name were this one.
#[test]
fn cargo_takes_the_requirements_of_the_readme() {
    let page = Page::read(&root(), &root().join("README.md"));
    let block = page.blocks.iter().find(|block| block.language() == "toml").expect("requirements");
    let mut manifest = "[package]\nname = \"stranger\"\nedition = \"2024\"\n\n[dependencies]\n".to_owned();
    for line in block.text.lines() {
        let name = line.split(" = ").next().unwrap_or_default();
        let path = format!("path = \"{}\"", root().join(name).display());
        manifest.push_str(&line.replace("git = \"https://github.com/invoicing-rs/invoicing\"", &path));
        manifest.push('\n');
    }
    assert_eq!(manifest.matches("path = ").count(), 3, "{manifest}");
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/main.rs"), "fn main() {}").unwrap();
    fs::write(folder.path().join("Cargo.toml"), &manifest).unwrap();
    fs::copy(root().join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    cargo.args(["metadata", "--offline", "--format-version=1"]).current_dir(&folder);
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{manifest}\n{}", String::from_utf8_lossy(&output.stderr));
}

const PAGE: &str = r#"# Some `code`, and _more_

## The page: a & b (1)

## Again
## Again

[file](other.md) and ![picture](picture.png), `span`

| [cell](#again-1) |
|---|

<picture><source srcset="dark.png 2x, darker.png"><img src="light.png"></picture>

```rust,no_run
[no](link.md)
```

   ```sh
   nested
   ```
"#;

#[test]
fn links_anchors_blocks_and_spans_are_found() {
    let page = Page::parse("docs/page.md", PAGE);
    let links = ["other.md", "picture.png", "#again-1", "dark.png", "darker.png", "light.png"];
    assert_eq!(page.links, links);
    assert_eq!(page.anchors, ["some-code-and-more", "the-page-a--b-1", "again", "again-1"]);
    assert_eq!(page.spans, ["code", "span"]);
    let block = |info: &str, text: &str| Block { info: info.to_owned(), text: text.to_owned() };
    assert_eq!(page.blocks, [block("rust,no_run", "[no](link.md)\n"), block("sh", "nested\n")]);
}

const LISTED: &str = "[a](a.md)\n[integrate](integrate.md)\n";

/// The faults of a made-up repository with this text on the page `a`, `integrate`, and in the summary.
fn faults(a: &str, integrate: &str, summary: &str) -> Vec<String> {
    let folder = TempDir::new().unwrap();
    let files = [
        ("docs/a.md", a),
        ("docs/integrate.md", integrate),
        ("docs/SUMMARY.md", summary),
        ("docs/pictures/one.png", ""),
        ("README.md", "# Read me\n\n## Try it\n[page](docs/a.md)"),
        ("tests/src/lib.rs", "#[doc = include_str!(\"../../docs/a.md\")]"),
        (".ci/run", "cargo run --example quickstart"),
        ("tests/interop/check_sandbox.py", "integrate.md"),
        ("invoicing-server/reference/requests.sh", "get() {\n    curl one \\\n        two\n}\n"),
    ];
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let pages = pages(folder.path());
    [links::faults(folder.path(), &pages), blocks::faults(folder.path(), &pages)].concat()
}

#[test]
fn a_book_without_faults_has_none() {
    let text = "# A\n[b](integrate.md#b), [here](#a), ![one](pictures/one.png), [other](https://example.com/none.md#x)\n\
        [root](https://github.com/invoicing-rs/invoicing/blob/main/README.md#try-it)\n\
        [tests](https://github.com/invoicing-rs/invoicing/tree/main/tests/src), `tests/src/lib.rs`, `src/none`\n\
        ```rust\nfn main() {}\n```\n```console\n$ cargo run --example quickstart\nits output\n```\n";
    assert_eq!(
        faults(text, "# B\n```python\npass\n```\n```sh\ncurl one \\\n    two\n```\n", LISTED),
        [""; 0]
    );
}

#[test]
fn links_that_lead_nowhere_are_faults() {
    for text in [
        "[gone](gone.md)",
        "![gone](pictures/two.png)",
        "<img src=\"pictures/two.png\">",
        "[no heading](integrate.md#none)",
        "[no heading](#none)",
        "[a line](pictures/one.png#L3)",
        "[out](../README.md)",
        "[gone](https://github.com/invoicing-rs/invoicing/blob/main/gone.md)",
        "[no heading](https://github.com/invoicing-rs/invoicing/blob/main/README.md#none)",
        "[a folder](https://github.com/invoicing-rs/invoicing/blob/main/tests)",
        "`tests/gone.rs`",
    ] {
        assert_eq!(faults(text, "", LISTED).len(), 1, "{text}");
    }
}

#[test]
fn a_page_that_the_summary_lacks_or_has_twice_is_a_fault() {
    assert_eq!(faults("", "", "[a](a.md)"), ["docs/SUMMARY.md lacks docs/integrate.md"]);
    let twice = format!("{LISTED}[again](a.md)\n");
    assert_eq!(faults("", "", &twice), ["docs/SUMMARY.md has docs/a.md twice"]);
    let gone = format!("{LISTED}[gone](gone.md)\n");
    assert_eq!(faults("", "", &gone), ["docs/SUMMARY.md: gone.md leads nowhere"]);
}

#[test]
fn a_block_that_no_test_holds_is_a_fault() {
    for text in [
        "```\nfn main() {}\n```\n",
        "```rust,ignore\nfn main() {}\n```\n",
        "```console\n$ cargo run --example other\n```\n",
        "```sh\ncargo run --example other\n```\n",
        "```ruby\n```\n",
        "```python\npass\n```\n",
    ] {
        assert_eq!(faults(text, "", LISTED).len(), 1, "{text}");
    }
    assert_eq!(faults("", "```rust\n```\n", LISTED).len(), 1, "a page that is no doctest");
    assert_eq!(faults("", "```sh\ncurl one\ncurl two\n```\n", LISTED).len(), 1, "no part of the program");
}
