//! Writes: an operation waits for a [lane](super::lane), or runs in a transaction of its own where it is of no company.
//!
//! An operation has no effect before the commit, so it can be run again, and operations that wait at the same time share a
//! [transaction](super::transaction).

use std::sync::Arc;

use futures_util::future::BoxFuture;
use invoicing_core::CompanyId;

use super::company::run_alone;
use super::{Postgres, spawn};
use crate::Error;
use crate::store::Prefetch;
use crate::store::call::call;
use crate::store::tx::Tx;

impl Postgres {
    /// Runs an operation in a transaction. `company`: the one whose row it locks. `records`: what it reads of it first.
    pub(in crate::store) async fn write<T, F>(
        &self,
        company: Option<CompanyId>,
        records: Vec<Prefetch>,
        operation: F,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: for<'t> FnOnce(&'t mut Tx) -> BoxFuture<'t, Result<T, Error>> + Clone + Send + 'static,
    {
        let (call, answer) = call(company, records, operation);
        match company {
            Some(company) => self.shared.join(company, call),
            // In a task: where its caller is cancelled, what is committed is still handed over.
            None => drop(spawn(run_alone(Arc::clone(&self.shared), call))),
        }
        answer.await.map_err(|_| Error::unavailable("the operation was given up, and may have happened"))?
    }
}
