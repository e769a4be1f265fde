//! The paths that need no session.

/// Begins the paths of signing links, whose next segment is a secret.
pub(super) const SIGN: &str = "/sign/";

/// True if a path needs no session.
pub(super) fn is_public(path: &str) -> bool {
    path.starts_with(SIGN) || path.starts_with("/assets/")
}
