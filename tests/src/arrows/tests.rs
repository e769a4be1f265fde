use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::graph::{Arrow, arrows, circles, circles_of_files};
use super::source::{Modules, modules};
use super::table::Table;

/// A made-up crate, given as its files and their text.
fn crate_of(files: &[(&str, &str)]) -> Modules {
    modules(&|name| files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned()))
}

/// The modules that module `a` names, in a crate with the modules `a`, `b`, `b::inner` and `b::other`.
fn named_by_a(a: &str) -> Vec<String> {
    let modules = crate_of(&[
        ("lib.rs", "mod a; #[macro_use] mod b; pub use b::inner::Exported;"),
        ("a.rs", a),
        (
            "b.rs",
            "mod inner; mod other; pub(crate) use inner::Deep; struct Shallow; macro_rules! on { () => {} }",
        ),
        ("b/inner.rs", "pub struct Exported; pub(crate) struct Deep;"),
        ("b/other.rs", "pub(crate) use super::inner::*;"),
    ]);
    let of_a = arrows(&modules).into_iter().filter(|arrow| arrow.from.starts_with("crate::a"));
    let to: BTreeSet<_> = of_a.map(|arrow| arrow.to).filter(|to| !to.starts_with("crate::a")).collect();
    to.into_iter().collect()
}

#[test]
fn a_path_is_an_arrow_wherever_it_stands() {
    for code in [
        "use crate::b::Shallow;",
        "use crate::b::{self};",
        "use crate::b as other;",
        "use crate::{b::Shallow as S};",
        "use super::b::Shallow;",
        "use crate::b::*;",
        "use crate::b; fn f() { b::Shallow; }",
        "fn f() { crate::b::Shallow; }",
        "fn f(x: crate::b::Shallow) {}",
        "fn f() -> Vec<super::b::Shallow> { g() }",
        "fn f() { let all = S { x, ..crate::b::Shallow }; }",
        "fn f() { on!(move || [crate::b::Shallow]); }",
        "macro_rules! m { () => { $crate::b::Shallow }; }",
        "#[derive(crate::b::Shallow)] struct S;",
        "mod within { use super::super::b::Shallow; }",
        "#[cfg(any(test, feature = \"testing\"))] use crate::b::Shallow;",
    ] {
        assert_eq!(named_by_a(code), ["crate::b"], "{code}");
    }
}

#[test]
fn a_name_leads_to_its_declaration_and_to_each_module_that_exports_it() {
    for (code, to) in [
        ("use crate::Exported;", &["crate::b::inner"][..]),
        ("use crate::b::inner::Exported;", &["crate::b::inner"]),
        ("use crate::b::Deep;", &["crate::b", "crate::b::inner"]),
        ("use crate::b; fn f(x: b::Deep) {}", &["crate::b", "crate::b::inner"]),
        ("use crate::b::inner; fn f(x: inner::Deep) {}", &["crate::b::inner"]),
        ("use crate::b::other::Deep;", &["crate::b::inner", "crate::b::other"]),
    ] {
        assert_eq!(named_by_a(code), to, "{code}");
    }
}

#[test]
fn code_for_tests_and_names_of_other_crates_are_no_arrows() {
    for code in [
        "#[cfg(test)] mod tests { use crate::b::Shallow; }",
        "#[cfg(test)] mod tests;",
        "#[cfg(test)] use crate::b::{Shallow}; struct S;",
        "#[cfg(all(test, unix))] #[derive(Debug)] struct S { x: crate::b::Shallow }",
        "struct S { #[cfg(test)] x: crate::b::Shallow, y: u8 }",
        "#[cfg(test)] fn f() -> crate::b::Shallow { crate::b::Shallow } fn g() {}",
        "use b::Shallow;",
        "use ::b::Shallow;",
        "fn f() { self.b::<u8>(); <T as C>::b::Shallow; 'b: loop {} }",
        "macro_rules! m { ($b:ident) => { $b::Shallow }; }",
        "fn f<'a>(x: &'a u8) -> impl Sized + use<'a> { x } // crate::b",
        "/// Of [`crate::b`]. fn f() { \"crate::b::Shallow\" }\nstruct S;",
        "pub(in crate::a) struct S; pub(super) struct T; pub(crate) struct U;",
    ] {
        assert_eq!(named_by_a(code), [""; 0], "{code}");
    }
    let rest = "#[cfg(test)] use x::{Y}; use crate::b::Shallow;";
    assert_eq!(named_by_a(rest), ["crate::b"], "what follows code for tests is read");
}

#[test]
fn an_arrow_tells_its_place() {
    let modules =
        crate_of(&[("lib.rs", "mod a; mod b;"), ("a.rs", "\nuse super::b::{X};"), ("b.rs", "struct X;")]);
    let [arrow] = Vec::from_iter(arrows(&modules)).try_into().unwrap();
    let expected = Arrow {
        from: "crate::a".to_owned(),
        to: "crate::b".to_owned(),
        place: "a.rs:2 names super::b::X".to_owned(),
    };
    assert_eq!(arrow, expected);
}

/// The faults of a table for the modules `top`, `middle`, `middle::part` and `leaf`.
fn faults(table: &str) -> Vec<String> {
    let modules = crate_of(&[
        ("lib.rs", "mod top; mod middle; mod leaf; pub use top::T;"),
        ("top.rs", "use crate::middle::M; pub struct T;"),
        ("middle.rs", "mod part; pub struct M(crate::leaf::L);"),
        ("middle/part.rs", "use super::M;"),
        ("leaf.rs", "pub struct L;"),
    ]);
    let document = format!("# Title\n\n```text\na -> b\n```\n\n```arrows\n{table}\n```\n");
    let names = modules.keys().map(String::as_str).collect();
    Table::of_document(&document).faults(&names, &arrows(&modules))
}

#[test]
fn a_table_that_says_what_the_code_does_has_no_faults() {
    assert_eq!(faults("top -> middle\nmiddle -> leaf\nleaf"), [""; 0]);
    assert_eq!(faults("top -> middle\nmiddle::part -> middle\nmiddle -> leaf\nleaf"), [""; 0]);
}

#[test]
fn each_disagreement_of_table_and_code_is_a_fault() {
    for (table, fault) in [
        ("top -> middle\nmiddle\nleaf", "middle -> leaf is not allowed: middle.rs:1 names crate::leaf::L"),
        ("top -> middle, leaf\nmiddle -> leaf\nleaf", "top -> leaf is allowed, and not needed"),
        ("top -> middle\nmiddle -> leaf", "middle -> leaf does not lead to a row further down"),
        ("leaf\nmiddle -> leaf\ntop -> middle", "middle -> leaf does not lead to a row further down"),
        ("top -> middle\nmiddle -> leaf\nleaf\nother", "other is a row, and no module"),
        ("middle -> leaf\nleaf", "top is a module, and has no row"),
    ] {
        let faults = faults(table);
        assert!(faults.iter().any(|found| found == fault), "{faults:?}");
    }
}

#[test]
fn circles_between_siblings_are_found_at_any_depth_of_names() {
    let modules = crate_of(&[
        ("lib.rs", "mod a; mod b; mod c; mod d;"),
        ("a.rs", "mod x; mod y; use crate::b::B; struct A;"),
        ("a/x.rs", "use super::y::Y; use super::A;"),
        ("a/y.rs", "struct Y;"),
        ("b.rs", "use crate::c::C; struct B;"),
        ("c.rs", "use crate::a::y::Y; use crate::d::D; struct C;"),
        ("d.rs", "struct D;"),
    ]);
    let expected = [
        "crate: a -> b: a.rs:1 names crate::b::B",
        "crate: b -> c: b.rs:1 names crate::c::C",
        "crate: c -> a: c.rs:1 names crate::a::y::Y",
    ];
    assert_eq!(circles(&arrows(&modules)), expected);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources_of(name: &str) -> Modules {
    let sources = root().join(name).join("src");
    modules(&|file| fs::read_to_string(sources.join(file)).ok())
}

/// The server's modules, and `docs/design.md`.
fn server() -> (Modules, String) {
    (sources_of("invoicing-server"), fs::read_to_string(root().join("docs/design.md")).unwrap())
}

#[test]
fn the_server_names_what_the_table_allows() {
    let (modules, document) = server();
    let names = modules.keys().map(String::as_str).collect();
    let faults = Table::of_document(&document).faults(&names, &arrows(&modules));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The places at which a module names an item by its export at the crate's root.
fn upward(modules: &Modules) -> Vec<String> {
    let is_upward = |segments: &[String]| {
        let child = |name: &str| modules.contains_key(&format!("crate::{name}"));
        matches!(segments, [root, name, ..] if root == "crate" && name != "*" && !child(name))
    };
    let mut found = Vec::new();
    for (path, module) in modules.iter().filter(|(path, _)| *path != "crate") {
        let mentions = module.mentions.iter().filter(|mention| is_upward(&mention.segments));
        found.extend(mentions.map(|mention| {
            format!("{}:{} in {path} names {}", module.file, mention.line, mention.segments.join("::"))
        }));
    }
    found
}

#[test]
fn a_name_is_imported_from_its_module_and_not_from_the_root() {
    let modules = crate_of(&[
        ("lib.rs", "mod a; mod b; pub use b::B;"),
        (
            "a.rs",
            "use crate::b::{self, B}; use crate::B; fn f() { crate::b::B; crate::B; }\n#[cfg(test)] use crate::B;",
        ),
        ("b.rs", "pub struct B;"),
    ]);
    assert_eq!(upward(&modules), ["a.rs:1 in crate::a names crate::B", "a.rs:1 in crate::a names crate::B"]);
    let (modules, _) = server();
    let upward = upward(&modules);
    assert!(upward.is_empty(), "{}", upward.join("\n"));
}

#[test]
fn the_server_has_no_circles_between_modules_of_the_same_parent() {
    let (modules, _) = server();
    let circles = circles(&arrows(&modules));
    assert!(circles.is_empty(), "{}", circles.join("\n"));
}

#[test]
fn no_crate_has_circles_between_files() {
    for name in ["invoicing-server", "invoicing-core", "invoicing-client", "webhook-verify"] {
        let modules = sources_of(name);
        let circles = circles_of_files(&modules, &arrows(&modules));
        assert!(circles.is_empty(), "{name}:\n{}", circles.join("\n"));
    }
}
