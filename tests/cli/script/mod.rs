//! Sessions of the runner, as a person meets them: run, fail, repair, resume, and count what was executed.

mod acceptance;
mod agents;
mod behaviour;
mod claude;
mod conformance;
mod dialect;
mod drivers;
mod dry_run;
mod ends;
mod gates;
mod hardships;
mod keys;
mod kills;
mod language;
mod logs;
mod manners;
mod merge;
mod probe;
mod prodigy;
mod review;
mod sessions;
mod summary;
mod support;
mod terminal;
