//! Files below a folder.

use std::fs;
use std::path::{Path, PathBuf};

/// Every file below a folder, in the order of their paths, without build results, packages of Node and the history of Git.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if !path.is_dir() {
                files.push(path);
            } else if !is_skipped(&path) {
                folders.push(path);
            }
        }
    }
    files.sort();
    files
}

/// A folder of build results has Cargo's mark, whatever its name. Where a script has made it first the mark is missing,
/// and it is a `target` beside a manifest; a module may have that name.
fn is_skipped(folder: &Path) -> bool {
    let is_marked = folder.join("CACHEDIR.TAG").exists();
    let is_target = folder.ends_with("target") && folder.with_file_name("Cargo.toml").exists();
    is_marked || is_target || folder.ends_with(".git") || folder.ends_with("node_modules")
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn what_programs_have_made_is_no_file_of_the_repository() {
        let folder = TempDir::new().unwrap();
        let kept = ["Cargo.toml", "docs/page.md", "src/target/send.rs", "src/target.rs"];
        let made = [
            "target/tools/README.md",
            "build/CACHEDIR.TAG",
            "build/README.md",
            ".git/description",
            "docs/node_modules/one/README.md",
        ];
        for path in kept.iter().chain(&made) {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = files_below(folder.path());
        assert_eq!(found, kept.map(|path| folder.path().join(path)));
    }
}
