//! Sessions of the runner: `session.json` says what a session is, `journal.jsonl` what happened in it, `checkpoint.json` where that
//! leaves it. `spec` reads the workflow file that a session runs. Pure, like every dialect.

pub(crate) mod record;
pub(crate) mod spec;
pub(crate) mod state;
