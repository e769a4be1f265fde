//! Where the server programs are, and who may run them: PostgreSQL refuses to run as root.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Where Debian puts them, one folder per version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Who runs a server in the place of root.
const INSTEAD_OF_ROOT: [&str; 2] = ["postgres", "nobody"];

/// The server programs that are installed.
#[derive(Debug)]
pub(super) struct Programs(PathBuf);

/// A user by its number, with its group.
#[derive(Debug, Clone, Copy)]
pub(super) struct User {
    pub(super) id: u32,
    pub(super) group: u32,
}

impl Programs {
    /// The programs on the path, else Debian's newest; else the reason why there are none.
    pub(super) fn find() -> Result<&'static Self, String> {
        static FOUND: OnceLock<Option<Programs>> = OnceLock::new();
        let found = FOUND.get_or_init(|| on_path().or_else(newest_of_debian).map(Self));
        found.as_ref().ok_or_else(|| format!("there is no pg_ctl, neither on PATH nor under {DEBIAN}/*/bin"))
    }

    /// Where a program is.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

fn on_path() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let control =
        std::env::split_paths(&folders).map(|folder| folder.join("pg_ctl")).find(|path| path.is_file())?;
    // Its neighbours need not be linked to the same place.
    Some(control.canonicalize().ok()?.parent()?.to_owned())
}

fn newest_of_debian() -> Option<PathBuf> {
    let folders = std::fs::read_dir(DEBIAN).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let version = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
    let complete = folders.filter(|folder| folder.join("bin/pg_ctl").is_file());
    complete.max_by_key(version).map(|folder| folder.join("bin"))
}

/// The user that runs a server for the owner of a folder that this process has just made, if that owner is root.
pub(super) fn instead_of(owner: u32) -> Option<User> {
    if owner != 0 {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("a list of users");
    let user = INSTEAD_OF_ROOT.iter().find_map(|name| user_of(&users, name));
    Some(user.expect("root needs a user that may run PostgreSQL: postgres or nobody"))
}

fn user_of(users: &str, name: &str) -> Option<User> {
    let mut fields = users.lines().map(|line| line.split(':')).find_map(|mut fields| {
        let is_it = fields.next() == Some(name);
        is_it.then_some(fields)
    })?;
    Some(User { id: fields.nth(1)?.parse().ok()?, group: fields.next()?.parse().ok()? })
}

/// A command that is run as a user, in a folder of its own, with no PostgreSQL setting of the caller's.
pub(super) fn command(program: &Path, user: Option<User>, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(folder).env("LC_ALL", "C");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"PG")) {
        command.env_remove(name);
    }
    if let Some(user) = user {
        command.uid(user.id).gid(user.group);
    }
    command
}
