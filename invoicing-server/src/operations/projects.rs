//! Projects: opened and moved by the host; their completion is an event.

use invoicing_core::{ClientId, Project, ProjectId, ProjectStatus, QuoteId, Rule};

use super::{CompanyHandle, missing, missing_client};
use crate::error::Error;
use crate::records::HistoryAction;
use crate::store::Tables;

/// The projects of a company.
///
/// ```
/// # use invoicing_server::{Invoicing, NewClient, NewCompany, Plan};
/// use invoicing_server::{NewProject, ProjectStatus};
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let invoicing = Invoicing::sqlite(folder.path().join("invoicing.db")).open().await?;
/// # let company = invoicing.companies().create(&NewCompany::named("Martin Peinture", Plan::Team)).await?;
/// # let company = invoicing.company(company.id);
/// # let client = company.clients().create(&NewClient::named("Claire Lefèvre")).await?;
/// let projects = company.projects();
/// let project = projects.create(&NewProject::named("Rue des Lilas").client_id(client.id)).await?;
/// assert_eq!(project.status, ProjectStatus::Open);
/// let completed = projects.set_status(project.id, ProjectStatus::Completed).await?; // project.completed
/// assert_eq!(projects.list().await?, [completed]);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Projects<'a>(pub(super) &'a CompanyHandle);

/// A project as it is entered.
#[must_use]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewProject {
    /// Name, 1 to 255 characters.
    pub name: String,
    /// The client of the project.
    pub client_id: Option<ClientId>,
    /// The quotes that belong to it.
    pub quote_ids: Vec<QuoteId>,
}

impl NewProject {
    /// A project without client and quotes.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), client_id: None, quote_ids: Vec::new() }
    }

    /// Sets [`client_id`](Self#structfield.client_id).
    pub fn client_id(mut self, id: ClientId) -> Self {
        self.client_id = Some(id);
        self
    }

    /// Adds to [`quote_ids`](Self#structfield.quote_ids).
    pub fn quote_ids(mut self, ids: impl IntoIterator<Item = QuoteId>) -> Self {
        self.quote_ids.extend(ids);
        self
    }
}

impl CompanyHandle {
    /// The projects of the company.
    pub fn projects(&self) -> Projects<'_> {
        Projects(self)
    }
}

impl Projects<'_> {
    /// Opens a project.
    pub async fn create(&self, new: &NewProject) -> Result<Project, Error> {
        let NewProject { name, client_id, quote_ids } = new.clone();
        let changed = self.0.write([], async move |mut tx| {
            let client = match client_id {
                Some(id) => Some(tx.clients().find(id).await.map_err(missing_client)?),
                None => None,
            };
            for id in &quote_ids {
                let found = tx.quotes().check_exists(*id).await;
                found.map_err(|error| missing(error, "quoteIds", Rule::QuotesOfCompany))?;
            }
            let id = ProjectId(tx.env().uuid());
            let project = Project::open(id, &name, client.as_ref(), quote_ids, tx.change.at())?;
            tx.projects().insert(&project).await?;
            tx.record_events(&[]).await?;
            tx.note(HistoryAction::ProjectCreated, id.0, &project.name).await?;
            Ok(project)
        });
        self.0.operation("projects.create", changed).await
    }

    /// Moves a project. Each move to COMPLETED emits `project.completed`; the same status again
    /// does nothing.
    pub async fn set_status(&self, id: ProjectId, status: ProjectStatus) -> Result<Project, Error> {
        let changed = self.0.write([], async move |mut tx| {
            let project = tx.project_to_change(id).await?;
            let Some(changed) = project.set_status(status, tx.change.at())? else {
                return Ok(project);
            };
            tx.projects().update(&changed.record).await?;
            tx.record_events(&changed.events).await?;
            tx.note(HistoryAction::ProjectMoved, id.0, &changed.record.status).await?;
            Ok(changed.record)
        });
        self.0.operation("projects.set_status", changed).await
    }

    /// One project.
    pub async fn get(&self, id: ProjectId) -> Result<Project, Error> {
        self.0.operation("projects.get", self.0.read(async move |mut tx| tx.projects().find(id).await)).await
    }

    /// All projects, newest first.
    pub async fn list(&self) -> Result<Vec<Project>, Error> {
        self.0.operation("projects.list", self.0.read(async |mut tx| tx.projects().list().await)).await
    }
}
