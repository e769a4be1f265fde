//! The author and the cause of a change.

use std::sync::Arc;

#[cfg(feature = "console")]
use super::spent_forms::OpenForm;
use crate::cause::Cause;

/// The author and the cause of a change, for the history and its events.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuditContext {
    /// The author's name in the history; `None` if the history does not note the change.
    pub(crate) actor: Option<Arc<str>>,
    /// The cause that is stored with its events.
    pub(crate) cause: Option<Arc<Cause>>,
    /// The console's form that the change carries out.
    #[cfg(feature = "console")]
    pub(crate) form: Option<Arc<OpenForm>>,
}

/// The context of changes that the service makes by itself.
pub(crate) const UNAUDITED: AuditContext = AuditContext {
    actor: None,
    cause: None,
    #[cfg(feature = "console")]
    form: None,
};
