//! Durable changes of state: all of a change or none of it, after a kill and after a power loss, one writer at a time.
//!
//! - `data_dir` creates the folder of Piton's own data, hidden from git.
//! - `txn` is the record of a change to several files; once it is durable, the change is made.
//! - `lock`: holding a [`lock::RunLock`] is the permission to write. Taking it finishes what a killed writer began.
//! - `append` adds to a journal that is a state, `recorded` to one beside a state; `checkpoint` commits edits, and uses all of the above.
//! - `aside` keeps content that cannot be read, before something takes its place.
//! - `journal` writes logs, `briefs` files for agents: nothing depends on them, and they are no part of a checkpoint.
//! - `archive`, `backup` and `move_folder` move whole folders of a run aside, or copy them.

pub(super) mod append;
pub(crate) mod archive;
pub(crate) mod aside;
pub(crate) mod backup;
pub(crate) mod briefs;
pub(super) mod checkpoint;
pub(super) mod data_dir;
pub(crate) mod journal;
pub(super) mod lock;
pub(super) mod move_folder;
pub(super) mod recorded;
pub(super) mod txn;
