//! Where the service keeps its data: a file, a durable database server of its own, or that of another peer.

use std::sync::Arc;

use invoicing_server::{Invoicing, InvoicingBuilder, MemoryStore, PostgresSettings};
use invoicing_tests::bench::{durable_cluster, postmaster};
use invoicing_tests::postgres::Cluster;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{POSTGRES, SQLITE};

pub(crate) enum Place {
    File(TempDir),
    Server { url: String, cluster: Option<Cluster> },
}

impl Place {
    /// A new one on a kind of database, or that of a peer, by its address.
    pub(crate) async fn new(database: &str) -> Self {
        match database {
            SQLITE => {
                Self::File(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on disk"))
            }
            POSTGRES => {
                let cluster = durable_cluster().expect("the benchmark has asked for the programs");
                Self::Server { url: cluster.create_database("invoicing").await, cluster: Some(cluster) }
            }
            url => Self::Server { url: url.to_owned(), cluster: None },
        }
    }

    pub(crate) fn builder(&self) -> InvoicingBuilder {
        match self {
            Self::File(folder) => Invoicing::sqlite(folder.path().join("invoicing.db")),
            Self::Server { url, .. } => {
                Invoicing::postgres(PostgresSettings::new(url)).document_store(Arc::new(MemoryStore::new()))
            }
        }
    }

    /// The facts about it that the benchmark needs.
    pub(crate) fn told(&self) -> Value {
        match self {
            Self::File(_) => Value::Null,
            Self::Server { url, cluster } => {
                json!({"url": url, "postmaster": cluster.as_ref().map(postmaster)})
            }
        }
    }

    /// The database server's URL.
    pub(crate) fn url(&self) -> &str {
        match self {
            Self::File(_) => unreachable!("only asked of a server"),
            Self::Server { url, .. } => url,
        }
    }
}
