//! The snippets of the reference page in other languages: each program runs as a whole against a sandbox.

use std::path::{Path, PathBuf};
use std::process::Command;

use webhook_verify::Signer;

use super::deliveries::{Delivery, Recorded};
use super::tools::{self, succeed, succeed_with};
use super::typescript;
use crate::sandbox::Sandbox;

/// The programs `requests` or `verify`, in each language that is there.
fn programs(name: &str) -> Vec<Command> {
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../invoicing-server/reference").join(name)
}

#[test]
fn every_request_is_answered_in_each_language() {
    let sandbox = Sandbox::start(&["--activity", "50"]);
    sandbox.one_of_each_kind();
    let [base_url, key] = sandbox.api();
    for mut program in programs("requests") {
        program.env("INVOICING_URL", base_url).env("INVOICING_API_KEY", key);
        let told = succeed(&mut program).unwrap();
        assert!(told.ends_with("every request was answered\n"), "{program:?}: {told}");
    }
}

#[test]
fn each_language_verifies_genuine_deliveries_only() {
    let Recorded { secret, deliveries } = Recorded::get();
    let genuine = &deliveries[0];
    let changed = Delivery { body: [&genuine.body[..], b" "].concat(), ..genuine.clone() };
    let old = Signer::new(secret).unwrap().sign(Delivery::now() - 301, &genuine.body);
    let old = Delivery { signature: old.as_str().to_owned(), ..genuine.clone() };
    for mut program in programs("verify") {
        let mut is_genuine = |delivery: &Delivery| {
            program.env("INVOICING_WEBHOOK_SECRET", secret).env("SIGNATURE", &delivery.signature);
            succeed_with(&mut program, &delivery.body).is_ok()
        };
        let [of_genuine, of_changed, of_old] = [genuine, &changed, &old].map(&mut is_genuine);
        assert_eq!([of_genuine, of_changed, of_old], [true, false, false], "{program:?}");
    }
}
