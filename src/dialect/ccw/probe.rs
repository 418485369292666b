//! Finding sessions below a project (docs/formats/ccw.md#finding-sessions).

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::layout::Layout;
use super::layout::MARKER;
use super::layout::OWN_DIR;
use super::layout::SESSION_FILE;
use super::layout::TASK_DIR;
use super::layout::WORKFLOW;
use super::layout::below;
use super::notices;
use super::raw;
use crate::dialect::Probed;
use crate::dialect::json::parse_value;
use crate::model::Candidate;
use crate::model::Claim;
use crate::model::DialectId;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Listing;
use crate::model::ListingEntry;
use crate::model::Rank;
use crate::model::ReadSpec;
use crate::model::RelPath;
use crate::model::name_of;

/// Look-alikes that are reported; more of them tell nothing new.
const LOOK_ALIKES: usize = 20;
/// Links that are reported.
const LINKS: usize = 20;

/// Tells whether a path is that of a session file in a place where sessions are.
pub(super) fn is_session_file(path: &str) -> bool {
    Place::of(path).is_some_and(|place| place.rest == SESSION_FILE && place.area.is_some())
}

/// Tells whether a folder is a workflow folder, one of its areas or a session: what a session file in it would say.
pub(super) fn keeps_state_in(folder: &RelPath) -> bool {
    ["", "WFS-x/", "active/WFS-x/"].iter().any(|tail| is_session_file(&format!("{folder}/{tail}{SESSION_FILE}")))
}

/// Is the kind of folder a session lies in, in the order of discovery (docs/formats/ccw.md#finding-sessions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Area {
    /// Any of the others, with an active marker.
    Marked,
    Active,
    Sessions,
    Legacy,
    Archives,
}

/// Is a path taken apart at its workflow folder.
struct Place<'a> {
    /// The path of `.workflow`.
    workflow: &'a str,
    /// `None` for what lies beside the sessions.
    area: Option<Area>,
    /// The path of the session folder; of something else, its first folder or file in `.workflow`.
    dir: &'a str,
    /// What follows below `dir`.
    rest: &'a str,
}

impl<'a> Place<'a> {
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
                let area = has_session_name(first).then_some(Area::Legacy);
                return Some(Self { workflow, area, dir, rest: tail });
            }
        };
        let (name, rest) = tail.split_once('/').unwrap_or((tail, ""));
        let dir = &path[..(end + 2 + first.len() + name.len()).min(path.len())];
        Some(Self { workflow, area: (!name.is_empty()).then_some(area), dir, rest })
    }
}

fn has_session_name(name: &str) -> bool {
    name.get(..4).is_some_and(|prefix| prefix.eq_ignore_ascii_case("WFS-"))
}

/// Is what was seen of one folder that may be a session.
#[derive(Default)]
struct Seen {
    has_session_file: bool,
    has_tasks: bool,
    /// The id inside the session file, when discovery had a look.
    session_id: Option<String>,
}

/// Collects what belongs together and decides at the end.
#[derive(Default)]
struct Survey<'a> {
    sessions: BTreeMap<(&'a str, Area, &'a str), Seen>,
    markers: Vec<(&'a str, &'a RelPath)>,
    look_alikes: BTreeSet<&'a str>,
}

/// Finds the sessions of every workflow folder in the listing.
pub(super) fn probe(listing: &Listing) -> Probed {
    let mut survey = Survey::default();
    for entry in &listing.entries {
        if let Some(place) = Place::of(entry.path.as_str()) {
            survey.visit(entry, &place);
        }
    }
    let mut probed = survey.conclude();
    probed.findings.extend(listing.entries.iter().filter(|entry| hides_sessions(entry)).take(LINKS).map(unseen));
    let is_home = |entry: &&ListingEntry| entry.is_dir && entry.path.name() == WORKFLOW;
    if let (true, Some(home)) = (probed.candidates.is_empty(), listing.entries.iter().find(is_home)) {
        let finding = Finding::new(FindingCode::NoRunHere, notices::NO_SESSION).at(&home.path);
        probed.findings.push(finding.fix(notices::NO_SESSION_FIX));
    }
    probed
}

/// Tells whether sessions would lie here, and it is a link: no folder is entered through one.
fn hides_sessions(entry: &ListingEntry) -> bool {
    let path = entry.path.as_str();
    let is_home = entry.path.name() == WORKFLOW;
    let is_area = |place: &Place<'_>| {
        place.rest.is_empty() && ["active", "sessions", "archives"].contains(&entry.path.name()) && place.area.is_none()
    };
    let is_session = |place: &Place<'_>| place.rest.is_empty() && has_session_name(entry.path.name());
    !entry.is_dir && (is_home || Place::of(path).is_some_and(|place| is_area(&place) || is_session(&place)))
}

fn unseen(entry: &ListingEntry) -> Finding {
    let message =
        format!("{} is a link or no folder; links are not followed, and sessions behind it are not seen", entry.path);
    let fix = "name the project that the folder itself lies in: piton --project DIR list";
    Finding::new(FindingCode::FolderClosed, message).at(&entry.path).fix(fix)
}

impl<'a> Survey<'a> {
    fn visit(&mut self, entry: &'a ListingEntry, place: &Place<'a>) {
        let path = entry.path.as_str();
        let Some(area) = place.area else {
            self.visit_other(entry, place);
            return;
        };
        let is_file = place.rest == SESSION_FILE && !entry.is_dir;
        let is_task = (place.rest == TASK_DIR && entry.is_dir)
            || place.rest.strip_prefix(".task/").is_some_and(|name| name.ends_with(".json") && !name.contains('/'));
        let name = name_of(place.dir);
        if area == Area::Sessions && !has_session_name(name) {
            // The folder also holds the sessions of Maestro Flow.
            if name.starts_with("maestro-") {
                self.look_alikes.insert(place.dir);
            }
        } else if is_file || is_task {
            let seen = self.sessions.entry((place.workflow, area, place.dir)).or_default();
            seen.has_tasks |= is_task;
            seen.has_session_file |= is_file;
            if let (true, Some(look)) = (is_file, &entry.content) {
                seen.session_id = parse_value(look).ok().and_then(|value| raw::first_text(&value, &["/session_id"]));
            }
        } else if path.ends_with("/state.json") && place.rest == "state.json" {
            self.look_alikes.insert(path);
        }
    }

    fn visit_other(&mut self, entry: &'a ListingEntry, place: &Place<'a>) {
        let path = entry.path.as_str();
        let name = name_of(place.dir);
        if name.starts_with(MARKER) && place.rest.is_empty() {
            self.markers.push((place.workflow, &entry.path));
        } else if (name == "state.json" && !entry.is_dir && place.rest.is_empty())
            || (name == ".maestro" && entry.is_dir && place.rest.is_empty())
        {
            self.look_alikes.insert(path);
        } else if name == ".lite-plan" && entry.is_dir && place.rest.ends_with("/.task") {
            self.look_alikes.insert(path.strip_suffix("/.task").unwrap_or(path));
        }
    }

    fn conclude(self) -> Probed {
        let mut probed = Probed::default();
        let mut ranked: Vec<(&str, Area, RelPath)> = Vec::new();
        let mut look_alikes: Vec<&str> = self.look_alikes.into_iter().collect();
        for ((workflow, area, dir), seen) in &self.sessions {
            let name = name_of(dir);
            let is_named = has_session_name(name) || seen.session_id.as_deref().is_some_and(has_session_name);
            let Ok(path) = RelPath::parse(dir) else { continue };
            if seen.has_tasks || (seen.has_session_file && is_named) {
                let is_marked = self.markers.iter().any(|(root, marker)| root == workflow && marks(marker, name, seen));
                ranked.push((*workflow, if is_marked { Area::Marked } else { *area }, path));
            } else {
                look_alikes.push(*dir);
            }
        }
        for (workflow, marker) in &self.markers {
            let mut sessions = self.sessions.iter().filter(|((root, _, _), _)| root == workflow);
            if !sessions.any(|((_, _, dir), seen)| marks(marker, name_of(dir), seen)) {
                let message = "the marker names a session that is not there; Piton leaves it alone";
                probed.findings.push(Finding::new(FindingCode::MarkerOrphan, message).at(marker));
            }
        }
        for path in look_alikes.iter().take(LOOK_ALIKES).filter_map(|path| RelPath::parse(path).ok()) {
            let finding = Finding::new(FindingCode::LookAlike, "another tool's state, not a CCW session").at(&path);
            probed.findings.push(finding);
        }
        ranked.sort_by(|left, right| (depth(left.0), left).cmp(&(depth(right.0), right)));
        probed.candidates = ranked.into_iter().map(|(workflow, area, dir)| candidate(workflow, area, dir)).collect();
        probed
    }
}

fn marks(marker: &RelPath, name: &str, seen: &Seen) -> bool {
    let id = marker.name().strip_prefix(MARKER).unwrap_or_default();
    id.eq_ignore_ascii_case(name) || seen.session_id.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(id))
}

fn depth(path: &str) -> usize {
    path.matches('/').count()
}

fn candidate(workflow: &str, area: Area, dir: RelPath) -> Candidate {
    let layout = Layout::of(&dir);
    let marker = RelPath::parse(&format!("{workflow}/{MARKER}{}", dir.name()));
    let mut reads = vec![
        ReadSpec::File(layout.session),
        ReadSpec::File(layout.todo),
        ReadSpec::File(layout.plan),
        ReadSpec::File(layout.machine_plan),
        ReadSpec::Contents { dir: layout.tasks, suffix: ".json" },
    ];
    reads.extend(layout.summaries.map(|dir| ReadSpec::Names { dir }));
    reads.extend(marker.map(ReadSpec::File));
    let name = dir.name().to_owned();
    let rank = RelPath::parse(workflow).ok().map(|home| Rank { home, order: area as u8 });
    Candidate {
        dialect: DialectId::Ccw,
        name,
        data_dir: below(&dir, OWN_DIR),
        state: dir,
        reads,
        rank,
        claim: Claim::Stated,
        may_be_replaced: false,
        findings: Vec::new(),
    }
}

#[cfg(test)]
#[path = "probe_tests.rs"]
mod tests;
