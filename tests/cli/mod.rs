//! Black-box tests, one file per verb.

mod aios;
mod ccw;
mod cleanup;
mod demo;
mod doctor;
mod dotagent;
mod errors;
mod global;
mod history;
mod hook;
mod list;
mod modes;
mod nine_step;
mod own_workflow;
mod patch;
mod permissions;
pub(crate) mod projects;
mod repair;
mod reports;
mod rollback;
mod schema;
mod script;
mod select;
mod setup;
mod status;
mod validate;
mod version;
