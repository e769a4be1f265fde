//! Projects.

use invoicing_core::{Project, ProjectId};

use super::rows::{from_json, to_json};
use super::scope::Scope;
use crate::Error;

/// The projects of a company.
pub(crate) struct ProjectTable<'c>(pub(super) Scope<'c>);

impl ProjectTable<'_> {
    pub(crate) async fn find(&mut self, id: ProjectId) -> Result<Project, Error> {
        const FIND: &str = "SELECT record FROM project WHERE company_id = $1 AND id = $2";
        let json: Option<String> = self.0.query(FIND, &[&id]).optional_scalar().await?;
        from_json(&json.ok_or(Error::NotFound)?, "project", id)
    }

    /// All projects, newest first.
    pub(crate) async fn list(&mut self) -> Result<Vec<Project>, Error> {
        const LIST: &str = "SELECT record FROM project WHERE company_id = $1 ORDER BY id DESC";
        let rows: Vec<String> = self.0.query(LIST, &[]).all_scalars().await?;
        rows.iter().map(|json| from_json(json, "project", self.0.company)).collect()
    }

    pub(crate) async fn insert(&mut self, project: &Project) -> Result<(), Error> {
        const INSERT: &str = "INSERT INTO project (company_id, id, record) VALUES ($1, $2, $3)";
        self.0.query(INSERT, &[&project.id, &to_json(project)?]).execute().await?;
        Ok(())
    }

    pub(crate) async fn update(&mut self, project: &Project) -> Result<(), Error> {
        const UPDATE: &str = "UPDATE project SET record = $3 WHERE company_id = $1 AND id = $2";
        self.0.query(UPDATE, &[&project.id, &to_json(project)?]).change_one("project").await
    }
}
