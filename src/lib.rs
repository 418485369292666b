//! Piton: durable checkpoints and resume plans for multi-step agent work.

pub mod cli;
mod dialect;
mod engine;
mod model;
mod ops;
mod schema;
mod store;
