//! The snippets of the reference page in other languages: each program runs as a whole against a sandbox.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::deliveries::{Delivery, Recorded, away_at_first};
use super::sender::Sender;
use super::tools::{self, succeed, succeed_with};
use super::typescript;
use crate::sandbox::Sandbox;

/// The programs `requests` or `verify`, in each language that is there.
pub(crate) fn programs(name: &str) -> Vec<Command> {
    let python = tools::python().map(|python| python.program("python"));
    let interpreters = [(tools::shell(), "sh"), (python, "py"), (tools::php(), "php")];
    let mut programs = Vec::new();
    for (interpreter, extension) in interpreters {
        let Some(mut interpreter) = interpreter else { continue };
        interpreter.arg(source(&format!("{name}.{extension}")));
        programs.push(interpreter);
    }
    programs.extend(typescript::compiled(name));
    programs
}

pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../invoicing-server/reference").join(name)
}

/// Behind a proxy that answers with HTML at first.
#[test]
fn every_request_is_answered_in_each_language() {
    let sandbox = Sandbox::start(&["--activity", "50"]);
    sandbox.one_of_each_kind();
    let [base_url, key] = sandbox.api();
    let service = base_url.strip_prefix("http://").unwrap().parse().unwrap();
    for mut program in programs("requests") {
        let proxy = format!("http://{}", away_at_first(service));
        program.env("INVOICING_URL", proxy).env("INVOICING_API_KEY", key);
        let told = succeed(&mut program).unwrap();
        assert!(told.ends_with("every request was answered\n"), "{program:?}: {told}");
    }
}

fn verifies(program: &mut Command, secret: &str, delivery: &Delivery) -> bool {
    // As from a file.
    program.env("INVOICING_WEBHOOK_SECRET", format!("{secret}\n")).env("SIGNATURE", &delivery.signature);
    succeed_with(program, &delivery.body).is_ok()
}

#[test]
fn each_language_verifies_genuine_deliveries_only() {
    let Recorded { secret, deliveries } = Recorded::get();
    for mut program in programs("verify") {
        let sender = Sender::new(secret, &deliveries[0]);
        let refused = sender.forged().into_iter().map(|forged| (forged, false));
        let taken = [sender.replaced(), sender.later()].concat().into_iter().map(|genuine| (genuine, true));
        for (delivery, is_genuine) in refused.chain(taken).chain(sender.aged()) {
            let told = verifies(&mut program, secret, &delivery);
            assert_eq!(told, is_genuine, "{program:?}: {}", delivery.signature);
        }
    }
}

/// Neither before the signature is compared, nor after.
#[test]
fn no_language_runs_what_a_header_says() {
    let Recorded { secret, deliveries } = Recorded::get();
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    let run = format!("$(touch {})", made.display());
    let headers = [format!("t=PPID[{run}],v1=00"), format!("t={run},v1={run}"), format!("t=0,v1={run}")];
    for mut program in programs("verify") {
        for signature in &headers {
            let delivery = Delivery { signature: signature.clone(), ..deliveries[0].clone() };
            assert!(!verifies(&mut program, secret, &delivery), "{program:?}: {signature}");
            assert!(!made.exists(), "{program:?} ran {signature}");
        }
    }
}
