//! Backup and restore by the script that the book names: the content of a backup made while the service went on,
//! and its effect on callers, receivers and numbers after a restore.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use invoicing_core::{EventKind, NewCreditNote, Plan, Quote, QuoteId, Timestamp, money};
use invoicing_server::{
    CompanyHandle, Error, InvoiceQuery, Invoicing, ObjectStorage, OpenError, OpenedDocument, QuoteQuery,
    SealingKey, SealingKeys, Settings, TargetPolicy,
};
use invoicing_test_databases::tool::SQLITE3;
use invoicing_tests::{
    Answer, Database, Place, Received, Receiver, ask, backup_script, files_below, new_company, new_quote,
    on_each_database,
};
use tokio::process::Command;

use crate::support::{client_of, draft_of, hook_for, issued_over};

/// Fewest quotes that are sent while a backup is made.
const MEANWHILE: usize = 8;

/// The script, with the programs that it needs.
struct Script;

impl Script {
    /// `None` if a program is missing: prints that the backups did not run. `REQUIRE_SQLITE3=1` turns this into a
    /// failure.
    fn find(db: Database) -> Option<Self> {
        let needs_sqlite3 = db == Database::Sqlite;
        let found = std::process::Command::new("sqlite3").arg("--version").output();
        if needs_sqlite3 && let Err(error) = found {
            SQLITE3.is_missing(&error.to_string());
            return None;
        }
        Some(Self)
    }

    /// Runs the script. Returns its output, or its errors if it fails.
    async fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::from(backup_script(arguments)).output().await.unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }
}

/// The database of a place, in the form of the script's argument.
fn database(place: &Place) -> String {
    match place.database() {
        Database::Sqlite => place.file().display().to_string(),
        Database::Postgres => place.url().to_owned(),
    }
}

/// A service with its documents in a folder.
async fn open(place: &Place, documents: &Path, sealing: SealingKeys) -> Result<Invoicing, OpenError> {
    let target = TargetPolicy { allow_http: true, allow_private: true };
    place
        .builder()
        .sealing_keys(sealing)
        .document_store(Arc::new(ObjectStorage::folder(documents).unwrap()))
        .settings(Settings { target, quota: 0, ..Settings::default() })
        .open()
        .await
}

fn keys(byte: u8) -> SealingKeys {
    SealingKeys::new(SealingKey::new(&format!("k{byte}"), [byte; 32]).unwrap())
}

async fn sent(company: &CompanyHandle) -> Quote {
    let draft = draft_of(company).await;
    company.quotes().send(draft.summary.id, None).await.unwrap()
}

/// The documents of each issued invoice and of its credit notes.
async fn issued(company: &CompanyHandle) -> Vec<OpenedDocument> {
    let (invoices, notes) = (company.invoices(), company.credit_notes());
    let mut documents = Vec::new();
    for invoice in invoices.list(&InvoiceQuery::default()).await.unwrap().data {
        documents.push(invoices.open_document(invoice.summary.id).await.unwrap());
        for note in invoices.get(invoice.summary.id).await.unwrap().detail.credit_notes {
            documents.push(notes.open_document(note.id).await.unwrap());
        }
    }
    documents
}

/// Sends a `GET` with a key to a service.
async fn get(invoicing: &Invoicing, path: &str, key: &str) -> Answer {
    let request = Request::get(path).header("authorization", format!("Bearer {key}"));
    ask(invoicing, request.body(Full::new(Bytes::new())).unwrap()).await
}

async fn exists(company: &CompanyHandle, quote: QuoteId) -> bool {
    match company.quotes().get(quote).await {
        Ok(_) => true,
        Err(Error::NotFound) => false,
        Err(error) => panic!("{error}"),
    }
}

/// The ids of the events that a receiver has received.
fn received(receiver: &Receiver) -> Vec<String> {
    let id = |received: &Received| received.headers["x-service-event-id"].to_str().unwrap().to_owned();
    receiver.take().iter().map(id).collect()
}

/// A host with a backup that was made while the service went on.
struct Host {
    script: Script,
    folder: tempfile::TempDir,
    place: Place,
    invoicing: Invoicing,
    company: CompanyHandle,
    key: String,
    receiver: Receiver,
    /// Sent before the backup began.
    before: Vec<Quote>,
    /// Sent while the backup was made.
    meanwhile: Vec<Quote>,
    /// The documents of an invoice and its credit note, of before the backup.
    issued: Vec<OpenedDocument>,
    backup: String,
}

impl Host {
    async fn with_backup(db: Database) -> Option<Self> {
        let script = Script::find(db)?;
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(db).await;
        let invoicing = open(&place, &folder.path().join("documents"), keys(1)).await.unwrap();
        let new = new_company("Martin Peinture", Plan::Team);
        let company = invoicing.company(invoicing.companies().create(&new).await.unwrap().id);
        let key = company.keys().issue("CRM").await.unwrap().key.reveal().to_owned();
        let receiver = Receiver::start().await;
        hook_for(&company, &receiver.url, &[EventKind::QuoteCreated]).await;
        let before = vec![sent(&company).await, sent(&company).await, sent(&company).await];
        let invoice = issued_over(&company, "100").await.summary.id;
        let part = NewCreditNote::new("Remise").reduction("Remise", 0, money!(30));
        company.invoices().credit(invoice, &part).await.unwrap();
        let issued = issued(&company).await;
        let mut host = Self {
            script,
            folder,
            place,
            invoicing,
            company,
            key,
            receiver,
            before,
            meanwhile: Vec::new(),
            issued,
            backup: String::new(),
        };
        host.save_meanwhile().await;
        Some(host)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Makes the backup while quotes are sent.
    async fn save_meanwhile(&mut self) {
        let is_made = AtomicBool::new(false);
        let company = &self.company;
        let work = async {
            let mut quotes = Vec::new();
            while !is_made.load(Ordering::Relaxed) || quotes.len() < MEANWHILE {
                quotes.push(sent(company).await);
            }
            quotes
        };
        let (database, documents, backup) =
            (database(&self.place), self.path("documents"), self.path("backup"));
        let arguments = ["save", &database, &documents, &backup];
        let save = async {
            let saved = self.script.run(&arguments).await;
            is_made.store(true, Ordering::Relaxed);
            saved
        };
        let (quotes, saved) = tokio::join!(work, save);
        (self.meanwhile, self.backup) = (quotes, saved.unwrap());
    }

    /// The service on the restored files.
    async fn restore(&self, db: Database) -> (Invoicing, Place) {
        let (place, documents) = (Place::empty(db).await, self.path("restored"));
        self.script.run(&["restore", &self.backup, &database(&place), &documents]).await.unwrap();
        let refused = open(&place, Path::new(&documents), keys(2)).await;
        assert!(refused.is_err(), "the backup opens without its sealing key");
        (open(&place, Path::new(&documents), keys(1)).await.unwrap(), place)
    }
}

#[on_each_database]
async fn a_backup_of_a_running_service_is_one_moment_with_all_its_documents(db: Database) {
    let Some(host) = Host::with_backup(db).await else { return };
    let backup = std::fs::metadata(&host.backup).unwrap().permissions().mode();
    assert_eq!(backup & 0o777, 0o600, "others could read the backup");
    let lost = sent(&host.company).await;
    let (restored, _place) = host.restore(db).await;
    let company = restored.company(host.company.id());
    for quote in &host.before {
        assert!(exists(&company, quote.summary.id).await, "{} was there before", quote.summary.number);
    }
    assert!(!exists(&company, lost.summary.id).await, "{} came later", lost.summary.number);
    // Quotes that were sent meanwhile are present up to one moment.
    let mut present = Vec::new();
    for quote in &host.meanwhile {
        present.push(exists(&company, quote.summary.id).await);
    }
    assert!(present.is_sorted_by(|a, b| a >= b), "{present:?}");
    let listed = company.quotes().list(&QuoteQuery::default()).await.unwrap().data;
    assert!(listed.len() >= host.before.len());
    for quote in listed {
        for document in company.quotes().documents(quote.summary.id).await.unwrap() {
            let opened = company.quotes().open_document(quote.summary.id).await.unwrap();
            assert_eq!(opened.sha256, document.sha256, "{}", quote.summary.number);
        }
    }
    assert_eq!(issued(&company).await, host.issued);
    restored.close().await;
}

#[on_each_database]
async fn after_a_restore_numbers_are_given_again_and_cursors_go_on(db: Database) {
    let Some(host) = Host::with_backup(db).await else { return };
    let lost = sent(&host.company).await.summary;
    let cursor = host.company.quotes().list(&QuoteQuery::default()).await.unwrap().as_of;
    let (restored, _place) = host.restore(db).await;
    let company = restored.company(host.company.id());
    let since = |cursor: Timestamp| format!("/api/v1/quotes?since={cursor}&limit=100");
    let page = get(&restored, &since(cursor), &host.key).await.json;
    assert_eq!(page["data"].as_array().unwrap().len(), 0);
    let as_of: Timestamp = page["asOf"].as_str().unwrap().parse().unwrap();
    assert!(as_of < cursor, "stamps went back with the records");
    let path = format!("/api/v1/quotes/{}", lost.id);
    assert_eq!(get(&restored, &path, &host.key).await.status, 404, "what an integrator knows may be lost");

    // Numbers go on from the end of the backup, so another quote gets the number of a lost one.
    let mut numbers = Vec::new();
    let client = client_of(&company).await;
    while !numbers.contains(&lost.number) {
        let quote = company.quotes().create(&new_quote(client)).await.unwrap().summary;
        assert_ne!(quote.id, lost.id);
        numbers.push(quote.number);
        assert!(numbers.len() <= host.meanwhile.len() + 1, "{numbers:?} without {}", lost.number);
    }
    // The stamps of all later changes lie behind any cursor.
    let page = get(&restored, &since(cursor), &host.key).await.json;
    assert_eq!(page["data"].as_array().unwrap().len(), numbers.len().min(100));
    restored.close().await;
}

#[on_each_database]
async fn a_restore_repeats_deliveries_and_has_the_keys_of_the_backup(db: Database) {
    let Some(host) = Host::with_backup(db).await else { return };
    let old = host.company.keys().list().await.unwrap()[0].id;
    let new = host.company.keys().issue("later").await.unwrap().key.reveal().to_owned();
    host.company.keys().revoke(old).await.unwrap();
    host.invoicing.dispatcher().run_once().await.unwrap();
    let delivered = received(&host.receiver);
    assert!(delivered.len() >= host.before.len() + host.meanwhile.len());

    let (restored, _place) = host.restore(db).await;
    assert_eq!(get(&restored, "/api/v1/quotes", &new).await.status, 401, "issued after the backup");
    assert_eq!(get(&restored, "/api/v1/quotes", &host.key).await.status, 200, "revoked after the backup");
    restored.dispatcher().run_once().await.unwrap();
    let again = received(&host.receiver);
    assert!(again.len() >= host.before.len());
    assert!(again.iter().all(|event| delivered.contains(event)), "an inbox knows them by their event ids");
    restored.close().await;
}

#[on_each_database]
async fn a_backup_with_a_damaged_document_is_refused_and_nothing_is_overwritten(db: Database) {
    let Some(host) = Host::with_backup(db).await else { return };
    let (database, documents) = (database(&host.place), host.path("documents"));
    let overwrites = host.script.run(&["restore", &host.backup, &database, &documents]).await;
    assert!(overwrites.unwrap_err().contains("exists"), "a database in use was overwritten");
    host.script.run(&["check", &host.backup]).await.unwrap();
    if db == Database::Sqlite {
        let whole = std::fs::read(&host.backup).unwrap();
        let mut damaged = whole.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 8192].fill(0xa5);
        std::fs::write(&host.backup, damaged).unwrap();
        let refused = host.script.run(&["check", &host.backup]).await.unwrap_err();
        assert!(refused.contains("is damaged"), "{refused}");
        std::fs::write(&host.backup, whole).unwrap();
    }
    for document in files_below(Path::new(&host.path("backup/documents"))) {
        std::fs::write(&document, "damaged").unwrap();
    }
    let refused = host.script.run(&["check", &host.backup]).await.unwrap_err();
    assert!(refused.contains("missing or damaged"), "{refused}");
    let place = Place::empty(db).await;
    let refused =
        host.script.run(&["restore", &host.backup, &self::database(&place), &host.path("new")]).await;
    assert!(refused.unwrap_err().contains("missing or damaged"));
    let without =
        host.script.run(&["save", &database, &host.path("no documents"), &host.path("other")]).await;
    assert!(without.unwrap_err().contains("there is no folder of documents"));
    assert!(!Path::new(&host.path("other")).exists());
}

#[on_each_database]
async fn a_backup_without_a_document_of_an_invoice_or_credit_note_is_refused(db: Database) {
    let Some(host) = Host::with_backup(db).await else { return };
    let names: Vec<&str> = host.issued.iter().map(|document| document.file_name.as_str()).collect();
    assert_eq!(names, ["FAC-2026-0001.pdf", "AVO-2026-0001.pdf"]);
    let stored = files_below(Path::new(&host.path("backup/documents")));
    for document in &host.issued {
        let is_it = |file: &&PathBuf| std::fs::read(file).unwrap() == document.bytes;
        let file = stored.iter().find(is_it).expect("the document is in the backup");
        std::fs::remove_file(file).unwrap();
        let missing = host.script.run(&["check", &host.backup]).await.unwrap_err();
        assert!(missing.contains("missing or damaged"), "{}: {missing}", document.file_name);
        std::fs::write(file, &document.bytes[1..]).unwrap();
        let damaged = host.script.run(&["check", &host.backup]).await.unwrap_err();
        assert!(damaged.contains("missing or damaged"), "{}: {damaged}", document.file_name);
        std::fs::write(file, &document.bytes).unwrap();
        host.script.run(&["check", &host.backup]).await.unwrap();
    }
}

/// Rules: OPEN-1, OPEN-2
#[on_each_database]
async fn a_backup_follows_a_link_and_refuses_a_second_name(db: Database) {
    if db == Database::Postgres {
        return;
    }
    let Some(host) = Host::with_backup(db).await else { return };
    let last = sent(&host.company).await;
    let (link, documents, backup) = (host.path("current.db"), host.path("documents"), host.path("linked"));
    std::os::unix::fs::symlink(host.place.file(), &link).unwrap();
    let saved = host.script.run(&["save", &link, &documents, &backup]).await.unwrap();
    let (place, restored) = (Place::empty(db).await, host.path("restored"));
    host.script.run(&["restore", &saved, &database(&place), &restored]).await.unwrap();
    let invoicing = open(&place, Path::new(&restored), keys(1)).await.unwrap();
    let company = invoicing.company(host.company.id());
    assert!(exists(&company, last.summary.id).await, "the log beside the target was not read");
    invoicing.close().await;

    let lost = host.path("lost.db");
    std::os::unix::fs::symlink(host.path("nowhere.db"), &lost).unwrap();
    let refused = host.script.run(&["restore", &saved, &lost, &host.path("other")]).await.unwrap_err();
    assert!(refused.contains("lost.db exists"), "{refused}");
    let second = host.path("second.db");
    std::fs::hard_link(host.place.file(), &second).unwrap();
    for name in [&second, &link] {
        let refused = host.script.run(&["save", name, &documents, &backup]).await.unwrap_err();
        assert!(refused.contains("has several names"), "{refused}");
    }
}
