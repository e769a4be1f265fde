//! Row ids of deliveries: each given out once, by this process or by any other.

use std::ops::Range;

use parking_lot::{Mutex, MutexGuard};

use super::connection::Connection;
#[cfg(feature = "postgres")]
use super::connection::on;
use crate::Error;

#[cfg(feature = "postgres")]
const NEXT_BLOCK: &str = "SELECT nextval('delivery_id_block')";
/// As many ids as the sequence goes forward by.
#[cfg(feature = "postgres")]
const BLOCK: i64 = 1_024;

/// The ids that this process may give out.
#[derive(Debug)]
pub(super) struct DeliveryIds(Mutex<Range<i64>>);

/// What is left of a block that a transaction has taken. Its own until it is committed: a server that fails before may
/// give the same block to somebody else.
#[derive(Debug, Default)]
pub(super) struct OwnIds(Range<i64>);

impl DeliveryIds {
    /// All from this one on: nobody else writes.
    pub(super) fn from(first: i64) -> Self {
        Self(Mutex::new(first..i64::MAX))
    }

    /// None yet: blocks are taken from the database's sequence.
    #[cfg(feature = "postgres")]
    pub(super) fn in_blocks() -> Self {
        Self(Mutex::new(0..0))
    }

    /// Takes ids in turn; the first of them. An event has fewer deliveries than a block has ids.
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
            let first: i64 = on!(connection, |c| sqlx::query_scalar(NEXT_BLOCK).fetch_one(c))?;
            own.0 = first + wanted..first + BLOCK;
            return Ok(first);
        }
        let _ = connection;
        Err(Error::internal("no more ids for deliveries"))
    }

    /// To be called once the transaction is committed: the others may have what is left of its block.
    pub(super) fn give(&self, own: &mut OwnIds) {
        let own = std::mem::take(&mut own.0);
        let mut left = self.left();
        if count(&own) > count(&left) {
            *left = own;
        }
    }

    /// Gives up what is left: a server that has failed may have lost what was committed, and give it to somebody else.
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
