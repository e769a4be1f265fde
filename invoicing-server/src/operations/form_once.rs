//! A form of the console, carried out once.
//!
//! The transaction that notes the change in the history spends the form's token. If another click
//! has spent it meanwhile, the transaction is refused. The table is `store/spent_forms`, the token
//! `console/form_token`, and the answer to the second click `console/carried_out`.

use std::sync::Arc;

use uuid::Uuid;

use super::CompanyHandle;
use crate::error::Error;
use crate::records::HistoryRecord;
use crate::store::Tables;
use crate::store::spent_forms::OpenForm;

/// A form that was carried out.
pub(crate) struct CarriedOut {
    /// The change; `None` if there was nothing to change.
    pub(crate) change: Option<HistoryRecord>,
}

impl CompanyHandle {
    /// A handle whose next noted change spends the token of a form.
    pub(crate) fn for_form(&self, token: Uuid) -> Self {
        let mut handle = self.clone();
        handle.form = Some(Arc::new(OpenForm::new(token)));
        handle
    }

    /// The result of the form, if it was carried out.
    pub(crate) async fn carried_out(&self) -> Result<Option<CarriedOut>, Error> {
        let Some(form) = &self.form else { return Ok(None) };
        let token = form.token;
        self.read(async move |mut tx| find(&mut tx, token).await).await
    }

    /// As [`Self::carried_out`], but waits first for the changes of the company that are under way.
    pub(crate) async fn carried_out_meanwhile(&self) -> Result<Option<CarriedOut>, Error> {
        let Some(form) = &self.form else { return Ok(None) };
        let token = form.token;
        self.write([], async move |mut tx| find(&mut tx, token).await).await
    }

    /// Spends the token of a form that has changed nothing. Returns false if another click has
    /// spent it.
    pub(crate) async fn end_form(&self) -> Result<bool, Error> {
        let Some(form) = self.form.as_ref().filter(|form| !form.is_spent()) else { return Ok(true) };
        let token = form.token;
        self.write([], async move |mut tx| tx.spent_forms().insert(token).await).await
    }
}

async fn find(tx: &mut impl Tables, token: Uuid) -> Result<Option<CarriedOut>, Error> {
    let Some(noted) = tx.spent_forms().find(token).await? else { return Ok(None) };
    let change = if noted > 0 { tx.history().list(noted + 1, 1).await?.pop() } else { None };
    Ok(Some(CarriedOut { change }))
}
