//! The sessions of Prodigy, the predecessor of this runner (format version 1, docs/formats/prodigy.md#where-prodigy-keeps-a-session):
//! read, planned and imported, never written.
//!
//! Its checkpoint holds the whole environment of the run, which is not read.
//!
//! - `paths` locates the files of a session, `checkpoint` reads its checkpoint, `read` makes a run of both, `import` a new session.

mod checkpoint;
mod import;
mod paths;
mod read;

pub(crate) use import::import;
pub(crate) use paths::{home_of, workflow_at};
pub(super) use paths::{is_marked, is_state, probe};
pub(crate) use read::relative_workflow;
pub(super) use read::{brief, load};

#[cfg(test)]
mod tests;
