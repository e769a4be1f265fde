//! Secrets that only a database server has: a password in its URL, settings, and a copy of a file on it.

use std::path::Path;

use invoicing_server::{Invoicing, OpenError, PostgresSettings, SealingKey, SealingKeys, copy_to_postgres};
use invoicing_tests::{Database, Place};

use crate::scenario::Printed;
use crate::secrets::Secrets;

const PASSWORD: &str = "database-password-5Kd8Wz3Tq";

/// A place whose server requires a password. Every possible failure before opening has been printed.
pub(crate) async fn place(secrets: &mut Secrets, printed: &mut Printed) -> Place {
    secrets.text("the password of the database", PASSWORD);
    let place = Place::new(Database::Postgres).await.with_password(PASSWORD);
    let (scheme, rest) = place.url().split_once("://").unwrap();
    let (credentials, _) = rest.rsplit_once('@').unwrap();
    for url in [
        format!("{scheme}://{credentials}@127.0.0.1:1/nothing"),
        format!("{scheme}://nobody:{PASSWORD}@127.0.0.1:1/nothing?sslmode={PASSWORD}"),
        format!("{scheme}://nobody:{PASSWORD}@[::1/nothing"),
        format!("{scheme}://nobody:{PASSWORD}@127.0.0.1:{PASSWORD}/nothing"),
        format!("mysql://nobody:{PASSWORD}@127.0.0.1/nothing"),
        format!("nobody:{PASSWORD}@127.0.0.1/nothing"),
        place.url().replace("invoicing_tests", "no_such_database"),
    ] {
        let settings = PostgresSettings { acquire_timeout_ms: 300, ..PostgresSettings::new(&*url) };
        printed.value("PostgresSettings", &settings);
        printed.value("InvoicingBuilder of a server", &Invoicing::postgres(settings.clone()));
        let refused: Result<_, OpenError> = open(settings.clone()).await;
        printed.value("OpenError of a server", refused.as_ref().unwrap_err());
        printed.failure("a server that cannot be reached", refused);
        let refused = copy_to_postgres(Path::new("/nowhere/invoicing.db"), &settings).await;
        printed.value("CopyError", refused.as_ref().unwrap_err());
        printed.failure("a copy of nothing to nowhere", refused);
    }
    copied(printed).await;
    place
}

async fn open(settings: PostgresSettings) -> Result<Invoicing, OpenError> {
    let documents = std::sync::Arc::new(invoicing_server::MemoryStore::new());
    Invoicing::postgres(settings).document_store(documents).open().await
}

/// A file that is copied to a server.
async fn copied(printed: &mut Printed) {
    let file = Place::new(Database::Sqlite).await;
    // The file has a key, as the scenario counts the warnings about missing ones.
    let key = SealingKey::new("copied", [7; 32]).unwrap();
    file.builder().sealing_keys(SealingKeys::new(key)).open().await.unwrap().close().await;
    let server = Place::empty(Database::Postgres).await.with_password(PASSWORD);
    let report = copy_to_postgres(&file.file(), &PostgresSettings::new(server.url())).await;
    printed.value("CopyReport", &report.unwrap());
}
