//! Where AIOS, AIOX and nexos keep their files (docs/formats/aios.md#where-files-live). A project may lie below the root: paths
//! are relative to the folder that contains `.aios`, `.aiox`, `.nexos`, `docs`, `qa` or `plan`.

use crate::model::{RelPath, name_of};

/// The part of a project in which a path lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Area {
    /// Directly in `.aios` or `.aiox`.
    Runtime,
    /// `workflow-state` of `.aios`, `.aiox` or `.nexos`.
    WorkflowState,
    /// `master-orchestrator` of `.aios` or `.aiox`.
    Orchestrator,
    /// `locks` of `.aios` or `.aiox`.
    Locks,
    /// Any other folder of `.aios`, `.aiox` or `.nexos`: mirrors, digests, hand-overs, histories.
    Derived,
    /// `qa` and `docs/qa`.
    Qa,
    /// The folder of the stories.
    Stories,
    /// `plan`.
    Plan,
    /// `docs/specs`.
    Specs,
}

impl Area {
    /// Returns whether the area is mainly for states, so that unknown files in it are reported.
    pub(super) const fn holds_states(self) -> bool {
        match self {
            Self::Runtime | Self::WorkflowState | Self::Orchestrator => true,
            Self::Locks | Self::Derived | Self::Qa | Self::Stories | Self::Plan | Self::Specs => false,
        }
    }
}

/// A path split into project folder, area and rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathParts<'a> {
    /// The folder of the project, with a trailing slash; empty for the root.
    pub(super) base: &'a str,
    pub(super) area: Area,
    /// The path below the area.
    pub(super) rest: &'a str,
}

/// Splits a path; `None` if it is in no known area.
pub(super) fn split(path: &str) -> Option<PathParts<'_>> {
    let mut at = 0;
    // Called several times per path, so avoid allocations. A part without a slash after it is a file name.
    while let Some(length) = path.as_bytes()[at..].iter().position(|byte| *byte == b'/') {
        let (base, below) = path.split_at(at);
        if let Some((area, rest)) = area(&below[..length], &below[length + 1..]) {
            return Some(PathParts { base, area, rest });
        }
        at += length + 1;
    }
    None
}

/// Returns the project folder of a file, with a trailing slash; empty for the root.
pub(super) fn base_of(path: &RelPath) -> &str {
    split(path.as_str()).map_or("", |parts| parts.base)
}

fn area<'a>(part: &str, rest: &'a str) -> Option<(Area, &'a str)> {
    if rest.is_empty() {
        return None;
    }
    match part {
        ".aios" | ".aiox" => Some(match rest.split_once('/') {
            None => (Area::Runtime, rest),
            Some(("workflow-state", rest)) if !rest.contains('/') => (Area::WorkflowState, rest),
            Some(("master-orchestrator", rest)) if !rest.contains('/') => (Area::Orchestrator, rest),
            Some(("locks", rest)) => (Area::Locks, rest),
            Some(_) => (Area::Derived, rest),
        }),
        ".nexos" => Some(match rest.split_once('/') {
            Some(("workflow-state", rest)) if !rest.contains('/') => (Area::WorkflowState, rest),
            Some(_) | None => (Area::Derived, rest),
        }),
        "docs" => match rest.split_once('/') {
            Some(("stories", rest)) => Some((Area::Stories, rest)),
            Some(("specs", rest)) => Some((Area::Specs, rest)),
            Some(("qa", rest)) => Some((Area::Qa, rest)),
            Some(_) | None => None,
        },
        "qa" => Some((Area::Qa, rest)),
        "plan" => Some((Area::Plan, rest)),
        _ => None,
    }
}

/// Returns whether discovery should read a file: it may be a state, a story or a setting.
pub(super) fn is_marked(path: &str) -> bool {
    let name = name_of(path);
    let is_data = is_data(name);
    let Some(parts) = split(path) else { return is_setting(path) };
    if original_name(name).is_some() {
        return true;
    }
    match parts.area {
        Area::Runtime => is_data || name.ends_with(".lock") || name.ends_with(COPY),
        Area::WorkflowState | Area::Orchestrator => is_data || name.ends_with(COPY),
        Area::Locks => name.ends_with(".lock"),
        Area::Derived => foreign_folder(path).is_some(),
        Area::Qa => is_loop_status(name) || (is_data && parts.rest.starts_with("gates/")),
        Area::Stories => name.ends_with(".md") || is_data,
        Area::Plan => is_plan_state(name) && parts.rest.matches('/').count() <= 1,
        Area::Specs => name.ends_with(".md") || is_data,
    }
}

/// Tells whether a name in a folder of plans is that of a state, the framework's own or another tool's.
fn is_plan_state(name: &str) -> bool {
    name == BUILD_STATE || (is_data(name) && stem(name).ends_with("-state"))
}

fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Folders of the framework with files that are called states and are none (docs/formats/aios.md#files-that-are-not-state).
const OWN_FOLDERS: [&str; 10] = [
    "dashboard",
    "locks",
    "handoffs",
    "session-digests",
    "sessions",
    "snapshots",
    "cache",
    "data",
    "logs",
    "workflow-state",
];

/// Returns the folder in which another tool keeps its states, if a path is that of one: `.aios/jobs/night-1/state.yaml`.
pub(super) fn foreign_folder(path: &str) -> Option<&str> {
    let parts = split(path).filter(|parts| parts.area == Area::Derived)?;
    let (folder, _) = parts.rest.split_once('/')?;
    let stem = stem(name_of(path));
    let is_named = is_data(name_of(path)) && (stem == "state" || stem.ends_with("-state"));
    let end = path.len() - parts.rest.len() + folder.len();
    (is_named && !OWN_FOLDERS.contains(&folder)).then_some(&path[..end])
}

/// Returns whether an unreadable folder may contain states.
pub(super) fn keeps_state_in(folder: &RelPath) -> bool {
    ["x-state.yaml", "workflow-state/x-state.yaml"].iter().any(|tail| {
        let area = split(&format!("{folder}/{tail}")).map(|parts| parts.area);
        matches!(area, Some(Area::Runtime | Area::WorkflowState | Area::Orchestrator))
    })
}

/// Returns the area of a folder that is one for the artifacts of a spec pipeline: `docs/stories/{id}/spec` or
/// `docs/specs/{feature}`.
pub(super) fn area_of_pipeline(folder: &RelPath) -> Option<Area> {
    let parent = folder.parent()?;
    let area = split(folder.join("spec.md").ok()?.as_str())?.area;
    let is_one = match area {
        Area::Stories => folder.name() == "spec" && parent.name() != "stories",
        Area::Specs => parent.name() == "specs",
        Area::Runtime
        | Area::WorkflowState
        | Area::Orchestrator
        | Area::Locks
        | Area::Derived
        | Area::Qa
        | Area::Plan => false,
    };
    is_one.then_some(area)
}

/// The state of an autonomous build.
pub(super) const BUILD_STATE: &str = "build-state.json";
/// The session of Bob.
pub(super) const BOB_STATE: &str = ".session-state.yaml";

/// First words of the names of folders of archived stories (docs/formats/aios-stories.md#stories).
const ARCHIVE_WORDS: [&str; 6] = ["archive", "archives", "archived", "arquivo", "arquivado", "arquivados"];

/// Returns whether a file is in a folder of archived ones: `ARCHIVE`, `archived`, `_archive_2025`, `_arquivo_antigo`.
pub(super) fn is_archived(path: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(is_archive)
}

fn is_archive(folder: &str) -> bool {
    let name = folder.to_lowercase();
    let mut words = name.split(['_', '-', '.', ' ']).filter(|word| !word.is_empty());
    let begins = words.next().is_some_and(|word| ARCHIVE_WORDS.contains(&word));
    // `archive-service` may be the name of a feature.
    let is_plain =
        words.all(|word| word == "old" || word == "antigo" || word.bytes().all(|byte| byte.is_ascii_digit()));
    begins && (name.starts_with('_') || is_plain)
}

pub(super) fn is_data(name: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
}

pub(super) fn is_loop_status(name: &str) -> bool {
    matches!(name, "loop-status.json" | "loop-status.yaml" | "loop-status.yml")
}

/// Settings lie at the top of a project (nexos `create-next-story`); deeper files belong to other programs.
fn is_setting(path: &str) -> bool {
    (path == "config.yaml" || path.ends_with("/config.yaml")) && path.matches('/').count() <= 2
}

/// End of the name of a copy (docs/formats/aios.md#leftovers).
pub(super) const COPY: &str = ".bak";
/// End of the name of a state before its migration to another format.
pub(super) const MIGRATED: &str = ".migrated";
/// End of the name of a discarded state, before its time stamp if it has one.
const DISCARDED: &str = ".discarded";

/// Returns the name that a renamed state had, or that the original of a copy has.
pub(super) fn original_name(name: &str) -> Option<&str> {
    let plain = [COPY, MIGRATED, DISCARDED].iter().find_map(|end| name.strip_suffix(end));
    let stamped = || {
        let (stem, stamp) = name.rsplit_once(&format!("{DISCARDED}."))?;
        stamp.bytes().all(|byte| byte.is_ascii_digit()).then_some(stem)
    };
    plain.or_else(stamped).filter(|stem| !stem.is_empty())
}

/// Returns the backup that `*execute-epic` makes before each write (docs/formats/aios.md#epic-state).
pub(super) fn backup_of(path: &RelPath) -> Option<RelPath> {
    let is_epic = path.name().starts_with("epic-") && path.name().ends_with("-state.yaml");
    if is_epic { RelPath::parse(&format!("{path}{COPY}")).ok() } else { None }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
