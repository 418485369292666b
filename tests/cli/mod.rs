//! Black-box tests, one file per verb.

mod ccw;
mod errors;
mod global;
mod hostile;
mod list;
mod nine_step;
mod own_workflow;
mod projects;
mod select;
mod version;
