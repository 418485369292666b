//! Finding what was saved, and saying of everything else under the probed places what it is.

use std::collections::BTreeSet;

use super::consistency;
use super::epic;
use super::epic::State;
use super::execution;
use super::implied;
use super::kind;
use super::kind::Kind;
use super::kind::Sort;
use super::places;
use super::places::Area;
use super::places::Place;
use super::rebuild;
use super::shelf::Located;
use super::shelf::Shelf;
use crate::dialect::Probed;
use crate::model::Candidate;
use crate::model::Claim;
use crate::model::DialectId;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Listing;
use crate::model::ListingEntry;
use crate::model::ReadSpec;
use crate::model::RelPath;
use crate::model::Severity;
use crate::model::Status;
use crate::model::StepId;
use crate::model::clean_line;

/// Finds the runs of a listing.
pub(super) fn probe(listing: &Listing) -> Probed {
    let mut prober =
        Prober { listing, shelf: None, epics: Vec::new(), told: BTreeSet::new(), probed: Probed::default() };
    for entry in listing.entries.iter().filter(|entry| !entry.is_dir) {
        if let Some(place) = places::place(entry.path.as_str()) {
            prober.take(entry, &place);
        }
    }
    prober.keep_newest_epics();
    let told = prober.told;
    let implied = implied::candidates(listing).into_iter().filter(|candidate| !told.contains(&candidate.state));
    prober.probed.candidates.extend(implied);
    prober.probed
}

struct Prober<'a> {
    listing: &'a Listing,
    /// Made for the first epic: most projects have none.
    shelf: Option<Shelf<'a>>,
    epics: Vec<FoundEpic<'a>>,
    /// What an epic speaks of that goes on or is completed: such a story implies no run of its own (C-11, C-12).
    told: BTreeSet<RelPath>,
    probed: Probed,
}

/// Is the state of an epic that goes on.
struct FoundEpic<'a> {
    path: &'a RelPath,
    base: &'a str,
    state: State,
    reads: Vec<ReadSpec>,
}

impl<'a> Prober<'a> {
    fn take(&mut self, entry: &'a ListingEntry, place: &Place<'a>) {
        let path = &entry.path;
        let is_saved = matches!(place.area, Area::Runtime | Area::WorkflowState | Area::Orchestrator);
        if is_saved && is_temporary(path.name()) {
            let message = "a temporary file of a write that was cut off; it is not read";
            self.tell(FindingCode::TemporaryLeft, path, message.to_owned());
            return;
        }
        if !places::is_data(path.name()) || place.area == Area::Specs {
            return;
        }
        let expected = kind::by_name(path);
        let Some(look) = entry.look.as_deref() else {
            // Too large to look at, or not to be read: the run says why.
            match expected {
                Some(kind) if kind.is_read() => self.candidate(path, place.base, kind),
                Some(kind) => self.probed.findings.push(kind::not_resumed(kind, path)),
                None => {}
            }
            return;
        };
        match kind::sort(path, look) {
            Sort::State(Kind::Epic) => self.epic(path, place.base, look),
            Sort::State(kind) if kind.is_read() => self.candidate(path, place.base, kind),
            Sort::State(kind) => self.probed.findings.push(kind::not_resumed(kind, path)),
            Sort::Unreadable(at, problem) => match expected {
                Some(kind) if kind.is_read() => self.candidate(path, place.base, kind),
                Some(kind) => {
                    let message = format!("by its name {}, and it cannot be parsed: {problem}", kind.what());
                    let finding = Finding::new(FindingCode::KindNotResumed, message).at(path);
                    self.probed.findings.push(finding.line(at.line, Some(at.column)));
                }
                None => {}
            },
            Sort::Idle => self.tell(FindingCode::NoRunHere, path, "a loop status that names no story yet".to_owned()),
            Sort::NotOurs if expected.is_some() => {
                self.tell(
                    FindingCode::LookAlike,
                    path,
                    "named like a state, and no kind of state that is known".to_owned(),
                );
            }
            Sort::Evidence(_) | Sort::NotOurs => {}
        }
    }

    fn tell(&mut self, code: FindingCode, path: &RelPath, message: String) {
        self.probed.findings.push(Finding::new(code, message).at(path));
    }

    fn candidate(&mut self, path: &RelPath, base: &str, kind: Kind) {
        let mut reads = vec![ReadSpec::File(path.clone())];
        if kind == Kind::Epic {
            let backup = places::backup_of(path);
            let state = backup.as_ref().and_then(|path| self.looked_at(path));
            reads.extend(backup.map(ReadSpec::File));
            reads.extend(state.iter().flat_map(|state| self.documents(base, state)));
            if state.is_none() {
                reads.extend(rebuild::witnesses_of_epic(self.listing, base, path));
            }
        }
        if kind == Kind::QaLoop {
            reads.extend(rebuild::witnesses_of_loop(self.listing, base, path));
        }
        self.probed.candidates.push(candidate(path, path.name().to_owned(), kind, reads));
    }

    /// Reads a state of an epic that was looked at.
    fn looked_at(&self, path: &RelPath) -> Option<State> {
        let at = self.listing.entries.binary_search_by(|entry| entry.path.cmp(path)).ok()?;
        State::read(&kind::parse(self.listing.entries[at].look.as_deref()?).ok()?, path)
    }

    fn epic(&mut self, path: &'a RelPath, base: &'a str, look: &[u8]) {
        let Some(state) = kind::parse(look).ok().and_then(|node| State::read(&node, path)) else { return };
        let shelf = self.shelf.get_or_insert_with(|| Shelf::of_listing(self.listing));
        let found = compare(shelf, base, &state);
        let id = clean_line(&state.id, 100);
        if !found.has_documents {
            let message =
                format!("epic {id}: neither its plan nor any of its stories is here, so the state was left behind");
            let severity = if state.is_ended() { Severity::Info } else { Severity::Warning };
            let finding = Finding::new(FindingCode::StateLeftover, message).at(path);
            let fix = "bring the plan and the stories back from git, or remove the file";
            self.probed.findings.push(Finding { severity, ..finding.fix(fix) });
        } else if state.is_ended() {
            let is_completed = state.status.as_deref() == Some("completed");
            if is_completed {
                let documents = self.documents(base, &state);
                self.tell_of(&documents);
            }
            let how = if is_completed { "completed" } else { "was aborted" };
            let finding = Finding::new(FindingCode::RunEnded, format!("epic {id} {how}")).at(path);
            let finding =
                if is_completed { finding } else { finding.fix("to take it up again, set `status: active` in it") };
            self.probed.findings.push(finding);
            self.ended(path, base, &state);
            // Nothing is left that a story could hold up.
            let drift = found
                .drift
                .into_iter()
                .map(|found| Finding { severity: found.severity.max(Severity::Warning), ..found });
            self.probed.findings.extend(drift);
        } else {
            let mut reads = vec![ReadSpec::File(path.clone())];
            reads.extend(places::backup_of(path).map(ReadSpec::File));
            reads.extend(self.documents(base, &state));
            self.tell_of(&reads);
            self.epics.push(FoundEpic { path, base, state, reads });
        }
    }

    /// Keeps the state of an epic that is over for whoever names it.
    fn ended(&mut self, path: &RelPath, base: &str, state: &State) {
        let mut reads = vec![ReadSpec::File(path.clone())];
        reads.extend(places::backup_of(path).map(ReadSpec::File));
        reads.extend(self.documents(base, state));
        self.probed.ended.push(candidate(path, epic::run_name(&state.id), Kind::Epic, reads));
    }

    fn tell_of(&mut self, documents: &[ReadSpec]) {
        self.told.extend(documents.iter().filter_map(|spec| match spec {
            ReadSpec::File(path) => Some(path.clone()),
            ReadSpec::Contents { .. } | ReadSpec::Tree { .. } | ReadSpec::Names { .. } => None,
        }));
    }

    /// Returns the plan and the stories of an epic.
    fn documents(&self, base: &str, state: &State) -> Vec<ReadSpec> {
        let made;
        let shelf = match &self.shelf {
            Some(shelf) => shelf,
            None => {
                made = Shelf::of_listing(self.listing);
                &made
            }
        };
        let path = epic::plan_path(base, state);
        let plan = path.as_ref().and_then(|path| execution::read(shelf.bytes(path)?));
        let planned = plan.iter().flat_map(|plan| plan.stories.iter().map(|story| story.id.as_str()));
        let mut ids: Vec<&str> = state.stories().map(|story| story.id.as_str()).chain(planned).collect();
        ids.sort_unstable();
        ids.dedup();
        let stories = ids.into_iter().filter_map(|id| match shelf.locate(base, plan.as_ref(), id) {
            Located::At(path) => Some(path),
            Located::Gone(_) | Located::Nowhere => None,
        });
        path.clone().into_iter().chain(stories).map(ReadSpec::File).collect()
    }

    /// Of several states of one epic the one that was updated last counts; `.aios` and `.aiox` may hold one each.
    fn keep_newest_epics(&mut self) {
        let mut epics = std::mem::take(&mut self.epics);
        epics.sort_by(|a, b| (a.base, &a.state.id).cmp(&(b.base, &b.state.id)).then_with(|| newest_first(a, b)));
        let mut kept: Option<FoundEpic<'_>> = None;
        for found in epics {
            if let Some(first) = &kept
                && (first.base, &first.state.id) == (found.base, &found.state.id)
            {
                let message = format!("an older state of the epic that {} holds", first.path);
                let finding = Finding::new(FindingCode::StateLeftover, message).at(found.path);
                self.probed.findings.push(finding.fix("compare the two, and remove the one that is out of date"));
                continue;
            }
            let name = epic::run_name(&found.state.id);
            self.probed.candidates.push(candidate(found.path, name, Kind::Epic, found.reads.clone()));
            kept = Some(found);
        }
    }
}

fn newest_first(a: &FoundEpic<'_>, b: &FoundEpic<'_>) -> std::cmp::Ordering {
    let time = |epic: &FoundEpic<'_>| {
        epic.state.updated_at.as_deref().and_then(|at| crate::model::Timestamp::parse(at, 0).ok())
    };
    time(b).cmp(&time(a)).then_with(|| a.path.cmp(b.path))
}

/// Is what the documents of an epic say about it.
struct Compared {
    /// Its plan or one of its stories is there.
    has_documents: bool,
    drift: Vec<Finding>,
}

fn compare(shelf: &Shelf<'_>, base: &str, state: &State) -> Compared {
    let path = epic::plan_path(base, state);
    let plan = path.as_ref().and_then(|path| execution::read(shelf.bytes(path)?));
    let mut has_documents = path.as_ref().is_some_and(|path| shelf.holds(path));
    let mut drift = Vec::new();
    for story in state.stories() {
        let at = shelf.locate(base, plan.as_ref(), &story.id);
        has_documents |= matches!(at, Located::At(_));
        let status = epic::status_of(story.status.as_deref()).unwrap_or(Status::Pending);
        drift.extend(consistency::compare(shelf, &at, &StepId::new(story.id.as_str()), status));
    }
    Compared { has_documents, drift }
}

/// Tells whether a name is that of a file that a writer left (C-26).
fn is_temporary(name: &str) -> bool {
    let Some((_, end)) = name.rsplit_once(".tmp") else { return false };
    end.is_empty() || end.starts_with('.') && end[1..].bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn candidate(state: &RelPath, name: String, kind: Kind, reads: Vec<ReadSpec>) -> Candidate {
    let own = state.parent().and_then(|folder| folder.join(&format!(".piton/{}", state.name())).ok());
    Candidate {
        dialect: DialectId::Aios,
        own: own.unwrap_or_else(|| state.clone()),
        reads,
        claim: Claim::StatedAmong { priority: kind.priority() },
        rank: None,
        // Another state of the same epic may be the newer one.
        may_be_replaced: true,
        name,
        state: state.clone(),
    }
}
