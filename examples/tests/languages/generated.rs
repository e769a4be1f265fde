//! The client that `openapi-python-client` generates from the document.

use std::path::Path;

use serde_json::json;

use super::deliveries::{Delivery, Recorded};
use super::tools::{self, file, succeed, succeed_with};
use super::{document, typescript};
use crate::sandbox::Sandbox;

#[test]
fn a_generated_client_lists_reads_creates_and_links() {
    let Some(python) = tools::python() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated-python");
    let mut generator = python.program("openapi-python-client");
    generator.args(["generate", "--overwrite", "--meta", "none", "--fail-on-warning", "--config"]);
    generator.arg(file("python/generator.yaml")).arg("--path").arg(document::path());
    succeed(generator.arg("--output-path").arg(folder.join("invoicing_api"))).unwrap();

    let sandbox = Sandbox::start(&["--activity", "50"]);
    sandbox.one_of_each_kind();
    let [base_url, key] = sandbox.api();
    let mut program = python.program("python");
    program.arg(file("python/generated_client.py")).env("PYTHONPATH", folder);
    program.env("BASE_URL", base_url).env("API_KEY", key);
    let recorded: Vec<_> = Recorded::get().deliveries.iter().map(Delivery::json).collect();
    let events = json!({"recorded": recorded, "later": typescript::later_events()}).to_string();
    let told = succeed_with(&mut program, events.as_bytes()).unwrap();
    assert_eq!(told, "it lists, reads, creates and links\n");
}
