//! An API server in a separate process, so that its memory and its file descriptors can be measured alone.
//!
//! `api-server <folder> <settings>`: serves two companies without a quota until standard input ends, and prints one
//! line with its address, its keys, and the paths of documents and signing pages. The settings are JSON: `files`,
//! `documentLines`, `linkedLines`, `documentCompanies`, `keys`, `pages`, `postgres`, and the limits `serve` and `requests`.

use std::error::Error;
use std::io::Read;
use std::sync::Arc;

use http::request::Parts;
use invoicing_core::{NewClient, NewLine, NewQuote, Plan, QuoteId};
use invoicing_server::{
    CompanyHandle, ConsoleRole, ConsoleSession, ConsoleSettings, Invoicing, MemoryStore, PostgresSettings,
    RequestLimits, ServeLimits, Settings, SignInDecision, serve,
};
use invoicing_tests::new_company;
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
    /// Lines of each sent quote. Every company with documents has [`DOCUMENTS`] of them.
    document_lines: Option<usize>,
    /// Lines of the quote whose document the API links to, 1 if it is not set.
    linked_lines: Option<usize>,
    /// Further keys of the first company.
    keys: usize,
    /// Companies with documents, the first one included.
    document_companies: usize,
    /// Signing pages of the first company.
    pages: Option<Pages>,
    /// A database instead of a file in the folder.
    postgres: Option<String>,
    serve: ServeLimits,
    requests: RequestLimits,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Pages {
    /// Number of quotes with few lines. The link of one more has ended.
    quotes: usize,
    /// Lines of the long quote, which has a page too.
    lines: usize,
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
    let first = &companies[0];
    let linked = match arguments.document_lines {
        Some(_) => {
            format!("/api/v1/quotes/{}/document", send(first, arguments.linked_lines.unwrap_or(1)).await?)
        }
        None => String::new(),
    };
    let (mut pages, mut long_page, mut ended_page) =
        (Vec::new(), json!({ "path": "", "document": "" }), json!(""));
    if let Some(asked) = arguments.pages {
        for _ in 0..asked.quotes {
            pages.push(page(first, 2).await?);
        }
        long_page = page(first, asked.lines).await?;
        ended_page = end(first).await?;
    }
    let address = listener.local_addr()?.to_string();
    let said = json!({
        "address": address, "key": key, "otherKey": other_key, "keys": keys, "documents": documents,
        "documentLink": linked, "pages": pages, "longPage": long_page, "endedPage": ended_page,
    });
    println!("{said}");
    let (stop, stopped) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        drop(stop);
    });
    // The staff of the first company, by a header.
    let staff = ConsoleSession::new(first.id(), "Staff", ConsoleRole::Full);
    let sign_in = move |head: &Parts| match head.headers.get("x-staff") {
        Some(_) => SignInDecision::Granted(staff.clone()),
        None => SignInDecision::Forbidden,
    };
    let console = invoicing.console(ConsoleSettings::at("http://x"), sign_in)?;
    let site = (invoicing.service(), console);
    serve(listener, site, arguments.serve, async { drop(stopped.await) }).await?;
    invoicing.close().await;
    Ok(())
}

/// A company and its key.
async fn open_company(invoicing: &Invoicing) -> Result<(CompanyHandle, String), Box<dyn Error>> {
    let company = invoicing.companies().create(&new_company("Company", Plan::Team)).await?;
    let company = invoicing.company(company.id);
    let key = company.keys().issue("load").await?.key.reveal().to_owned();
    Ok((company, key))
}

/// Path and query of the URL of the document of a quote with `lines` lines.
async fn document(company: &CompanyHandle, lines: usize) -> Result<Value, Box<dyn Error>> {
    let quote = send(company, lines).await?;
    let url = company.quotes().document(quote).await?.url;
    Ok(url.split_once("/api/").map(|(_, path)| format!("/api/{path}")).into())
}

/// Sends a quote with `lines` lines.
async fn send(company: &CompanyHandle, lines: usize) -> Result<QuoteId, Box<dyn Error>> {
    // The lines of the longest quote are at most 2 MiB together.
    let description = "x".repeat(400.min(1_000_000 / lines));
    let line = json!({ "description": description, "quantity": 1, "unitPrice": 1, "tvaRate": 20 });
    let line: NewLine = serde_json::from_value(line)?;
    let client = company.clients().create(&NewClient::named("Client")).await?;
    let new = NewQuote { lines: vec![line; lines], ..NewQuote::empty(client.id) };
    let quote = company.quotes().create(&new).await?.summary.id;
    company.quotes().send(quote, None).await?;
    Ok(quote)
}

/// Path and hash of a signing page.
async fn page(company: &CompanyHandle, lines: usize) -> Result<Value, Box<dyn Error>> {
    let quote = send(company, lines).await?;
    let link = company.quotes().create_signing_link(quote).await?;
    let document = company.quotes().open_document(quote).await?.sha256;
    Ok(json!({ "path": format!("/sign/{}", link.reveal()), "document": document }))
}

/// The path of a signing page whose link was revoked.
async fn end(company: &CompanyHandle) -> Result<Value, Box<dyn Error>> {
    let quote = send(company, 1).await?;
    let link = company.quotes().create_signing_link(quote).await?;
    let hash = company.quotes().signing_links(quote).await?.remove(0).token_hash;
    company.quotes().revoke_signing_link(quote, &hash).await?;
    Ok(format!("/sign/{}", link.reveal()).into())
}
