//! Projects: opened and moved by the host; their completion is an event.

use invoicing_core::{ClientId, Invalid, Project, ProjectId, ProjectStatus, QuoteId};

use super::CompanyHandle;
use crate::Error;
use crate::store::{clients, projects, quotes, reading};

/// The projects of a company.
#[derive(Debug, Clone, Copy)]
pub struct Projects<'a>(pub(super) &'a CompanyHandle);

/// A project as it is entered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProject {
    /// Name, 1 to 255 characters.
    pub name: String,
    /// Whose project it is.
    pub client_id: Option<ClientId>,
    /// The quotes that belong to it.
    pub quote_ids: Vec<QuoteId>,
}

impl Projects<'_> {
    /// Opens a project.
    pub async fn create(&self, new: &NewProject) -> Result<Project, Error> {
        let NewProject { name, client_id, quote_ids } = new.clone();
        let company = self.0.id;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let client = match client_id {
                        Some(id) => {
                            Some(clients::find(tx.connection(), company, id).await.map_err(|error| {
                                missing(error, "clientId", "must be a client of the company")
                            })?)
                        }
                        None => None,
                    };
                    for id in &quote_ids {
                        let found = quotes::find_pieces(tx.connection(), company, *id).await;
                        found.map_err(|error| missing(error, "quoteIds", "must be quotes of the company"))?;
                    }
                    let id = ProjectId(tx.env().uuid());
                    let project = Project::open(id, &name, client.as_ref(), quote_ids, unit.at)?;
                    projects::insert(tx.connection(), company, &project).await?;
                    tx.finish(&unit, &[]).await?;
                    Ok(project)
                })
            })
            .await
    }

    /// Moves a project. Each move to COMPLETED emits `project.completed`; the same status again does nothing.
    pub async fn set_status(&self, id: ProjectId, status: ProjectStatus) -> Result<Project, Error> {
        let company = self.0.id;
        self.0
            .write(move |tx| {
                Box::pin(async move {
                    let unit = tx.unit(company).await?;
                    let project = projects::find(tx.connection(), company, id).await?;
                    let Some(changed) = project.set_status(status, unit.at)? else { return Ok(project) };
                    projects::update(tx.connection(), company, &changed.record).await?;
                    tx.finish(&unit, &changed.events).await?;
                    Ok(changed.record)
                })
            })
            .await
    }

    /// One project.
    pub async fn get(&self, id: ProjectId) -> Result<Project, Error> {
        reading!(self.0.inner.store, |c| projects::find(c, self.0.id, id))
    }

    /// All projects, newest first.
    pub async fn list(&self) -> Result<Vec<Project>, Error> {
        reading!(self.0.inner.store, |c| projects::list(c, self.0.id))
    }
}

fn missing(error: Error, field: &'static str, rule: &'static str) -> Error {
    match error {
        Error::NotFound => Invalid::new(field, rule).into(),
        error => error,
    }
}
