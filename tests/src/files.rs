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

/// Cargo marks its folders, so that a module may be called `target`.
fn is_skipped(folder: &Path) -> bool {
    folder.ends_with(".git") || folder.ends_with("node_modules") || folder.join("CACHEDIR.TAG").exists()
}
