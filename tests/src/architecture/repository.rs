//! The places in which a name is looked up.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::items::Items;
use super::schema::migrate;

const CRATES: [&str; 4] = ["invoicing-server", "invoicing-core", "invoicing-client", "webhook-verify"];

pub(super) struct Repository {
    root: PathBuf,
    crates: Vec<Items>,
    schema: BTreeSet<String>,
    /// `openapi.json`.
    description: String,
    /// The server's Cargo.toml.
    manifest: String,
}

impl Repository {
    pub(super) fn read(root: &Path) -> Self {
        let text = |file: &str| fs::read_to_string(root.join(file)).unwrap();
        let migrations = root.join("invoicing-server/migrations");
        Self {
            root: root.to_owned(),
            crates: CRATES.map(|name| Items::of_crate(&root.join(name).join("src"))).into(),
            schema: ["sqlite", "postgres"].iter().flat_map(|name| schema(&migrations.join(name))).collect(),
            description: text("openapi.json"),
            manifest: text("invoicing-server/Cargo.toml"),
        }
    }

    /// The names of a paragraph that nothing has.
    pub(super) fn unknown<'d>(&self, paragraph: &[&'d str]) -> Vec<&'d str> {
        let bases = ["", "invoicing-server", "invoicing-server/src"];
        let mut folders = bases.map(|base| self.root.join(base)).to_vec();
        let mut unknown = Vec::new();
        for name in paragraph {
            let folder = folders.iter().rev().find_map(|folder| folder_of(folder, name));
            if folder.is_none() && !self.declares(name) {
                unknown.push(*name);
            }
            folders.extend(folder);
        }
        unknown
    }

    fn declares(&self, name: &str) -> bool {
        let is_camel_case = name.starts_with(char::is_lowercase)
            && name.contains(char::is_uppercase)
            && name.chars().all(char::is_alphanumeric);
        if is_camel_case || name.starts_with('/') {
            return self.description.contains(&format!("\"{name}\": "));
        }
        let is_feature = |line: &str| line.split_once(" = [").is_some_and(|(feature, _)| feature == name);
        match name.strip_suffix('…') {
            Some(begin) => self.schema.iter().any(|name| name.starts_with(begin)),
            None => {
                self.crates.iter().any(|items| items.contains(name))
                    || self.schema.contains(name)
                    || self.manifest.lines().any(is_feature)
            }
        }
    }
}

/// The folder that is named, or that of the file which is named, with or without `.rs`.
fn folder_of(base: &Path, name: &str) -> Option<PathBuf> {
    let path = base.join(name);
    if path.is_dir() {
        return Some(path);
    }
    let is_file = path.is_file() || base.join(format!("{name}.rs")).is_file();
    path.parent().filter(|_| is_file).map(Path::to_owned)
}

/// The names of a database after all migrations.
fn schema(migrations: &Path) -> BTreeSet<String> {
    let mut files: Vec<_> = fs::read_dir(migrations).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut names = BTreeSet::new();
    for file in files {
        migrate(&mut names, &fs::read_to_string(file).unwrap());
    }
    names
}
