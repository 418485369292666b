//! From the files of a session to a run.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value};

use super::{
    acts::acts_once,
    after_agent::leaves_more,
    damage,
    definition::changed,
    facts::{Captured, Outline, OutlineStep, is_for_an_agent, reviewed, uses_of},
    items::{failed_merge, part_names},
    native, outputs, paths,
    record::Remainder,
    session::Session,
    state::{ExecutionState, RunPhase, StepState},
    unfilled::hold_unfilled,
    unmet::unmet,
};
use crate::{
    dialect::Loaded,
    model::{
        Action, Cause, CauseKind, DialectId, EvidenceRequest, FileSet, Finding, FindingCode, Fix, FollowUp, GateEffect,
        GateOption, Interruption, InterruptionKind, OutputRequest, Part, PartKind, Proof, Records, RelPath, Review,
        Run, RunStatus, Severity, Status, Step, StepId, StepKind, Suggested, Verb, WorkspaceRecord, clean_line,
        mask_secrets,
    },
};

/// What the reason of a pause begins with when a limit of the run is reached; then the limit.
pub(crate) const AT_LIMIT: &str = "limit ";
/// Longer values of captured variables are shown as their size.
const SHOWN: usize = 1_000;

/// Reads the run of a session. One that ended stays ended when its workflow file is edited.
pub(super) fn load(files: &FileSet) -> Loaded {
    load_as(files, false)
}

/// Reads the run of a session as its workflow file defines it now, to run it again.
pub(crate) fn load_to_run(files: &FileSet) -> Loaded {
    load_as(files, true)
}

fn load_as(files: &FileSet, is_run_again: bool) -> Loaded {
    match Session::read(files) {
        Ok(session) => {
            let (behind_added, gone_acts) = (BTreeSet::new(), BTreeSet::new());
            RunReader { files, session, is_run_again, behind_added, gone_acts, findings: Vec::new() }.load()
        }
        Err(finding) => {
            let restore = Suggested::of(Verb::Restore, &files.name);
            let fix = Fix::offering(format!("restore the last checkpoint: `{restore}`"), [restore]);
            Loaded { findings: vec![finding.fix(fix)], ..Loaded::default() }
        }
    }
}

struct RunReader<'a> {
    files: &'a FileSet,
    session: Session,
    is_run_again: bool,
    /// The steps that build on one that was added to the file.
    behind_added: BTreeSet<StepId>,
    /// The steps that must not run twice, took effect and are not in the file any more.
    gone_acts: BTreeSet<String>,
    findings: Vec<Finding>,
}

impl RunReader<'_> {
    fn load(mut self) -> Loaded {
        self.damage();
        let outline = self.outline();
        let (steps, outputs) = self.steps(outline.steps);
        let is_changed =
            |step: &Step| step.done_definition.is_some() && step.done_definition != step.definition_digest();
        let is_edited = steps.iter().any(is_changed);
        let session = &self.session;
        let (header, state) = (&session.header, &session.state);
        let is_kept = !header.is_attended && state.run.worktree.as_deref() == Some("kept");
        if is_kept && state.run.status == RunPhase::Completed && header.keeps_work(Some("kept")) {
            // Without a branch that it came from, its work gets one.
            let branch = header.base_branch.is_none().then_some("NAME");
            let finding = Finding::new(FindingCode::NotMerged, "its work is not merged: it is in its worktree");
            self.findings.push(finding.fix(Suggested::of(Verb::Merge, &header.session).maybe("branch", branch)));
        }
        let steps_with_state = state.steps.iter().filter(|_| !self.is_run_again);
        self.findings.extend(steps_with_state.filter_map(|(id, step)| failed_merge(header, id, step)));
        let status = match state.run.status {
            RunPhase::Active => RunStatus::Active,
            // A signal during its merge leaves what a kill leaves.
            RunPhase::Paused if state.run.merge.is_some() => RunStatus::Active,
            RunPhase::Paused => RunStatus::Paused,
            RunPhase::Completed => RunStatus::Completed,
            RunPhase::Aborted => RunStatus::Aborted,
        };
        let is_named_after_run = header.is_attended || outline.name.is_empty();
        let title = if is_named_after_run { header.session.clone() } else { outline.name.clone() };
        let run = Run {
            ended: self.cut_off_merge(),
            status,
            position: self.position(),
            steps,
            goal: header.description.clone(),
            started_at: Some(header.created_at),
            stamp: state.run.changed_at.or(Some(header.created_at)),
            workspace: WorkspaceRecord {
                branch: header.branch.clone(),
                base_branch: header.base_branch.clone(),
                outside: header.worktree.clone().filter(|_| !self.is_handed_over()),
                issues: header.issues.clone(),
                ..WorkspaceRecord::default()
            },
            follow_up: self.follow_up(),
            records: Records { abort: true, rejections: true, ..Records::ALL },
            resume_flags: {
                let flags =
                    [(self.limit().is_some(), "over-limits"), (!header.is_attended && is_edited, "accept-edits")];
                flags.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, flag)| flag).collect()
            },
            interruption: self.interruption(),
            resumes: state.run.resumes,
            writable: header.is_writable() && !matches!(session.remainder, Remainder::Newer { .. }),
            degraded: matches!(
                session.remainder,
                Remainder::Broken { .. } | Remainder::Newer { .. } | Remainder::Lost { .. } | Remainder::Absent
            ),
            ..Run::new(
                &header.session,
                DialectId::Piton,
                clean_line(&title, 200),
                &clean_line(&outline.name, 200),
                self.state_files(),
            )
        };
        let wanted = self.wanted(&run, outputs);
        let native = native::state_fields(state, &run.steps);
        let is_unattended = !header.is_attended;
        let (entries, standing) = (self.session.entries, self.session.state.standing);
        Loaded { run: Some(run), findings: self.findings, wanted, native, is_unattended, entries, standing }
    }

    /// Tells whether its work left its worktree: it was merged, or is a branch for a person to merge.
    fn is_handed_over(&self) -> bool {
        let header = &self.session.header;
        header.worktree.is_some() && !header.keeps_work(self.session.state.run.worktree.as_deref())
    }

    /// Returns what its plan needs to know: its work is not where its records are.
    fn wanted(&self, run: &Run, outputs: Vec<OutputRequest>) -> EvidenceRequest {
        if self.is_handed_over() {
            return EvidenceRequest::default();
        }
        let header = &self.session.header;
        // The first step makes the worktree.
        let is_made = header.worktree.is_none() || run.steps.iter().any(|step| step.attempts > 0);
        EvidenceRequest {
            outputs,
            documents: run.steps.iter().flat_map(|step| step.uses.iter().cloned()).collect(),
            workspace: (header.branch.is_some() && is_made).then_some(None),
            outside: header.worktree.clone(),
            base: Some(header.worktree.clone().unwrap_or_else(|| header.root.clone())),
            ..EvidenceRequest::default()
        }
    }

    /// Reports damage of the files, and a limit that stopped the run.
    fn damage(&mut self) {
        if let Some(limit) = self.limit() {
            let header = &self.session.header;
            let message = format!("the run stopped at its limit {}", clean_line(limit, 100));
            let fix = format!(
                "raise `limits` in {}, or go on with all limits counted anew: `{}`",
                header.workflow.file,
                header.resume().flag("over-limits")
            );
            self.findings.push(Finding::new(FindingCode::LimitReached, message).fix(fix));
        }
        self.findings.extend(damage::findings(&self.session));
    }

    /// Takes the workflow that counts out of the session: the recorded one, or the current one where the next resume takes it and it can be
    /// read. A run that agents drive takes it only if a person says so.
    fn outline(&mut self) -> Outline {
        let kept = std::mem::take(&mut self.session.state.workflow);
        let now = self.current(&kept).filter(|_| self.takes_edits());
        self.gone_acts = self.session.state.gone_acts(&kept, now.as_ref().unwrap_or(&kept));
        now.unwrap_or(kept)
    }

    /// Tells whether the next resume takes the workflow file as it is.
    fn takes_edits(&self) -> bool {
        !self.session.header.is_attended || self.is_run_again
    }

    /// Returns the workflow as its file has it now, if that can be read and is another one.
    fn current(&mut self, kept: &Outline) -> Option<Outline> {
        let source = &self.session.header.workflow;
        let shown = paths::folder_of(&self.files.state).and_then(|folder| paths::workflow(&folder));
        let bytes = shown.as_ref().and_then(|shown| self.files.bytes(shown));
        let path = source.file.under(&source.root);
        let takes_edits = self.takes_edits();
        let unreadable = |why: String| {
            let message = format!("the workflow file {path} {why}; the recorded steps count");
            let finding = Finding::new(FindingCode::DefinitionUnreadable, message);
            if takes_edits { finding.fix(format!("restore {path}: a resume needs it")) } else { finding }
        };
        if !self.is_run_again && matches!(self.session.state.run.status, RunPhase::Completed | RunPhase::Aborted) {
            let header = &self.session.header;
            if bytes.is_some_and(|bytes| changed(self.files, header, bytes, &kept.sha256).is_some()) {
                let message = format!("the workflow file {path} has changed since the run ended");
                self.findings.push(Finding::new(FindingCode::DefinitionDrift, message));
            }
            return None;
        }
        let Some(bytes) = bytes else {
            let problem = shown.and_then(|shown| self.files.problem(&shown).map(|problem| problem.to_string()));
            let problem = problem.unwrap_or_else(|| "the file does not exist".to_owned());
            self.findings.push(unreadable(format!("cannot be read ({problem})")));
            return None;
        };
        let parsed = changed(self.files, &self.session.header, bytes, &kept.sha256)?;
        match parsed.workflow {
            None => {
                self.findings.push(unreadable("changed and has mistakes now".to_owned()));
                None
            }
            Some(workflow) => {
                let now = Outline::of(&workflow, parsed.sha256);
                // Without a record it is unknown what the file was.
                if self.session.remainder != Remainder::Absent {
                    self.drift(kept, &now);
                }
                Some(now)
            }
        }
    }

    /// Reports steps that were added, removed or changed. Of a run that takes the changes the planner reports those that are done.
    fn drift(&mut self, kept: &Outline, now: &Outline) {
        let missing = |of: &Outline, from: &Outline| {
            let known: BTreeSet<&str> = from.steps.iter().map(|step| step.id.as_str()).collect();
            let gone = of.steps.iter().filter(|step| !known.contains(step.id.as_str()));
            gone.map(|step| step.id.clone()).collect::<Vec<_>>()
        };
        let (removed, added) = (missing(kept, now), missing(now, kept));
        let takes_edits = self.takes_edits();
        self.behind_added = added.iter().filter(|_| takes_edits).flat_map(|step| now.behind(step)).cloned().collect();
        let mut changes = Vec::new();
        for (what, steps) in [("removed", removed), ("added", added)].into_iter().filter(|(_, steps)| !steps.is_empty())
        {
            let steps: Vec<&str> = steps.iter().map(StepId::as_str).collect();
            changes.push(format!("{what}: {}", clean_line(&steps.join(", "), 200)));
        }
        let is_told = |id: &StepId| {
            let state = self.session.state.steps.get(id.as_str());
            !takes_edits || state.is_none_or(|state| state.status != Status::Completed)
        };
        let is_changed = |step: &&OutlineStep| {
            is_told(&step.id)
                && kept.steps.iter().any(|known| known.id == step.id && known.definition != step.definition)
        };
        let edited: Vec<&str> = now.steps.iter().filter(is_changed).map(|step| step.id.as_str()).collect();
        if !edited.is_empty() {
            let when = if takes_edits { " before they are done" } else { "" };
            changes.push(format!("changed{when}: {}", clean_line(&edited.join(", "), 200)));
        }
        if kept.head != now.head {
            changes.push("changed: settings outside the steps".to_owned());
        }
        if changes.is_empty() {
            return;
        }
        let message = format!("the workflow file changed; {}", changes.join("; "));
        let goes_on = format!("{message}. The run goes on as it was recorded");
        let fix = format!("to have it take the changes: `{}`", self.session.header.accept_edits());
        // Shown without `-v`: the edit does nothing yet.
        self.findings.push(match takes_edits {
            true => Finding::new(FindingCode::DefinitionDrift, message),
            false => {
                Finding { severity: Severity::Warning, ..Finding::new(FindingCode::DefinitionDrift, goes_on).fix(fix) }
            }
        });
    }

    /// Returns the steps, and the outputs that all of them declare.
    fn steps(&self, outline: Vec<OutlineStep>) -> (Vec<Step>, Vec<OutputRequest>) {
        let unknown = StepState::default();
        let known = &self.session.state.steps;
        let mut steps: Vec<Step> = Vec::with_capacity(outline.len());
        let mut wanted = Vec::new();
        let needs: Vec<Vec<StepId>> = outline.iter().map(|step| step.needs.clone()).collect();
        for mut step in outline {
            let before = || steps.last().map(|last| last.id.clone()).into_iter().collect();
            let depends_on = step.depends_on.take().unwrap_or_else(before);
            let state = known.get(step.id.as_str()).map_or(&unknown, Box::as_ref);
            let is_command = !step.is_for_an_agent();
            let declared = outputs::declared(&self.session, &step.id, &step.definition);
            let outputs = declared.iter().map(|(path, _)| path.clone()).collect();
            let request = |(path, schema)| OutputRequest { step: step.id.clone(), path, schema };
            wanted.extend(declared.into_iter().map(request));
            let mut step = Step { depends_on, plan_order: Some(steps.len()), ..self::step(step, outputs, state) };
            step.is_command = (is_command && self.session.header.is_attended) || step.is_reported;
            let said = |key: &str| step.definition.get(key).and_then(Value::as_str);
            let filled = |text: &str| self.session.filled(text).unwrap_or_else(|_| self.session.given(text));
            if self.session.header.is_attended && !is_command {
                step.uses = uses_of(&step.definition);
            }
            step.command = said("shell").map(|line| clean_line(&mask_secrets(line), 400));
            step.asks = said("instructions").filter(|_| step.kind == StepKind::Gate).map(filled);
            if self.behind_added.contains(&step.id) {
                // What it depends on is a part of its definition.
                step.done_definition = step.done_definition.map(|_| String::new());
            }
            if self.is_handed_over() {
                step.proof = Proof { is_elsewhere: true, ..Proof::default() };
            } else if is_command && !self.is_proved_by_outputs(step.status) {
                step.proof = Proof::default();
            }
            steps.push(step);
        }
        if !self.is_run_again {
            for at in unmet((&steps, &needs), &self.session.header, &self.session.state).into_keys() {
                steps[at].status = Status::Skipped;
            }
        }
        self.doubt_renamed(&mut steps);
        hold_unfilled(&self.session, &mut steps);
        let variables = self.variables(&steps);
        if let Some(open) = steps.iter_mut().find(|step| !step.status.satisfies()) {
            open.detail.variables = variables;
        }
        (steps, wanted)
    }

    /// Doubts new steps that must not run twice, where one that took effect is not in the file any more: it may have another name now.
    fn doubt_renamed(&self, steps: &mut [Step]) {
        if self.gone_acts.is_empty() {
            return;
        }
        let gone: Vec<&str> = self.gone_acts.iter().map(String::as_str).collect();
        let gone = clean_line(&gone.join(", "), 200);
        let is_new = |step: &&mut Step| step.status == Status::Pending && step.attempts == 0;
        for step in steps.iter_mut().filter(is_new).filter(|step| acts_once(&step.definition)) {
            step.doubt =
                Some(format!("it may be {gone} under another name, which is done and not in the file any more"));
            step.idempotent = false;
        }
    }

    /// Tells whether the outputs of a command say whether it is done. The end of a run is recorded: nothing is opened again then. What a
    /// command left that the runner did not see end proves nothing.
    fn is_proved_by_outputs(&self, status: Status) -> bool {
        let is_seen = self.session.header.is_attended || status == Status::Completed;
        is_seen && self.session.state.run.status != RunPhase::Completed
    }

    fn variables(&self, steps: &[Step]) -> Map<String, Value> {
        let shown = |value: &Captured| match value {
            Captured::Inline { value: Value::String(text) } if text.len() > SHOWN => bytes_of(text.len() as u64),
            Captured::Inline { value } => match value.to_string().len() {
                length if length > SHOWN => bytes_of(length as u64),
                _ => value.clone(),
            },
            Captured::Stored { bytes, .. } => bytes_of(*bytes),
        };
        // What agents reported and people noted is in the brief as that.
        let reported: BTreeSet<String> = (steps.iter().filter(|step| is_for_an_agent(&step.definition)))
            .flat_map(|step| ["summary", "verdict", "note", "choice"].map(|what| format!("{}.{what}", step.id)))
            .collect();
        let variables = self.session.state.variables.iter().filter(|(name, _)| !reported.contains(*name));
        variables.map(|(name, value)| (name.clone(), shown(value))).collect()
    }

    fn state_files(&self) -> Vec<RelPath> {
        let folder = paths::folder_of(&self.files.state);
        let snapshot = folder.and_then(|folder| paths::snapshot(&folder));
        std::iter::once(self.files.state.clone())
            .chain(snapshot.filter(|path| self.files.bytes(path).is_some()))
            .collect()
    }

    fn position(&self) -> Option<StepId> {
        match &self.session.state.execution {
            ExecutionState::Created | ExecutionState::Interrupted { step: None, .. } => None,
            ExecutionState::BeforeStep { step }
            | ExecutionState::Completed { step }
            | ExecutionState::Failed { step, .. }
            | ExecutionState::Interrupted { step: Some(step), .. } => Some(step.clone()),
        }
    }

    /// Returns what follows when every step is done: a worktree has to be merged.
    fn follow_up(&self) -> Option<FollowUp> {
        let header = &self.session.header;
        let base = header.base_branch.as_deref().unwrap_or("the branch it came from");
        let end = self.session.state.run.worktree.as_deref();
        // The runner asks once; agents are told until it is merged or dropped.
        if header.keeps_work(end) && (header.is_attended || end.is_none()) {
            return Some(FollowUp {
                action: Action::Merge,
                title: format!("Merge into {}", clean_line(base, 100)),
                agent: None,
                reason: "every step is done, and its work is in a worktree of its own".to_owned(),
                merge: Some(Suggested::of(Verb::Merge, &header.session)),
            });
        }
        header.is_attended.then(|| FollowUp {
            action: Action::Archive,
            title: "Archive the run".to_owned(),
            agent: None,
            reason: "every step is done: archive the state".to_owned(),
            merge: None,
        })
    }

    /// Returns the limit that the run stopped at.
    fn limit(&self) -> Option<&str> {
        let run = &self.session.state.run;
        let is_stopped = run.status == RunPhase::Paused && !self.session.header.is_attended;
        run.reason.as_deref().and_then(|reason| reason.strip_prefix(AT_LIMIT)).filter(|_| is_stopped)
    }

    /// Returns what ended the merge, where it began and did not finish: a signal, a kill or a failure.
    fn cut_off_merge(&self) -> Option<Cause> {
        let run = &self.session.state.run;
        let is_open = matches!(run.status, RunPhase::Active | RunPhase::Paused) && run.merge.is_some();
        let by = run.reason.as_deref().map(|reason| format!(": {}", clean_line(reason, 100))).unwrap_or_default();
        is_open.then(|| Cause {
            kind: CauseKind::SessionEnded,
            at: run.changed_at,
            detail: format!("its merge did not finish{by}"),
        })
    }

    fn interruption(&self) -> Option<Interruption> {
        let state = &self.session.state;
        if state.run.status != RunPhase::Paused {
            return None;
        }
        let reason = state.run.reason.clone().unwrap_or_else(|| Interruption::PAUSED.to_owned());
        let (step, in_progress) = match &state.execution {
            ExecutionState::Interrupted { step, in_progress } => (step.clone().filter(|_| *in_progress), *in_progress),
            ExecutionState::Created
            | ExecutionState::BeforeStep { .. }
            | ExecutionState::Completed { .. }
            | ExecutionState::Failed { .. } => (None, false),
        };
        let kind = if in_progress { InterruptionKind::AgentInterruption } else { InterruptionKind::Paused };
        Some(Interruption { kind, step, at: state.run.changed_at, reason })
    }
}

fn step(outline: OutlineStep, outputs: Vec<RelPath>, state: &StepState) -> Step {
    let kind = outline.kind();
    let is_for_an_agent = outline.is_for_an_agent();
    let mut step = Step::new(outline.id, clean_line(&mask_secrets(&outline.title), 200));
    step.kind = kind;
    step.group = outline.group;
    let named = outline.definition.get("agent").and_then(Value::as_str);
    step.agent = state.agent.as_deref().or(named).map(|agent| clean_line(agent, 200));
    step.proof.outputs = outputs;
    step.proof.is_partial = leaves_more(&outline.definition);
    step.probe = outline.probe;
    step.definition = outline.definition;
    step.options = options_of(&step.definition);
    step.answer_within = step.definition.get("answer_within_ms").and_then(Value::as_u64).map(Duration::from_millis);
    copy_record(&mut step, state);
    if is_for_an_agent {
        let is_begun = state.status == Status::InProgress;
        step.proof.fresh_since = if is_begun { state.started_at } else { state.reopened_at };
    }
    if step.status == Status::Completed {
        step.proof.summaries = step.proof.outputs.clone();
    }
    step.detail.parts = parts_of(&step.definition, state);
    if let Some(items) = &state.items {
        // Of what was begun, the steps come first that a person is asked about.
        let cut_off = state.cut_off_steps().into_iter().map(|step| (step.part, Status::InProgress));
        let parts = part_names(items, &step.definition).into_iter();
        let parts = parts.map(|name| (name.clone(), state.parts.get(&name).copied().unwrap_or(Status::Pending)));
        let part = |(name, status): (String, Status)| Part {
            title: name.clone(),
            kind: PartKind::Work,
            status,
            output: None,
            commands: Vec::new(),
            name,
        };
        step.detail.parts = cut_off.chain(parts).map(part).collect();
    }
    step
}

/// Copies what is recorded about a step as a whole, but for its parts.
pub(crate) fn copy_record(step: &mut Step, state: &StepState) {
    step.status = state.status;
    // A loop that such a step passed in, or that was cut off in the middle of one, is not run again either.
    let has_acted =
        !state.cut_off_steps().is_empty() || state.status == Status::Completed && acts_once(&step.definition);
    if state.status != Status::Pending {
        step.doubt = state.is_doubted.then(|| "it was done on top of a step that is done again".to_owned());
    }
    step.idempotent = !has_acted && step.doubt.is_none() && step.definition.get("idempotent").is_none();
    step.attempts = state.attempts;
    step.tokens = state.claude.tokens() as u64;
    step.is_reported = state.reported.is_some();
    step.error = state.tolerated.as_ref().or_else(|| state.errors.last()).cloned();
    step.past_errors.clone_from(&state.errors);
    let limit = state.retry.filter(|retry| retry.is_usage_limit && state.status == Status::Failed);
    step.limit_ends = limit.map(|retry| retry.next_at);
    step.is_tolerated = state.tolerated.is_some() && state.status == Status::Completed;
    step.started_at = state.started_at;
    step.finished_at = state.finished_at;
    step.commit.clone_from(&state.commit);
    step.tokens = u64::try_from(state.claude.tokens()).unwrap_or(u64::MAX);
    step.done_definition = state.digest.clone().filter(|_| state.status == Status::Completed);
    if !is_for_an_agent(&step.definition) {
        return;
    }
    step.failures = state.failures;
    // A review that ended without a verdict says nothing about the work: it is done again itself.
    let failed = state.status == Status::Failed && state.verdict.is_none() && step.kind == StepKind::Review;
    step.returns_to = chosen_return(step, state.choice.as_deref()).or_else(|| reviewed(&step.definition));
    step.returns_to.take_if(|_| failed);
    step.review = state.verdict.map(|verdict| Review { verdict, open_conditions: Some(state.conditions.clone()) });
}

/// Returns the answers that a gate declares.
fn options_of(definition: &Value) -> Vec<GateOption> {
    let options = definition.get("options").and_then(Value::as_array).into_iter().flatten();
    let option = |option: &Value| {
        let effect = match option.get("does")? {
            Value::String(word) if word == "continue" => GateEffect::Continue,
            Value::String(_) => GateEffect::Stop,
            back => GateEffect::Return(StepId::new(back.get("return")?.as_str()?)),
        };
        Some(GateOption { word: option.get("word")?.as_str()?.to_owned(), effect })
    };
    options.filter_map(option).collect()
}

/// Returns the step that an answer sends the run back to.
fn chosen_return(gate: &Step, choice: Option<&str>) -> Option<StepId> {
    let option = gate.options.iter().find(|option| Some(option.word.as_str()) == choice)?;
    match &option.effect {
        GateEffect::Return(step) => Some(step.clone()),
        GateEffect::Continue | GateEffect::Stop | GateEffect::Wait | GateEffect::Abort => None,
    }
}

/// Returns the parts that a definition declares, with what is recorded about each.
fn parts_of(definition: &Value, state: &StepState) -> Vec<Part> {
    let parts = definition.get("parts").and_then(Value::as_array).into_iter().flatten();
    let part = |part: &Value| {
        let name = part.as_str().or_else(|| part.get("name")?.as_str())?.to_owned();
        let is_analysis = part.get("is_analysis").and_then(Value::as_bool) == Some(true);
        let output = state.part_outputs.get(&name).map(|(name, value)| (name.clone(), Some(Box::new(value.clone()))));
        Some(Part {
            title: part.get("title").and_then(Value::as_str).unwrap_or(&name).to_owned(),
            kind: if is_analysis { PartKind::Analysis } else { PartKind::Work },
            status: state.parts.get(&name).copied().unwrap_or(Status::Pending),
            output,
            commands: Vec::new(),
            name,
        })
    };
    parts.filter_map(part).collect()
}

fn bytes_of(bytes: u64) -> Value {
    Value::String(format!("({bytes} bytes)"))
}
