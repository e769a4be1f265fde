//! Limits on concurrent work: requests that are processed, and bytes that are held for peers.

use std::sync::Arc;

use super::byte_budget::ByteBudget;
use crate::company_slots::CompanySlots;
use crate::config::RequestLimits;

/// The free capacity of a service; all clones of the service share it.
#[derive(Debug)]
pub(crate) struct Capacity {
    /// Requests that are processed.
    pub(crate) requests: CompanySlots,
    /// Requests that may wait for the document store. Apart, so that a store which hangs does not block others.
    pub(crate) documents: CompanySlots,
    /// Bytes of requests that arrive and of answers that are not read.
    pub(crate) bytes: Arc<ByteBudget>,
}

impl Capacity {
    pub(crate) fn new(limits: &RequestLimits) -> Self {
        Self {
            requests: CompanySlots::new(limits.in_flight),
            documents: CompanySlots::new(limits.documents_in_flight),
            bytes: Arc::new(ByteBudget::new(limits.buffered_bytes)),
        }
    }
}
