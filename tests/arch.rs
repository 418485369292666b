//! Checks the direction of imports, which rooms use which crates, and the size of files.

use std::collections::BTreeSet;

use camino::Utf8Path;

use crate::support;

/// Exceptions: a file below `src/`, and what it may import.
const EXCEPTIONS: &[(&str, &[&str])] = &[
    // Names the types of the reports, for the generator that runs in tests only.
    ("schema/published.rs", &["ops", "runner"]),
];

/// Which rooms a crate is used in.
const CRATES: &[(&str, &[&str])] = &[
    ("anyhow", &["cli"]),
    ("anstream", &["cli"]),
    ("anstyle", &["cli"]),
    // The store reads the offset of local time from UTC.
    ("chrono", &["model", "store"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("indicatif", &["cli"]),
    ("jsonschema", &["schema"]),
    ("rustix", &["store", "runner", "cli"]),
    ("granit_parser", &["dialect"]),
    ("signal_hook", &["runner"]),
    ("similar", &["model"]),
    ("strsim", &["model"]),
    ("tempfile", &["store"]),
    ("toml", &["store"]),
    ("walkdir", &["store"]),
];

const FILE_LINES: usize = 600;

/// Reads the table of ARCHITECTURE.md: the rooms of `src/`, and which others each may name as `crate::ROOM`.
fn rooms() -> Vec<(String, BTreeSet<String>)> {
    let page = support::read(&support::repository().join("ARCHITECTURE.md"));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `src/"));
    rows.map(|row| {
        let (room, rest) = row.split_once("/` |").expect("a folder in the first column");
        let (_, allowed) =
            rest.trim_end_matches(" |").rsplit_once(" | ").expect("what it may import in the last column");
        let allowed = allowed.split(", ").filter(|name| *name != "nothing").map(str::to_owned).collect();
        (room.to_owned(), allowed)
    })
    .collect()
}

/// Calls `check` with the path below `src/`, the room and the code of every file, without comments.
fn each_file(mut check: impl FnMut(&Utf8Path, &str, &str)) {
    let source = support::repository().join("src");
    for path in support::files_below(&source, "rs") {
        let relative = path.strip_prefix(&source).expect("it was found below");
        if relative == "main.rs" || relative == "lib.rs" {
            continue;
        }
        let room = relative.components().next().expect("a path has a part").as_str().trim_end_matches(".rs");
        let text = support::read(&path);
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        check(relative, room, &code.join("\n"));
    }
}

/// Returns the first name after each occurrence of `prefix` as a whole path segment.
fn names_after<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    code.match_indices(prefix).filter_map(move |(at, _)| {
        let starts = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        let rest = &code[at + prefix.len()..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        starts.then_some(&rest[..end])
    })
}

#[test]
fn rooms_import_only_what_they_may() {
    let rooms = rooms();
    let mut wrong = Vec::new();
    each_file(|path, room, code| {
        let Some((_, allowed)) = rooms.iter().find(|(name, _)| name == room) else {
            wrong.push(format!("{path}: `{room}` is not in the table of ARCHITECTURE.md"));
            return;
        };
        let more = EXCEPTIONS.iter().filter(|(file, _)| path == *file).flat_map(|(_, rooms)| *rooms);
        let allowed: BTreeSet<&str> = allowed.iter().map(String::as_str).chain(more.copied()).chain([room]).collect();
        for name in names_after(code, "crate::") {
            if name.is_empty() {
                wrong.push(format!("{path}: `crate::{{...}}`; one import per line"));
            } else if !allowed.contains(name) {
                wrong.push(format!("{path}: `{room}` may not know `crate::{name}`"));
            }
        }
        // The way out of a room without `crate`.
        for (other, _) in rooms.iter().filter(|(other, _)| other != room) {
            if code.contains(&format!("super::{other}::")) || code.contains(&format!("super::{other};")) {
                wrong.push(format!("{path}: `super::{other}`; name other rooms as `crate::{other}`"));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_has_every_room_once_and_names_no_other() {
    let rooms = rooms();
    let names: BTreeSet<&str> = rooms.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), rooms.len());
    let mut found: BTreeSet<String> = BTreeSet::new();
    each_file(|_, room, _| {
        found.insert(room.to_owned());
    });
    assert_eq!(names, found.iter().map(String::as_str).collect());
    for (room, allowed) in &rooms {
        assert!(allowed.iter().all(|other| names.contains(other.as_str())), "{room} may import {allowed:?}");
    }
}

#[test]
fn there_is_one_import_per_line() {
    let mut wrong = Vec::new();
    each_file(|path, _, code| {
        for line in code.lines().map(str::trim_start) {
            if line.starts_with("use crate::") && line.contains('{') {
                wrong.push(format!("{path}: {line}"));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_stay_in_their_rooms() {
    let mut wrong = Vec::new();
    each_file(|path, room, code| {
        for (name, rooms) in CRATES.iter().filter(|(_, rooms)| !rooms.contains(&room)) {
            if names_after(code, &format!("{name}::")).next().is_some() {
                wrong.push(format!("{path}: `{name}` belongs to {}", rooms.join(", ")));
            }
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_engine_knows_no_dialect() {
    let mut wrong = Vec::new();
    each_file(|path, room, code| {
        let is_test = ["tests.rs", "fixtures.rs"].iter().any(|end| path.as_str().ends_with(end));
        if room == "engine" && !is_test && code.contains("DialectId::") {
            wrong.push(format!("{path}: what a dialect wants reaches the engine as data on the steps"));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn files_are_short_enough_to_read() {
    let source = support::repository().join("src");
    let mut wrong = Vec::new();
    for path in support::files_below(&source, "rs") {
        let lines = support::read(&path).lines().count();
        if lines > FILE_LINES && !path.as_str().ends_with("tests.rs") {
            wrong.push(format!("{path}: {lines} lines, more than {FILE_LINES}; split it by concept"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_room_says_what_it_is_for() {
    let mut wrong = Vec::new();
    for path in support::files_below(&support::repository().join("src"), "rs") {
        let is_test = ["tests.rs", "fixtures.rs"].iter().any(|end| path.as_str().ends_with(end));
        if !is_test && !support::read(&path).starts_with("//! ") {
            wrong.push(format!("{path}: begin with a `//!` line: purpose, and what it may not do"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_guard_sees_what_it_is_for() {
    let code = "use crate::store::Lock;\nlet x = crate::{a, b};\nmycrate::c; other::crate::d";
    assert_eq!(names_after(code, "crate::").collect::<Vec<_>>(), ["store", ""]);
}
