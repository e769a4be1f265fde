//! Modes of the files that the service makes. The tests find a fault only under a umask that lets others read, such as
//! 022.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use invoicing_core::{NewCompany, Plan};
use invoicing_server::Invoicing;

use crate::support::draft_of;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode()
        & 0o777
}

#[tokio::test]
async fn database_log_lock_and_documents_are_readable_by_their_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("invoicing.db");
    let invoicing = Invoicing::sqlite(&database).open().await.unwrap();
    let company = invoicing.companies().create(&NewCompany::named("A", Plan::Team)).await.unwrap();
    let company = invoicing.company(company.id);
    let quote = draft_of(&company).await.summary.id;
    company.quotes().send(quote, None).await.unwrap();
    for name in ["invoicing.db", "invoicing.db-wal", "invoicing.db-shm", "invoicing.db.lock"] {
        assert_eq!(mode(&folder.path().join(name)), 0o600, "{name}");
    }
    let documents = folder.path().join("invoicing.db.documents");
    assert_eq!(mode(&documents), 0o700);
    assert_eq!(mode(&documents.join(company.id().to_string())), 0o700);
    invoicing.close().await;
}
