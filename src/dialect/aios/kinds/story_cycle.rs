//! A story development cycle whose state is only in its story (docs/formats/aios-stories.md#story-development-cycle).
//!
//! There are four phases; the status of the story says which are over. `InReview` never means that a review passed
//! (docs/formats/aios-stories.md#what-inreview-means): only the newest gate file or the story's own review section says so.

use super::unsaved::Unsaved;
use crate::{
    dialect::{
        EditError, Loaded,
        aios::{
            gate::{self, Gate, GateDecision},
            kind::Descriptor,
            suggest,
        },
        story::{self, SectionKind, StatusMention, Story, StoryStatus, StoryTask},
        writer::write,
    },
    model::{
        Change, DialectId, Edit, FileSet, Finding, FindingCode, Part, PartKind, Review, ReviewVerdict, Run, RunId,
        RunStatus, Severity, Status, Step, StepId, StepKind, Suggested, Verb, Witness, clean_line,
    },
};

/// Id, short name, title and agent.
pub(in crate::dialect::aios) const PHASES: [(&str, &str, &str, &str); 4] = [
    ("1_create", "1", "Create", "sm"),
    ("2_validate", "2", "Validate", "po"),
    ("3_implement", "3", "Implement", "dev"),
    ("4_qa", "4", "QA", "qa"),
];
const CREATE: usize = 0;
const VALIDATE: usize = 1;
const IMPLEMENT: usize = 2;
const REVIEW: usize = 3;

/// Returns the priority in the search order of `orchestrate-resume` for a story that implies a run; otherwise `None`.
pub(in crate::dialect::aios) fn implied(story: &Story<'_>) -> Option<u8> {
    match story.working_status().filter(|_| story.is_story())?.status {
        StoryStatus::InProgress => Some(4),
        StoryStatus::InReview => Some(5),
        StoryStatus::Draft
        | StoryStatus::Ready
        | StoryStatus::Done
        | StoryStatus::TerminalOther
        | StoryStatus::Blocked
        | StoryStatus::Unknown => None,
    }
}

pub(in crate::dialect::aios) static STORY_CYCLE: Descriptor = Descriptor {
    workflow_type: "SDC",
    prefix: "sdc",
    priority: 4,
    is_written: false,
    suggest: Some(|files, _| suggest::of_story(files)),
    ..Descriptor::of_files("a story", load, edit)
};

/// Refuses changes, for which there is no saved state. A resume writes nothing.
///
/// # Errors
///
/// For all but a resume.
fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let plan = Suggested::new(Verb::Plan);
    let patch = plan.clone().word(load(files).run.map_or_else(|| RunId::new("RUN"), |run| run.id)).flag("patch");
    let instead = format!(
        "stories are never written. Show the edit that updates the story with `{patch}`; apply it, then run `{plan}`"
    );
    write(Unsaved { instead }, change)
}

/// Reads the run.
fn load(files: &FileSet) -> Loaded {
    let Some(bytes) = files.bytes(&files.state) else {
        let problem = files.problem(&files.state).map_or_else(String::new, |problem| problem.to_string());
        let finding = Finding::new(FindingCode::StateUnreadable, problem).at(&files.state);
        return Loaded { findings: vec![finding], ..Loaded::default() };
    };
    let story = story::parse(&files.state, bytes);
    let mut findings = contradictions(files, &story);
    let Some(mention) = story.working_status().filter(|mention| mention.status != StoryStatus::Unknown) else {
        findings.push(no_status(files, &story));
        return Loaded { findings, ..Loaded::default() };
    };
    let gate = gate::of_story(files, &files.state, &story, &mut findings);
    findings.extend(remarks(files, &story, mention, gate.as_ref()));
    let steps = Phases { files, story: &story, status: mention.status, gate: gate.as_ref() }.steps();
    let id = STORY_CYCLE.implied_subject(files, &story.id);
    let is_over = matches!(mention.status, StoryStatus::Done | StoryStatus::TerminalOther);
    let position = steps.iter().find(|step| step.status != Status::Completed).map(|step| step.id.clone());
    let title = format!("SDC for story {id}");
    let (id, files) = (STORY_CYCLE.run_id(&id), vec![files.state.clone()]);
    let run = Run {
        status: if is_over { RunStatus::Completed } else { RunStatus::Active },
        steps,
        position,
        goal: story.title.clone(),
        ..Run::new(id, DialectId::Aios, title, "story-development-cycle", files)
    };
    Loaded { run: Some(run), findings, ..Loaded::default() }
}

fn quoted_status(mention: &StatusMention) -> String {
    format!("`{}`", clean_line(&mention.raw, 60))
}

/// Reports contradicting statuses in the story.
fn contradictions(files: &FileSet, story: &Story<'_>) -> Vec<Finding> {
    let (Some(first), Some(used)) = (story.status(), story.working_status()) else { return Vec::new() };
    let fix = format!("keep one status in the story; until then {} is used", quoted_status(used));
    let finding = |other: &StatusMention| {
        let message = format!(
            "the story says {} in line {} and {} in line {}",
            quoted_status(first),
            first.line,
            quoted_status(other),
            other.line
        );
        let finding = Finding::new(FindingCode::StatusConflict, message).at(&files.state);
        finding.line(other.line, Some(other.column)).fix(fix.as_str())
    };
    story.contradictions().map(finding).chain(closed_folder(files, used)).collect()
}

/// Reports a story under way in a folder of finished ones.
fn closed_folder(files: &FileSet, mention: &StatusMention) -> Option<Finding> {
    let is_closed = |word: &str| matches!(story::status_of(word), StoryStatus::Done | StoryStatus::TerminalOther);
    let folder = files.state.parent()?;
    let name = folder.as_str().split('/').rev().take_while(|name| *name != "stories").find(|name| is_closed(name))?;
    if !matches!(mention.status, StoryStatus::InProgress | StoryStatus::InReview) {
        return None;
    }
    let message = format!(
        "the story says {} in line {}, but it lies in the folder `{}`",
        quoted_status(mention),
        mention.line,
        clean_line(name, 60)
    );
    let finding = Finding::new(FindingCode::StatusConflict, message).at(&files.state);
    Some(finding.line(mention.line, Some(mention.column)).fix("correct the status, or move the story"))
}

/// Reports why the story cannot be resumed.
fn no_status(files: &FileSet, story: &Story<'_>) -> Finding {
    let fix = "write one of Draft, Ready, InProgress, InReview, Done as the status of the story";
    let finding = match story.status() {
        Some(mention) => {
            let message =
                format!("the status {} is not in the vocabulary; nothing is resumed from it", quoted_status(mention));
            let finding = Finding::new(FindingCode::StatusUnknown, message).at(&files.state);
            finding.line(mention.line, Some(mention.column))
        }
        None => Finding::new(FindingCode::StatusUnknown, "the story has no status").at(&files.state),
    };
    Finding { severity: Severity::Blocking, ..finding.fix(fix) }
}

/// Returns findings about the status and the gate.
fn remarks(files: &FileSet, story: &Story<'_>, mention: &StatusMention, gate: Option<&Gate>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let at_status =
        |code, message: String| Finding::new(code, message).at(&files.state).line(mention.line, Some(mention.column));
    if mention.is_provisional {
        let message = format!("{} announces a later step; it counts as done", quoted_status(mention));
        let finding = at_status(FindingCode::StatusAlias, message);
        findings.push(Finding { severity: Severity::Warning, ..finding.fix("make sure that it happened") });
    }
    if mention.status == StoryStatus::InProgress && story.tasks.is_empty() && story.is_all_ticked() {
        let count = story.criteria.len();
        let message =
            format!("all {count} acceptance criteria are ticked, and there is no list of tasks: the review is next");
        findings.push(at_status(FindingCode::StatusDrift, message).fix("if work is left, untick its criterion"));
    }
    if mention.status == StoryStatus::Blocked {
        let message = format!("the story says {}: the user decides how to continue", quoted_status(mention));
        let finding = at_status(FindingCode::RunFailed, message);
        findings.push(Finding {
            severity: Severity::Blocking,
            ..finding.fix("resolve it and set the story to InProgress")
        });
    }
    match gate {
        Some(gate) if gate.decision == GateDecision::Unknown => {
            let word = clean_line(&gate.word, 60);
            let message =
                format!("the gate says `{word}`, which is not in the vocabulary; it is never read as approval");
            let finding = Finding::new(FindingCode::VerdictUnknown, message).at(&gate.file).line(gate.line, None);
            findings.push(finding.fix("review the story again"));
        }
        Some(gate) if gate.decision == GateDecision::Fail && gate.is_answered => {
            let message = format!(
                "the review in line {} says {}, and the developer changed the story after it: it is reviewed again",
                gate.line,
                clean_line(&gate.word, 60)
            );
            findings.push(at_status(FindingCode::VerdictMissing, message));
        }
        None if mention.status == StoryStatus::InReview => {
            let message = format!("the story says {} but no gate has the result of the review", quoted_status(mention));
            let finding = at_status(FindingCode::VerdictMissing, message);
            findings.push(Finding { severity: Severity::Warning, ..finding.fix("the review is planned") });
        }
        Some(_) | None => {}
    }
    findings
}

/// The sources of the phases.
struct Phases<'a> {
    files: &'a FileSet,
    story: &'a Story<'a>,
    status: StoryStatus,
    gate: Option<&'a Gate>,
}

impl Phases<'_> {
    fn steps(&self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        for (at, (id, short, title, agent)) in PHASES.into_iter().enumerate() {
            let mut step = Step::new(StepId::new(id), title);
            step.short = Some(short.to_owned());
            step.agent = Some(agent.to_owned());
            step.depends_on = steps.last().map(|before| before.id.clone()).into_iter().collect();
            step.file = Some(self.files.state.clone());
            step.status = self.status_of(at);
            steps.push(step);
        }
        // NO-GO sends the story back to its author, FAIL to the developer (docs/formats/aios-stories.md#story-development-cycle).
        steps[VALIDATE].returns_to = Some(steps[CREATE].id.clone());
        self.implement(&mut steps[IMPLEMENT]);
        let implement = steps[IMPLEMENT].id.clone();
        self.review(&mut steps[REVIEW], implement);
        steps
    }

    /// Tells whether the review comes next: the story says so, or all of its work is ticked.
    fn is_reviewed_next(&self) -> bool {
        match self.status {
            StoryStatus::InReview => true,
            StoryStatus::InProgress => self.story.is_all_ticked(),
            StoryStatus::Draft
            | StoryStatus::Ready
            | StoryStatus::Done
            | StoryStatus::TerminalOther
            | StoryStatus::Blocked
            | StoryStatus::Unknown => false,
        }
    }

    fn status_of(&self, at: usize) -> Status {
        let (running, status) = match self.status {
            StoryStatus::Draft => (VALIDATE, Status::Pending),
            StoryStatus::Ready | StoryStatus::Blocked => (IMPLEMENT, Status::Pending),
            StoryStatus::InProgress | StoryStatus::InReview if self.is_reviewed_next() => (REVIEW, Status::Pending),
            StoryStatus::InProgress | StoryStatus::InReview => (IMPLEMENT, Status::InProgress),
            StoryStatus::Done | StoryStatus::TerminalOther | StoryStatus::Unknown => (PHASES.len(), Status::Completed),
        };
        match at.cmp(&running) {
            std::cmp::Ordering::Less => Status::Completed,
            std::cmp::Ordering::Equal => status,
            std::cmp::Ordering::Greater => Status::Pending,
        }
    }

    fn implement(&self, step: &mut Step) {
        if let Some(executor) = &self.story.executor {
            step.agent = Some(executor.clone());
        }
        let part = |(at, task): (usize, &StoryTask)| Part {
            name: format!("task-{}", at + 1),
            title: task.text.clone(),
            kind: PartKind::Work,
            status: if task.done { Status::Completed } else { Status::Pending },
            output: None,
            commands: Vec::new(),
        };
        step.detail.parts = self.story.tasks.iter().enumerate().map(part).collect();
        step.detail.targets = self.story.files.clone();
        step.detail.acceptance = self.story.section(SectionKind::Acceptance);
        step.detail.requirements = self.story.section(SectionKind::Scope);
    }

    fn review(&self, step: &mut Step, implement: StepId) {
        step.kind = StepKind::Review;
        step.returns_to = Some(implement);
        step.detail.acceptance = self.story.section(SectionKind::Acceptance);
        if step.status == Status::Completed {
            step.review = Some(Review { verdict: ReviewVerdict::Approved, open_conditions: None });
        }
        let Some(gate) = self.gate.filter(|_| step.status != Status::Completed) else { return };
        match gate.decision {
            // FAIL sets the story to InProgress and leaves its checkboxes (docs/formats/aios-stories.md#what-inreview-means): the
            // issues are fixed before the next review.
            GateDecision::Fail if gate.is_answered => {}
            GateDecision::Fail if matches!(self.status, StoryStatus::InProgress | StoryStatus::InReview) => {
                step.status = Status::Failed;
                step.failures = gate.iteration.unwrap_or(1);
                step.attempts = step.failures;
                step.error = Some(gate.reasons.join("; ")).filter(|error| !error.is_empty());
                step.review = Some(Review { verdict: ReviewVerdict::NeedsRevision, open_conditions: None });
            }
            GateDecision::Pass if self.is_reviewed_next() => step.proof.witnesses.push(Witness {
                source: format!(
                    "{} ({})",
                    if gate.file == self.files.state { "the review in the story" } else { "the gate" },
                    clean_line(&gate.word, 60)
                )
                .into(),
                done: true,
                file: Some(gate.file.clone()),
                line: Some(gate.line),
            }),
            GateDecision::Pass | GateDecision::Fail | GateDecision::Unknown => {}
        }
    }
}

#[cfg(test)]
#[path = "story_cycle_tests.rs"]
mod tests;
