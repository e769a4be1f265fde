//! The loading of a record that an operation is called to change. Each method compares the version
//! that the change expects.

use invoicing_core::{Client, ClientId, Company, KeyId, Project, ProjectId, WebhookId};

use super::company::{CompanyTx, Tables};
use super::documents::StoredDocument;
use crate::error::Error;
use crate::records::{KeyRecord, Webhook};

impl CompanyTx<'_> {
    /// As [`DocumentTable::reload_if_changed`](super::documents::DocumentTable::reload_if_changed).
    pub(crate) async fn document_to_change<D: StoredDocument>(
        &mut self,
        id: D::Id,
        known: Option<D>,
    ) -> Result<D, Error> {
        let document = self.documents().reload_if_changed(id, known).await?;
        self.check_expected(D::NAME, D::updated_at(document.parts().0))?;
        Ok(document)
    }

    pub(crate) async fn summary_to_change<D: StoredDocument>(
        &mut self,
        id: D::Id,
    ) -> Result<D::Summary, Error> {
        let summary = self.documents::<D>().find_summary(id).await?;
        self.check_expected(D::NAME, D::updated_at(&summary))?;
        Ok(summary)
    }

    pub(crate) async fn client_to_change(&mut self, id: ClientId) -> Result<Client, Error> {
        let client = self.clients().find(id).await?;
        self.check_expected("the client", client.updated_at)?;
        Ok(client)
    }

    pub(crate) async fn project_to_change(&mut self, id: ProjectId) -> Result<Project, Error> {
        let project = self.projects().find(id).await?;
        self.check_expected("the project", project.updated_at)?;
        Ok(project)
    }

    pub(crate) async fn webhook_to_change(&mut self, id: WebhookId) -> Result<Webhook, Error> {
        let webhook = self.webhooks().find(id).await?;
        self.check_expected("the webhook", &webhook)?;
        Ok(webhook)
    }

    pub(crate) async fn key_to_change(&mut self, id: KeyId) -> Result<KeyRecord, Error> {
        let key = self.keys().find(id).await?;
        self.check_expected("the key", &key)?;
        Ok(key)
    }

    pub(crate) fn company_to_change(&self) -> Result<&Company, Error> {
        self.check_expected("the company", &*self.change.company)?;
        Ok(&self.change.company)
    }
}
