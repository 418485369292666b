//! Finds projects by the shape of their phase file.

use super::{
    execution,
    layout::{EXECUTION_FILE, Layout, PHASE_FILE},
    paths::{self, base_of},
    rules::Phase,
    state::missing,
};
use crate::{
    dialect::Probed,
    document::{Node, parse_json},
    model::{
        Candidate, DialectId, Finding, FindingCode, Listing, ListingEntry, ReadSpec, RelPath, Suggested, Verb,
        clean_line,
    },
};

const EXECUTION: &str = "execution.json";

/// Maximum number of outputs read outside the usual folders; any more are judged by name and time only.
const ELSEWHERE: usize = 1_000;

/// Returns whether a path is a state file.
pub(super) fn is_marked(path: &str) -> bool {
    base_of(path, PHASE_FILE).is_some() || base_of(path, EXECUTION_FILE).is_some()
}

/// Finds the projects of a listing.
pub(super) fn probe(listing: &Listing) -> Probed {
    let mut probed = Probed::default();
    for entry in listing.entries.iter().filter(|entry| !entry.is_dir) {
        probed.candidates.extend(without_phase_file(listing, &entry.path));
        if paths::is_phase_file(entry.path.as_str())
            && let Some(finding) = earlier_form(entry)
        {
            probed.findings.push(finding);
            continue;
        }
        let Some(layout) = Layout::of(&entry.path) else { continue };
        // A file that is too large or does not parse is still reported as a run.
        let value = entry.content.as_deref().and_then(|look| parse_json(look).ok());
        match value {
            Some(value) if !has_shape(&value) => {
                let message = "a phase.json without `workflow_id` and phase: the state of another tool";
                probed.findings.push(Finding::new(FindingCode::LookAlike, message).at(&entry.path));
            }
            value => probed.candidates.push(candidate(listing, layout, value.as_ref())),
        }
    }
    probed
}

/// Returns the run of an execution file without its phase file: the phase file was lost.
fn without_phase_file(listing: &Listing, execution: &RelPath) -> Option<Candidate> {
    let phase = execution.parent().filter(|_| execution.name() == EXECUTION)?.join("phase.json").ok()?;
    let is_there = listing.entries.binary_search_by(|entry| entry.path.cmp(&phase)).is_ok();
    if is_there || !paths::is_phase_file(phase.as_str()) {
        return None;
    }
    let at = listing.entries.binary_search_by(|entry| entry.path.cmp(execution)).ok()?;
    let value = listing.entries[at].content.as_deref().and_then(|look| parse_json(look).ok());
    let id = value.as_ref().and_then(|value| value.get("workflow_id")?.as_str()).map(|id| clean_line(id, 100));
    let finding = missing(&phase);
    let mut candidate = candidate(listing, Layout::of(&phase)?, None);
    candidate.name = id.filter(|id| !id.is_empty()).unwrap_or(candidate.name);
    candidate.findings.push(finding);
    Some(candidate)
}

/// Reports a run of a workflow file in the form that Piton wrote before its runs had a journal.
fn earlier_form(entry: &ListingEntry) -> Option<Finding> {
    let phase = parse_json(entry.content.as_deref()?).ok()?;
    let is_defined = ["definition", "definition_source"].iter().any(|key| phase.get(key).is_some_and(Node::is_map));
    is_defined.then(|| {
        let text = |pointer: &str| phase.at(pointer).and_then(Node::as_str).map(|text| clean_line(text, 100));
        let feature = text("/workflow_id").unwrap_or_else(|| "NAME".to_owned());
        let file = text("/definition_source/path").unwrap_or_else(|| "FILE".to_owned());
        let message = format!("{feature} is a run of an earlier form of piton, which this version does not go on with");
        let again = Suggested::of(Verb::Start, &file).option("feature", &feature);
        let skip = Suggested::of(Verb::Decide, "STEP").word("skip").option("note", "done");
        let fix = format!("{again}, then `{skip}` for what it had done");
        Finding::new(FindingCode::NoRunHere, message).at(&entry.path).fix(fix)
    })
}

fn has_shape(value: &Node) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let phase = value.get("current_phase").and_then(Node::as_str).and_then(Phase::parse);
    // A phase of the workflow is enough: the run then says what is missing.
    (has("workflow_id") && (has("current_phase") || has("phase_status"))) || (phase.is_some() && has("phase_status"))
}

fn candidate(listing: &Listing, layout: Layout, phase: Option<&Node>) -> Candidate {
    let id = phase.and_then(|phase| phase.get("workflow_id")?.as_str()).map(|id| clean_line(id, 100));
    let mut reads = vec![
        ReadSpec::File(layout.phase.clone()),
        ReadSpec::File(layout.execution.clone()),
        ReadSpec::Names { dir: layout.state_dir() },
        ReadSpec::Contents { dir: layout.reports(), suffix: ".json" },
        ReadSpec::Contents { dir: layout.designs(), suffix: ".json" },
        ReadSpec::Contents { dir: layout.reflections(), suffix: ".json" },
        ReadSpec::Contents { dir: layout.contracts(), suffix: ".json" },
        ReadSpec::Tree { dir: layout.tasks(), suffix: ".json" },
    ];
    reads.extend(elsewhere(listing, &layout, phase).into_iter().map(ReadSpec::File));
    let id = id.filter(|id| !id.is_empty());
    let is_named = id.is_some();
    let name = id.unwrap_or_else(|| "dotagent".to_owned());
    Candidate { is_named, ..Candidate::new(DialectId::Dotagent, name, layout.phase, reads) }
}

/// Returns the outputs that the state names outside the usual folders.
fn elsewhere(listing: &Listing, layout: &Layout, phase: Option<&Node>) -> Vec<RelPath> {
    let found = listing.entries.binary_search_by(|entry| entry.path.cmp(&layout.execution));
    let execution: Option<&ListingEntry> = found.ok().map(|at| &listing.entries[at]);
    let execution = execution.and_then(|entry| parse_json(entry.content.as_deref()?).ok());
    let of_phases = phase.and_then(|phase| phase.get("completed_phases")).map(Node::items).unwrap_or_default().iter();
    let of_phases = of_phases.filter_map(|entry| entry.get("output")?.as_str().map(str::to_owned));
    let of_tasks = execution.iter().flat_map(execution::named_outputs);
    let usual = [layout.reports(), layout.tasks()];
    let mut paths: Vec<RelPath> = of_phases
        .chain(of_tasks)
        .filter_map(|path| layout.at(&path))
        .filter(|path| !usual.iter().any(|folder| path.starts_with(folder)))
        .take(ELSEWHERE)
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}
