//! The author and the cause of a change, and the version that it expects.

use std::sync::Arc;

use super::expected::Comparison;
#[cfg(feature = "console")]
use super::spent_forms::OpenForm;
use crate::cause::Cause;

/// The author and the cause of a change, for the history and its events, and the version that it
/// expects.
#[derive(Debug, Clone, Default)]
pub(crate) struct AuditContext {
    /// The author's name in the history; `None` if the history does not note the change.
    pub(crate) actor: Option<Arc<str>>,
    /// The cause that is stored with its events.
    pub(crate) cause: Option<Arc<Cause>>,
    /// The version in which the change must find its record.
    pub(crate) comparison: Option<Arc<Comparison>>,
    /// The console's form that the change carries out.
    #[cfg(feature = "console")]
    pub(crate) form: Option<Arc<OpenForm>>,
}

/// The context of changes that the service makes by itself.
pub(crate) const UNAUDITED: AuditContext = AuditContext {
    actor: None,
    cause: None,
    comparison: None,
    #[cfg(feature = "console")]
    form: None,
};
