//! Says whether a signed PDF and the detail of a quote, as the API gives it, belong together.
//!
//! ```text
//! verify_proof SIGNED.pdf DETAIL.json [--sha256 HEX] [--extract SENT.pdf]
//! ```
//!
//! The signed PDF carries the copy that the client had before him when he signed. The fingerprint in the detail is made
//! from that copy's hash, the accepted text, the signer and the instant; so the two belong together when the
//! fingerprint that is computed here is the one in the detail. `--extract` writes that copy, for reading it.
//!
//! What the fingerprint proves is the copy inside. Whether the pages around it are untouched too, tells their own
//! hash: give the `sha256` of `GET /quotes/:id/document` with `--sha256`.
//!
//! Ends with 0 where they belong together, with 1 where they do not, with 2 where it cannot tell.

mod args;
mod check;
mod pdf;

use std::fs;
use std::process::ExitCode;

use args::Args;
use check::{Finding, Subject};

fn main() -> ExitCode {
    let args = match Args::parse() {
        Ok(Some(args)) => args,
        Ok(None) => {
            print!("{}", args::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprint!("{error}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match verify(&args) {
        Ok(findings) => report(&findings, args.sha256.is_some()),
        Err(error) => {
            eprintln!("cannot tell: {error}");
            ExitCode::from(2)
        }
    }
}

fn verify(args: &Args) -> Result<Vec<Finding>, Box<dyn std::error::Error>> {
    let read =
        |path: &std::path::Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let (pdf, detail) = (read(&args.pdf)?, read(&args.detail)?);
    let quote = serde_json::from_slice(&detail)
        .map_err(|error| format!("{} is not the detail of a quote: {error}", args.detail.display()))?;
    let subject =
        Subject { pdf_sha256: invoicing_core::sha256_hex(&pdf), files: pdf::attachments(pdf)?, quote };
    let findings = subject.findings(args.sha256.as_deref());
    let holds = findings.iter().all(|finding| finding.holds);
    if let (Some(path), Some(copy), true) = (&args.extract, subject.signed_copy(), holds) {
        fs::write(path, copy).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("The copy that was signed is now in {}.", path.display());
    }
    Ok(findings)
}

fn report(findings: &[Finding], pages_are_known: bool) -> ExitCode {
    for Finding { holds, what } in findings {
        println!("{} {what}", if *holds { "yes" } else { "NO " });
    }
    if findings.iter().all(|finding| finding.holds) {
        println!("The PDF and the detail belong together.");
        println!("The amounts that count are those of the copy inside (--extract), not those of the detail.");
        if !pages_are_known {
            println!("Not looked at: the visible pages around that copy (--sha256).");
        }
        ExitCode::SUCCESS
    } else {
        println!("The PDF and the detail do NOT belong together.");
        ExitCode::FAILURE
    }
}
