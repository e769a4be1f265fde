//! Limits on concurrent work: requests that are processed, and bytes that are held for peers.
//!
//! Requests of the holders of document URLs and signing links have separate slots, so that they
//! take none from the keys and the people of their company.

use std::sync::Arc;

#[cfg(feature = "console")]
use invoicing_core::QuoteId;

use super::byte_budget::{ByteBudget, Proof};
use crate::company_slots::CompanySlots;
use crate::config::RequestLimits;
use crate::documents::DocumentKey;
use crate::keyed_semaphore::KeyedSemaphore;

/// Maximum number of requests with one signing link that are served or wait, once their forms have
/// arrived. Requests with other links wait behind these at most.
#[cfg(feature = "console")]
const OF_ONE_LINK: u32 = 32;

/// The free capacity of a service; all clones of the service share it.
#[derive(Debug)]
pub(crate) struct Capacity {
    /// Requests of keys and people that are processed.
    pub(crate) requests: CompanySlots,
    /// Requests of keys and people that may wait for the document store. Apart, so that a store
    /// which hangs does not block other requests.
    pub(crate) documents: CompanySlots,
    /// Requests of the holders of document URLs and signing links that may wait for the document
    /// store.
    pub(crate) keyless_documents: CompanySlots,
    /// Parts of a document that are read to be checked: one at a time for each kind of proof, as each
    /// takes the memory of the document.
    pub(crate) parts: KeyedSemaphore<(DocumentKey, Proof)>,
    /// Pages behind signing links that are made; each takes a processor.
    #[cfg(feature = "console")]
    pub(crate) pages: CompanySlots,
    /// Requests with one signing link, by the hash of its token: see [`OF_ONE_LINK`].
    #[cfg(feature = "console")]
    pub(crate) links: KeyedSemaphore<[u8; 32]>,
    /// Signatures under way. Apart, as each renders a document, which would keep the slot of a
    /// download for seconds.
    #[cfg(feature = "console")]
    pub(crate) signatures: CompanySlots,
    /// Quotes with a signature under way. One at a time, as only one signature of a quote can
    /// count.
    #[cfg(feature = "console")]
    pub(crate) signed_quotes: KeyedSemaphore<QuoteId>,
    /// Bytes of requests that arrive, and of answers that are not read.
    pub(crate) bytes: Arc<ByteBudget>,
}

impl Capacity {
    pub(crate) fn new(limits: &RequestLimits) -> Self {
        Self {
            requests: CompanySlots::new(limits.in_flight),
            documents: CompanySlots::new(limits.documents_in_flight),
            keyless_documents: CompanySlots::new(limits.documents_in_flight),
            parts: KeyedSemaphore::new(1),
            #[cfg(feature = "console")]
            pages: CompanySlots::for_processors(),
            #[cfg(feature = "console")]
            links: KeyedSemaphore::new(OF_ONE_LINK),
            #[cfg(feature = "console")]
            signatures: CompanySlots::new(limits.documents_in_flight),
            #[cfg(feature = "console")]
            signed_quotes: KeyedSemaphore::new(1),
            bytes: Arc::new(ByteBudget::new(limits.buffered_bytes)),
        }
    }
}
