//! Documents: rendering, freezing, storage, signed URLs.
//!
//! A document is rendered once, stored under a key that no other document has, and from then on
//! only read; each reading is checked against the hash of its bytes. This module handles keys,
//! bytes and the proof in a URL. It has no link from a document to its quote, decides no state,
//! opens no transaction, and has neither HTTP nor SQL: operations call it before the transaction
//! that refers to the document.
//!
//! A host may plug in a [`DocumentRenderer`] and a [`DocumentStore`]; the defaults are
//! `PdfRenderer` (feature `pdf`) and [`ObjectStorage`].

mod blob_store;
#[cfg_attr(not(feature = "pdf"), expect(dead_code, reason = "only the renderer reads all of it"))]
pub(crate) mod content;
mod content_disposition;
mod facts;
mod facturx;
mod freeze;
mod hash;
mod legal_gate;
mod logo;
#[cfg(any(test, feature = "testing"))]
mod memory;
#[cfg(feature = "pdf")]
mod pdf;
mod render;
mod signed_url;
mod territory;
mod vat_exemption;

#[cfg(all(test, feature = "console", feature = "pdf"))]
pub(crate) use pdf::tests as pdf_tests;

pub use blob_store::{
    DocumentFile, DocumentKey, DocumentStore, DocumentStoreError, ObjectStorage, StorageSetupError,
};
pub use facts::{Buyer, DocumentFacts, Parties};
#[cfg(any(test, feature = "testing"))]
pub use facturx::factur_x;
pub use hash::{ContentHash, ParseHashError};
pub use logo::{DocumentLogo, LogoFormat};
#[cfg(any(test, feature = "testing"))]
pub use memory::MemoryStore;
#[cfg(feature = "pdf")]
pub use pdf::{FontError, PdfRenderer};
pub use render::{
    DocumentInput, DocumentKind, DocumentRef, DocumentRenderer, RenderDeadline, RenderError, SentCopy,
};

pub(crate) use blob_store::{CONTENT_TYPE, StoredFile};
pub(crate) use content_disposition::content_disposition;
pub(crate) use freeze::{BoundedStore, Document, DocumentContent, DocumentService, Frozen, StoredCopy};
pub(crate) use legal_gate::gaps_of_company;
pub(crate) use signed_url::{DOCUMENT_URL_VALID_MS, UrlSigner};
