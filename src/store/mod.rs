//! The only room that touches files, locks, the clock, the environment and git. It knows bytes and paths, not formats.
