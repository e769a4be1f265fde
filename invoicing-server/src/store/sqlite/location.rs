//! The location of a database: a file on a local disk. Any other is refused by name before anything
//! is made beside it.

use std::path::{Path, PathBuf};

use crate::store::DatabaseError;

/// File systems of a network. SQLite's locks and the shared index of its log do not hold there.
const NETWORK: &[&str] =
    &["nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "9p", "fuse.sshfs", "fuse.glusterfs"];

/// Refuses a path that cannot be that of a database.
pub(super) fn check(path: &Path) -> Result<(), DatabaseError> {
    let refuse = |problem: String| Err(DatabaseError::Path { path: path.to_owned(), problem });
    if path.as_os_str().is_empty() {
        return refuse("the path is empty".to_owned());
    }
    // SQLite reads such names as something else than the name of a file.
    let name = path.to_string_lossy();
    if name == ":memory:" {
        return refuse(
            "a database in memory would be another one for each connection; give the path of a file"
                .to_owned(),
        );
    }
    if name.starts_with("file:") || name.starts_with("sqlite:") {
        return refuse("it is a URL; give the path of a file".to_owned());
    }
    if path.is_dir() {
        return refuse("it is a folder; give the path of a file".to_owned());
    }
    let folder = folder(path);
    if !folder.is_dir() {
        let is_missing = !folder.exists();
        let problem = if is_missing { "there is no folder" } else { "this is no folder:" };
        return refuse(format!("{problem} {}", folder.display()));
    }
    match network_file_system(&folder) {
        Some(kind) => Err(DatabaseError::NetworkFileSystem { path: path.to_owned(), kind }),
        None => Ok(()),
    }
}

/// The folder of a path; a bare file name is in the present folder.
fn folder(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

/// The kind of network file system of a folder, if it is on one. `None` on other systems than
/// Linux.
fn network_file_system(folder: &Path) -> Option<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").ok()?;
    let kind = kind_of_mount(&mounts, &folder.canonicalize().ok()?)?;
    NETWORK.contains(&kind).then(|| kind.to_owned())
}

/// The type of the innermost mount that holds a folder; the last one if several are at the same
/// place.
fn kind_of_mount<'m>(mounts: &'m str, folder: &Path) -> Option<&'m str> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((PathBuf::from(unescaped(fields.next()?)), fields.next()?))
    });
    let holding = mounts.filter(|(at, _)| folder.starts_with(at));
    holding.max_by_key(|(at, _)| at.components().count()).map(|(_, kind)| kind)
}

/// The path of a mount, which the kernel writes with octal numbers for some characters.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, character)| text.replace(escape, character))
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
            (
                folder.path().join("none/invoicing.db"),
                format!("there is no folder {}", folder.path().join("none").display()),
            ),
            (file.join("invoicing.db"), format!("this is no folder: {}", file.display())),
        ] {
            let text = check(&path).unwrap_err().to_string();
            assert!(text.contains(&*path.to_string_lossy()) && text.contains(&problem), "{text}");
        }
        for path in [file, folder.path().join("new.db"), "new.db".into(), "memory".into()] {
            check(&path).unwrap();
        }
    }

    #[test]
    fn the_innermost_mount_says_what_a_folder_is_on() {
        let mounts = "overlay / overlay rw 0 0\nserver:/a /srv nfs4 rw 0 0\n/dev/sda /srv/local ext4 rw 0 0\n\
             //nas/b /mnt/with\\040space cifs rw 0 0\nsysfs /over sysfs rw 0 0\nserver:/b /over nfs rw 0 0\n";
        for (folder, kind) in [
            ("/home", "overlay"),
            ("/srv", "nfs4"),
            ("/srv/books", "nfs4"),
            ("/srv/local/books", "ext4"),
            ("/srvlocal", "overlay"),
            ("/mnt/with space/books", "cifs"),
            ("/over", "nfs"),
        ] {
            assert_eq!(kind_of_mount(mounts, Path::new(folder)), Some(kind), "{folder}");
        }
        assert_eq!(network_file_system(&std::env::temp_dir()), None);
    }
}
