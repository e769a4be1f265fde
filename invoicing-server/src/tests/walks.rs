//! The calls of this crate between a handler and the driver of the database.

use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Empty, Full};
use invoicing_test_databases::{Database, on_each_database, postgres};
use tempfile::TempDir;

use crate::{
    CompanyHandle, ConsoleRole, ConsoleSession, ConsoleSettings, Invoicing, MemoryStore, NewClient,
    NewCompany, NewLine, NewQuote, NewWebhook, Plan, PostgresSettings, SignInDecision,
};

thread_local! {
    /// The calls that led to each statement, if they are recorded.
    static WALKS: RefCell<Option<Vec<Vec<String>>>> = const { RefCell::new(None) };
}

/// Records the calls that have led here.
pub(crate) fn note() {
    WALKS.with_borrow_mut(|walks| {
        if let Some(walks) = walks {
            walks.push(calls(&Backtrace::force_capture().to_string()));
        }
    });
}

/// The functions and closures of this crate on a stack, the outermost first. An async function and its
/// future are one. Their names come from the symbol table: debug information names a function
/// without its path.
fn calls(stack: &str) -> Vec<String> {
    let names = stack.lines().filter_map(|line| line.trim_start().split_once(": ").map(|(_, name)| name));
    let own = names.filter(|name| {
        let path = name.trim_start_matches(['<', '&']);
        path.starts_with("invoicing_server::")
            && !path.contains("tests::walks")
            && !path.contains("at_driver")
    });
    let mut calls: Vec<_> = own.map(str::to_owned).collect();
    assert!(!calls.is_empty(), "the stack has no name of this crate: is it built with debug information?");
    calls.reverse();
    calls.dedup();
    calls
}

/// The file of a function: that of the longest part of its path that is one.
fn file_of(call: &str) -> String {
    let path = call.trim_start_matches('<').trim_start_matches("invoicing_server::");
    let words: Vec<_> = path.split("::").take_while(|word| !word.contains(['<', '{'])).collect();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = (1..=words.len()).rev().map(|length| words[..length].join("/") + ".rs");
    files.into_iter().find(|file| source.join(file).exists()).unwrap_or_else(|| panic!("{call} has no file"))
}

/// The longest walk from a function on to a statement. Prints it.
fn longest_from(first: &str, walks: &[Vec<String>]) -> (usize, usize) {
    let begin = |walk: &Vec<String>| walk.iter().position(|call| call.contains(first));
    let parts = walks.iter().filter_map(|walk| begin(walk).map(|at| &walk[at..]));
    let walk = parts.max_by_key(|walk| walk.len()).expect("a statement");
    let files: BTreeSet<_> = walk.iter().map(|call| file_of(call)).collect();
    println!("{} calls in {} files:\n{}", walk.len(), files.len(), walk.join("\n"));
    (walk.len(), files.len())
}

async fn recorded<T>(work: impl Future<Output = T>) -> (T, Vec<Vec<String>>) {
    WALKS.set(Some(Vec::new()));
    let done = work.await;
    (done, WALKS.take().expect("they are recorded"))
}

/// A service with a company, and the place of its database.
struct Place {
    invoicing: Invoicing,
    company: CompanyHandle,
    _folder: Option<TempDir>,
    _server: Option<postgres::Fresh>,
}

async fn place(db: Database) -> Place {
    let (folder, server) = match db {
        Database::Sqlite => (Some(tempfile::tempdir().unwrap()), None),
        Database::Postgres => (None, Some(postgres::fresh(None).await)),
    };
    let builder = match (&folder, &server) {
        (Some(folder), _) => Invoicing::sqlite(folder.path().join("invoicing.db")),
        (_, server) => Invoicing::postgres(PostgresSettings::new(server.as_ref().unwrap().url())),
    };
    let invoicing = builder.document_store(Arc::new(MemoryStore::default())).open().await.unwrap();
    let company = invoicing.companies().create(&NewCompany::named("Martin", Plan::Team)).await.unwrap();
    let company = invoicing.company(company.id);
    Place { invoicing, company, _folder: folder, _server: server }
}

fn get(path: &str) -> http::request::Builder {
    Request::get(path)
}

#[on_each_database]
async fn a_list_reaches_the_driver_in_few_calls(db: Database) {
    let place = place(db).await;
    let key = place.company.keys().issue("test").await.unwrap().key;
    let request = get("/api/v1/quotes?since=2026-01-01T00:00:00Z")
        .header("authorization", format!("Bearer {}", key.reveal()))
        .body(Empty::<Bytes>::new())
        .unwrap();
    let (answer, walks) = recorded(place.invoicing.service().answer(request)).await;
    assert_eq!(answer.status(), 200);
    let (calls, files) = longest_from("api::documents::list", &walks);
    assert!(calls <= 10 && files <= 7, "{calls} calls in {files} files");
}

#[on_each_database]
async fn a_page_of_the_console_reaches_the_driver_in_few_calls(db: Database) {
    let place = place(db).await;
    let company = place.company.id();
    let sign_in = move |_: &http::request::Parts| {
        SignInDecision::Granted(ConsoleSession::new(company, "Léa", ConsoleRole::Full))
    };
    let console =
        place.invoicing.console(ConsoleSettings::at("https://a.example/settings"), sign_in).unwrap();
    let new = NewWebhook::for_all_events("https://crm.example.com/hook");
    let webhook = place.company.webhooks().register(&new).await.unwrap().webhook.id;
    for path in ["/events", &format!("/webhooks/{webhook}/deliveries")] {
        let request = get(path).body(Empty::<Bytes>::new()).unwrap();
        let (answer, walks) = recorded(console.clone().answer(request)).await;
        assert_eq!(answer.status(), 200);
        let (calls, files) = longest_from("ConsoleContext>::serve::", &walks);
        assert!(calls <= 14 && files <= 10, "{path}: {calls} calls in {files} files");
    }
}

/// Rows are read once: the link, the company, the quote with its lines, and the document that was sent.
#[on_each_database]
fn a_signature_reads_each_row_once(db: Database) {
    // The link is read by a task of its own. On one thread its statement is recorded too.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let walks = walks_of_a_signature(db).await;
        // The clock of PostgreSQL is read by a task that runs beside the request.
        let is_aside = |call: &String| call.contains("group_commit::") || call.contains("::listener::");
        let is_read = |walk: &&Vec<String>| !walk.iter().any(is_aside);
        let by =
            |walk: &Vec<String>| walk.iter().rev().find(|call| !call.contains("::connection::")).cloned();
        let readers: Vec<_> = walks.iter().filter(is_read).filter_map(by).collect();
        println!("{} reads before the deciding transaction:\n{}", readers.len(), readers.join("\n"));
        // As many readers as reads: no row is read by the same statement twice.
        assert_eq!(readers.iter().collect::<BTreeSet<_>>().len(), 4);
        assert_eq!(readers.len(), 4);
    });
}

async fn walks_of_a_signature(db: Database) -> Vec<Vec<String>> {
    let place = place(db).await;
    let company = &place.company;
    let client = company.clients().create(&NewClient::named("Claire Lefèvre")).await.unwrap();
    let content = NewQuote::empty(client.id).line(NewLine::new("Paint", 1, 10, 20));
    let quote = company.quotes().create(&content).await.unwrap().summary.id;
    company.quotes().send(quote, None).await.unwrap();
    let token = company.quotes().create_signing_link(quote).await.unwrap();
    let document = company.quotes().open_document(quote).await.unwrap().sha256;
    let page = place.invoicing.signing_page(ConsoleSettings::at("https://a.example/quotes")).unwrap();
    let request = |fields: &[(&str, &str)]| {
        let fields = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        Request::post(format!("/sign/{}", token.reveal()))
            .header("sec-fetch-site", "same-origin")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(fields)))
            .unwrap()
    };
    let fields = [("name", "Claire"), ("email", "a@b.fr"), ("document", &*document)];
    let answer = page.clone().answer(request(&fields)).await;
    let second_look = answer.headers()["location"].to_str().unwrap().to_owned();
    let second_look = &second_look[second_look.find("/sign/").unwrap()..];
    let shown = page.clone().answer(get(second_look).body(Empty::<Bytes>::new()).unwrap()).await;
    let shown = shown.into_body().collect().await.unwrap().to_bytes();
    let shown = String::from_utf8(shown.to_vec()).unwrap();
    let (_, confirmed) = shown.split_once("name=\"confirmed\" value=\"").unwrap();
    let [name, email, document] = fields;
    let request = request(&[name, email, document, ("confirmed", &confirmed[..64])]);
    let (answer, walks) = recorded(page.answer(request)).await;
    assert_eq!(answer.status(), 303);
    walks
}
