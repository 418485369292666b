//! Concurrency: writers, readers, several sessions, locks that cannot be taken. Nothing is lost, mixed, done
//! twice, or refused without need.

mod locks;
mod many;
mod sessions;
