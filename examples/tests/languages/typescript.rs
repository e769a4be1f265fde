//! The programs in TypeScript, compiled with `--strict`: the receiver, the snippets, and a switch over all events with
//! the types that `openapi-typescript` generates from the document.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use invoicing_core::EventKind;
use serde_json::{Value, json};

use super::deliveries::{Delivery, Recorded};
use super::tools::{self, Node, file, succeed, succeed_with};
use super::{document, snippets};

/// A program of ours, compiled; `None` where Node is missing.
pub(crate) fn compiled(name: &str) -> Option<Command> {
    static FOLDER: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
        let node = tools::node().expect("the caller has it");
        compile(node, "typescript", &document::path())
    });
    let node = tools::node()?;
    Some(node.script(FOLDER.as_ref().unwrap().join(name).with_extension("js")))
}

/// Compiles all sources with the types of a document, and returns the folder of the programs.
fn compile(node: &Node, name: &str, document: &Path) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    let receiver = Path::new(env!("CARGO_MANIFEST_DIR")).join("../receivers/receiver.ts");
    for source in
        [receiver, snippets::source("requests.ts"), snippets::source("verify.ts"), file("node/events.ts")]
    {
        fs::copy(&source, folder.join(source.file_name().unwrap())).unwrap();
    }
    succeed(node.program("openapi-typescript").arg(document).arg("--output").arg(folder.join("api.ts")))?;
    let options = json!({
        "compilerOptions": {
            "strict": true, "noUncheckedIndexedAccess": true, "noImplicitReturns": true,
            "target": "es2022", "module": "es2022", "moduleResolution": "bundler",
            "typeRoots": [node.packages().join("node_modules/@types")], "types": ["node"],
            "outDir": "out",
        },
        "include": ["*.ts"],
    });
    fs::write(folder.join("tsconfig.json"), options.to_string()).unwrap();
    fs::write(folder.join("package.json"), r#"{"type": "module"}"#).unwrap();
    succeed(node.program("tsc").arg("--project").arg(&folder))?;
    Ok(folder.join("out"))
}

/// The results of the switch for events.
fn lines(program: &mut Command, events: &[Value]) -> Vec<String> {
    let told = succeed_with(program, json!(events).to_string().as_bytes()).unwrap();
    told.lines().map(str::to_owned).collect()
}

#[test]
fn generated_types_switch_over_all_events() {
    let Some(mut program) = compiled("events") else { return };
    let mut events: Vec<_> = Recorded::get().deliveries.iter().map(Delivery::json).collect();
    events.push(
        document::read()["webhooks"]["ping"]["post"]["requestBody"]["content"]["application/json"]["example"]
            .clone(),
    );
    let told = lines(&mut program, &events);
    for (event, line) in events.iter().zip(&told) {
        let kind = event["event"].as_str().unwrap();
        assert!(line.starts_with(kind) && !line.contains("not known"), "{event}: {line}");
    }
    assert_eq!(told.len(), events.len());
}

#[test]
fn what_a_later_version_sends_does_not_break_the_switch() {
    let Some(mut program) = compiled("events") else { return };
    assert_eq!(
        lines(&mut program, &later_events()),
        [
            "quote.archived: not known here",
            "quote.created: DEV-2026-0042 is not DRAFT, SENT or ACCEPTED: ARCHIVED",
        ]
    );
}

/// The same source with the types of a document that has grown.
#[test]
fn a_later_document_does_not_break_the_switch() {
    let Some(node) = tools::node() else { return };
    let mut document = document::read();
    let mut archived = document["webhooks"]["quote.created"].clone();
    archived["post"]["operationId"] = json!("onQuoteArchived");
    archived["post"]["requestBody"]["content"]["application/json"]["schema"] = json!({
        "type": "object",
        "required": ["event", "timestamp", "data"],
        "properties": {
            "event": {"const": "quote.archived"},
            "timestamp": {"type": "string"},
            "data": {"$ref": "#/components/schemas/QuoteEventData"},
        },
    });
    document["webhooks"]["quote.archived"] = archived;
    let schemas = &mut document["components"]["schemas"];
    let statuses = schemas["QuoteStatus"]["anyOf"][0]["enum"].as_array_mut().unwrap();
    statuses.push(json!("ARCHIVED"));
    schemas["QuoteEventData"]["properties"]["archivedBy"] = json!({"type": "object"});
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("openapi.json");
    fs::write(&path, document.to_string()).unwrap();
    let programs = compile(node, "typescript-later", &path).unwrap();
    let told = lines(&mut node.script(programs.join("events.js")), &later_events());
    assert_eq!(told[0], "quote.archived: not known here");
}

/// An event of a kind that is not there yet, and one with a status and a field that are not.
pub(crate) fn later_events() -> [Value; 2] {
    let id = "01a09f4a-afb3-7002-bf2b-1017cfc3644f";
    let data = json!({
        "id": id, "number": "DEV-2026-0042", "status": "ARCHIVED", "clientName": "Zoé", "clientEmail": null,
        "totalHT": 1200, "totalTTC": 1320.5, "tvaRate": 10, "archivedBy": {"name": "Zoé"},
    });
    let event = |kind: &str| json!({"event": kind, "timestamp": "2026-09-14T09:41:07.123Z", "data": data});
    assert!("quote.archived".parse::<EventKind>().is_err());
    [event("quote.archived"), event("quote.created")]
}
