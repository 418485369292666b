//! Who drives a run: the calling process, what this machine knows of the drivers of a run, and what its session did since; and what hooks said to it.
//!
//! It informs and excludes no living process from writing; that is what the lock is for. What cannot be known is said to be
//! unknown. Nothing here depends on a project: callers name the folder it begins at.

pub(super) mod caller;
pub(super) mod hook_memory;
pub(crate) mod local;
pub(crate) mod session;
