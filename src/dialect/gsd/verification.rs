//! Whether a phase was verified, and what is left of that (docs/formats/gsd.md#verification).

use super::{
    names::{self, PhaseKey},
    plan_file,
};
use crate::{
    document::{Node, parse_json},
    model::{CommitLog, Doubt, FileSet, Finding, FindingCode, GuestProof, RelPath, Run, Status, Step, StepId},
};

/// What `NN-VERIFICATION.md` and `NN-UAT.md` of a phase say.
#[derive(Debug, Default)]
pub(super) struct Verification {
    /// Its status, in lower case.
    status: Option<String>,
    /// Whether a person tried everything and found it good.
    is_accepted: bool,
}

/// What the settings say about finished phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verifier {
    On,
    Off,
    /// The settings are there and do not parse.
    Unknown,
}

impl Verification {
    /// Reads a document of the folder of a phase; false if it is another one.
    pub(super) fn read(&mut self, path: &RelPath, bytes: Option<&[u8]>) -> bool {
        let status = || {
            let front = bytes.and_then(plan_file::front_matter);
            plan_file::text_of(front.as_ref(), "status").map(str::to_lowercase)
        };
        if path.name().ends_with("VERIFICATION.md") {
            self.status = status();
        } else if path.name().ends_with("UAT.md") {
            self.is_accepted = matches!(status().as_deref(), Some("complete" | "completed" | "passed"));
        } else {
            return false;
        }
        true
    }

    pub(super) fn is_passed(&self) -> bool {
        self.status.as_deref() == Some("passed")
    }

    fn needs_person(&self) -> bool {
        self.status.as_deref() == Some("human_needed") && !self.is_accepted
    }

    fn has_gaps(&self) -> bool {
        self.status.as_deref().is_some_and(|status| status.contains("gaps")) && !self.is_accepted
    }

    /// Returns the verification of the phase that was finished last, where the system asks for one. `on` are its plans.
    pub(super) fn step(&self, key: &PhaseKey, on: &[StepId], verifier: Verifier, command: &str) -> Option<Step> {
        if !self.needs_person() && (verifier == Verifier::Off || self.status.is_some()) {
            return None;
        }
        let shown = names::shown(key);
        let id = StepId::new(format!("{}-verification", names::padded(key)));
        let mut step = Step::new(id, format!("verify phase {shown}"));
        step.depends_on = on.to_vec();
        step.group = Some(format!("phase {shown}"));
        let mut proof = GuestProof::default();
        if self.needs_person() {
            step.status = Status::WaitingApproval;
            proof.notes.push(format!("the verification of phase {shown} needs a person: `{command} {shown}`"));
        } else {
            let reason = match verifier {
                Verifier::On | Verifier::Off => {
                    format!("phase {shown} is built and was not verified: `{command} {shown}`")
                }
                Verifier::Unknown => format!(
                    "phase {shown} is built; config.json does not say whether it has to be verified: `{command} {shown}`"
                ),
            };
            proof.doubts.push(Doubt::look(reason));
        }
        step.guest = Some(Box::new(proof));
        Some(step)
    }
}

/// Returns what the settings ask for, with a finding if they cannot be read.
pub(super) fn verifier(files: &FileSet) -> (Verifier, Option<Finding>) {
    let path = files.state.join("config.json").ok();
    let Some((path, bytes)) = path.as_ref().and_then(|path| Some((path, files.bytes(path)?))) else {
        return (Verifier::Off, None);
    };
    match parse_json(bytes) {
        Ok(config) if config.at("/workflow/verifier").and_then(Node::scalar) == Some("true") => (Verifier::On, None),
        Ok(_) => (Verifier::Off, None),
        Err(error) => {
            let finding = Finding::new(FindingCode::PartUnreadable, error.to_string()).at(path);
            (Verifier::Unknown, Some(finding.line(error.place.line, None)))
        }
    }
}

/// Names the phases of a run whose verification found gaps that nothing closed since (no plan for them, no accepted trial, no commit that
/// fixes something in the phase), and those whose verification waits for a person although later phases were built on them.
pub(super) fn left_over(files: &FileSet, run: &Run, log: Option<&CommitLog>) -> Vec<Finding> {
    let Ok(phases) = files.state.join("phases") else { return Vec::new() };
    let mut found = Vec::new();
    for path in files.files.keys().filter(|path| path.starts_with(&phases) && path.name().ends_with("VERIFICATION.md"))
    {
        let Some(folder) = path.parent() else { continue };
        let Some((key, _)) = names::leading(folder.name()) else { continue };
        let shown = names::shown(&key);
        let is_of_run = run.steps.iter().any(|step| step.group.as_deref() == Some(&format!("phase {shown}")));
        let mut verification = Verification::default();
        for (path, _) in files.in_dir(&folder) {
            verification.read(path, files.bytes(path));
        }
        let is_closed =
            || has_gap_plan(files, run, &folder, path, log) || log.is_some_and(|log| was_fixed(log, path, &key));
        let is_next = run.step(&StepId::new(format!("{}-verification", names::padded(&key)))).is_some();
        let message = if !is_of_run {
            continue;
        } else if verification.has_gaps() && !is_closed() {
            format!("phase {shown} was verified with gaps, and nothing shows that they were closed")
        } else if verification.needs_person() && !is_next {
            format!("the verification of phase {shown} needs a person, and later phases were built on it")
        } else {
            continue;
        };
        found.push(Finding::new(FindingCode::WitnessBehind, message).at(path));
    }
    found
}

/// Tells whether a plan closes the gaps that a document found: it is open, or was carried out since.
fn has_gap_plan(files: &FileSet, run: &Run, folder: &RelPath, document: &RelPath, log: Option<&CommitLog>) -> bool {
    let changed = |path: &RelPath| log.and_then(|log| log.changes(path).first()).map(|(at, _)| *at);
    let is_older =
        |summary: &RelPath| changed(document).zip(changed(summary)).is_some_and(|(found, done)| done > found);
    let is_gap = |path: &RelPath| files.bytes(path).is_some_and(plan_file::closes_gaps);
    let plans = files.in_dir(folder).map(|(path, _)| path).filter(|path| is_gap(path));
    let mut plans = plans.filter_map(|path| Some((path, names::plan_id(path.name())?)));
    plans.any(|(path, id)| {
        let is_done = run.step(&StepId::new(id)).is_some_and(|step| step.status == Status::Completed);
        let summary = path.as_str().strip_suffix(names::PLAN).map(|start| format!("{start}{}", names::SUMMARY));
        let summary = summary.and_then(|summary| RelPath::parse(&summary).ok());
        !is_done || !summary.is_some_and(|summary| is_older(&summary))
    })
}

/// Tells whether a commit that fixes something in a phase is newer than a document about it.
fn was_fixed(log: &CommitLog, document: &RelPath, key: &PhaseKey) -> bool {
    let is_about = |scope: &str| names::leading(scope).is_some_and(|(own, _)| own == *key);
    let newer =
        log.commits().iter().take_while(|commit| !commit.files.iter().any(|file| file.path == document.as_str()));
    let mut fixes = newer.filter_map(|commit| commit.subject.strip_prefix("fix("));
    fixes.any(|rest| rest.split_once(')').is_some_and(|(scope, _)| is_about(scope)))
}
