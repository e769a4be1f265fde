//! Projects.

use invoicing_core::{Project, ProjectId};

use super::rows::to_json;
use super::scope::Scope;
use super::versions::{RecordRow, StoredRecord};
use crate::error::Error;

/// The projects of a company.
pub(crate) struct ProjectTable<'c>(pub(super) Scope<'c>);

impl ProjectTable<'_> {
    pub(crate) async fn find(&mut self, id: ProjectId) -> Result<Project, Error> {
        const FIND: &str = "SELECT record, version FROM project WHERE company_id = $1 AND id = $2";
        let row: Option<RecordRow> = self.0.query(FIND, &[&id]).fetch_optional().await?;
        row.ok_or(Error::NotFound)?.read(id)
    }

    /// All projects, newest first.
    pub(crate) async fn list(&mut self) -> Result<Vec<Project>, Error> {
        const LIST: &str = "
            SELECT record, version FROM project WHERE company_id = $1 ORDER BY id DESC";
        let rows: Vec<RecordRow> = self.0.query(LIST, &[]).fetch_all().await?;
        rows.iter().map(|row| row.read(self.0.company)).collect()
    }

    pub(crate) async fn insert(&mut self, project: &Project) -> Result<(), Error> {
        const INSERT: &str = "
            INSERT INTO project (company_id, id, record, version) VALUES ($1, $2, $3, $4)";
        self.0.query(INSERT, &[&project.id, &to_json(project)?, &Project::VERSION]).execute().await?;
        Ok(())
    }

    pub(crate) async fn update(&mut self, project: &Project) -> Result<(), Error> {
        const UPDATE: &str = "
            UPDATE project SET record = $3, version = $4 WHERE company_id = $1 AND id = $2 AND version <= $4";
        let update = self.0.query(UPDATE, &[&project.id, &to_json(project)?, &Project::VERSION]);
        update.replace_record::<Project>().await
    }
}
