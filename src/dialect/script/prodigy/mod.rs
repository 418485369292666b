//! The sessions of Prodigy, the runner that this one comes from: read, planned, taken over, and never written
//! (docs/formats/prodigy.md#where-prodigy-keeps-a-session; format version 1).
//!
//! Its checkpoint holds the whole environment of the run. Nothing of that is read.

mod checkpoint;
mod import;
mod paths;
mod read;

pub(crate) use import::import;
pub(crate) use paths::home_of;
pub(super) use paths::is_marked;
pub(super) use paths::is_state;
pub(super) use paths::probe;
pub(super) use read::brief;
pub(super) use read::load;

#[cfg(test)]
mod tests;
