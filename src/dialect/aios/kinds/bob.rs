//! The session of Bob (docs/formats/aios-states.md#bob-session): the stories of an epic, one of them in the middle of its development cycle.
//!
//! `current_phase` is the phase that was started last. As in the development cycle, a result of a later phase belongs to an
//! earlier pass (docs/formats/aios-states.md#loop-back-laps). In that case neither is trusted and the user decides.

use serde_json::{Value, json};

use super::dev_cycle::{CHECKPOINT, PHASES, PUSH};
use crate::{
    dialect::{
        EditError,
        aios::{
            editor::{StateEditor, edit},
            fields::{self, KindReader as _},
            kind::{Claim, Descriptor, StoryName, Unnamed},
            steps::{first_open, follow, note_failures},
        },
        edit::{object, unsupported},
        story,
        writer::{Approval, Begun, Resumed, StateWriter, outcome_text},
    },
    document::{Field, Node, Reader},
    model::{
        Edit, Finding, FindingCode, Outcome, Records, Run, RunStatus, Severity, Status, Step, StepId, mask_secrets,
        quoted,
    },
};

/// A session that was silent for longer and did not stop at a regular point has crashed (docs/formats/aios.md#liveness).
const CRASHED_SECONDS: i64 = 1_800;

pub(super) static BOB: Descriptor = Descriptor {
    workflow_type: "Development Cycle",
    prefix: "bob",
    version: Some(("/session_state/version", 1)),
    subject: &["/session_state/epic/id"],
    unnamed: Unnamed::Nowhere,
    story: StoryName::At(&["/session_state/progress/current_story"]),
    stamps: &["/session_state/last_updated"],
    started: Some("/session_state/workflow/started_at"),
    claim: Some(Claim { path: Some("/session_state/progress/current_story"), finished: None }),
    records: Records::ALL,
    ..Descriptor::of_state("the session of Bob", run, |files, change| {
        edit(&BOB, files, change, |editor, run| BobWriter { editor, run })
    })
};

/// Reads the run.
fn run(tree: &Reader<'_>) -> Run {
    let state = tree.get("session_state");
    let epic = state.get("epic");
    let name = epic.get("title").id().map_or_else(String::new, |title| format!(": {title}"));
    let mut run = tree.run(&BOB, "bob-session", format!("Bob Session for Epic {}{name}", tree.subject(&BOB)));
    let session = BobSession { tree, state };
    run.steps = session.steps();
    run.workspace.branch = state.get("context_snapshot").get("branch").id();
    let action = session.action();
    run.status = match action {
        Some("PAUSE") => RunStatus::Paused,
        Some("ABORT") => RunStatus::Aborted,
        Some(_) | None if !run.steps.is_empty() && first_open(&run.steps).is_none() => RunStatus::Completed,
        Some(_) | None => RunStatus::Active,
    };
    if run.status == RunStatus::Active && action != Some("STORY_COMPLETED") {
        tree.report_abandoned(run.stamp, CRASHED_SECONDS);
    }
    session.check_story_count(&run.steps);
    run.position = first_open(&run.steps).map(|step| step.id.clone());
    run
}

struct BobSession<'a> {
    tree: &'a Reader<'a>,
    state: Field<'a>,
}

impl<'a> BobSession<'a> {
    /// Returns the type of the session's last action.
    fn action(&self) -> Option<&'a str> {
        self.state.get("last_action").get("type").text()
    }

    fn stories(&self, key: &'static str) -> Vec<String> {
        let items = self.state.get("progress").get(key).items().into_iter();
        items.filter_map(|item| item.id()).map(|story| story::name_of(&story).to_owned()).collect()
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut done = self.stories("stories_done");
        let current = self.state.get("progress").get("current_story").id();
        let current = current.map(|story| story::name_of(&story).to_owned());
        if let Some(current) = current.as_ref().filter(|current| !done.contains(*current) && self.is_over(current)) {
            done.push(current.clone());
        }
        for story in &done {
            add(&mut steps, story, Status::Completed);
        }
        let pending = self.stories("stories_pending");
        let active = current.filter(|current| !done.contains(current));
        // The next story is expanded into phases already, so that step ids do not change when it starts.
        let next = pending.iter().find(|story| !story.is_empty() && !done.contains(story));
        if let Some(current) = &active {
            self.add_active_phases(&mut steps, current);
        } else if let Some(next) = next {
            add_phases(&mut steps, next);
        }
        for story in pending {
            let is_laid_out = steps.iter().any(|step| step.group.as_ref() == Some(&story));
            if !is_laid_out {
                add(&mut steps, &story, Status::Pending);
            }
        }
        steps
    }

    /// Returns whether the session just completed this story without updating its lists yet.
    fn is_over(&self, current: &str) -> bool {
        let story = self.state.get("last_action").get("story").id();
        let is_its = story.is_none_or(|story| story::name_of(&story) == current);
        let at_checkpoint = self.position() == Some(CHECKPOINT);
        is_its && (self.action() == Some("STORY_COMPLETED") || self.action() == Some("GO") && at_checkpoint)
    }

    fn position(&self) -> Option<usize> {
        let current = self.state.get("workflow").get("current_phase").text()?;
        PHASES.iter().position(|(id, name, ..)| *name == current || *id == current)
    }

    fn result(&self, at: usize) -> Field<'a> {
        let results = self.state.get("workflow").get("phase_results");
        results.either([PHASES[at].1, PHASES[at].0])
    }

    /// Adds the phases of the active story.
    fn add_active_phases(&self, steps: &mut Vec<Step>, story: &str) {
        let position = self.position();
        let current = self.state.get("workflow").get("current_phase");
        if let (Some(word), None) = (current.text(), position) {
            current.report_unknown(FindingCode::StatusUnknown, word, None);
        }
        let first = steps.len();
        add_phases(steps, story);
        for (at, step) in steps[first..].iter_mut().enumerate() {
            step.status = self.status(at, position, &step.id);
            if step.status == Status::Failed {
                let attempts = self.state.get("workflow").get("attempt_count").number().unwrap_or(1);
                let error = self.result(at).get("error").text().unwrap_or("it failed").to_owned();
                note_failures(step, vec![error]);
                (step.attempts, step.failures) = (attempts.max(1), attempts.max(1));
            }
        }
        self.report_later_results(position);
    }

    fn status(&self, at: usize, position: Option<usize>, id: &StepId) -> Status {
        let result = self.result(at);
        let is_current = position == Some(at);
        if result.is_there() {
            let status = result.get("status");
            return if status.is_there() { fields::status(status, id) } else { Status::Completed };
        }
        match (is_current, self.action()) {
            (true, Some("ERROR_OCCURRED")) => Status::Failed,
            (true, Some("CHECKPOINT_REACHED" | "REVIEW")) if at == CHECKPOINT => Status::WaitingApproval,
            (true, Some(_) | None) => Status::InProgress,
            // The session has moved past it.
            (false, _) if position.is_some_and(|position| at < position) => Status::Completed,
            (false, _) => Status::Pending,
        }
    }

    fn report_later_results(&self, position: Option<usize>) {
        let Some(position) = position else { return };
        let later: Vec<&str> =
            (position + 1..PHASES.len()).filter(|at| self.result(*at).is_there()).map(|at| PHASES[at].1).collect();
        if !later.is_empty() {
            let message = format!(
                "the session is in {}, but there are results of {}: they are from an earlier pass of the cycle",
                PHASES[position].1,
                later.join(", ")
            );
            let fix = "check the branch and the story; close the story if its work is pushed, and do not push twice";
            let finding = Finding::new(FindingCode::StateCorrupt, message).fix(fix);
            self.state.report(Finding { severity: Severity::Blocking, ..finding });
        }
    }

    /// Reports an epic with more stories than the session names.
    fn check_story_count(&self, steps: &[Step]) {
        let total = self.state.get("epic").get("total_stories").number().and_then(|total| usize::try_from(total).ok());
        let mut stories: Vec<&str> =
            steps.iter().map(|step| step.group.as_deref().unwrap_or_else(|| step.id.as_str())).collect();
        stories.dedup();
        if let Some(total) = total.filter(|total| *total > stories.len()) {
            let message = format!("the epic has {total} stories, but the session names {}", stories.len());
            self.tree.report(Finding::new(FindingCode::StateCorrupt, message));
        }
    }
}

/// Adds the phases of a story that has not started.
fn add_phases(steps: &mut Vec<Step>, story: &str) {
    for (at, (_, name, title, agent)) in PHASES.into_iter().enumerate() {
        let id = StepId::new(format!("{story}:{name}"));
        let step = follow(steps, id, format!("{title} of story {story}"), Status::Pending);
        step.short = Some(name.to_owned());
        step.group = Some(story.to_owned());
        step.agent = agent.map(str::to_owned);
        step.idempotent = at != PUSH;
    }
}

fn add(steps: &mut Vec<Step>, story: &str, status: Status) {
    let id = StepId::new(story);
    if !story.is_empty() && steps.iter().all(|step| step.id != id) {
        follow(steps, id, format!("Story {story}"), status).agent = Some("dev".to_owned());
    }
}

const ACTION: &str = "/session_state/last_action";
const WORKFLOW: &str = "/session_state/workflow";
const RESULTS: &str = "/session_state/workflow/phase_results";
const PROGRESS: &str = "/session_state/progress";

/// The target of a step id.
enum BobTarget {
    /// A story that is not active.
    Story(String),
    /// A phase of the active story.
    Phase(String, usize),
}

struct BobWriter {
    editor: StateEditor,
    run: Run,
}

impl BobWriter {
    fn target(&self, step: &StepId) -> Result<BobTarget, EditError> {
        let Some(known) = self.run.step(step) else {
            return unsupported(format!("`{step}` is neither a story nor a phase of this session"));
        };
        let phase = known.group.as_ref().and_then(|story| {
            let name = step.as_str().strip_prefix(story.as_str())?.strip_prefix(':')?;
            let at = PHASES.iter().position(|(_, phase, ..)| *phase == name)?;
            Some(BobTarget::Phase(story.clone(), at))
        });
        Ok(phase.unwrap_or_else(|| BobTarget::Story(step.as_str().to_owned())))
    }

    /// Makes a story the current one. Returns whether it changed.
    fn make_current(&mut self, story: &str) -> Result<bool, EditError> {
        let current = format!("{PROGRESS}/current_story");
        if self.editor.get(&current).and_then(Node::scalar).is_some_and(|text| story::name_of(text) == story) {
            return Ok(false);
        }
        let written = self.as_written(story);
        self.editor.set_text(&current, &written)?;
        self.clear_results_from(0)?;
        self.editor.set_number(&format!("{WORKFLOW}/attempt_count"), 0)?;
        Ok(true)
    }

    /// Records that the story passed its checkpoint.
    fn complete_story(&mut self, story: &str, word: &str) -> Result<(), EditError> {
        let written = self.as_written(story);
        self.editor.add_to_list(&format!("{PROGRESS}/stories_done"), &written)?;
        self.editor.remove_from_list(&format!("{PROGRESS}/stories_pending"), &written)?;
        self.editor.set_text(&format!("{WORKFLOW}/current_phase"), PHASES[CHECKPOINT].1)?;
        self.action(word, Some(story), Some(PHASES[CHECKPOINT].1))
    }

    fn action(&mut self, word: &str, story: Option<&str>, phase: Option<&str>) -> Result<(), EditError> {
        let at = self.editor.now();
        self.editor.set_text(&format!("{ACTION}/type"), word)?;
        self.editor.set(&format!("{ACTION}/timestamp"), &at)?;
        for (key, value) in [("story", story), ("phase", phase)] {
            if let Some(value) = value {
                self.editor.set_text(&format!("{ACTION}/{key}"), value)?;
            }
        }
        Ok(())
    }

    /// Saves the result of a phase and removes those of later phases.
    fn record(&mut self, at: usize, result: &Value) -> Result<(), EditError> {
        self.clear_results_from(at)?;
        self.editor.set(&format!("{RESULTS}/{}", self.key(at)), result)?;
        self.editor.set_text(&format!("{WORKFLOW}/current_phase"), PHASES[at].1)
    }

    fn clear_results_from(&mut self, from: usize) -> Result<(), EditError> {
        for (id, name, ..) in &PHASES[from..] {
            for key in [id, name] {
                let pointer = format!("{RESULTS}/{key}");
                self.editor.remove(&pointer)?;
            }
        }
        Ok(())
    }

    /// Returns the key of a phase's result in the spelling of the session.
    fn key(&self, at: usize) -> &'static str {
        let has_ids = PHASES.iter().any(|(id, ..)| self.editor.has(&format!("{RESULTS}/{id}")));
        if has_ids { PHASES[at].0 } else { PHASES[at].1 }
    }

    /// Returns a story as spelled in the lists, for example as a path.
    fn as_written(&self, name: &str) -> String {
        let is_it = |node: &&Node| node.scalar().is_some_and(|text| story::name_of(text) == name);
        let current = self.editor.get(&format!("{PROGRESS}/current_story"));
        let mut listed = self.editor.items(&format!("{PROGRESS}/stories_pending")).iter().chain(current);
        listed.find(is_it).and_then(Node::scalar).unwrap_or(name).to_owned()
    }
}

/// As in the development cycle, redoing a phase removes its result and those of later phases
/// (docs/formats/aios-states.md#loop-back-laps).
impl StateWriter for BobWriter {
    const WHAT: &'static str = "a session of Bob";

    fn run(&self) -> String {
        quoted(self.run.id.as_str())
    }

    fn instead(&self, _step: Option<&StepId>) -> String {
        "it ends with its stories: finish the remaining ones".to_owned()
    }

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        let (story, at) = match self.target(begun.step)? {
            BobTarget::Phase(story, at) => (story, at),
            BobTarget::Story(story) => (story, 0),
        };
        let is_new = self.make_current(&story)?;
        self.clear_results_from(at)?;
        self.editor.set_text(&format!("{WORKFLOW}/current_phase"), PHASES[at].1)?;
        let word = if is_new { "STORY_STARTED" } else { "PHASE_CHANGE" };
        let written = if is_new { self.as_written(&story) } else { story };
        self.action(word, Some(&written), Some(PHASES[at].1))
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let BobTarget::Phase(story, at) = self.target(&outcome.step)? else {
            let step = &outcome.step;
            return unsupported(format!("a story has phases: begin {step}, then finish them one by one"));
        };
        self.make_current(&story)?;
        if at == CHECKPOINT && outcome.status == Status::WaitingApproval {
            self.editor.set_text(&format!("{WORKFLOW}/current_phase"), PHASES[at].1)?;
            return self.action("CHECKPOINT_REACHED", Some(&story), Some(PHASES[at].1));
        }
        let is_done = self.completes(outcome)?;
        let text = outcome_text(outcome).map(|text| json!(text));
        let word = if is_done { "completed" } else { "failed" };
        let result = object([("status", Some(json!(word))), (if is_done { "output" } else { "error" }, text)]);
        self.record(at, &result)?;
        self.editor.set_number(&format!("{WORKFLOW}/attempt_count"), outcome.failures.into())?;
        match (is_done, at) {
            (true, CHECKPOINT) => self.complete_story(&story, "STORY_COMPLETED"),
            (true, _) => self.action("PHASE_CHANGE", Some(&story), Some(PHASES[at].1)),
            (false, _) => self.action("ERROR_OCCURRED", Some(&story), Some(PHASES[at].1)),
        }
    }

    fn approve(&mut self, approval: &Approval<'_>) -> Result<(), EditError> {
        match self.target(approval.step)? {
            BobTarget::Phase(story, CHECKPOINT) => self.complete_story(&story, "GO"),
            BobTarget::Phase(..) | BobTarget::Story(_) => unsupported(format!("{} is not a checkpoint", approval.step)),
        }
    }

    fn skip(&mut self, step: &StepId, _part: Option<&str>, reason: &str) -> Result<(), EditError> {
        match self.target(step)? {
            BobTarget::Phase(story, at) => {
                self.make_current(&story)?;
                self.record(at, &json!({ "status": "skipped", "reason": mask_secrets(reason) }))?;
                self.action("PHASE_CHANGE", Some(&story), Some(PHASES[at].1))
            }
            BobTarget::Story(story) => {
                let instead = format!("remove {story} from `stories_pending` by hand, then run `piton plan`");
                Err(EditError::cannot(Self::WHAT, "skip a story", instead))
            }
        }
    }

    fn pause(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.action("PAUSE", None, None)
    }

    fn abort(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.action("ABORT", None, None)
    }

    /// Clears a pause, which is only recorded in the last action.
    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        if !matches!(self.editor.text(&format!("{ACTION}/type")), Some("PAUSE" | "ABORT")) {
            return Ok(());
        }
        let has_phase = self.editor.text(&format!("{WORKFLOW}/current_phase")).is_some();
        self.action(if has_phase { "PHASE_CHANGE" } else { "EPIC_STARTED" }, None, None)
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        self.editor.into_stamped(BOB.stamps)
    }
}

#[cfg(test)]
#[path = "bob_tests.rs"]
mod tests;
