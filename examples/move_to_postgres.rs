//! Moves a host from SQLite to PostgreSQL: copies the database, checks the copy, and prints its speed.
//!
//! ```console
//! $ cargo run --release --example move_to_postgres -- invoicing.db postgres://invoicing@db.example/invoicing
//! ```
//!
//! The service must be stopped, and the PostgreSQL database empty. Broken off at any point, the same command goes on where
//! it was. Documents stay where they are: give the service on PostgreSQL the same document store, which on SQLite is the
//! folder `invoicing.db.documents` if none was given, and the same sealing keys.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use invoicing_examples::{Failure, explain};
use invoicing_server::{PostgresSettings, copy_to_postgres};
use tracing_subscriber::EnvFilter;

/// Exit code after wrong arguments.
const WRONG_USAGE: u8 = 2;

const USAGE: &str = "\
Usage: move_to_postgres FILE URL

Copies the service's SQLite database FILE into the empty PostgreSQL database at URL, such as
postgres://user:password@host:5432/database; a password can also come from PGPASSWORD. No service may have FILE
open. Started again after it was stopped, it goes on where it was; started again at its end, it changes nothing.

Progress goes to standard error, the rows of each table and the speed to standard output.
";

#[tokio::main]
async fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (file, url) = match &args[..] {
        [help] if help == "--help" => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [file, url] if url.starts_with("postgres://") || url.starts_with("postgresql://") => (file, url),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(WRONG_USAGE);
        }
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match move_to(Path::new(file), url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("move_to_postgres: {}", explain(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn move_to(file: &Path, url: &str) -> Result<(), Failure> {
    let began = Instant::now();
    let report = copy_to_postgres(file, &PostgresSettings::new(url)).await?;
    let seconds = began.elapsed().as_secs_f64();
    for (table, rows) in &report.tables {
        println!("{rows:>12}  {table}");
    }
    println!("{:>12}  in all, the same in both databases: sha256 {}", report.rows(), report.sha256);
    if report.was_complete {
        println!("an earlier run has copied them: nothing was changed");
        return Ok(());
    }
    let documents = format!("{}.documents", file.display());
    println!("copied {} rows in {seconds:.1} s: {:.0} rows/s", report.copied, speed(report.copied, seconds));
    println!("next: move {} away, and open the service on PostgreSQL with its sealing keys", file.display());
    println!("and with its document store ({documents} if it was given none)");
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a figure to look at")]
fn speed(rows: u64, seconds: f64) -> f64 {
    rows as f64 / seconds.max(0.001)
}
