//! Limits on concurrent work: requests that are processed, and bytes that are held for peers.
//!
//! What the holders of document URLs and signing links do has places of its own, so that it takes none from the keys and
//! the people of their company.

use std::sync::Arc;
#[cfg(feature = "console")]
use std::thread::available_parallelism;

#[cfg(feature = "console")]
use invoicing_core::QuoteId;

use super::byte_budget::ByteBudget;
use crate::company_slots::CompanySlots;
use crate::config::RequestLimits;
#[cfg(feature = "console")]
use crate::keyed_semaphore::KeyedSemaphore;

/// Requests with one signing link that are served or wait. Those of other links wait behind these at most.
#[cfg(feature = "console")]
const OF_ONE_LINK: u32 = 32;

/// The free capacity of a service; all clones of the service share it.
#[derive(Debug)]
pub(crate) struct Capacity {
    /// Requests of keys and people that are processed.
    pub(crate) requests: CompanySlots,
    /// Those that may wait for the document store. Apart, so that a store which hangs does not block others.
    pub(crate) documents: CompanySlots,
    /// The same for the holders of document URLs and signing links.
    pub(crate) keyless_documents: CompanySlots,
    /// Pages behind signing links that are made: one for each processor, as that is what they take. At least two, so that a
    /// company never has all of them.
    #[cfg(feature = "console")]
    pub(crate) pages: CompanySlots,
    /// By the hash of its token: see [`OF_ONE_LINK`].
    #[cfg(feature = "console")]
    pub(crate) links: KeyedSemaphore<[u8; 32]>,
    /// Signatures under way. Each renders a document, so that they would keep the places of downloads for seconds.
    #[cfg(feature = "console")]
    pub(crate) signatures: CompanySlots,
    /// Of several signatures of a quote one can count, so one at a time is under way.
    #[cfg(feature = "console")]
    pub(crate) signed_quotes: KeyedSemaphore<QuoteId>,
    /// Bytes of requests that arrive and of answers that are not read.
    pub(crate) bytes: Arc<ByteBudget>,
}

impl Capacity {
    pub(crate) fn new(limits: &RequestLimits) -> Self {
        Self {
            requests: CompanySlots::new(limits.in_flight),
            documents: CompanySlots::new(limits.documents_in_flight),
            keyless_documents: CompanySlots::new(limits.documents_in_flight),
            #[cfg(feature = "console")]
            pages: CompanySlots::new(available_parallelism().map_or(2, |processors| processors.get().max(2))),
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
