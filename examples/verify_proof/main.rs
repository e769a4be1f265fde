//! Says whether a signed PDF and the detail of a quote, as the API gives it, belong together.
//!
//! ```text
//! verify_proof SIGNED.pdf DETAIL.json --document DOCUMENT.json [--extract SENT.pdf]
//! ```
//!
//! The signed PDF carries the copy that the client was shown when signing. The fingerprint in the detail is made
//! from that copy's hash, the accepted text, the signer and the instant; so the two belong together when the
//! fingerprint that is computed here is the one in the detail. `--extract` writes that copy, for reading it.
//!
//! The fingerprint proves the copy inside. That copy and its proof can be put into a PDF with other pages;
//! whether the pages are those of the service too, tells the hash of the whole file: give the answer of
//! `GET /quotes/:id/document` with `--document`, or its `sha256` with `--sha256`.
//!
//! Ends with 0 if everything belongs together, with 1 if it does not, with 2 if it cannot tell, and with 3 if
//! only the copy inside was checked, because the hash of the whole file was not given.

mod args;
mod check;
mod pdf;

use std::fs;
use std::process::ExitCode;

use args::Args;
use check::{Finding, Subject};
use invoicing_core::{DocumentLink, sha256_hex};

/// Exit status if the pages were not checked.
const PAGES_UNKNOWN: u8 = 3;

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
        Ok(findings) => report(&findings, args.sha256.is_some() || args.document.is_some()),
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
    let mut hashes = Vec::from_iter(args.sha256.clone());
    if let Some(path) = &args.document {
        let link: DocumentLink = serde_json::from_slice(&read(path)?)
            .map_err(|error| format!("{} is not the answer about a document: {error}", path.display()))?;
        hashes.push(link.sha256);
    }
    let subject = Subject { pdf_sha256: sha256_hex(&pdf), files: pdf::attachments(pdf)?, quote };
    let findings = subject.findings(&hashes);
    let holds = findings.iter().all(|finding| finding.holds);
    if let (Some(path), Some(copy), true) = (&args.extract, subject.sent_copy(), holds) {
        fs::write(path, copy).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("The copy that was signed is now in {}.", path.display());
    }
    Ok(findings)
}

fn report(findings: &[Finding], pages_are_known: bool) -> ExitCode {
    for Finding { holds, what } in findings {
        println!("{} {what}", if *holds { "yes" } else { "NO " });
    }
    if !findings.iter().all(|finding| finding.holds) {
        println!("The PDF and the detail do NOT belong together.");
        return ExitCode::FAILURE;
    }
    let code = if pages_are_known {
        println!("The PDF and the detail belong together.");
        ExitCode::SUCCESS
    } else {
        println!(
            "The copy inside belongs to the detail. The pages shown were NOT checked: give --document or --sha256."
        );
        ExitCode::from(PAGES_UNKNOWN)
    };
    println!("The amounts that count are those of the copy inside (--extract), not those of the detail.");
    code
}
