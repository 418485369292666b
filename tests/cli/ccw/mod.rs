//! Sessions of Claude-Code-Workflow through the program: exit code, document, and the bytes left on disk.

mod archive;
mod blocked;
mod brief;
mod decisions;
mod discovery;
mod flags;
mod foreign;
mod lifecycle;
mod messages;
mod parts;
mod real;
mod session;
mod shapes;
mod situations;
mod trees;
mod writes;
