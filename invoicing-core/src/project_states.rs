//! The transitions between the states of a project, and their events.

use crate::{ChangeTime, Changed, Conflict, ConflictReason, Event, EventKind, Project, ProjectStatus};

impl Project {
    /// Moves the project. `None` for the same status again: the record does not change, and no
    /// event is emitted.
    ///
    /// # Errors
    /// [`Conflict`] from COMPLETED to CANCELED: open the project again first.
    pub fn set_status(
        &self,
        status: ProjectStatus,
        at: ChangeTime,
    ) -> Result<Option<Changed<Self>>, Conflict> {
        use ProjectStatus::{Canceled, Completed, Open};
        match (self.status, status) {
            (from, to) if from == to => Ok(None),
            (Completed, Canceled) => Err(ConflictReason::CompletedProject.into()),
            (Open | Canceled, Completed) => {
                let project =
                    Self { status, completed_at: Some(at.now), updated_at: at.stamp, ..self.clone() };
                let event = Event::project(EventKind::ProjectCompleted, &project, at.stamp);
                Ok(Some(Changed { record: project, events: vec![event] }))
            }
            _ => {
                let project = Self { status, completed_at: None, updated_at: at.stamp, ..self.clone() };
                Ok(Some(Changed::without_events(project)))
            }
        }
    }
}
