//! From a checkpoint of Prodigy to a run. Where its two files disagree, the checkpoint counts and a finding is reported.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    checkpoint::{Checkpoint, VERSION},
    paths,
};
use crate::{
    dialect::Loaded,
    document::json_value,
    model::{
        Brief, Content, DialectId, EvidenceRequest, FileSet, Finding, FindingCode, Next, Records, RelPath, Run,
        RunStatus, Status, Step, StepId, WorkspaceRecord, clean_line, sha256_hex,
    },
    workflow::{self, Workflow},
};

/// A session of Prodigy.
pub(super) struct ProdigySession {
    pub(super) session: String,
    pub(super) checkpoint: Checkpoint,
    pub(super) workflow: Option<(Workflow, String)>,
    /// Below the home; it may be missing.
    pub(super) worktree: Option<RelPath>,
    pub(super) base_branch: Option<String>,
    pub(super) findings: Vec<Finding>,
}

/// Reads a session of Prodigy as a run that is never written.
pub(in super::super) fn load(files: &FileSet) -> Loaded {
    match ProdigySession::of(files) {
        Ok(prodigy) => prodigy.loaded(files),
        Err(finding) => Loaded { findings: vec![*finding], ..Loaded::default() },
    }
}

/// Writes the brief of a step, which says that nothing can be recorded here.
pub(in super::super) fn brief(files: &FileSet, run: &Run, next: &Next) -> Brief {
    let Some(step) = run.step(&next.step) else { return Brief::default() };
    let title = clean_line(&step.title, 200);
    Brief {
        task: "The session is one of Prodigy: import it before running anything.".to_owned(),
        agent_context: json!({
            "session": run.id,
            "workflow": run.workflow,
            "step": step.id,
            "working_folder": run.workspace.worktree.as_ref().map(|path| path.under(&files.root)),
            "definition": step.definition,
        }),
        prompt: format!(
            "Workflow: {}\nStep: {} - {title}\n\nThe session is one of Prodigy: import it before running anything.\n",
            clean_line(&run.workflow, 200),
            step.id
        ),
        told: vec!["session", "workflow", "step"],
        instructions: String::new(),
        reading: vec![files.state.reading_item("checkpoint of Prodigy")],
        notes: Vec::new(),
    }
}

/// Returns the path of the workflow file of a session, where it is a relative one.
pub(crate) fn relative_workflow(files: &FileSet) -> Option<RelPath> {
    let path = ProdigySession::of(files).ok()?.checkpoint.workflow_path?;
    RelPath::parse(path.as_str()).ok().filter(|_| path.is_relative())
}

impl ProdigySession {
    pub(super) fn of(files: &FileSet) -> Result<Self, Box<Finding>> {
        let session = paths::session_of(files.state.as_str()).unwrap_or(&files.name).to_owned();
        let mut findings = Vec::new();
        let mut newest: Option<Checkpoint> = None;
        for (path, entry) in files.files.iter().filter(|(path, _)| paths::is_state_of(path, &session)) {
            let read = match &entry.content {
                Content::Bytes(bytes) => Checkpoint::read(bytes),
                Content::Problem(problem) => Err(problem.to_string()),
                Content::NameOnly => continue,
            };
            match read {
                Ok(checkpoint) if newest.as_ref().is_none_or(|known| known.at <= checkpoint.at) => {
                    newest = Some(checkpoint)
                }
                Ok(_) => {}
                Err(problem) => {
                    let message = format!("{path} cannot be read: {}", clean_line(&problem, 200));
                    findings.push(Finding::new(FindingCode::PartUnreadable, message).at(path));
                }
            }
        }
        let Some(checkpoint) = newest else {
            let message = format!("no checkpoint of {session} can be read");
            let why = findings.pop().map(|finding| format!(": {}", finding.message)).unwrap_or_default();
            let finding = Finding::new(FindingCode::StateUnreadable, format!("{message}{why}")).at(&files.state);
            return Err(Box::new(finding.fix("run the workflow again: `piton run FILE`")));
        };
        let metadata = files.files.keys().find(|path| paths::is_metadata(path)).cloned();
        let about = metadata.as_ref().and_then(|path| json_value(files.bytes(path)?).ok()).unwrap_or_default();
        let worktree = metadata.as_ref().and_then(paths::worktree_of);
        let mut prodigy = Self {
            worktree,
            base_branch: about.get("original_branch").and_then(Value::as_str).map(|name| clean_line(name, 200)),
            workflow: None,
            session,
            checkpoint,
            findings,
        };
        prodigy.read_workflow(files);
        prodigy.check_session(files);
        prodigy.check_version(files);
        Ok(prodigy)
    }

    fn read_workflow(&mut self, files: &FileSet) {
        let shown = paths::workflow(&self.session);
        let bytes = shown.as_ref().and_then(|shown| files.bytes(shown));
        let path = self.checkpoint.workflow_path.clone().unwrap_or_default();
        let name = path.file_name().and_then(|name| RelPath::parse(name).ok());
        let (Some(bytes), Some(name)) = (bytes, name) else {
            let message = format!("the workflow file {path} cannot be read; only steps that are done are known");
            self.findings.push(Finding::new(FindingCode::DefinitionUnreadable, message).fix("restore it"));
            return;
        };
        let parsed = workflow::parse(&name, bytes);
        match parsed.workflow {
            Some(workflow) => self.workflow = Some((workflow, sha256_hex(bytes))),
            None => {
                let message = format!("the workflow file {path} has mistakes, which Prodigy ignores silently");
                let fix = format!("piton validate {}", crate::model::quoted(path.as_str()));
                self.findings.push(Finding::new(FindingCode::DefinitionUnreadable, message).fix(fix));
            }
        }
    }

    /// The session file has no steps; what it says of the end is no proof: a resume passes over steps and says that it
    /// completed (docs/formats/prodigy.md#what-of-it-is-not-believed).
    fn check_session(&mut self, files: &FileSet) {
        let file = paths::session_file(&self.session);
        let Some(session) = file.as_ref().and_then(|path| json_value(files.bytes(path)?).ok()) else { return };
        let word = session.get("status").and_then(Value::as_str).unwrap_or_default();
        if matches!(word, "Completed" | "Cancelled") && self.checkpoint.status != "Completed" {
            let word = clean_line(word, 40);
            let message = format!(
                "its session file says {word}, its checkpoint {}: Prodigy marks skipped steps as done",
                self.checkpoint.status
            );
            let finding = Finding::new(FindingCode::StateCorrupt, message);
            self.findings.push(file.iter().fold(finding, |finding, path| finding.at(path)));
        }
    }

    fn check_version(&mut self, files: &FileSet) {
        let version = self.checkpoint.version;
        if version != Some(VERSION) {
            let what = version.map_or_else(|| "no version".to_owned(), |version| format!("version {version}"));
            let message = format!("the checkpoint has {what}; only version {VERSION} is supported");
            self.findings.push(Finding::new(FindingCode::FormatNewer, message).at(&files.state));
        }
    }

    /// Returns the id and title of every known step.
    pub(super) fn steps(&self) -> Vec<(StepId, String)> {
        if let Some((workflow, _)) = &self.workflow {
            return workflow.steps.iter().map(|step| (step.id.clone(), step.title.clone())).collect();
        }
        let last = self.checkpoint.done.keys().next_back().copied();
        let open = self.open();
        let count = last.max(open).map_or(0, |last| last + 1);
        let title =
            |at: usize| self.checkpoint.done.get(&at).map_or_else(|| "unknown".to_owned(), |done| done.command.clone());
        (0..count).map(|at| (StepId::new((at + 1).to_string()), title(at))).collect()
    }

    /// Returns the step that failed or was interrupted.
    pub(super) fn open(&self) -> Option<usize> {
        let failed = self.checkpoint.failed.as_ref().map(|(at, _)| *at);
        failed.or_else(|| self.checkpoint.current.filter(|_| self.checkpoint.status != "Completed"))
    }

    /// Returns the status of a step. Whether the current one was begun is not recorded, so it counts as begun.
    pub(super) fn status(&self, at: usize) -> Status {
        if self.checkpoint.done.contains_key(&at) {
            Status::Completed
        } else if self.checkpoint.failed.as_ref().is_some_and(|(failed, _)| *failed == at) {
            Status::Failed
        } else if self.open() == Some(at) {
            Status::InProgress
        } else {
            Status::Pending
        }
    }

    /// Returns the captured variables. The state also holds environment and secrets, so only names that the workflow captures are read.
    pub(super) fn variables(&self) -> BTreeMap<String, Value> {
        let Some((workflow, _)) = &self.workflow else { return BTreeMap::new() };
        let names = workflow.steps.iter().filter_map(|step| Some(step.capture.as_ref()?.name.as_str()));
        let known =
            names.filter_map(|name| Some((name.to_owned(), self.checkpoint.captured.get(name)?.clone().into())));
        known.collect()
    }

    fn loaded(self, files: &FileSet) -> Loaded {
        let mut steps: Vec<Step> = Vec::new();
        for (at, (id, title)) in self.steps().into_iter().enumerate() {
            let mut step = Step::new(id, clean_line(&title, 200));
            step.status = self.status(at);
            step.attempts = u32::from(step.status != Status::Pending);
            step.depends_on = steps.last().map(|before| before.id.clone()).into_iter().collect();
            step.finished_at = self.checkpoint.done.get(&at).and_then(|done| done.at);
            step.error =
                self.checkpoint.failed.as_ref().filter(|(failed, _)| *failed == at).map(|(_, error)| error.clone());
            if let Some((workflow, _)) = &self.workflow {
                step.definition = workflow.steps[at].canonical.clone();
                step.idempotent = workflow.steps[at].idempotent;
            }
            steps.push(step);
        }
        if let Some(open) = steps.iter_mut().find(|step| step.status != Status::Completed) {
            open.detail.variables = self.variables().into_iter().collect();
        }
        let position = self.open().and_then(|at| steps.get(at)).map(|step| step.id.clone());
        let all_done =
            self.checkpoint.status == "Completed" && steps.iter().all(|step| step.status == Status::Completed);
        let workflow = self.workflow.as_ref().map(|(workflow, _)| workflow.name.clone());
        let name = workflow.or_else(|| self.checkpoint.name.clone()).unwrap_or_else(|| self.session.clone());
        let run = Run {
            status: if all_done { RunStatus::Completed } else { RunStatus::Active },
            steps,
            position,
            stamp: self.checkpoint.at,
            workspace: WorkspaceRecord {
                branch: self.worktree.as_ref().map(|_| format!("prodigy-{}", self.session)),
                base_branch: self.base_branch.clone(),
                worktree: self.worktree.clone(),
                ..WorkspaceRecord::default()
            },
            records: Records::RESUME,
            degraded: self.workflow.is_none(),
            ..Run::new(
                &self.session,
                DialectId::Piton,
                clean_line(&name, 200),
                &clean_line(&name, 200),
                vec![files.state.clone()],
            )
        };
        let wanted = EvidenceRequest { workspace: self.worktree.clone().map(Some), ..EvidenceRequest::default() };
        Loaded { run: Some(run), findings: self.findings, wanted, ..Loaded::default() }
    }
}
