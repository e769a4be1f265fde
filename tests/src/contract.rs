//! Holds the contract against the tests: each rule is named by a test, and each name in a test is a rule. Names of tests
//! are short enough to be read at a glance.
//!
//! A rule begins a line or a table row of `CONTRACT.md` with its name in bold. A test lists its rules in the last line
//! of its doc comment: `Rules: LIST-1, LIST-2`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files_below;

const MARK: &str = "/// Rules: ";
/// Characters of a test's name at most.
const LONGEST_NAME: usize = 70;
const TEST_ATTRIBUTES: [&str; 4] = ["#[test]", "#[tokio::test", "#[on_each_database", "#[on_postgres"];

/// A file of the workspace.
struct Source {
    name: String,
    text: String,
}

/// The rules of a contract, in order.
fn rules(contract: &str) -> Vec<&str> {
    contract.lines().filter_map(rule).collect()
}

/// The rule that a line or a table row begins with.
fn rule(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("| ").unwrap_or(line).strip_prefix("**")?.split_once("**")?;
    subject(name).is_some().then_some(name)
}

/// The part of a rule's name before the number; `None` for text of another form.
fn subject(name: &str) -> Option<&str> {
    let (subject, number) = name.split_once('-')?;
    let is_subject = !subject.is_empty() && subject.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_subject && is_number).then_some(subject)
}

/// The rules that the tests of a source name.
fn tested(source: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<_> = source.lines().map(str::trim).collect();
    let marked: Vec<_> =
        lines.windows(2).filter(|pair| is_test(pair[1])).filter_map(|pair| listed(pair[0])).collect();
    marked.into_iter().flatten()
}

fn listed(line: &str) -> Option<impl Iterator<Item = &str>> {
    Some(line.strip_prefix(MARK)?.trim_end_matches('.').split(", "))
}

fn is_test(line: &str) -> bool {
    TEST_ATTRIBUTES.iter().any(|attribute| line.starts_with(attribute))
}

/// The words of a source's comments that have the form of a rule's name.
fn mentioned(source: &str) -> impl Iterator<Item = &str> {
    let comments = source.lines().map(str::trim).filter(|line| line.starts_with("//"));
    let words = comments.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-'));
    words.filter(|word| subject(word).is_some())
}

/// The subjects that the index lacks, has twice or has without a rule. A row of it begins with the subject.
fn index_faults(contract: &str) -> Vec<String> {
    let (_, index) =
        contract.split_once("| Rules | Subject | Section |\n|---|---|---|\n").unwrap_or_default();
    let rows = index.lines().map_while(|line| line.strip_prefix("| "));
    let listed: Vec<_> = rows.filter_map(|row| row.split(' ').next()).collect();
    let rules: BTreeSet<_> = rules(contract).into_iter().filter_map(subject).collect();
    let lacks = rules.iter().filter(|subject| !listed.contains(subject));
    let lacks = lacks.map(|subject| format!("the index lacks {subject}"));
    let mut left = rules.clone();
    let further = listed.iter().filter(|subject| !left.remove(**subject));
    lacks.chain(further.map(|subject| format!("the index has {subject} twice, or without a rule"))).collect()
}

/// Every way in which the contract and the tests do not fit together.
fn faults(contract: &str, sources: &[Source]) -> Vec<String> {
    let rules = rules(contract);
    let mut faults = repeated(&rules);
    faults.extend(untested(&rules, sources));
    for source in sources {
        faults.extend(unknown(&rules, source));
        faults.extend(misplaced(source));
    }
    faults
}

fn repeated(rules: &[&str]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    rules.iter().filter(|name| !seen.insert(**name)).map(|name| format!("{name} is two rules")).collect()
}

fn untested(rules: &[&str], sources: &[Source]) -> Vec<String> {
    let tested: BTreeSet<_> = sources.iter().flat_map(|source| tested(&source.text)).collect();
    rules
        .iter()
        .filter(|name| !tested.contains(**name))
        .map(|name| format!("{name} is named by no test"))
        .collect()
}

/// Names that are no rule: any in a test's list, and elsewhere those that share a subject with a rule.
fn unknown(rules: &[&str], source: &Source) -> Vec<String> {
    let subjects: BTreeSet<_> = rules.iter().filter_map(|name| subject(name)).collect();
    let shares_a_subject = |name: &&str| subject(name).is_some_and(|subject| subjects.contains(subject));
    let names: BTreeSet<_> =
        tested(&source.text).chain(mentioned(&source.text).filter(shares_a_subject)).collect();
    let unknown = names.into_iter().filter(|name| !rules.contains(name));
    unknown.map(|name| format!("{}: {name} is no rule", source.name)).collect()
}

/// Lists of rules that are not followed by a test.
fn misplaced(source: &Source) -> Vec<String> {
    let lines: Vec<_> = source.text.lines().map(str::trim).chain([""]).collect();
    let misplaced = lines.windows(2).filter(|pair| pair[0].starts_with(MARK) && !is_test(pair[1]));
    misplaced.map(|pair| format!("{}: no test follows `{}`", source.name, pair[0])).collect()
}

/// The tests of a source whose names are too long.
fn long_names(source: &Source) -> Vec<String> {
    let mut lines = source.text.lines().map(str::trim);
    let mut long = Vec::new();
    while lines.any(is_test) {
        let name = lines.find_map(|line| line.split_once("fn ")?.1.split('(').next()).unwrap_or_default();
        if name.len() > LONGEST_NAME {
            long.push(format!("{}: {name}", source.name));
        }
    }
    long
}

/// The Rust sources below a folder.
fn sources(folder: &Path) -> Vec<Source> {
    let mut files = files_below(folder);
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    let source = |file: &PathBuf| {
        let text = fs::read_to_string(file).expect("a readable source");
        Source { name: file.display().to_string(), text }
    };
    files.iter().map(source).collect()
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_rule_is_named_by_a_test_and_every_name_is_a_rule() {
    let contract = fs::read_to_string(workspace().join("invoicing-core/CONTRACT.md")).expect("the contract");
    let faults = faults(&contract, &sources(&workspace()));
    assert!(rules(&contract).len() > 200, "the contract is not read as it is written");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn the_readme_has_the_number_of_the_rules() {
    let read = |name: &str| fs::read_to_string(workspace().join(name)).expect("a document");
    let number = rules(&read("invoicing-core/CONTRACT.md")).len();
    assert!(read("README.md").contains(&format!("[{number} rules]")), "there are {number} rules");
}

#[test]
fn the_index_of_the_contract_has_each_subject_once() {
    let contract = fs::read_to_string(workspace().join("invoicing-core/CONTRACT.md")).expect("the contract");
    assert_eq!(index_faults(&contract), [""; 0]);
    let index = |rows: &str| format!("| Rules | Subject | Section |\n|---|---|---|\n{rows}\n{MADE_UP}");
    assert_eq!(index_faults(&index("| LIST | a | b |\n| QUOTE | a | b |\n")), [""; 0]);
    assert_eq!(index_faults(&index("| QUOTE | a | b |\n")), ["the index lacks LIST"]);
    let rows = "| LIST | a | b |\n| QUOTE | a | b |\n| LIST | a | b |\n| ODD | a | b |\n";
    let twice = ["LIST", "ODD"].map(|name| format!("the index has {name} twice, or without a rule"));
    assert_eq!(index_faults(&index(rows)), twice);
}

#[test]
fn names_of_tests_have_at_most_70_characters() {
    let long: Vec<_> = sources(&workspace()).iter().flat_map(long_names).collect();
    assert!(long.is_empty(), "{} names:\n{}", long.len(), long.join("\n"));
}

const MADE_UP: &str =
    "**LIST-1** One.\n\n| Rule | What |\n|---|---|\n| **QUOTE-1** | two |\nno **LIST-9** here\n";

fn faults_of(text: &str) -> Vec<String> {
    faults(MADE_UP, &[Source { name: "a.rs".into(), text: text.into() }])
}

#[test]
fn a_complete_set_of_names_has_no_faults() {
    let one = "/// Rules: LIST-1.\n#[test]\nfn one() {}\n";
    let two = "    /// Why.\n    /// Rules: QUOTE-1, LIST-1\n    #[on_each_database(worker_threads = 4)]\n";
    assert_eq!(faults_of(&format!("{one}{two}")), [""; 0]);
    assert_eq!(faults_of(&format!("//! LIST-1, UTF-8 and SHA-256\n{one}{two}")), [""; 0]);
}

#[test]
fn a_rule_without_a_test_is_a_fault() {
    assert_eq!(faults_of("/// Rules: LIST-1\n#[test]\n"), ["QUOTE-1 is named by no test"]);
    assert_eq!(faults_of("//! LIST-1\n").len(), 2, "a mention is no test");
}

#[test]
fn a_name_without_a_rule_is_a_fault() {
    let both = "/// Rules: LIST-1, QUOTE-1\n#[test]\n";
    assert_eq!(faults_of(&format!("{both}/// Rules: ODD-1\n#[test]\n")), ["a.rs: ODD-1 is no rule"]);
    assert_eq!(faults_of(&format!("{both}// As LIST-2 says.\n")), ["a.rs: LIST-2 is no rule"]);
    assert_eq!(faults_of("/// Rules: LIST-1 QUOTE-1\n#[test]\n").len(), 3, "a comma is missing");
}

#[test]
fn a_list_of_rules_above_something_else_is_a_fault() {
    let faults = faults_of("/// Rules: LIST-1, QUOTE-1\n#[test]\n/// Rules: LIST-1\nfn helper() {}\n");
    assert_eq!(faults, ["a.rs: no test follows `/// Rules: LIST-1`"]);
}

#[test]
fn a_name_that_is_two_rules_is_a_fault() {
    let both = Source { name: "a.rs".into(), text: "/// Rules: LIST-1, QUOTE-1\n#[test]\n".into() };
    assert_eq!(faults(&format!("{MADE_UP}**LIST-1** Again.\n"), &[both]), ["LIST-1 is two rules"]);
}

#[test]
fn a_long_name_is_found_behind_further_attributes() {
    let name = "a".repeat(71);
    let text = format!(
        "#[test]\nfn short() {{}}\n#[test]\n#[cfg(unix)]\nasync fn {name}(db: Database) {{}}\nfn {name}() {{}}"
    );
    let long = long_names(&Source { name: "a.rs".into(), text });
    assert_eq!(long, [format!("a.rs: {name}")]);
}
