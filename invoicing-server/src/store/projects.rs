//! Projects.

use invoicing_core::{CompanyId, Project, ProjectId};

use super::companies::one_row;
use super::connection::{Connection, on, run};
use super::rows::{from_json, to_json};
use crate::Error;

const FIND: &str = "SELECT record FROM project WHERE company_id = $1 AND id = $2";
const LIST: &str = "SELECT record FROM project WHERE company_id = $1 ORDER BY id DESC";
const INSERT: &str = "INSERT INTO project (company_id, id, record) VALUES ($1, $2, $3)";
const UPDATE: &str = "UPDATE project SET record = $3 WHERE company_id = $1 AND id = $2";

pub(crate) async fn find(
    connection: &mut Connection,
    company: CompanyId,
    id: ProjectId,
) -> Result<Project, Error> {
    let json: Option<String> =
        on!(connection, |c| sqlx::query_scalar(FIND).bind(company.0).bind(id.0).fetch_optional(c))?;
    from_json(&json.ok_or(Error::NotFound)?, "project", id)
}

pub(crate) async fn list(connection: &mut Connection, company: CompanyId) -> Result<Vec<Project>, Error> {
    let rows: Vec<String> = on!(connection, |c| sqlx::query_scalar(LIST).bind(company.0).fetch_all(c))?;
    rows.iter().map(|json| from_json(json, "project", company)).collect()
}

pub(crate) async fn insert(
    connection: &mut Connection,
    company: CompanyId,
    project: &Project,
) -> Result<(), Error> {
    run!(connection, |c| sqlx::query(INSERT)
        .bind(company.0)
        .bind(project.id.0)
        .bind(to_json(project)?)
        .execute(c))?;
    Ok(())
}

pub(crate) async fn update(
    connection: &mut Connection,
    company: CompanyId,
    project: &Project,
) -> Result<(), Error> {
    let done = run!(connection, |c| sqlx::query(UPDATE)
        .bind(company.0)
        .bind(project.id.0)
        .bind(to_json(project)?)
        .execute(c))?;
    one_row(done, "project")
}
