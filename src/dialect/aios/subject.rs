//! The stories that a saved state works on: where their files are, whether the two agree, and which other workflows work on them
//! (docs/formats/aios.md#validation-before-a-resume, docs/formats/aios.md#paths-of-another-machine).

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    consistency::{self, Expected},
    document_index::{DocumentIndex, StoryLocation},
    execution,
    kind::{self, FileClass, Kind},
    kinds::epic,
    layout,
};
use crate::{
    dialect::{Loaded, story},
    document::Node,
    model::{
        Candidate, FileSet, Finding, FindingCode, Listing, ReadSpec, RelPath, ReviewVerdict, Run, RunStatus, Severity,
        Step, StepKind, Suggested, Verb, clean_line,
    },
};

/// The story that a state names.
struct Subject {
    id: String,
    /// As written; often a path from another machine.
    path: Option<String>,
    started: Option<String>,
}

impl Subject {
    fn of(kind: Kind, node: &Node, at: &RelPath) -> Option<Self> {
        let descriptor = kind.descriptor();
        // A paused cycle has completed its story, and claims none.
        let claim = descriptor.claim.as_ref()?;
        let word = |pointer: &str| node.at(pointer).and_then(Node::scalar).map(str::to_owned);
        let path = claim.path.and_then(word).filter(|path| path.contains(['/', '\\']));
        let id = descriptor.identify(node, at).story?;
        Some(Self { id, path, started: descriptor.started.and_then(word) })
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
            found @ (StoryLocation::At(_)
            | StoryLocation::Missing(_)
            | StoryLocation::Renamed { .. }
            | StoryLocation::Several { .. }) => (found, true),
        }
    }
}

/// The stories that a state works on.
struct Claims {
    kind: Kind,
    run: String,
    started: Option<String>,
    /// Id and key of each story that is not over. States about one story have the same key: its file, else its project and id.
    stories: Vec<(String, String)>,
}

impl Claims {
    /// Reads the claims of a state; `None` for a file that is no state, or that works on no story.
    fn of(path: &RelPath, bytes: &[u8], documents: &DocumentIndex<'_>) -> Option<Self> {
        let FileClass::State(kind) = kind::classify(path, bytes) else { return None };
        let node = kind::parse(bytes).ok()?;
        let base = layout::base_of(path);
        let claim = |id: &str, at: &StoryLocation| {
            let unknown = || format!("{base}{}", story::bare_id(id));
            (id.to_owned(), at.file().map_or_else(unknown, |path| path.as_str().to_owned()))
        };
        if let Some(state) = epic::EpicState::read(&node, path) {
            let plan = epic::plan_path(base, &state).and_then(|path| execution::read(documents.bytes(&path)?));
            let is_open = |story: &&epic::StoryState| {
                let status = epic::status_of(story.status.as_deref());
                !state.is_ended() && status.is_none_or(|status| !status.is_over())
            };
            let open = state.stories().filter(is_open);
            let stories = open.map(|story| claim(&story.id, &documents.locate(base, plan.as_ref(), &story.id)));
            let stories = stories.collect();
            return Some(Self {
                kind,
                run: kind.descriptor().run_id(&state.id),
                started: state.started_at.clone(),
                stories,
            });
        }
        let subject = Subject::of(kind, &node, path).filter(|_| !is_finished(kind, &node))?;
        let stories = vec![claim(&subject.id, &subject.locate(documents, base).0)];
        Some(Self { kind, run: kind.descriptor().identify(&node, path).run, started: subject.started, stories })
    }
}

/// Tells whether a state about one story says that it has nothing left to do.
fn is_finished(kind: Kind, node: &Node) -> bool {
    let finished = kind.descriptor().claim.as_ref().and_then(|claim| claim.finished);
    finished.is_some_and(|(at, words)| node.at(at).and_then(Node::scalar).is_some_and(|word| words.contains(&word)))
}

/// Adds the story, and other states about it, to the files that each candidate reads.
pub(super) fn link_reads(listing: &Listing, candidates: &mut [Candidate]) {
    let documents = OnceCell::new();
    let mut about: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, candidate) in candidates.iter_mut().enumerate().filter(|(_, candidate)| !candidate.claim.is_implied()) {
        let Ok(found) = listing.entries.binary_search_by(|entry| entry.path.cmp(&candidate.state)) else { continue };
        let Some(look) = listing.entries[found].content.as_deref() else { continue };
        let documents = documents.get_or_init(|| DocumentIndex::of_listing(listing));
        let node = kind::parse(look).ok();
        let kind = match kind::classify(&candidate.state, look) {
            FileClass::State(kind) => kind,
            FileClass::Evidence(_) | FileClass::Idle | FileClass::NotOurs | FileClass::Unreadable(..) => continue,
        };
        let subject = node.and_then(|node| Subject::of(kind, &node, &candidate.state));
        if let Some(subject) = subject {
            let located = subject.locate(documents, layout::base_of(&candidate.state)).0;
            candidate.reads.extend(located.file().cloned().map(ReadSpec::File));
        }
        for (_, key) in Claims::of(&candidate.state, look, documents).into_iter().flat_map(|claims| claims.stories) {
            about.entry(key).or_default().push(at);
        }
    }
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    for all in about.values().filter(|all| all.len() > 1) {
        pairs.extend(all.iter().flat_map(|at| all.iter().map(|other| (*at, *other))).filter(|(at, other)| at != other));
    }
    let states: Vec<RelPath> = candidates.iter().map(|candidate| candidate.state.clone()).collect();
    for (at, other) in pairs {
        candidates[at].reads.push(ReadSpec::File(states[other].clone()));
    }
}

/// Adds information from the story to the run.
pub(super) fn attach(kind: Kind, files: &FileSet, loaded: &mut Loaded) {
    let Some(run) = &mut loaded.run else { return };
    let documents = DocumentIndex::of_files(files);
    loaded.findings.extend(rivals(files, run, &documents));
    let node = files.bytes(&files.state).and_then(|bytes| kind::parse(bytes).ok());
    let Some(subject) = node.and_then(|node| Subject::of(kind, &node, &files.state)) else { return };
    let base = layout::base_of(&files.state);
    let (at, is_foreign) = subject.locate(&documents, base);
    let id = clean_line(&subject.id, 100);
    let named = subject.path.as_deref().filter(|_| at == StoryLocation::NotFound && run.status != RunStatus::Completed);
    if let Some(path) = named {
        // Of a path from another machine only the last part says anything here.
        let name = clean_line(path.rsplit(['/', '\\']).next().unwrap_or_default(), 100);
        let message = format!("the state names the story {name}, and no such file is here");
        let finding = Finding::new(FindingCode::StoryMissing, message).at(&files.state);
        let fix = "restore the file from git, or correct the path in the state";
        loaded.findings.push(Finding { severity: Severity::Warning, ..finding.fix(fix) });
    } else if run.steps.iter().any(|step| !step.status.is_over()) {
        loaded.findings.extend(disagreement(files, &documents, &at, run, &id));
    }
    if let Some(path) = at.file() {
        let roots = std::iter::once(&files.root).chain(&files.main_root);
        let is_own = roots.into_iter().any(|root| subject.path.as_deref() == Some(path.under(root).as_str()));
        if is_foreign && !is_own {
            let message = format!("the state names its story by a path from another machine; {path} is used instead");
            loaded.findings.push(Finding::new(FindingCode::PathForeign, message).at(&files.state));
        }
        // A session of Bob covers several stories.
        if kind != Kind::Bob {
            fill_from_story(run, &documents, path);
        }
    }
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
        StoryLocation::Several { named, found } => {
            let found: Vec<&str> = found.iter().map(RelPath::as_str).collect();
            let message = format!("{named} is missing, and {id} may be in {}", found.join(" or "));
            let finding = Finding::new(FindingCode::StoryMissing, message).at(&files.state);
            vec![finding.fix("correct the path in the state, or archive the files that are not it")]
        }
        StoryLocation::At(path) | StoryLocation::Renamed { found: path, .. } => {
            documents.bytes(path).map_or_else(Vec::new, |bytes| {
                let story = story::parse(path, bytes);
                consistency::of_story(path, &story, id, expected(run))
            })
        }
    }
}

/// Returns the expected stage of the story, by the first open step.
fn expected(run: &Run) -> Expected {
    let open = run.steps.iter().position(|step| !step.status.is_over());
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

/// Reports other workflows that work on the same stories. One that was started after this run was saved may have changed what the
/// run would continue from.
fn rivals(files: &FileSet, run: &Run, documents: &DocumentIndex<'_>) -> Vec<Finding> {
    let claims = |path: &RelPath| Claims::of(path, files.bytes(path)?, documents);
    let is_saved_state = |path: &&RelPath| layout::is_data(path.name()) && **path != files.state;
    let mut others =
        files.files.keys().filter(is_saved_state).filter_map(|path| Some((path, claims(path)?))).peekable();
    let own = if others.peek().is_some() { claims(&files.state) } else { None };
    let Some(own) = own else { return Vec::new() };
    let keys: BTreeSet<&str> = own.stories.iter().map(|(_, key)| key.as_str()).collect();
    let mut findings = Vec::new();
    for (path, other) in others {
        let shared = other.stories.iter().filter(|(_, key)| keys.contains(key.as_str()));
        let shared: Vec<String> = shared.map(|(id, _)| clean_line(id, 100)).collect();
        if !shared.is_empty() {
            findings.push(rival(files, run, path, &other, &shared));
        }
    }
    findings
}

fn rival(files: &FileSet, run: &Run, path: &RelPath, other: &Claims, shared: &[String]) -> Finding {
    let stories = format!("{} {}", if shared.len() == 1 { "story" } else { "stories" }, shared.join(", "));
    let what = format!("{} ({}) works on {stories} too", other.run, other.kind.descriptor().what);
    let started = other.started.as_deref().and_then(|stamp| files.time(stamp));
    let (severity, message) = match started.filter(|started| run.stamp.is_some_and(|saved| *started > saved)) {
        Some(started) => (Severity::Blocking, format!("{what}: it was started at {started}, after this one was saved")),
        None => (Severity::Warning, what),
    };
    let plan = Suggested::of(Verb::Plan, format!("./{path}"));
    let fix = format!("compare with `{plan}`, then finish or archive one of the two");
    Finding { severity, ..Finding::new(FindingCode::RivalRun, message).at(path).fix(fix) }
}

#[cfg(test)]
#[path = "subject_tests.rs"]
mod tests;
