//! The script with which hosts make and restore backups.

use std::path::Path;
use std::process::Command;

use crate::postgres;

/// `backup.sh` with these arguments. It finds the programs of the PostgreSQL server on which the tests run.
pub fn backup_script(arguments: &[&str]) -> Command {
    let mut command =
        Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../invoicing-server/backup.sh"));
    command.args(arguments);
    if let Some(folder) = postgres::program("pg_dump").as_deref().and_then(Path::parent) {
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", folder.display()));
    }
    command
}
