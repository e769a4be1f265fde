//! Which calls still wait, and may.

use std::sync::Arc;

use super::retry;
use crate::Error;
use crate::store::call::{Group, shared_error};

/// The calls whose callers still wait. Those that have waited too long are answered. `cause`: why they are not committed yet.
pub(super) fn in_time(calls: Group, cause: Option<&Arc<Error>>) -> Group {
    let wanted = calls.into_iter().filter(|call| call.is_wanted());
    let (in_time, late): (Group, Group) = wanted.partition(|call| retry::has_time(call.begun()));
    for call in late {
        call.answer(Err(match cause {
            Some(cause) => shared_error(cause),
            None => Error::unavailable("the queue for the database is too long"),
        }));
    }
    in_time
}
