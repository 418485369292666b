//! Finds saved states and reports other files in the probed folders.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    consistency,
    document_index::DocumentIndex,
    execution, handoff, implied,
    kind::{self, Evidence, FileClass, Kind},
    kinds::epic::{self, EpicState},
    layout::{self, Area, PathParts},
    leftovers, messages, rebuild, settings, subject,
};
use crate::{
    dialect::{Probed, story},
    model::{
        Candidate, Claim, DialectId, Finding, FindingCode, Listing, ListingEntry, ReadSpec, RelPath, Severity, Status,
        StepId, Suggested, Timestamp, Unread, Verb, clean_line,
    },
};

/// Finds the runs of a listing.
pub(super) fn probe(listing: &Listing) -> Probed {
    let mut prober = Prober {
        listing,
        documents: None,
        found: Vec::new(),
        covered: BTreeSet::new(),
        left_over: BTreeMap::new(),
        stories: BTreeSet::new(),
        foreign: BTreeSet::new(),
        remarks: Vec::new(),
        locks: Vec::new(),
        probed: Probed::default(),
    };
    for entry in listing.entries.iter().filter(|entry| !entry.is_dir) {
        if let Some(parts) = layout::split(entry.path.as_str()) {
            prober.visit(entry, &parts);
        }
    }
    prober.keep_newest();
    let (covered, stories) = (std::mem::take(&mut prober.covered), std::mem::take(&mut prober.stories));
    let mut about_stories = Vec::new();
    let implied = implied::candidates(listing, &stories, &covered, &mut about_stories);
    for mut candidate in implied {
        if covered.contains(&candidate.state) {
            about_stories.extend(candidate.findings);
        } else {
            let left_over = prober.left_over.get(&candidate.state).map(|epic| left_over(epic, &candidate));
            candidate.findings.extend(left_over);
            prober.probed.candidates.push(candidate);
        }
    }
    for finding in about_stories {
        let reads = |candidate: &&mut Candidate| {
            finding
                .file
                .as_ref()
                .is_some_and(|file| candidate.reads.iter().any(|read| *read == ReadSpec::File(file.clone())))
        };
        match prober.probed.candidates.iter_mut().find(reads) {
            Some(candidate) => candidate.findings.push(finding),
            None => prober.remarks.push(finding),
        }
    }
    subject::link_reads(listing, &mut prober.probed.candidates);
    handoff::link_reads(listing, &mut prober.probed.candidates);
    for (base, lock) in prober.locks {
        let of_project = |candidate: &&mut Candidate| layout::base_of(&candidate.state) == base;
        for candidate in prober.probed.candidates.iter_mut().filter(of_project) {
            candidate.reads.push(ReadSpec::File(lock.clone()));
        }
    }
    if prober.probed.candidates.is_empty() && prober.probed.findings.is_empty() {
        prober.probed.findings.extend(nothing_saved(listing));
    }
    prober.probed.findings.extend(prober.remarks);
    prober.probed.findings.extend(settings::warnings(listing));
    prober.probed
}

/// Reports that a project of the framework has no interrupted workflows. This is not an error.
fn nothing_saved(listing: &Listing) -> Option<Finding> {
    let folders = listing.entries.iter().filter(|entry| entry.is_dir);
    let home = folders.map(|entry| &entry.path).find(|path| matches!(path.name(), ".aios" | ".aiox" | ".nexos"))?;
    let finding = Finding::new(FindingCode::NoRunHere, messages::NOTHING_SAVED).at(home);
    Some(finding.fix(messages::NOTHING_SAVED_FIX))
}

/// Returns the finding about a story of an epic that was given up: nothing takes it up unasked.
fn left_over(epic: &str, story: &Candidate) -> Finding {
    let message = format!("left over from epic {epic}, which was aborted");
    let resume = Suggested::of(Verb::Resume, &story.name).option("mode", "interactive");
    let fix = format!("set its status back; to go on with it: `{resume}`");
    Finding::new(FindingCode::StateLeftover, message).at(&story.state).fix(fix)
}

fn files_of(documents: &[ReadSpec]) -> impl Iterator<Item = RelPath> {
    documents.iter().filter_map(|spec| match spec {
        ReadSpec::File(path) => Some(path.clone()),
        ReadSpec::Contents { .. } | ReadSpec::Tree { .. } | ReadSpec::Names { .. } | ReadSpec::Elsewhere { .. } => None,
    })
}

struct Prober<'a> {
    listing: &'a Listing,
    /// Built for the first epic, because most projects have none.
    documents: Option<DocumentIndex<'a>>,
    found: Vec<SavedState<'a>>,
    /// Documents of active or completed epics. Their stories imply no run (docs/formats/aios.md#which-state-counts).
    covered: BTreeSet<RelPath>,
    /// Documents of aborted epics, each with the id of its epic.
    left_over: BTreeMap<RelPath, String>,
    /// Stories that another state is about, by project and id. They imply no run either.
    stories: BTreeSet<(String, String)>,
    /// Folders of states of other tools.
    foreign: BTreeSet<&'a str>,
    /// Findings about stories that no run reads.
    remarks: Vec<Finding>,
    /// The locks, each with its project.
    locks: Vec<(&'a str, &'a RelPath)>,
    probed: Probed,
}

/// A readable saved state.
struct SavedState<'a> {
    path: &'a RelPath,
    base: &'a str,
    kind: Kind,
    run: String,
    stamp: Option<Timestamp>,
    reads: Vec<ReadSpec>,
    /// Completed or aborted: then neither it nor an older state of the same run is a candidate.
    is_over: bool,
}

impl<'a> Prober<'a> {
    fn visit(&mut self, entry: &'a ListingEntry, parts: &PathParts<'a>) {
        let path = &entry.path;
        if parts.area == Area::Locks && path.name().ends_with(".lock") {
            self.locks.push((parts.base, path));
        } else if leftovers::is_temporary(path.name()) && parts.area.holds_states() {
            let message = "a temporary file of an interrupted write; it is not read";
            self.report(FindingCode::TemporaryLeft, path, message.to_owned());
        } else if let Some(folder) = layout::foreign_folder(path.as_str()) {
            // One line for all states of a tool.
            if self.foreign.insert(folder) {
                let folder = RelPath::parse(folder).unwrap_or_else(|_| path.clone());
                self.report(FindingCode::LookAlike, &folder, "another tool's state; it is not read".to_owned());
            }
        } else if parts.area == Area::Plan && path.name() != layout::BUILD_STATE {
            self.report(FindingCode::LookAlike, path, "another tool's state; it is not read".to_owned());
        } else if let Some(original) = leftovers::original_of(path) {
            self.probed.findings.extend(leftovers::report_renamed(self.listing, entry, &original));
        } else if layout::is_data(path.name()) && parts.area != Area::Specs {
            self.classify(entry, parts);
        } else if matches!(parts.area, Area::WorkflowState | Area::Orchestrator) {
            self.report(FindingCode::FileUnclassified, path, "not the name of a state; it is not read".to_owned());
        }
    }

    fn classify(&mut self, entry: &'a ListingEntry, parts: &PathParts<'a>) {
        let path = &entry.path;
        let expected = kind::by_name(path);
        let Some(look) = entry.content.as_deref() else {
            match expected {
                // Loading the run reports why.
                Some(kind) => self.add_unreadable(path, parts.base, kind),
                None if kind::known_name(path).is_none() && parts.area.holds_states() => {
                    let message = "it is too large for a state or not readable";
                    self.report(FindingCode::FileUnclassified, path, message.to_owned());
                }
                None => {}
            }
            return;
        };
        match (kind::classify(path, look), expected) {
            (FileClass::State(kind @ (Kind::Epic | Kind::Pipeline)), _) => self.add_epic(path, parts.base, kind, look),
            (FileClass::State(kind), _) => self.add_state(path, parts.base, kind, look),
            (FileClass::Unreadable(..), Some(kind)) => self.add_unreadable(path, parts.base, kind),
            (FileClass::Unreadable(at, problem), None) if parts.area.holds_states() => {
                let message = format!("it cannot be parsed and is not read: {problem}");
                let finding = Finding::new(FindingCode::FileUnclassified, message).at(path);
                self.probed.findings.push(finding.line(at.line, Some(at.column)));
            }
            (FileClass::Idle, _) => {
                let message = format!("{path} is a loop status without a story: nothing was interrupted");
                let finding = Finding::new(FindingCode::NoRunHere, message).at(path);
                self.probed.findings.push(finding.fix(messages::NOTHING_SAVED_FIX));
            }
            (FileClass::NotOurs, Some(_)) => {
                let message = "named like a state, but not a known kind of state";
                self.report(FindingCode::LookAlike, path, message.to_owned());
            }
            (FileClass::Evidence(Evidence::Digest), Some(_)) => {
                let message = "named like a state, but it has several documents: it is not read";
                self.report(FindingCode::LookAlike, path, message.to_owned());
            }
            (FileClass::NotOurs, None) if parts.area.holds_states() => {
                self.report(FindingCode::FileUnclassified, path, "not a known kind; it is not read".to_owned());
            }
            (FileClass::Unreadable(..) | FileClass::NotOurs, None) | (FileClass::Evidence(_), _) => {}
        }
    }

    fn report(&mut self, code: FindingCode, path: &RelPath, message: String) {
        self.probed.findings.push(Finding::new(code, message).at(path));
    }

    /// Adds a file that should be a state but is unreadable.
    fn add_unreadable(&mut self, path: &RelPath, base: &str, kind: Kind) {
        let mut reads = vec![ReadSpec::File(path.clone())];
        if kind == Kind::Epic {
            let backup = layout::backup_of(path);
            let state = backup.as_ref().and_then(|path| self.read_epic_state(path));
            reads.extend(backup.map(ReadSpec::File));
            reads.extend(state.iter().flat_map(|state| self.documents(base, state)));
            if state.is_none() {
                reads.extend(rebuild::evidence_for_epic(self.listing, base, path));
            }
            self.cover(&reads);
            self.cover_by_name(base, path);
        }
        if kind == Kind::QaLoop {
            reads.extend(rebuild::evidence_for_loop(self.listing, base, path));
        }
        let found = candidate(path, path.name().to_owned(), kind, reads);
        self.probed.candidates.push(Candidate { is_named: false, ..found });
    }

    fn add_state(&mut self, path: &'a RelPath, base: &'a str, kind: Kind, look: &[u8]) {
        let Ok(node) = kind::parse(look) else { return };
        let identity = kind.descriptor().identify(&node, path);
        if let Some(story) = identity.story {
            self.stories.insert((base.to_owned(), story.to_lowercase()));
        }
        let mut reads = vec![ReadSpec::File(path.clone())];
        if kind == Kind::QaLoop {
            reads.extend(rebuild::evidence_for_loop(self.listing, base, path));
        }
        let (run, stamp) = (identity.run, identity.stamp);
        self.found.push(SavedState { path, base, kind, run, stamp, reads, is_over: false });
    }

    /// Reads the state of an epic from the listing.
    fn read_epic_state(&self, path: &RelPath) -> Option<EpicState> {
        let at = self.listing.entries.binary_search_by(|entry| entry.path.cmp(path)).ok()?;
        EpicState::read(&kind::parse(self.listing.entries[at].content.as_deref()?).ok()?, path)
    }

    /// Tells whether the plan and the stories of a project may be in a place that could not be read.
    fn may_hide_documents(&self, base: &str) -> bool {
        let documents = self.listing.root.join(base).join("docs");
        let is_around = |unread: &Unread| unread.path.starts_with(&documents) || documents.starts_with(&unread.path);
        self.listing.unread.iter().any(is_around)
    }

    fn add_epic(&mut self, path: &'a RelPath, base: &'a str, kind: Kind, look: &[u8]) {
        let Some(state) = kind::parse(look).ok().and_then(|node| EpicState::read(&node, path)) else { return };
        let documents = self.documents.get_or_insert_with(|| DocumentIndex::of_listing(self.listing));
        let mut found = compare(documents, base, &state);
        found.is_orphaned &= !self.may_hide_documents(base);
        if !found.is_orphaned && state.status.as_deref() != Some("aborted") {
            // Another file of the same story implies no run either.
            self.stories.extend(state.stories().map(|story| (base.to_owned(), story.id.to_lowercase())));
        }
        let id = clean_line(&state.id, 100);
        if found.is_orphaned {
            let message = format!("epic {id}: its plan and its stories are all missing, so the state is a leftover");
            let severity = if state.is_ended() { Severity::Info } else { Severity::Warning };
            let finding = Finding::new(FindingCode::StateLeftover, message).at(path);
            let fix = "restore the plan and the stories from git, or remove the file";
            self.probed.findings.push(Finding { severity, ..finding.fix(fix) });
            if state.is_ended() {
                self.add_ended(path, base, &state);
            }
        } else if state.is_ended() {
            let is_completed = state.status.as_deref() == Some("completed");
            let documents = self.documents(base, &state);
            if is_completed {
                self.cover(&documents);
            } else {
                self.left_over.extend(files_of(&documents).map(|path| (path, id.clone())));
            }
            let how = if is_completed { "completed" } else { "was aborted" };
            let finding = Finding::new(FindingCode::RunEnded, format!("epic {id} {how}")).at(path);
            let finding =
                if is_completed { finding } else { finding.fix("to continue it, set `status: active` in it") };
            self.probed.findings.push(finding);
            self.add_ended(path, base, &state);
            self.add_saved(path, base, kind, &state, Vec::new());
            // The epic is over, so drift cannot block it.
            let drift = found
                .drift
                .into_iter()
                .map(|found| Finding { severity: found.severity.max(Severity::Warning), ..found });
            self.probed.findings.extend(drift);
        } else {
            let mut reads = vec![ReadSpec::File(path.clone())];
            reads.extend(layout::backup_of(path).map(ReadSpec::File));
            reads.extend(self.documents(base, &state));
            self.cover(&reads);
            self.add_saved(path, base, kind, &state, reads);
        }
    }

    fn add_saved(&mut self, path: &'a RelPath, base: &'a str, kind: Kind, state: &EpicState, reads: Vec<ReadSpec>) {
        let stamp = state.updated_at.as_deref().and_then(|stamp| Timestamp::parse(stamp, 0).ok());
        let run = epic::EPIC.run_id(&state.id);
        self.found.push(SavedState { path, base, kind, run, stamp, reads, is_over: state.is_ended() });
    }

    /// Adds the state of an ended epic, which is only used if named explicitly.
    fn add_ended(&mut self, path: &RelPath, base: &str, state: &EpicState) {
        let mut reads = vec![ReadSpec::File(path.clone())];
        reads.extend(layout::backup_of(path).map(ReadSpec::File));
        reads.extend(self.documents(base, state));
        self.probed.ended.push(candidate(path, epic::EPIC.run_id(&state.id), Kind::Epic, reads));
    }

    /// Covers the stories that an unreadable epic may have, by their names: `5.2` belongs to epic 5.
    fn cover_by_name(&mut self, base: &str, epic: &RelPath) {
        let prefix = format!("{}.", epic::id_of(epic).to_lowercase());
        let files = self.listing.entries.iter().map(|entry| &entry.path).filter(|path| path.name().ends_with(".md"));
        let covered = files.filter(|path| {
            layout::base_of(path) == base && story::bare_id(&story::id_of_path(path)).starts_with(&prefix)
        });
        self.covered.extend(covered.cloned());
    }

    fn cover(&mut self, documents: &[ReadSpec]) {
        self.covered.extend(files_of(documents));
    }

    /// Returns the plan and the stories of an epic.
    fn documents(&self, base: &str, state: &EpicState) -> Vec<ReadSpec> {
        let made;
        let documents = match &self.documents {
            Some(documents) => documents,
            None => {
                made = DocumentIndex::of_listing(self.listing);
                &made
            }
        };
        let path = epic::plan_path(base, state);
        let plan = path.as_ref().and_then(|path| execution::read(documents.bytes(path)?));
        let planned = plan.iter().flat_map(|plan| plan.stories.iter().map(|story| story.id.as_str()));
        let mut ids: Vec<&str> = state.stories().map(|story| story.id.as_str()).chain(planned).collect();
        ids.sort_unstable();
        ids.dedup();
        let stories = ids.into_iter().flat_map(|id| documents.locate(base, plan.as_ref(), id).files().to_vec());
        let mut found: Vec<RelPath> = path.clone().into_iter().chain(stories).collect();
        let running = state.stories().filter(|story| story.status.as_deref() == Some("in_progress"));
        let mut running = running.map(|story| story.id.to_lowercase()).peekable();
        if running.peek().is_some() {
            let gates = implied::gates(self.listing);
            found.extend(running.flat_map(|id| gates.get(&id).into_iter().flatten().copied()).cloned());
        }
        found.into_iter().map(ReadSpec::File).collect()
    }

    /// Keeps the newest of several states of one run: `.aios` and `.aiox` may each have one, and a QA loop may be in two folders.
    /// The JSON of an epic never wins over its YAML.
    fn keep_newest(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by(|a, b| {
            let is_pipeline = |found: &SavedState<'_>| found.kind == Kind::Pipeline;
            (a.base, &a.run).cmp(&(b.base, &b.run)).then_with(|| {
                let (first, second) = (Reverse(a.stamp), Reverse(b.stamp));
                (is_pipeline(a), first, a.is_over, a.path).cmp(&(is_pipeline(b), second, b.is_over, b.path))
            })
        });
        let mut kept: Option<SavedState<'_>> = None;
        for found in found {
            if let Some(first) = &kept
                && (first.base, &first.run) == (found.base, &found.run)
            {
                if found.is_over {
                    continue;
                }
                let how = if first.stamp > found.stamp { "an older" } else { "another" };
                let message = format!("{how} state of the run {}; {} is used instead", found.run, first.path);
                let superseded = |code| {
                    let finding = Finding::new(code, message).at(found.path);
                    finding.fix("compare the two, and remove the one that is out of date")
                };
                match self.probed.candidates.last_mut().filter(|_| !first.is_over) {
                    Some(counts) => counts.findings.push(superseded(FindingCode::StateSuperseded)),
                    None => self.probed.findings.push(superseded(FindingCode::StateLeftover)),
                }
                continue;
            }
            if !found.is_over {
                let reads = found.reads.clone();
                self.probed.candidates.push(candidate(found.path, found.run.clone(), found.kind, reads));
            }
            kept = Some(found);
        }
    }
}

/// The comparison of an epic with its documents.
struct DocumentComparison {
    /// It names a plan or stories, but none of them exists.
    is_orphaned: bool,
    drift: Vec<Finding>,
}

fn compare(documents: &DocumentIndex<'_>, base: &str, state: &EpicState) -> DocumentComparison {
    let path = epic::plan_path(base, state);
    let plan = path.as_ref().and_then(|path| execution::read(documents.bytes(path)?));
    let mut has_documents = path.as_ref().is_some_and(|path| documents.holds(path));
    let mut drift = Vec::new();
    for story in state.stories() {
        let at = documents.locate(base, plan.as_ref(), &story.id);
        has_documents |= !at.files().is_empty();
        let status = epic::status_of(story.status.as_deref()).unwrap_or(Status::Pending);
        drift.extend(consistency::compare(documents, &at, &StepId::new(story.id.as_str()), status));
    }
    let names_some = path.is_some() || state.stories().next().is_some();
    DocumentComparison { is_orphaned: names_some && !has_documents, drift }
}

fn candidate(state: &RelPath, name: String, kind: Kind, reads: Vec<ReadSpec>) -> Candidate {
    let descriptor = kind.descriptor();
    let among = Claim::StatedAmong { priority: descriptor.priority };
    Candidate {
        claim: if descriptor.edit.is_some() { among } else { Claim::Guest },
        // Another state of the same epic may be newer.
        may_be_replaced: true,
        ..Candidate::new(DialectId::Aios, name, state.clone(), reads)
    }
}
