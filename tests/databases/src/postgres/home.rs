//! The folder of a cluster, the commands that work in it, and the watcher that removes it.

use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::programs::{self, Programs, User};

/// Waits until the process that started it is gone or lets go, then stops the server and removes the folder.
const WATCHER: &str = r#"read -r line
"$0" stop --pgdata="$1/data" --mode=immediate --timeout=20
rm -rf "$1""#;

/// A temporary folder for a cluster's data. Its content, and the server that runs on it, disappear with it.
#[derive(Debug)]
pub struct Home {
    folder: PathBuf,
    programs: &'static Programs,
    user: Option<User>,
    watcher: Child,
}

impl Home {
    /// An empty one; `None` if there are no server programs, see [`super::is_installed`].
    pub fn new() -> Option<Self> {
        let programs = super::found()?;
        let folder = tempfile::Builder::new().prefix("invoicing-postgres-").tempdir();
        let folder = folder.expect("a temporary folder").keep();
        let user = programs::instead_of(folder.metadata().expect("a folder").uid());
        if let Some(user) = user {
            chown(&folder, Some(user.id), Some(user.group)).expect("root gives its folder away");
        }
        // In a group of its own: what ends this process from a terminal does not end the watcher.
        let watcher = programs::command(Path::new("sh"), user, Path::new("/"))
            .args(["-c", WATCHER])
            .args([&programs.path("pg_ctl"), &folder])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        Some(Self { folder, programs, user, watcher })
    }

    /// Where the data are, or will be.
    pub fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// A program of the server, run as the one who owns the data.
    pub fn command(&self, name: &str) -> Command {
        self.command_at(&self.programs.path(name))
    }

    /// Any other program, run so.
    pub(super) fn command_at(&self, program: &Path) -> Command {
        programs::command(program, self.user, &self.folder)
    }

    /// A file of the folder.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn control(&self, action: &str) -> Command {
        let mut command = self.command("pg_ctl");
        command.arg(action).arg("--pgdata").arg(self.data());
        command
    }

    pub(super) fn initialise(&self, superuser: &str) {
        let mut command = self.command("initdb");
        command.args(["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username", superuser]);
        run(command.arg("--pgdata").arg(self.data()));
    }

    /// Starts the server; what it logged if it does not.
    pub(super) fn start(&self) -> Result<(), String> {
        let mut command = self.control("start");
        command.args(["--wait", "--timeout=60", "--log"]).arg(self.folder.join("log"));
        let output = command.output().expect("pg_ctl");
        if output.status.success() { Ok(()) } else { Err(self.log()) }
    }

    pub(super) fn stop(&self, mode: &str) {
        run(self.control("stop").args(["--wait", "--mode", mode]));
    }

    pub(super) fn log(&self) -> String {
        let bytes = std::fs::read(self.folder.join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Writes a file that the server can read.
    pub(super) fn write(&self, path: &Path, text: &str) {
        std::fs::write(path, text).expect("a file in the folder");
        if let Some(user) = self.user {
            chown(path, Some(user.id), Some(user.group)).expect("root gives its file away");
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Waiting closes what the watcher reads from, which is its sign.
        let _ = self.watcher.wait();
    }
}

/// Runs a command that must succeed.
pub(super) fn run(command: &mut Command) {
    let output = command.output().expect("a program of the server");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {} {said}", output.status);
}
