//! Finding sessions below a project (docs/formats/ccw.md#finding-sessions).

use std::collections::{BTreeMap, BTreeSet};

use super::{
    layout::{Layout, MARKER, SESSION_FILE, SUMMARY_DIRS, TASK_DIR, WORKFLOW},
    notices, raw,
};
use crate::{
    dialect::Probed,
    document::parse_json,
    model::{Candidate, DialectId, Finding, FindingCode, Listing, ListingEntry, Rank, ReadSpec, RelPath, name_of},
};

/// Maximum number of look-alikes reported.
const LOOK_ALIKES: usize = 20;
/// Maximum number of summaries of a session whose titles are read.
const SUMMARIES: usize = 200;

/// Tells whether a path is that of a session file in a folder where sessions are kept.
pub(super) fn is_session_file(path: &str) -> bool {
    SessionPath::of(path).is_some_and(|parsed| parsed.rest == SESSION_FILE && parsed.area.is_some())
}

/// Tells whether a folder is a workflow folder, one of its areas or a session.
pub(super) fn keeps_state_in(folder: &RelPath) -> bool {
    ["", "WFS-x/", "active/WFS-x/"].iter().any(|tail| is_session_file(&format!("{folder}/{tail}{SESSION_FILE}")))
}

/// The kind of folder that contains a session, in discovery order (docs/formats/ccw.md#finding-sessions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Area {
    /// Any of the other areas, with an active marker.
    Marked,
    Active,
    Sessions,
    Legacy,
    Archives,
}

/// A path split at its workflow folder.
struct SessionPath<'a> {
    /// The path of `.workflow`.
    workflow: &'a str,
    /// `None` for entries outside the session areas.
    area: Option<Area>,
    /// The path of the session folder; otherwise of the first folder or file in `.workflow`.
    dir: &'a str,
    /// The path below `dir`.
    rest: &'a str,
}

impl<'a> SessionPath<'a> {
    fn of(path: &'a str) -> Option<Self> {
        let start = if path == WORKFLOW || path.starts_with(".workflow/") { 0 } else { path.find("/.workflow/")? + 1 };
        let end = start + WORKFLOW.len();
        let workflow = &path[..end];
        let inside = path.get(end + 1..)?;
        let (first, tail) = inside.split_once('/').unwrap_or((inside, ""));
        let area = match first {
            "active" => Area::Active,
            "sessions" => Area::Sessions,
            "archives" => Area::Archives,
            _ => {
                let dir = &path[..end + 1 + first.len()];
                // A folder of another name is a session if it has the shape of one.
                let is_shaped = !first.starts_with('.') && (tail == SESSION_FILE || is_of_tasks(tail));
                let area = (has_session_name(first) || is_shaped).then_some(Area::Legacy);
                return Some(Self { workflow, area, dir, rest: tail });
            }
        };
        let (name, rest) = tail.split_once('/').unwrap_or((tail, ""));
        let dir = &path[..(end + 2 + first.len() + name.len()).min(path.len())];
        Some(Self { workflow, area: (!name.is_empty()).then_some(area), dir, rest })
    }
}

/// Tells whether a path in a session is that of its folder of tasks, or of a task file.
fn is_of_tasks(rest: &str) -> bool {
    let is_file = |name: &str| name.ends_with(".json") && !name.contains('/');
    rest == TASK_DIR || rest.strip_prefix(".task/").is_some_and(is_file)
}

fn has_session_name(name: &str) -> bool {
    name.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("WFS-"))
}

/// What discovery found in a folder that may be a session.
#[derive(Default)]
struct FolderContents {
    has_session_file: bool,
    has_tasks: bool,
    /// The id in the session file, if discovery read it.
    session_id: Option<String>,
}

/// Collects folders, markers and look-alikes, then decides which folders are sessions.
#[derive(Default)]
struct SessionScan<'a> {
    sessions: BTreeMap<(&'a str, Area, &'a str), FolderContents>,
    markers: Vec<(&'a str, &'a RelPath)>,
    look_alikes: BTreeSet<&'a str>,
    /// The number of summaries by folder of the session.
    summaries: BTreeMap<&'a str, usize>,
}

/// Finds the sessions of every workflow folder in the listing.
pub(super) fn probe(listing: &Listing) -> Probed {
    let mut scan = SessionScan::default();
    for entry in &listing.entries {
        if let Some(parsed) = SessionPath::of(entry.path.as_str()) {
            scan.visit(entry, &parsed);
        }
    }
    let mut probed = scan.conclude();
    let is_home = |entry: &&ListingEntry| entry.is_dir && entry.path.name() == WORKFLOW;
    if let (true, Some(home)) = (probed.candidates.is_empty(), listing.entries.iter().find(is_home)) {
        let finding = Finding::new(FindingCode::NoRunHere, notices::NO_SESSION).at(&home.path);
        probed.findings.push(finding.fix(notices::NO_SESSION_FIX));
    }
    probed
}

impl<'a> SessionScan<'a> {
    fn visit(&mut self, entry: &'a ListingEntry, parsed: &SessionPath<'a>) {
        let path = entry.path.as_str();
        let Some(area) = parsed.area else {
            self.visit_other(entry, parsed);
            return;
        };
        let is_file = parsed.rest == SESSION_FILE && !entry.is_dir;
        if SUMMARY_DIRS.iter().any(|dir| parsed.rest.strip_prefix(dir).is_some_and(|name| name.starts_with('/'))) {
            *self.summaries.entry(parsed.dir).or_default() += 1;
        }
        let is_task = is_of_tasks(parsed.rest) && (entry.is_dir || parsed.rest != TASK_DIR);
        let name = name_of(parsed.dir);
        if area == Area::Sessions && !has_session_name(name) {
            // The folder also holds the sessions of Maestro Flow.
            if name.starts_with("maestro-") {
                self.look_alikes.insert(parsed.dir);
            }
        } else if is_file || is_task {
            let contents = self.sessions.entry((parsed.workflow, area, parsed.dir)).or_default();
            contents.has_tasks |= is_task;
            contents.has_session_file |= is_file;
            if let (true, Some(look)) = (is_file, &entry.content) {
                contents.session_id = parse_json(look).ok().and_then(|value| raw::first_text(&value, &["/session_id"]));
            }
        } else if path.ends_with("/state.json") && parsed.rest == "state.json" {
            self.look_alikes.insert(path);
        }
    }

    fn visit_other(&mut self, entry: &'a ListingEntry, parsed: &SessionPath<'a>) {
        let path = entry.path.as_str();
        let name = name_of(parsed.dir);
        if name.starts_with(MARKER) && parsed.rest.is_empty() {
            self.markers.push((parsed.workflow, &entry.path));
        } else if (name == "state.json" && !entry.is_dir && parsed.rest.is_empty())
            || (name == ".maestro" && entry.is_dir && parsed.rest.is_empty())
        {
            self.look_alikes.insert(path);
        } else if name == ".lite-plan" && entry.is_dir && parsed.rest.ends_with("/.task") {
            self.look_alikes.insert(path.strip_suffix("/.task").unwrap_or(path));
        }
    }

    fn conclude(self) -> Probed {
        let mut probed = Probed::default();
        let mut ranked: Vec<(&str, Area, RelPath)> = Vec::new();
        let mut look_alikes: Vec<&str> = self.look_alikes.into_iter().collect();
        for ((workflow, area, dir), contents) in &self.sessions {
            let name = name_of(dir);
            let is_named = has_session_name(name) || contents.session_id.as_deref().is_some_and(has_session_name);
            let Ok(path) = RelPath::parse(dir) else { continue };
            let is_shaped = *area != Area::Legacy || has_session_name(name) || contents.has_session_file;
            if (contents.has_tasks && is_shaped) || (contents.has_session_file && is_named) {
                let is_marked =
                    self.markers.iter().any(|(root, marker)| root == workflow && marks(marker, name, contents));
                ranked.push((*workflow, if is_marked { Area::Marked } else { *area }, path));
            } else if *area != Area::Legacy || is_named {
                look_alikes.push(*dir);
            }
        }
        for (workflow, marker) in &self.markers {
            let mut sessions = self.sessions.iter().filter(|((root, _, _), _)| root == workflow);
            if !sessions.any(|((_, _, dir), contents)| marks(marker, name_of(dir), contents)) {
                let message = "the marker names a session that does not exist; Piton does not change it";
                probed.findings.push(Finding::new(FindingCode::MarkerOrphan, message).at(marker));
            }
        }
        for path in look_alikes.iter().take(LOOK_ALIKES).filter_map(|path| RelPath::parse(path).ok()) {
            let finding = Finding::new(FindingCode::LookAlike, "another tool's state, not a CCW session").at(&path);
            probed.findings.push(finding);
        }
        ranked.sort_by(|left, right| (depth(left.0), left).cmp(&(depth(right.0), right)));
        probed.candidates = ranked
            .into_iter()
            .map(|(workflow, area, dir)| {
                let summaries = self.summaries.get(dir.as_str()).copied().unwrap_or_default();
                candidate(workflow, area, dir, summaries)
            })
            .collect();
        probed
    }
}

fn marks(marker: &RelPath, name: &str, contents: &FolderContents) -> bool {
    let id = marker.name().strip_prefix(MARKER).unwrap_or_default();
    id.eq_ignore_ascii_case(name) || contents.session_id.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(id))
}

fn depth(path: &str) -> usize {
    path.matches('/').count()
}

fn candidate(workflow: &str, area: Area, dir: RelPath, summaries: usize) -> Candidate {
    let layout = Layout::of(&dir);
    let marker = RelPath::parse(&format!("{workflow}/{MARKER}{}", dir.name()));
    let mut reads = vec![
        ReadSpec::File(layout.session),
        ReadSpec::File(layout.todo),
        ReadSpec::File(layout.plan),
        ReadSpec::File(layout.machine_plan),
        ReadSpec::Contents { dir: layout.tasks, suffix: ".json" },
    ];
    if summaries <= SUMMARIES {
        reads.extend(layout.summaries.clone().map(|dir| ReadSpec::Contents { dir, suffix: ".md" }));
    }
    reads.extend(layout.summaries.map(|dir| ReadSpec::Names { dir }));
    reads.extend(marker.map(ReadSpec::File));
    let name = dir.name().to_owned();
    let rank = RelPath::parse(workflow).ok().map(|home| Rank { home, order: area as u8 });
    Candidate { rank, ..Candidate::new(DialectId::Ccw, name, dir, reads) }
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
