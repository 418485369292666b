//! The state of an epic: waves of stories, each behind a gate (docs/formats/aios.md#epic-state).
//!
//! Progress is read from the waves, never from `current_wave`. If the state is unreadable, its backup copy is shown instead.

mod drift;
mod required;
mod state;
mod steps;
mod write;

pub(in crate::dialect::aios) use state::{EpicState, StoryState, id_of};
pub(in crate::dialect::aios) use steps::{is_story_review, status_of};

use std::collections::BTreeSet;

use crate::{
    dialect::{
        Loaded,
        aios::{
            document_index::DocumentIndex,
            execution::{self, Execution},
            kind::{self, Descriptor, Unnamed},
            layout, suggest,
        },
    },
    document::salvage,
    model::{
        DialectId, FileSet, Finding, FindingCode, Mode, ReadProblem, Records, RelPath, Run, RunStatus, Severity,
        Suggested, Timestamp, Verb, WorkspaceRecord, clean_line,
    },
};

const RECORDS: Records = Records { pause: false, ..Records::ALL };

pub(in crate::dialect::aios) static EPIC: Descriptor = Descriptor {
    workflow_type: "Epic Execution",
    prefix: "epic",
    priority: 1,
    stamps: &["/epic_state/updated_at"],
    records: RECORDS,
    suggest: Some(suggest::of_epic),
    ..Descriptor::of_files("the state of an epic", load, |files, change| write::edit("/epic_state", files, change))
};

pub(in crate::dialect::aios) static PIPELINE: Descriptor = Descriptor {
    workflow_type: "Epic Execution",
    prefix: "epic",
    priority: 1,
    subject: &["/epicId", "/epic_id"],
    unnamed: Unnamed::Stem("-pipeline.json"),
    stamps: &["/updatedAt", "/updated_at"],
    records: RECORDS,
    ..Descriptor::of_files("the pipeline of an epic as JSON", load, |files, change| write::edit("", files, change))
};

/// Reads the run.
fn load(files: &FileSet) -> Loaded {
    let problem = match read(files, &files.state) {
        Ok(state) => return EpicFiles::new(files, &state).load(),
        Err(problem) => problem,
    };
    let mut findings = vec![*problem];
    let backup = layout::backup_of(&files.state);
    let Some((backup, state)) = backup.and_then(|path| Some((read(files, &path).ok()?, path))).map(|(s, p)| (p, s))
    else {
        return Loaded { findings, ..Loaded::default() };
    };
    let mut loaded = EpicFiles::new(files, &state).load();
    if let Some(run) = &mut loaded.run {
        run.degraded = true;
    }
    let message = format!("read from {backup}, the backup made before the last write");
    let fix = Suggested::of(Verb::Restore, format!("./{}", files.state));
    findings.push(Finding::new(FindingCode::RestoredFromHistory, message).at(&backup).fix(fix));
    findings.append(&mut loaded.findings);
    Loaded { findings, ..loaded }
}

/// Reads one file as the state of an epic.
pub(in crate::dialect::aios) fn read(files: &FileSet, path: &RelPath) -> Result<EpicState, Box<Finding>> {
    let finding = |message: String| Finding::new(FindingCode::StateUnreadable, message).at(path);
    if let Some(problem) = files.problem(path) {
        return Err(Box::new(finding(problem.to_string())));
    }
    let node = kind::parse(files.bytes(path).unwrap_or_default()).map_err(|failure| {
        let (place, message) = failure.describe();
        Box::new(finding(message).line(place.line, Some(place.column)))
    })?;
    EpicState::read(&node, path).ok_or_else(|| {
        Box::new(match salvage::conflict(files.bytes(path).unwrap_or_default()) {
            Some((line, message)) => finding(message).line(line, Some(1)),
            None => finding("it has neither `epic_state` nor the pipeline of an epic".to_owned()),
        })
    })
}

/// Everything known about an epic while its run is built.
struct EpicFiles<'a> {
    files: &'a FileSet,
    state: &'a EpicState,
    /// Ids of the stories in the state.
    recorded: BTreeSet<&'a str>,
    /// The folder of the project, with a trailing slash.
    base: &'a str,
    documents: DocumentIndex<'a>,
    plan_path: Option<RelPath>,
    plan: Option<Execution>,
    findings: Vec<Finding>,
}

impl<'a> EpicFiles<'a> {
    fn new(files: &'a FileSet, state: &'a EpicState) -> Self {
        let base = layout::base_of(&files.state);
        let documents = DocumentIndex::of_files(files);
        let plan_path = plan_path(base, state);
        let plan = plan_path.as_ref().and_then(|path| execution::read(documents.bytes(path)?));
        let recorded = state.stories().map(|story| story.id.as_str()).collect();
        Self { files, state, recorded, base, documents, plan_path, plan, findings: Vec::new() }
    }

    fn load(mut self) -> Loaded {
        if self.state.waves.is_empty() {
            let message = "the state has no `waves` that can be read, so the remaining work is unknown";
            self.findings.push(Finding::new(FindingCode::StateMissingField, message).at(&self.files.state));
        }
        self.check_mode();
        self.check_plan();
        let mut steps = steps::build(&mut self);
        let only_counts_waves = self.state.only_counts_waves();
        steps.iter_mut().for_each(|step| step.recorded = !only_counts_waves);
        self.compare_current_wave();
        let status = self.status();
        if self.state.is_ended() {
            self.ease();
        }
        let position = steps.iter().find(|step| !step.status.is_over()).map(|step| step.id.clone());
        let id = clean_line(&self.state.id, 100);
        let is_named = id.to_lowercase().starts_with("epic");
        let title = format!("Epic Execution for {}{id}", if is_named { "" } else { "Epic " });
        let files = vec![self.files.state.clone()];
        let run = Run {
            status,
            steps,
            position,
            started_at: self.stamp("started_at", self.state.started_at.as_deref()),
            stamp: self.stamp("updated_at", self.state.updated_at.as_deref()),
            workspace: self.workspace(),
            mode: self.state.mode.as_deref().and_then(Mode::parse),
            records: if only_counts_waves { Records::NONE } else { Records::ALL },
            ..Run::new(EPIC.run_id(&self.state.id), DialectId::Aios, title, "epic-execution", files)
        };
        Loaded { run: Some(run), findings: self.findings, ..Loaded::default() }
    }

    /// Eases the findings about an epic that is over: what is missing cannot stop it, and without any document it is a leftover.
    fn ease(&mut self) {
        self.findings.iter_mut().for_each(|found| found.severity = found.severity.max(Severity::Warning));
        let is_there =
            |story: &StoryState| !self.documents.locate(self.base, self.plan.as_ref(), &story.id).files().is_empty();
        if self.plan.is_some() || self.state.stories().any(is_there) {
            return;
        }
        self.findings.retain(|found| !matches!(found.code, FindingCode::StoryMissing | FindingCode::PlanMissing));
        let message = "the epic is over, and its plan and its stories are all missing: the state is a leftover";
        let finding = Finding::new(FindingCode::StateLeftover, message).at(&self.files.state);
        self.findings.push(Finding { severity: Severity::Info, ..finding });
    }

    /// Reads a time stamp of the epic (docs/formats/aios.md#words-and-values).
    fn stamp(&mut self, name: &str, text: Option<&str>) -> Option<Timestamp> {
        let text = text?;
        let stamp = self.files.time(text);
        if stamp.is_none() {
            let what = if text.trim().is_empty() { "empty".to_owned() } else { format!("`{}`", clean_line(text, 40)) };
            let message = format!(
                "`{name}` is {what}, which is no time stamp; the commit or the file's own time is used instead"
            );
            let finding = Finding::new(FindingCode::FieldIgnored, message).at(&self.files.state);
            let fix = "write it as 2026-01-31T12:00:00Z";
            self.findings.push(Finding { severity: Severity::Warning, ..finding.fix(fix) });
        }
        stamp
    }

    /// Returns the plan and the branch of the first story in progress, where the work was interrupted.
    fn workspace(&self) -> WorkspaceRecord {
        let running = self.state.stories().find(|story| story.status.as_deref() == Some("in_progress"));
        WorkspaceRecord {
            branch: running.and_then(|story| story.branch.clone()),
            plan_reference: self.plan_path.as_ref().map(|path| path.as_str().to_owned()),
            ..WorkspaceRecord::default()
        }
    }

    fn status(&mut self) -> RunStatus {
        match self.state.status.as_deref() {
            Some("active") | None => RunStatus::Active,
            Some("completed") => RunStatus::Completed,
            Some("aborted") => RunStatus::Aborted,
            Some(other) => {
                let message = format!("the epic has the status `{}`; it counts as active", other.escape_debug());
                self.findings.push(Finding::new(FindingCode::StatusUnknown, message).at(&self.files.state));
                RunStatus::Active
            }
        }
    }

    fn check_mode(&mut self) {
        if let Some(word) = self.state.mode.as_deref().filter(|word| Mode::parse(word).is_none()) {
            let message = format!("the mode `{}` is unknown and was ignored", clean_line(word, 20));
            self.findings.push(Finding::new(FindingCode::FieldIgnored, message).at(&self.files.state));
        }
    }

    fn check_plan(&mut self) {
        let finding = match (&self.plan_path, &self.plan) {
            (_, Some(_)) => return,
            (None, None) => {
                let message = match &self.state.plan {
                    None => "the state names no execution plan, so the stories of a wave are sequential".to_owned(),
                    Some(plan) => {
                        format!("the execution plan `{}` is not a path in the project", clean_line(plan, 100))
                    }
                };
                let finding = Finding::new(FindingCode::PlanMissing, message).at(&self.files.state);
                finding.fix("write the path of the plan into `execution_plan`")
            }
            (Some(path), None) if self.documents.holds(path) => {
                let message = format!("{path} is not a readable execution plan");
                Finding::new(FindingCode::PartUnreadable, message).at(path).fix("correct the plan")
            }
            // Of one that cannot be read, that is said of its file.
            (Some(path), None) if self.files.problem(path) != Some(ReadProblem::Missing) => return,
            (Some(path), None) => {
                let message = format!("the execution plan {path} is missing");
                let finding = Finding::new(FindingCode::PlanMissing, message).at(&self.files.state);
                let finding = finding.fix("restore the plan from git, or correct `execution_plan` in the state");
                Finding { severity: Severity::Blocking, ..finding }
            }
        };
        self.findings.push(finding);
    }

    fn compare_current_wave(&mut self) {
        let open = self.state.waves.iter().find(|wave| wave.status.as_deref() != Some("completed"));
        if let (Some(current), Some(open)) = (&self.state.current_wave, open)
            && *current != open.number
        {
            let message =
                format!("`current_wave` is {}, but the first open wave is {}", clean_line(current, 20), open.number);
            self.findings.push(Finding::new(FindingCode::FieldIgnored, message).at(&self.files.state));
        }
    }
}

/// Returns the path of the plan that the state names.
pub(in crate::dialect::aios) fn plan_path(base: &str, state: &EpicState) -> Option<RelPath> {
    // A path with a drive or a leading separator is no path in the project.
    let plan = RelPath::parse(&state.plan.as_deref()?.replace('\\', "/")).ok()?;
    RelPath::parse(&format!("{base}{plan}")).ok()
}
