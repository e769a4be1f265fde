//! The mounts of this process, as Linux lists them. Other systems have no such list.

use std::path::{Path, PathBuf};

/// File systems of a network. SQLite's locks and the shared index of its log do not hold there.
const NETWORK: &[&str] =
    &["nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "9p", "fuse.sshfs", "fuse.glusterfs"];

/// A mounted file or folder.
struct Mount {
    at: PathBuf,
    /// The type of its file system.
    kind: String,
}

/// All mounts; none if the system does not list them.
pub(super) struct Mounts(Vec<Mount>);

impl Mounts {
    pub(super) fn of_this_process() -> Self {
        Self::read(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
    }

    /// Reads `/proc/self/mountinfo`.
    pub(super) fn read(text: &str) -> Self {
        Self(text.lines().filter_map(Mount::read).collect())
    }

    /// True if a file is not mounted with its folder. Devices are compared only if mounts are not
    /// listed: on an overlay, file and folder may show two of them.
    pub(super) fn is_apart_from_folder(&self, file: &Path, folder: &Path) -> bool {
        if self.0.is_empty() {
            differ_in_device(file, folder)
        } else {
            self.0.iter().any(|mount| mount.at == file)
        }
    }

    /// The kind of network file system of a folder, if it is on one.
    pub(super) fn network_file_system(&self, folder: &Path) -> Option<&str> {
        self.kind(folder).filter(|kind| NETWORK.contains(kind))
    }

    /// The type of the innermost mount that holds a folder; the last one if several are at the same
    /// place.
    fn kind(&self, folder: &Path) -> Option<&str> {
        let holding = self.0.iter().filter(|mount| folder.starts_with(&mount.at));
        holding.max_by_key(|mount| mount.at.components().count()).map(|mount| &*mount.kind)
    }
}

impl Mount {
    /// Reads a line: the fifth field is the place; the type is the first field behind the mark that
    /// ends a varying number of options.
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split(' ').skip(4);
        let at = PathBuf::from(unescaped(fields.next()?));
        let kind = fields.skip_while(|field| *field != "-").nth(1)?.to_owned();
        Some(Self { at, kind })
    }
}

/// The path of a mount, which the kernel writes with octal numbers for some characters.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (escape, character)| text.replace(escape, character))
}

/// True if both are there, on two devices.
#[cfg(unix)]
fn differ_in_device(file: &Path, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    matches!((file.metadata(), folder.metadata()), (Ok(file), Ok(folder)) if file.dev() != folder.dev())
}

#[cfg(not(unix))]
fn differ_in_device(_file: &Path, _folder: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_says_what_a_folder_is_on() {
        let mounts = Mounts::read(
            "1 0 0:1 / / rw - overlay overlay rw\n\
             2 1 0:2 / /srv rw,noatime shared:1 master:2 - nfs4 server:/a rw\n\
             3 2 8:1 / /srv/local rw - ext4 /dev/sda1 rw\n\
             4 1 0:3 / /mnt/with\\040space rw unbindable - cifs //nas/b rw\n\
             5 1 0:4 / /over rw - sysfs sysfs rw\n\
             6 1 0:5 / /over rw - nfs server:/b rw\n",
        );
        for (folder, kind) in [
            ("/home", "overlay"),
            ("/srv", "nfs4"),
            ("/srv/books", "nfs4"),
            ("/srv/local/books", "ext4"),
            ("/srvlocal", "overlay"),
            ("/mnt/with space/books", "cifs"),
            ("/over", "nfs"),
        ] {
            assert_eq!(mounts.kind(Path::new(folder)), Some(kind), "{folder}");
        }
        assert_eq!(Mounts::of_this_process().network_file_system(&std::env::temp_dir()), None);
    }

    #[test]
    fn a_file_that_is_a_mount_is_apart_from_its_folder() {
        let listed = "1 0 0:1 / / rw - overlay overlay rw\n\
             2 1 8:1 /b/inv.db /app/the\\040inv.db rw - ext4 /dev/sda1 rw\n\
             3 1 8:1 /b /app rw - ext4 /dev/sda1 rw\n";
        let is_apart = |listed: &str, file: &str| {
            let file = Path::new(file);
            Mounts::read(listed).is_apart_from_folder(file, file.parent().unwrap())
        };
        assert!(is_apart(listed, "/app/the inv.db"));
        for file in ["/app/inv.db", "/app/the inv.db.lock", "/inv.db"] {
            assert!(!is_apart(listed, file), "{file}");
        }
    }

    /// The devices decide if no mounts are listed.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_on_another_device_is_apart_if_mounts_are_not_listed() {
        let (file, root) = (Path::new("/proc/self/mountinfo"), Path::new("/"));
        assert!(Mounts::read("").is_apart_from_folder(file, root));
        assert!(!Mounts::read("").is_apart_from_folder(file, Path::new("/proc/self")));
    }
}
