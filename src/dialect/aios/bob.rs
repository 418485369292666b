//! The session of Bob (docs/formats/aios-states.md#bob-session): the stories of an epic, one of them in the middle of its development cycle.
//!
//! `current_phase` is the phase that was started last. As in the development cycle, a result of a later phase belongs to an
//! earlier pass (docs/formats/aios-states.md#loop-back-laps). In that case neither is trusted and the user decides.

use super::dev_cycle::CHECKPOINT;
use super::dev_cycle::PHASES;
use super::dev_cycle::PUSH;
use super::fields;
use super::fields::KindReader as _;
use super::kind::Kind;
use super::steps::first_open;
use super::steps::follow;
use super::steps::note_failures;
use crate::dialect::Loaded;
use crate::dialect::story;
use crate::document::Field;
use crate::document::Reader;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RunStatus;
use crate::model::Severity;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;

/// A session that was silent for longer and did not stop at a regular point has crashed (docs/formats/aios.md#liveness).
const CRASHED_SECONDS: i64 = 1_800;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let tree = match fields::read(files) {
        Ok(tree) => tree,
        Err(loaded) => return *loaded,
    };
    let state = tree.get("session_state");
    let epic = state.get("epic");
    let name = epic.get("title").id().map_or_else(String::new, |title| format!(": {title}"));
    let mut run = tree.run(Kind::Bob, "bob-session", format!("Bob Session for Epic {}{name}", tree.subject(Kind::Bob)));
    let session = Session { tree: &tree, state };
    run.steps = session.steps();
    run.started_at = state.get("workflow").get("started_at").time();
    run.stamp = state.get("last_updated").time();
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
    tree.loaded(run)
}

struct Session<'a> {
    tree: &'a Reader<'a>,
    state: Field<'a>,
}

impl<'a> Session<'a> {
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

#[cfg(test)]
#[path = "bob_tests.rs"]
mod tests;
