//! Check lists of Spec Kit, OpenSpec, superpowers and plan mode (docs/formats/checklist.md). They are read, never written.

mod grammar;
mod list;
mod outline;
mod paths;
#[cfg(test)]
mod tests;
mod words;
