//! Shared test support: an isolated project, calls of the program, and the bytes on disk before and after.
#![expect(dead_code, reason = "the tests of the verbs use the rest")]

mod bound;
mod dice;
mod document;
mod output;
mod program;
mod sandbox;
mod strace;
mod terminal;
mod tests;
mod tree;
pub(crate) mod versions;

use camino::{Utf8Path, Utf8PathBuf};

pub(crate) use dice::Dice;
pub(crate) use document::{check_document, validate};
pub(crate) use output::Output;
pub(crate) use program::{Program, bounded, run_tool};
pub(crate) use sandbox::Sandbox;
pub(crate) use strace::{Call, Strace, say};
pub(crate) use terminal::END_OF_INPUT;
pub(crate) use tree::{Tree, changed_lines};

/// The default time of every test.
pub(crate) const NOW: &str = "2026-01-31T12:00:00Z";

/// Returns the root of this repository.
pub(crate) fn repository() -> &'static Utf8Path {
    Utf8Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Tells whether tests run in full, not only their samples: with `PITON_TESTS=all`, as in `.ci/prove`.
pub(crate) fn takes_all() -> bool {
    std::env::var_os("PITON_TESTS").is_some_and(|wanted| wanted == "all")
}

/// Returns every so many of them, from a place that differs from turn to turn; all where tests run in full.
pub(crate) fn sample<T>(every: usize, turn: usize, of: impl IntoIterator<Item = T>) -> Vec<T> {
    let every = if takes_all() { 1 } else { every };
    of.into_iter().skip(turn % every).step_by(every).collect()
}

/// Reads a text file, or fails the test.
pub(crate) fn read(path: &Utf8Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the files below a folder whose names end in `.extension`, in the order of their paths. Build outputs and hidden
/// folders are left out.
pub(crate) fn files_below(folder: &Utf8Path, extension: &str) -> Vec<Utf8PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir_utf8().unwrap_or_else(|error| panic!("{folder}: {error}")) {
            let path = entry.expect("a readable folder").into_path();
            let name = path.file_name().unwrap_or_default();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    open.push(path);
                }
            } else if path.extension() == Some(extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
