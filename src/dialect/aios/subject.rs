//! The story that a saved state is about: where its file is, whether the two agree, and which other workflows were started for it
//! since (docs/formats/aios.md#validation-before-a-resume, docs/formats/aios.md#paths-of-another-machine).

use super::consistency;
use super::consistency::Expected;
use super::document_index::DocumentIndex;
use super::document_index::StoryLocation;
use super::identity;
use super::kind;
use super::kind::FileClass;
use super::kind::Kind;
use super::layout;
use super::story;
use crate::dialect::Loaded;
use crate::dialect::yaml::Node;
use crate::model::Candidate;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Listing;
use crate::model::ReadSpec;
use crate::model::RelPath;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::Severity;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepKind;
use crate::model::Timestamp;
use crate::model::clean_line;

/// The story that a state names.
struct Subject {
    id: String,
    /// As written; often a path from another machine.
    path: Option<String>,
    started: Option<String>,
}

impl Subject {
    fn of(kind: Kind, node: &Node, at: &RelPath) -> Option<Self> {
        let (path, started): (&[&str], &[&str]) = match kind {
            Kind::QaLoop | Kind::Build => (&[], &["startedAt"]),
            Kind::DevCycle => (&["currentStory"], &["startedAt"]),
            Kind::Ade => (&[], &["timestamps", "startedAt"]),
            Kind::Bob => {
                (&["session_state", "progress", "current_story"], &["session_state", "workflow", "started_at"])
            }
            // A paused cycle has completed its story.
            Kind::Paused
            | Kind::Epic
            | Kind::Guided
            | Kind::Engine
            | Kind::Phases
            | Kind::Record
            | Kind::Pipeline
            | Kind::StoryCycle
            | Kind::Spec => return None,
        };
        let word = |keys: &[&str]| {
            let node = keys.iter().try_fold(node, |node, key| node.get(key)).filter(|_| !keys.is_empty());
            node.and_then(kind::text).map(str::to_owned)
        };
        let id = identity::of(kind, node, at).story?;
        Some(Self { id, path: word(path).filter(|path| path.contains(['/', '\\'])), started: word(started) })
    }

    /// Finds the file; the flag is set if only the end of the path matched.
    fn locate(&self, documents: &DocumentIndex<'_>, base: &str) -> (StoryLocation, bool) {
        let Some(path) = &self.path else { return (documents.locate(base, None, &self.id), false) };
        let path = path.replace('\\', "/");
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        for at in 0..parts.len() {
            let tail = RelPath::parse(&format!("{base}{}", parts[at..].join("/"))).ok();
            if let Some(found) = tail.filter(|path| documents.holds(path)) {
                return (StoryLocation::At(found), at > 0 || path.starts_with('/'));
            }
        }
        match documents.locate(base, None, &self.id) {
            StoryLocation::NotFound => {
                let named =
                    RelPath::parse(&format!("{base}{path}")).map_or(StoryLocation::NotFound, StoryLocation::Missing);
                (named, false)
            }
            found @ (StoryLocation::At(_) | StoryLocation::Missing(_)) => (found, true),
        }
    }
}

/// Returns kind and story of a file, if it is a state about a story.
fn of_bytes(path: &RelPath, bytes: &[u8]) -> Option<(Kind, Subject)> {
    let FileClass::State(kind) = kind::classify(path, bytes) else { return None };
    Some((kind, Subject::of(kind, &kind::parse(bytes).ok()?, path)?))
}

/// Adds the story, and other states about it, to the files that each candidate reads.
pub(super) fn link_reads(listing: &Listing, candidates: &mut [Candidate]) {
    let mut about: Vec<(usize, String)> = Vec::new();
    let mut documents = None;
    for (at, candidate) in candidates.iter_mut().enumerate().filter(|(_, candidate)| !candidate.claim.is_implied()) {
        let Ok(found) = listing.entries.binary_search_by(|entry| entry.path.cmp(&candidate.state)) else { continue };
        let Some(look) = listing.entries[found].content.as_deref() else { continue };
        let Some((_, subject)) = of_bytes(&candidate.state, look) else { continue };
        let base = layout::split(candidate.state.as_str()).map_or("", |parts| parts.base);
        let documents = documents.get_or_insert_with(|| DocumentIndex::of_listing(listing));
        let key = match subject.locate(documents, base).0 {
            StoryLocation::At(path) => {
                candidate.reads.push(ReadSpec::File(path.clone()));
                path.as_str().to_owned()
            }
            StoryLocation::Missing(_) | StoryLocation::NotFound => format!("{base}{}", subject.id.to_lowercase()),
        };
        about.push((at, key));
    }
    let states: Vec<RelPath> = candidates.iter().map(|candidate| candidate.state.clone()).collect();
    for (at, key) in &about {
        let others = about.iter().filter(|(other, other_key)| other != at && other_key == key);
        candidates[*at].reads.extend(others.map(|(other, _)| ReadSpec::File(states[*other].clone())));
    }
}

/// Adds information from the story to the run.
pub(super) fn attach(kind: Kind, files: &FileSet, loaded: &mut Loaded) {
    let Some(run) = &mut loaded.run else { return };
    let node = files.bytes(&files.state).and_then(|bytes| kind::parse(bytes).ok());
    let Some(subject) = node.and_then(|node| Subject::of(kind, &node, &files.state)) else { return };
    let base = layout::split(files.state.as_str()).map_or("", |parts| parts.base);
    let documents = DocumentIndex::of_files(files);
    let (at, is_foreign) = subject.locate(&documents, base);
    let id = clean_line(&subject.id, 100);
    if run.steps.iter().any(|step| !is_over(step.status)) {
        loaded.findings.extend(disagreement(files, &documents, &at, run, &id));
        loaded.findings.extend(rivals(files, run, &subject, &at));
    }
    if let StoryLocation::At(path) = at {
        if is_foreign {
            let message = format!("the state names its story by a path from another machine; {path} is used instead");
            loaded.findings.push(Finding::new(FindingCode::PathForeign, message).at(&files.state));
        }
        // A session of Bob covers several stories.
        if kind != Kind::Bob {
            fill_from_story(run, &documents, &path);
        }
    }
}

fn is_over(status: Status) -> bool {
    matches!(status, Status::Completed | Status::Skipped | Status::Cancelled)
}

fn fill_from_story(run: &mut Run, documents: &DocumentIndex<'_>, path: &RelPath) {
    let story = documents.bytes(path).map(|bytes| story::parse(path, bytes));
    for step in &mut run.steps {
        step.file.get_or_insert_with(|| path.clone());
        if let Some(story) = story.as_ref().filter(|_| step.detail.targets.is_empty()) {
            step.detail.targets.clone_from(&story.files);
            step.detail.acceptance = story.section(story::SectionKind::Acceptance);
        }
    }
    run.goal = run.goal.take().or_else(|| story.and_then(|story| story.title));
}

/// Reports a story that is missing or disagrees with the run.
fn disagreement(
    files: &FileSet,
    documents: &DocumentIndex<'_>,
    at: &StoryLocation,
    run: &Run,
    id: &str,
) -> Vec<Finding> {
    match at {
        StoryLocation::Missing(path) => {
            let finding = Finding::new(FindingCode::StoryMissing, format!("the story file of {id} is missing: {path}"));
            let fix = "restore the file from git, or correct the path in the state";
            vec![finding.at(&files.state).fix(fix)]
        }
        StoryLocation::NotFound => {
            let message = format!("no story file of {id} was found, so it was not compared");
            vec![Finding {
                severity: Severity::Info,
                ..Finding::new(FindingCode::StoryMissing, message).at(&files.state)
            }]
        }
        StoryLocation::At(path) => documents.bytes(path).map_or_else(Vec::new, |bytes| {
            let story = story::parse(path, bytes);
            consistency::of_story(path, &story, id, expected(run))
        }),
    }
}

/// Returns the expected stage of the story, by the first open step.
fn expected(run: &Run) -> Expected {
    let open = run.steps.iter().position(|step| !is_over(step.status));
    let step = open.map(|at| &run.steps[at]);
    match (run.workflow.as_str(), open) {
        ("qa-loop", _) if step.is_some_and(|step| step.kind == StepKind::Work) => Expected::Fix,
        ("qa-loop", _) if step.is_some_and(is_approved) => Expected::Approved,
        ("qa-loop", _) => Expected::Review,
        ("development-cycle", Some(0)) => Expected::Validation,
        ("development-cycle", Some(1 | 2)) => Expected::Development,
        ("development-cycle", _) => Expected::AfterDevelopment,
        (_, _) => Expected::Underway,
    }
}

fn is_approved(step: &Step) -> bool {
    step.review.as_ref().is_some_and(|review| review.verdict == ReviewVerdict::Approved)
}

/// Reports other workflows that were started for the story after this state was saved. The workflows of its epic are expected.
fn rivals(files: &FileSet, run: &Run, subject: &Subject, at: &StoryLocation) -> Vec<Finding> {
    let Some(saved) = run.stamp else { return Vec::new() };
    let mut findings = Vec::new();
    for path in files.files.keys().filter(|path| **path != files.state) {
        let Some(bytes) = files.bytes(path).filter(|_| layout::is_data(path.name())) else { continue };
        let Some((kind, other)) = of_bytes(path, bytes) else { continue };
        let is_same = story::same_id(&other.id, &subject.id) || matches!(at, StoryLocation::At(_));
        let started = other.started.as_deref().and_then(|stamp| files.time(stamp));
        if let Some(started) = started.filter(|started| is_same && *started > saved) {
            findings.push(rival(kind, path, started));
        }
    }
    findings
}

fn rival(kind: Kind, path: &RelPath, started: Timestamp) -> Finding {
    let message = format!("{} was started for the same story at {started}, after this one was saved", kind.what());
    let fix = format!("compare with `piton plan ./{path}`, then finish or archive one of the two");
    Finding::new(FindingCode::RivalRun, message).at(path).fix(fix)
}

#[cfg(test)]
#[path = "subject_tests.rs"]
mod tests;
