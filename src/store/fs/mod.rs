//! Bytes, paths, the clock, the environment and processes: what the operating system offers, with its surprises taken out.
//!
//! - `error` is the error of the whole store.
//! - `platform` is what differs between operating systems.
//! - `clock`, `environment` and `process` are asked here and nowhere else.
//! - `path` resolves a checked path below a root and refuses links that leave it; `read` reads one file below it, within bounds.
//! - `unread` answers whether something is there, and notes what could not be looked at.
//! - `held_dir` is an open folder; `nofollow` changes names and files along paths without symlinks, and is the only way to; `calls` are the
//!   system calls of a checkpoint, which a test can let fail.
//! - `stage` writes new content under a temporary name and flushes; `data_file` writes Piton's own files in place.
//! - `surroundings` are the environment, the folder and the streams of a call, which a caller in this process can give.
//! - `page_file` writes a page where a person says, and opens it; `follow` notices changes for a live view.
//!
//! It knows neither runs nor locks nor projects.

pub(super) mod calls;
pub(super) mod clock;
pub(super) mod data_file;
pub(super) mod environment;
pub(super) mod error;
pub(super) mod follow;
mod held_dir;
pub(super) mod nofollow;
pub(super) mod page_file;
pub(super) mod path;
pub(super) mod platform;
pub(super) mod process;
pub(super) mod read;
pub(super) mod stage;
pub(crate) mod surroundings;
pub(crate) mod unread;
