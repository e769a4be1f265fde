//! The common parts of tests and benchmarks: a service on a database of its own, a clock moved by hand, and a receiver.

#![expect(clippy::missing_panics_doc, reason = "a helper that panics fails its test, which is its purpose")]

#[cfg(test)]
mod alerts;
#[cfg(test)]
mod architecture;
#[cfg(test)]
mod arrows;
mod backup_script;
mod batch;
pub mod bench;
#[cfg(test)]
mod book;
#[cfg(test)]
mod compatibility;
#[cfg(test)]
mod contract;
mod database;
pub mod description;
pub mod documents;
mod figures;
mod files;
pub mod hostile;
#[cfg(test)]
mod house;
mod http_server;
mod ledger;
mod receiver;
mod recorder;
#[cfg(test)]
mod registry_names;
mod release;
mod running_dispatcher;
mod world;

pub use backup_script::backup_script;
pub use batch::{Batch, Done};
pub use database::{Argument, Behind, Place, Scalar};
pub use figures::tell;
pub use files::files_below;
pub use http_server::HttpServer;
pub use invoicing_test_databases::{Database, on_each_database, on_postgres, postgres};
pub use receiver::{Received, Receiver, Reply};
pub use recorder::Recorder;
pub use release::Release;
pub use running_dispatcher::RunningDispatcher;
pub use world::{
    Answer, CANARY, World, WorldBuilder, ask, business_client, legal_identity, new_company, new_quote,
};

/// The examples of the README and of the book, compiled.
#[cfg(doctest)]
mod snippets {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../docs/embed.md")]
    struct Embed;
    #[doc = include_str!("../../docs/integrate.md")]
    struct Integrate;
    #[doc = include_str!("../../docs/pages.md")]
    struct Pages;
    #[doc = include_str!("../../docs/operate-postgresql.md")]
    struct OperatePostgresql;
}
