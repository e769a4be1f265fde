//! An API server in a process of its own, so that its memory and its file descriptors are its own.
//!
//! `api-server <folder> <settings>`: serves two companies without a quota until standard input ends, and says on one
//! line where it listens, with which keys, and where documents are. The settings are JSON: `files`, `documentLines`,
//! `documentCompanies`, `keys`, `postgres`, and the limits `serve` and `requests`.

use std::error::Error;
use std::io::Read;
use std::sync::Arc;

use invoicing_core::{NewClient, NewCompany, NewLine, NewQuote, Plan};
use invoicing_server::{
    CompanyHandle, Invoicing, MemoryStore, PostgresSettings, RequestLimits, ServeLimits, Settings, serve,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// Documents of one company.
const DOCUMENTS: usize = 4;

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Arguments {
    /// File descriptors that the process may have.
    files: Option<u64>,
    /// Lines of each quote that is sent, so that there are documents: [`DOCUMENTS`] of each company.
    document_lines: Option<usize>,
    /// Further keys of the first company.
    keys: usize,
    /// Companies with documents, the first one included.
    document_companies: usize,
    /// A database instead of a file in the folder.
    postgres: Option<String>,
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
    let builder = match arguments.postgres {
        Some(url) => {
            Invoicing::postgres(PostgresSettings::new(url)).document_store(Arc::new(MemoryStore::new()))
        }
        None => Invoicing::sqlite(folder.join("invoicing.db")),
    };
    let invoicing = builder.settings(settings).open().await?;
    let (company, key) = open_company(&invoicing).await?;
    let (_, other_key) = open_company(&invoicing).await?;
    let mut keys = Vec::new();
    for _ in 0..arguments.keys {
        keys.push(company.keys().issue("load").await?.key.reveal().to_owned());
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let mut companies = vec![company];
    for _ in 1..arguments.document_companies {
        companies.push(open_company(&invoicing).await?.0);
    }
    let mut documents = Vec::new();
    if let Some(lines) = arguments.document_lines {
        for company in companies.iter().flat_map(|company| [company; DOCUMENTS]) {
            documents.push(document(company, lines).await?);
        }
    }
    let address = listener.local_addr()?.to_string();
    let said = json!({
        "address": address, "key": key, "otherKey": other_key, "keys": keys, "documents": documents,
    });
    println!("{said}");
    let (stop, stopped) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(stop);
    });
    serve(listener, invoicing.service(), arguments.serve, async { drop(stopped.await) }).await?;
    invoicing.close().await;
    Ok(())
}

/// A company and its key.
async fn open_company(invoicing: &Invoicing) -> Result<(CompanyHandle, String), Box<dyn Error>> {
    let company = invoicing.companies().create(&NewCompany::named("Company", Plan::Team)).await?;
    let company = invoicing.company(company.id);
    let key = company.keys().issue("load").await?.key.reveal().to_owned();
    Ok((company, key))
}

/// Sends a quote with so many lines; path and query of its document's URL.
async fn document(company: &CompanyHandle, lines: usize) -> Result<Value, Box<dyn Error>> {
    let line = json!({ "description": "x".repeat(400), "quantity": 1, "unitPrice": 1, "tvaRate": 20 });
    let line: NewLine = serde_json::from_value(line)?;
    let client = company.clients().create(&NewClient::named("Client")).await?;
    let new = NewQuote { lines: vec![line; lines], ..NewQuote::empty(client.id) };
    let quote = company.quotes().create(&new).await?.summary.id;
    company.quotes().send(quote, None).await?;
    let url = company.quotes().document(quote).await?.url;
    Ok(url.split_once("/api/").map(|(_, path)| format!("/api/{path}")).into())
}
