//! Projects: opened, completed, cancelled, and opened again.

use serde::{Deserialize, Serialize};

use strum::{Display, IntoStaticStr, VariantArray};

use crate::text::{SHORT_TEXT, required_text};
use crate::{ChangeTime, Client, Invalid, ProjectId, QuoteId, Timestamp};

/// The state of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum ProjectStatus {
    /// Work is under way.
    Open,
    /// Work is done.
    Completed,
    /// Work was given up.
    Canceled,
}

/// A project of a company. The API does not show it; its completion is an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Project {
    /// Identifier on the service's side.
    pub id: ProjectId,
    /// Name, 1 to 255 characters.
    pub name: String,
    /// The state.
    pub status: ProjectStatus,
    /// The client's name when the project was made.
    pub client_name: Option<String>,
    /// The client's e-mail when the project was made.
    pub client_email: Option<String>,
    /// The quotes of the project.
    pub quote_ids: Vec<QuoteId>,
    /// Instant of the last move to COMPLETED; `None` in any other state.
    pub completed_at: Option<Timestamp>,
    /// Instant of creation.
    pub created_at: Timestamp,
    /// Instant of the last change.
    pub updated_at: Timestamp,
}

impl Project {
    /// A new project, OPEN.
    pub fn open(
        id: ProjectId,
        name: &str,
        client: Option<&Client>,
        quote_ids: Vec<QuoteId>,
        at: ChangeTime,
    ) -> Result<Self, Invalid> {
        Ok(Self {
            id,
            name: required_text("name", name, SHORT_TEXT)?,
            status: ProjectStatus::Open,
            client_name: client.map(|client| client.name.clone()),
            client_email: client.and_then(|client| client.email.clone()),
            quote_ids,
            completed_at: None,
            created_at: at.now,
            updated_at: at.stamp,
        })
    }
}

#[cfg(test)]
mod tests;
