//! The main job on real input: a painter's renovation quote from the first draft to the electronic invoice, a
//! credit note and the last payment.
//!
//! ```console
//! $ cargo run --example quickstart
//! ```
//!
//! A service on a SQLite file, with its signing page, a receiver that verifies every webhook, and an integration
//! that fetches, links and downloads through the API, and opens the XML in each Factur-X document. The receiver
//! goes away, things change, it comes back and catches up. Everything is checked on the way: the program ends
//! with 0 only if all of it is right. It stays within the API's quota of 30 requests a minute (see the last lines
//! of its output).

// An invoice is opened in the same way as a signed copy.
#[path = "../verify_proof/pdf.rs"]
mod attached;
mod away;
mod host;
mod input;
mod integration;
mod invoices;
mod phone;
mod receiver;
mod story;
mod timeline;
mod verdict;

use std::process::ExitCode;
use std::time::Duration;

use invoicing_examples::explain;

/// The whole takes about ten seconds; more means that something hangs.
const LIMIT: Duration = Duration::from_secs(50);

#[tokio::main]
async fn main() -> ExitCode {
    match tokio::time::timeout(LIMIT, Box::pin(story::run())).await {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("quickstart failed: {}", explain(&*error));
            ExitCode::FAILURE
        }
        Err(_) => {
            eprintln!("quickstart failed: not finished after {} s", LIMIT.as_secs());
            ExitCode::FAILURE
        }
    }
}
