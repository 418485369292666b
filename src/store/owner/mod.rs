//! Who drives a run: the calling process, the lease that it holds, and what its session did since; and what hooks said to it.
//!
//! A lease informs and excludes no living process from writing; that is what the lock is for. What cannot be known is said to be
//! unknown. Nothing here depends on a project: callers name the folder it begins at.

pub(super) mod caller;
pub(super) mod hook_memory;
pub(crate) mod lease;
pub(crate) mod session;
