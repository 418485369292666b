//! Black-box tests, one file per verb.

mod errors;
mod global;
mod hostile;
mod list;
mod projects;
mod select;
mod version;
