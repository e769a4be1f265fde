//! A restore drill: the time from a backup to a service that runs on it, with typeset documents in a folder, by the
//! script that hosts run.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use invoicing_core::CompanyId;
use invoicing_server::{InvoiceQuery, Invoicing, InvoicingBuilder, ObjectStorage, PostgresSettings};
use invoicing_tests::bench::durable_cluster;
use invoicing_tests::{backup_script, files_below};

use super::workload::Workload;

/// Documents of the restored service that are compared with those of the first.
const COMPARED: usize = 100;

pub(crate) async fn of_sqlite(quotes: u64) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = |name: &str| folder.path().join(name).display().to_string();
    let (from, to) = (database("invoicing.db"), database("restored.db"));
    drill("sqlite", folder.path(), quotes, [&from, &to], |database| Invoicing::sqlite(database)).await;
}

pub(crate) async fn of_postgres(quotes: u64) {
    let Some(cluster) = durable_cluster() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (cluster.create_database("invoicing").await, cluster.create_database("restored").await);
    let open = |url: &str| Invoicing::postgres(PostgresSettings::new(url));
    drill("postgres", folder.path(), quotes, [&from, &to], open).await;
}

/// Makes quotes with all their documents in one database, backs them up, and restores them into another one.
async fn drill(
    name: &str,
    folder: &Path,
    quotes: u64,
    [from, to]: [&str; 2],
    builder: impl Fn(&str) -> InvoicingBuilder,
) {
    let path = |name: &str| folder.join(name);
    let (documents, backups, restored) = (path("documents"), path("backups"), path("restored"));
    let stored = |database: &str, documents: &Path| {
        builder(database).document_store(Arc::new(ObjectStorage::folder(documents).expect("a folder")))
    };
    let mut workload = Workload::open(stored(from, &documents)).await;
    workload.grow_to(quotes).await;
    println!("\n{name}, {quotes} quotes, {}", size_of(&documents));

    let text = |path: &Path| path.display().to_string();
    let (documents, backups, restored) = (text(&documents), text(&backups), text(&restored));
    let backup = timed("save", &["save", from, &documents, &backups]);
    let bytes = std::fs::metadata(&backup).expect("the backup").len();
    println!("    the backup's database has {} kB", bytes >> 10);
    timed("check", &["check", &backup]);
    timed("restore", &["restore", &backup, to, &restored]);
    let begun = Instant::now();
    let invoicing = stored(to, Path::new(&restored)).open().await.expect("the restored service opens");
    println!("    {:<8} {:>7.2} s", "open", begun.elapsed().as_secs_f64());

    let company = workload.company.id();
    assert_eq!(
        documents_of(&workload.invoicing, company).await,
        documents_of(&invoicing, company).await,
        "the restored service has other invoices"
    );
    invoicing.close().await;
    workload.invoicing.close().await;
}

/// The latest invoices with the bytes of their documents, which the service compares with their hashes.
async fn documents_of(invoicing: &Invoicing, company: CompanyId) -> Vec<(String, Vec<u8>)> {
    let company = invoicing.company(company);
    let invoices = company.invoices();
    let page = invoices.list(&InvoiceQuery::default()).await.expect("a page").data;
    let mut documents = Vec::new();
    for invoice in page.iter().filter(|invoice| invoice.summary.number.is_some()).take(COMPARED) {
        let document = invoices.open_document(invoice.summary.id).await.expect("its document");
        documents.push((invoice.summary.id.to_string(), document.bytes.to_vec()));
    }
    assert!(!documents.is_empty(), "no invoice is compared");
    documents
}

/// Runs the script and prints its time. Returns its output.
fn timed(step: &str, arguments: &[&str]) -> String {
    let begun = Instant::now();
    let output = backup_script(arguments).output().expect("the script runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    println!("    {step:<8} {:>7.2} s", begun.elapsed().as_secs_f64());
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

fn size_of(folder: &Path) -> String {
    let files = files_below(folder);
    let bytes: u64 = files.iter().map(|file| std::fs::metadata(file).expect("its size").len()).sum();
    format!("{} documents of {} MB", files.len(), bytes >> 20)
}
