//! Several at once: writers, readers beside them, sessions that meet, locks that are not to be had. Nothing is lost, mixed, done
//! twice, or refused without need.

mod locks;
mod many;
mod sessions;
