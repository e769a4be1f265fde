//! The author and the cause of a change.

use std::sync::Arc;

#[cfg(feature = "console")]
use super::spent_forms::OpenForm;
use crate::cause::Cause;

/// Who makes a change, and why: noted in the history and with its events.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuditContext {
    /// The name under which the history notes the change; `None` if it is not noted.
    pub(crate) actor: Option<Arc<str>>,
    /// The cause that its events are noted with.
    pub(crate) cause: Option<Arc<Cause>>,
    /// The form that it answers.
    #[cfg(feature = "console")]
    pub(crate) form: Option<Arc<OpenForm>>,
}

/// Of changes that the service makes by itself.
pub(crate) const UNAUDITED: AuditContext = AuditContext {
    actor: None,
    cause: None,
    #[cfg(feature = "console")]
    form: None,
};
