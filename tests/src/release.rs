//! Databases and answers that a version has recorded: see `released/recording.rs`.

use std::path::{Path, PathBuf};

use invoicing_core::CompanyId;
use invoicing_server::{DocumentFile, DocumentKey, DocumentStore, MemoryStore, SealingKey};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use uuid::Uuid;

use invoicing_test_databases::Database;

/// Databases that a version has recorded.
#[derive(Debug)]
pub struct Release {
    database: Database,
    folder: PathBuf,
    facts: Value,
}

impl Release {
    /// The release in a folder, with its database of this kind.
    pub fn read(database: Database, folder: &Path) -> Self {
        let facts = folder.join(database.either("sqlite", "postgres")).join("facts.json");
        let facts = std::fs::read_to_string(facts).expect("facts");
        Self { database, folder: folder.to_owned(), facts: serde_json::from_str(&facts).expect("JSON") }
    }

    pub(crate) fn database(&self) -> Database {
        self.database
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A fact, by its JSON pointer.
    pub fn fact<T: DeserializeOwned>(&self, pointer: &str) -> T {
        let fact = self.facts.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is not recorded"));
        serde_json::from_value(fact.clone()).unwrap_or_else(|error| panic!("{pointer}: {error}"))
    }

    /// The answers of the API, by path.
    pub fn answers(&self) -> Map<String, Value> {
        self.fact("/answers")
    }

    /// The key of its sealed secrets.
    pub fn sealing_key(&self) -> SealingKey {
        SealingKey::new("release", [7; 32]).expect("a key")
    }

    pub(crate) async fn restore_documents(&self, store: &MemoryStore) {
        for (key, text) in self.fact::<Map<String, Value>>("/documents") {
            let (company, upload) = key.split_once('/').expect("a key");
            let id = |text: &str| text.parse::<Uuid>().expect("an id");
            let key = DocumentKey { company: CompanyId(id(company)), upload: id(upload) };
            let bytes = text.as_str().expect("text").to_owned().into();
            store.put(key, DocumentFile { bytes, file_name: String::new() }).await.expect("a document");
        }
    }
}
