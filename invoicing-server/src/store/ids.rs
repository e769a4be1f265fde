//! Row ids of deliveries: each is allocated once, by this process or by another one.
//!
//! On PostgreSQL a node takes ids in blocks of a sequence. A block belongs to the transaction that took it until that is
//! committed, as a server that crashes before may allocate it again. From then on all transactions of the node share it,
//! until the node opens a new connection: the server behind that may be a standby that lacks the last commits.

use std::ops::Range;

use parking_lot::{Mutex, MutexGuard};

use super::connection::Connection;
use crate::Error;

#[cfg(feature = "postgres")]
const NEXT_BLOCK: &str = "SELECT nextval('delivery_id_block')";
/// Increment of the sequence.
#[cfg(feature = "postgres")]
const BLOCK: i64 = 1_024;

/// Ids that every transaction of this process may take.
#[derive(Debug)]
pub(super) struct DeliveryIds(Mutex<Range<i64>>);

/// The rest of a block that belongs to one transaction.
#[derive(Debug, Default)]
pub(super) struct OwnIds(Range<i64>);

impl DeliveryIds {
    /// All ids from this one on, where no other process writes.
    pub(super) fn from(first: i64) -> Self {
        Self(Mutex::new(first..i64::MAX))
    }

    /// None yet, as blocks come from the sequence of the database.
    #[cfg(feature = "postgres")]
    pub(super) fn in_blocks() -> Self {
        Self(Mutex::new(0..0))
    }

    /// Takes consecutive ids; the first of them. An event has fewer deliveries than a block has ids.
    pub(super) async fn take(
        &self,
        own: &mut OwnIds,
        connection: &mut Connection,
        wanted: usize,
    ) -> Result<i64, Error> {
        let wanted = i64::try_from(wanted).unwrap_or(i64::MAX);
        if let Some(first) = take_of(&mut own.0, wanted).or_else(|| take_of(&mut self.left(), wanted)) {
            return Ok(first);
        }
        #[cfg(feature = "postgres")]
        if connection.is_shared() {
            let first: i64 = connection.query(NEXT_BLOCK, &[]).scalar().await?;
            own.0 = first + wanted..first + BLOCK;
            return Ok(first);
        }
        let _ = connection;
        Err(Error::internal("no more ids for deliveries"))
    }

    /// To be called after the commit of the transaction.
    pub(super) fn share(&self, own: &mut OwnIds) {
        let own = std::mem::take(&mut own.0);
        let mut left = self.left();
        if count(&own) > count(&left) {
            *left = own;
        }
    }

    /// Discards the shared ids. To be called for each new connection.
    #[cfg(feature = "postgres")]
    pub(super) fn forget(&self) {
        *self.left() = 0..0;
    }

    fn left(&self) -> MutexGuard<'_, Range<i64>> {
        self.0.lock()
    }
}

fn take_of(left: &mut Range<i64>, wanted: i64) -> Option<i64> {
    (count(left) >= wanted).then(|| {
        let first = left.start;
        left.start += wanted;
        first
    })
}

fn count(ids: &Range<i64>) -> i64 {
    ids.end - ids.start
}
