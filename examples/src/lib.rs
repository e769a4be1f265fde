//! What several examples share.
