//! The location of a database: a file on a local disk, behind all links. Any other is refused by
//! name before anything is made beside it.

use std::io;
use std::path::{Path, PathBuf};

use super::mounts::Mounts;
use crate::store::DatabaseError;

/// Links that are followed from a path, as many as Linux follows.
const MAX_LINKS: usize = 40;

/// The file that a path leads to: absolute, without links. A file that is to be made has its
/// folder's path, also if a link leads to it.
///
/// # Errors
/// [`DatabaseError`] for a path that cannot be that of a database.
pub(super) fn resolve(given: &Path) -> Result<PathBuf, DatabaseError> {
    let refuse = |problem: String| DatabaseError::Path { path: given.to_owned(), problem };
    if given.as_os_str().is_empty() {
        return Err(refuse("the path is empty".to_owned()));
    }
    // SQLite reads such names as something else than the name of a file.
    let name = given.to_string_lossy();
    if name == ":memory:" {
        return Err(refuse(
            "a database in memory would be another one for each connection; give the path of a file"
                .to_owned(),
        ));
    }
    if name.starts_with("file:") || name.starts_with("sqlite:") {
        return Err(refuse("it is a URL; give the path of a file".to_owned()));
    }
    let path = follow(given).map_err(refuse)?;
    if path.is_dir() {
        return Err(refuse("it is a folder; give the path of a file".to_owned()));
    }
    if path.exists() && !path.is_file() {
        return Err(refuse("it is no file".to_owned()));
    }
    check_mounts(&path, &Mounts::of_this_process())?;
    Ok(path)
}

/// Follows the links of a path, also one to a file that is to be made.
fn follow(given: &Path) -> Result<PathBuf, String> {
    let mut path = given.to_owned();
    for _ in 0..=MAX_LINKS {
        let Some(name) = path.file_name() else { return Ok(path) };
        let folder = folder(&path);
        if !folder.is_dir() {
            let problem = if folder.exists() { "this is no folder:" } else { "there is no folder" };
            return Err(format!("{problem} {}", folder.display()));
        }
        let unreadable = |error: io::Error| format!("{}: {error}", folder.display());
        path = folder.canonicalize().map_err(unreadable)?.join(name);
        match path.read_link() {
            Ok(target) => path = self::folder(&path).join(target),
            // No link, or nothing there.
            Err(_) => return Ok(path),
        }
    }
    Err("its links go in a circle".to_owned())
}

/// The folder of a path; a bare file name is in the present folder.
fn folder(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Refuses a resolved path that is on a file system of a network, or whose file is mounted without
/// its folder.
fn check_mounts(path: &Path, mounts: &Mounts) -> Result<(), DatabaseError> {
    if mounts.is_apart_from_folder(path, folder(path)) {
        return Err(DatabaseError::MountedAlone(path.to_owned()));
    }
    match mounts.network_file_system(folder(path)) {
        Some(kind) => Err(DatabaseError::NetworkFileSystem { path: path.to_owned(), kind: kind.to_owned() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_on_a_local_disk_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        for (path, problem) in [
            (PathBuf::new(), "the path is empty".to_owned()),
            (":memory:".into(), "in memory".to_owned()),
            ("file:invoicing.db?mode=memory".into(), "it is a URL".to_owned()),
            (folder.path().to_owned(), "it is a folder".to_owned()),
            (folder.path().join(".."), "it is a folder".to_owned()),
            (
                folder.path().join("none/invoicing.db"),
                format!("there is no folder {}", folder.path().join("none").display()),
            ),
            (file.join("invoicing.db"), format!("this is no folder: {}", file.display())),
        ] {
            let text = resolve(&path).unwrap_err().to_string();
            assert!(text.contains(&*path.to_string_lossy()) && text.contains(&problem), "{text}");
        }
        for path in [file, folder.path().join("new.db")] {
            let resolved = folder.path().canonicalize().unwrap().join(path.file_name().unwrap());
            assert_eq!(resolve(&path).unwrap(), resolved);
        }
        // A later change of the present folder does not change the path.
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        for name in ["new.db", "memory"] {
            assert_eq!(resolve(Path::new(name)).unwrap(), here.join(name));
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_files_that_are_there_and_that_are_not() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let place = |name: &str| folder.join(name);
        std::fs::create_dir(place("data")).unwrap();
        std::fs::create_dir(place("links")).unwrap();
        symlink("../data/box.db", place("links/relative.db")).unwrap();
        symlink(place("data/box.db"), place("links/whole.db")).unwrap();
        symlink("relative.db", place("links/chain.db")).unwrap();
        symlink(place("data"), place("links/folder")).unwrap();
        let check = || {
            for name in ["relative.db", "whole.db", "chain.db", "folder/box.db", "./folder/../data/box.db"] {
                assert_eq!(resolve(&place("links").join(name)).unwrap(), place("data/box.db"), "{name}");
            }
            assert_eq!(resolve(&place("data/box.db/")).unwrap(), place("data/box.db"));
        };
        check();
        std::fs::write(place("data/box.db"), "").unwrap();
        check();

        symlink("round.db", place("links/there.db")).unwrap();
        symlink("there.db", place("links/round.db")).unwrap();
        symlink("/dev/null", place("links/null.db")).unwrap();
        symlink("../none/box.db", place("links/lost.db")).unwrap();
        for (name, problem) in [
            ("round.db", "its links go in a circle"),
            ("null.db", "it is no file"),
            ("folder", "it is a folder"),
            ("lost.db", "there is no folder"),
        ] {
            let text = resolve(&place("links").join(name)).unwrap_err().to_string();
            assert!(text.contains(name) && text.contains(problem), "{text}");
        }
    }

    #[test]
    fn a_link_is_judged_by_the_mount_of_its_target() {
        let mounts = Mounts::read(
            "1 0 0:1 / / rw - overlay overlay rw\n\
             2 1 0:2 / /srv rw shared:1 - nfs4 server:/a rw\n\
             3 1 8:1 /inv.db /app/inv.db rw - ext4 /dev/sda1 rw\n\
             4 1 8:1 / /app/data rw - ext4 /dev/sda1 rw\n",
        );
        let refusal = |path: &str| check_mounts(Path::new(path), &mounts).map_err(|error| error.to_string());
        let network = refusal("/srv/inv.db").unwrap_err();
        assert_eq!(
            network,
            "the database /srv/inv.db is on a network file system (nfs4): SQLite needs a local disk"
        );
        let alone = refusal("/app/inv.db").unwrap_err();
        assert!(alone.starts_with("the database /app/inv.db is mounted without its folder"), "{alone}");
        assert!(alone.ends_with("mount the folder /app"), "{alone}");
        assert_eq!(refusal("/app/other.db"), Ok(()));
        assert_eq!(refusal("/app/data/inv.db"), Ok(()));
    }
}
