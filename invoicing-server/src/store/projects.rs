//! Projects.

use invoicing_core::{Project, ProjectId};

use super::companies::one_row;
use super::connection::{execute, query};
use super::rows::{from_json, to_json};
use super::scope::Scope;
use crate::Error;

/// The projects of a company.
pub(crate) struct ProjectTable<'c>(pub(super) Scope<'c>);

impl ProjectTable<'_> {
    pub(crate) async fn find(&mut self, id: ProjectId) -> Result<Project, Error> {
        const FIND: &str = "SELECT record FROM project WHERE company_id = $1 AND id = $2";
        let Scope { connection, company } = &mut self.0;
        let json: Option<String> =
            query!(connection, |c| sqlx::query_scalar(FIND).bind(company.0).bind(id.0).fetch_optional(c))?;
        from_json(&json.ok_or(Error::NotFound)?, "project", id)
    }

    /// All projects, newest first.
    pub(crate) async fn list(&mut self) -> Result<Vec<Project>, Error> {
        const LIST: &str = "SELECT record FROM project WHERE company_id = $1 ORDER BY id DESC";
        let Scope { connection, company } = &mut self.0;
        let rows: Vec<String> =
            query!(connection, |c| sqlx::query_scalar(LIST).bind(company.0).fetch_all(c))?;
        rows.iter().map(|json| from_json(json, "project", *company)).collect()
    }

    pub(crate) async fn insert(&mut self, project: &Project) -> Result<(), Error> {
        const INSERT: &str = "INSERT INTO project (company_id, id, record) VALUES ($1, $2, $3)";
        let Scope { connection, company } = &mut self.0;
        execute!(connection, |c| sqlx::query(INSERT)
            .bind(company.0)
            .bind(project.id.0)
            .bind(to_json(project)?)
            .execute(c))?;
        Ok(())
    }

    pub(crate) async fn update(&mut self, project: &Project) -> Result<(), Error> {
        const UPDATE: &str = "UPDATE project SET record = $3 WHERE company_id = $1 AND id = $2";
        let Scope { connection, company } = &mut self.0;
        let done = execute!(connection, |c| sqlx::query(UPDATE)
            .bind(company.0)
            .bind(project.id.0)
            .bind(to_json(project)?)
            .execute(c))?;
        one_row(done, "project")
    }
}
