//! An API server in a process of its own, so that its memory and its file descriptors are its own.
//!
//! `api-server <folder> <settings>`: serves a company without a quota until standard input ends, and says on one line
//! where it listens and with which key. The settings are JSON: `files`, and the limits `serve` and `requests`.

use std::error::Error;
use std::io::Read;

use invoicing_core::{NewCompany, Plan};
use invoicing_server::{Invoicing, RequestLimits, ServeLimits, Settings, serve};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    /// File descriptors that the process may have.
    files: Option<u64>,
    serve: ServeLimits,
    requests: RequestLimits,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = std::path::PathBuf::from(arguments.next().ok_or("the folder is missing")?);
    let arguments: Arguments = serde_json::from_str(&arguments.next().ok_or("the settings are missing")?)?;
    if let Some(files) = arguments.files {
        rlimit::Resource::NOFILE.set(files, files)?;
    }
    let settings = Settings { quota: 0, requests: arguments.requests, ..Settings::default() };
    let invoicing = Invoicing::sqlite(folder.join("invoicing.db")).settings(settings).open().await?;
    let company = invoicing.companies().create(&NewCompany::named("Company", Plan::Team)).await?;
    let key = invoicing.company(company.id).keys().issue("load").await?.key;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", json!({ "address": listener.local_addr()?.to_string(), "key": key.reveal() }));
    let (stop, stopped) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(stop);
    });
    serve(listener, invoicing.service(), arguments.serve, async { drop(stopped.await) }).await?;
    invoicing.close().await;
    Ok(())
}
