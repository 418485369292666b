//! What a sprint contradicts itself about, and what it does not name (docs/formats/bmad.md#sprint-and-story).

use std::collections::{BTreeMap, BTreeSet};

use super::{
    sprint::{self, Epic, KeyKind, STEPS, Sprint},
    words::{self, SprintWord},
};
use crate::{
    dialect::{guest, story},
    model::{
        FileSet, Finding, FindingCode, RelPath, Run, Severity, Status, Step, StepId, Weight, clean_line, first_names,
    },
};

/// Number of names in a finding.
const NAMED: usize = 5;

/// Returns what the sprint contradicts itself about.
pub(super) fn findings(files: &FileSet, sprint: &Sprint, run: &Run) -> Vec<Finding> {
    let mut findings = Vec::new();
    for entry in sprint.stories.iter().filter(|entry| entry.word == SprintWord::Unknown) {
        let message = format!("the status of {} is `{}`, which is unknown", entry.key, entry.value);
        let finding = Finding::new(FindingCode::StatusUnknown, message).at(&files.state).line(entry.line, None);
        findings.push(finding.on(&StepId::new(&entry.key)));
    }
    findings.extend(of_epics(files, sprint, run));
    if let Some((_, line)) = sprint.repeated.first() {
        let keys: Vec<&str> = sprint.repeated.iter().map(|(key, _)| key.trim()).collect();
        let message = format!("keys occur more than once, the last one counts: {}", listed(&keys));
        findings.push(Finding::new(FindingCode::DuplicateId, message).at(&files.state).line(*line, None));
    }
    if sprint.stories.len() > STEPS {
        findings.push(guest::cut(&files.state, "stories", STEPS));
    }
    findings
}

/// Compares the claim of each epic with its stories.
fn of_epics(files: &FileSet, sprint: &Sprint, run: &Run) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (done, open): (Vec<&Epic>, Vec<&Epic>) = sprint
        .epics
        .iter()
        .filter(|epic| epic.claim.is_some())
        .partition(|epic| epic.claim.as_deref().map(words::meaning) == Some(SprintWord::Done));
    let stories = |epic: &Epic| {
        let key = epic.key.clone();
        run.steps.iter().filter(move |step| step.group.as_deref() == Some(key.as_str()))
    };
    let early: Vec<&str> = done
        .iter()
        .filter(|epic| stories(epic).any(|step| !step.status.satisfies()))
        .map(|epic| epic.key.as_str())
        .collect();
    let claims = |word: SprintWord, is_meant: &dyn Fn(&Step) -> bool| {
        let epics = open.iter().filter(|epic| epic.claim.as_deref().map(words::meaning) == Some(word));
        let found = epics.filter(|epic| stories(epic).any(is_meant)).map(|epic| epic.key.as_str());
        found.collect::<Vec<&str>>()
    };
    let dropped = claims(SprintWord::LeftOut, &|step| !step.status.is_over());
    if !dropped.is_empty() {
        let message = format!("epics are cancelled, but stories in them are open: {}", listed(&dropped));
        findings.push(Finding::new(FindingCode::StatusConflict, message).at(&files.state));
    }
    let behind = claims(SprintWord::Backlog, &|step| matches!(step.status, Status::Completed | Status::InProgress));
    if !behind.is_empty() {
        let message = format!("epics are in the backlog, but stories in them are begun: {}", listed(&behind));
        findings.push(Finding::new(FindingCode::WitnessBehind, message).at(&files.state));
    }
    if !early.is_empty() {
        let message = format!("epics are done, but stories in them are open: {}", listed(&early));
        findings.push(Finding::new(FindingCode::StatusConflict, message).at(&files.state));
    }
    // What its story file denies may be open.
    let is_disputed = |step: &Step| {
        let words = step.guest.as_ref().map(|proof| proof.words.as_slice()).unwrap_or_default();
        words.iter().any(|word| !word.done && word.weight != Weight::Hint)
    };
    let is_over = |step: &Step| step.status.satisfies() && !is_disputed(step);
    let late: Vec<&str> = open
        .iter()
        .filter(|epic| epic.claim.as_deref().map(words::meaning) != Some(SprintWord::LeftOut))
        .filter(|epic| stories(epic).next().is_some() && stories(epic).all(is_over))
        .map(|epic| epic.key.as_str())
        .collect();
    if !late.is_empty() && sprint.stories.len() <= STEPS {
        let message = format!("all stories of these epics are done, but the epics are open: {}", listed(&late));
        findings.push(Finding::new(FindingCode::WitnessBehind, message).at(&files.state));
    }
    findings
}

/// Returns the finding about story files that no key names.
pub(super) fn orphans(sprint: &Sprint, documents: &BTreeMap<String, (&RelPath, &[u8])>) -> Option<Finding> {
    let known: BTreeSet<String> = sprint.stories.iter().map(|entry| entry.key.to_lowercase()).collect();
    let is_story = |stem: &str| matches!(sprint::kind_of(stem), KeyKind::Story(_, _));
    let lost: Vec<&str> = documents
        .iter()
        .filter(|(stem, (path, bytes))| {
            !known.contains(*stem) && is_story(stem) && story::parse(path, bytes).is_story()
        })
        .map(|(stem, _)| stem.as_str())
        .collect();
    (!lost.is_empty()).then(|| {
        let mut finding = Finding::new(
            FindingCode::StepOrphan,
            format!("story files that the sprint does not name: {}", listed(&lost)),
        );
        finding.severity = Severity::Info;
        finding
    })
}

/// Returns the first of these names.
pub(super) fn listed(names: &[&str]) -> String {
    first_names(&names.iter().map(|name| clean_line(name, 80)).collect::<Vec<_>>(), NAMED)
}
