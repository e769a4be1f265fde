//! The secrets of a webhook: the present one and, during the overlap of a rotation, the one before.

use invoicing_core::{Timestamp, WebhookId};
use uuid::Uuid;
use zeroize::Zeroizing;

use super::webhooks::WebhookTable;
use crate::error::Error;
use crate::sealing::{AssociatedData, Sealer};
use crate::secret::Secret;

impl WebhookTable<'_> {
    /// Stores the secret, sealed again; nothing else changes.
    pub(super) async fn set_secret(
        &mut self,
        sealer: &Sealer,
        id: WebhookId,
        secret: &str,
    ) -> Result<(), Error> {
        const SET_SECRET: &str = "UPDATE webhook SET secret = $3 WHERE company_id = $1 AND id = $2";
        let secret = sealer.seal_text(&AssociatedData::webhook_secret(self.0.company, id), secret);
        self.0.query(SET_SECRET, &[&id, &*secret]).change_one("webhook").await
    }

    /// Stores the secret before the last rotation, sealed again; nothing else changes.
    pub(super) async fn set_previous_secret(
        &mut self,
        sealer: &Sealer,
        id: WebhookId,
        secret: &str,
    ) -> Result<(), Error> {
        const SET_PREVIOUS: &str =
            "UPDATE webhook SET previous_secret = $3 WHERE company_id = $1 AND id = $2";
        let secret = sealer.seal_text(&AssociatedData::previous_webhook_secret(self.0.company, id), secret);
        self.0.query(SET_PREVIOUS, &[&id, &*secret]).change_one("webhook").await
    }

    /// Replaces the secret. With an instant, the present one is kept until then; an earlier one is
    /// wiped in any case.
    ///
    /// # Errors
    /// If the present secret is to be kept and cannot be read.
    pub(crate) async fn rotate(
        &mut self,
        sealer: &Sealer,
        id: WebhookId,
        secret: &Secret,
        keep_until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<(), Error> {
        const PRESENT: &str = "SELECT secret FROM webhook WHERE company_id = $1 AND id = $2";
        const ROTATE: &str = "
            UPDATE webhook SET secret = $3, previous_secret = $4, previous_secret_until = $5, rotated_at = $6
            WHERE company_id = $1 AND id = $2";
        let place = AssociatedData::webhook_secret(self.0.company, id);
        let previous = match keep_until {
            Some(_) => {
                let present: Zeroizing<String> =
                    Zeroizing::new(self.0.query(PRESENT, &[&id]).scalar().await?);
                let clear = sealer.open_text(&place, &present).map_err(|cause| place.bad_row(cause))?;
                Some(sealer.seal_text(&AssociatedData::previous_webhook_secret(self.0.company, id), &clear))
            }
            None => None,
        };
        let secret = sealer.seal_text(&place, secret.reveal());
        let previous = previous.as_deref().map(String::as_str);
        self.0.query(ROTATE, &[&id, &*secret, &previous, &keep_until, &now]).change_one("webhook").await
    }

    /// Wipes the secret before the last rotation.
    pub(crate) async fn wipe_previous_secret(&mut self, id: WebhookId) -> Result<(), Error> {
        const WIPE: &str = "
            UPDATE webhook SET previous_secret = NULL, previous_secret_until = NULL
            WHERE company_id = $1 AND id = $2";
        self.0.query(WIPE, &[&id]).change_one("webhook").await
    }

    /// Wipes the secrets before the last rotations if their time has ended. Returns their webhooks.
    pub(crate) async fn wipe_ended_secrets(&mut self, now: Timestamp) -> Result<Vec<WebhookId>, Error> {
        const WIPE_ENDED: &str = "
            UPDATE webhook SET previous_secret = NULL, previous_secret_until = NULL
            WHERE company_id = $1 AND previous_secret_until <= $2 RETURNING id";
        let ids: Vec<Uuid> = self.0.query(WIPE_ENDED, &[&now]).all_scalars().await?;
        Ok(ids.into_iter().map(WebhookId).collect())
    }
}
