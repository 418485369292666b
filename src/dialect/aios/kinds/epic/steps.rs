//! The stories, gates and merges of an epic as steps.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    EPIC, EpicFiles, drift,
    required::{self, planned_wave},
    state::{GateVerdict, StoryState, Wave},
};
use crate::{
    dialect::{
        aios::{
            consistency,
            document_index::StoryLocation,
            gate::{self, GateDecision},
        },
        story::{self, SectionKind, Story, StoryStatus},
    },
    model::{
        Finding, FindingCode, RelPath, Review, ReviewVerdict, RunId, Severity, Status, Step, StepId, StepKind,
        Suggested, Verb, Witness, clean_line, first_names,
    },
};

const GATE_VERDICTS: &[ReviewVerdict] =
    &[ReviewVerdict::Approved, ReviewVerdict::NeedsRevision, ReviewVerdict::Rejected];
/// Reviews stories for which neither state nor plan names a reviewer (docs/formats/aios-stories.md#story-development-cycle).
const REVIEWER: &str = "qa";
const REVIEW_OF: &str = "Review of ";
/// Maximum number of stories that a finding about a gate names.
const STORIES_NAMED: usize = 5;

/// The group of the stories that belong to no wave.
const UNASSIGNED: &str = "no-wave";

pub(in crate::dialect::aios) const FINAL: &str = "final-gate";

/// Builds the steps: the stories of each wave in plan order, then its gate; the gate of the epic comes last.
pub(super) fn build(epic: &mut EpicFiles<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut exits: Vec<(String, StepId)> = Vec::new();
    let waves = drift::waves(epic);
    for wave in &waves {
        let predecessors = predecessors(epic, wave, &exits);
        let stories = stories(epic, wave, &predecessors, &steps);
        let mut ids: Vec<StepId> = stories.iter().map(|step| step.id.clone()).collect();
        let is_done = stories.iter().all(|step| step.status.satisfies());
        let of_merge = required::of_merge(epic, wave, &stories);
        if wave.status.as_deref() == Some("completed") && !is_done {
            let message =
                format!("wave {} is completed, but some of its stories are not; they count as open", wave.number);
            epic.findings.push(Finding::new(FindingCode::StateCorrupt, message).at(&epic.files.state));
        }
        steps.extend(stories);
        if ids.is_empty() {
            ids = predecessors;
        }
        let mut gate = wave_gate(epic, wave, ids);
        if gate.status == Status::Completed && !is_done {
            reopen(epic, wave, &mut gate);
        }
        let merge = merge(wave, &gate, of_merge);
        exits.push((wave.number.clone(), merge.id.clone()));
        steps.extend([gate, merge]);
    }
    let mut predecessors: Vec<StepId> = exits.into_iter().map(|(_, id)| id).collect();
    let unassigned = unassigned(epic, &steps, &predecessors);
    predecessors.extend(unassigned.last().map(|step| step.id.clone()));
    steps.extend(unassigned);
    // A gate over waves that could not be read would be invented.
    if !steps.is_empty() {
        steps.push(final_gate(epic, predecessors));
    }
    // Parallel stories are listed in plan order.
    for (place, step) in steps.iter_mut().enumerate() {
        step.plan_order = Some(place);
    }
    steps
}

/// Returns what a wave waits for: the waves that the plan names, else the one before. Where it names one that is not before it, it waits for both.
fn predecessors(epic: &mut EpicFiles<'_>, wave: &Wave, exits: &[(String, StepId)]) -> Vec<StepId> {
    let Some(last) = exits.last() else { return Vec::new() };
    let written = planned_wave(epic, wave).map(|planned| planned.depends_on.clone()).unwrap_or_default();
    let waves = epic.plan.as_ref().map(|plan| plan.waves.as_slice()).unwrap_or_default();
    let exit_of = |written: &String| {
        let meant = waves.iter().find(|planned| planned.is_meant_by(written))?;
        exits.iter().find(|(number, _)| *number == meant.number)
    };
    let unknown: Vec<&str> = written.iter().filter(|name| exit_of(name).is_none()).map(String::as_str).collect();
    let mut named: Vec<&(String, StepId)> = written.iter().filter_map(exit_of).collect();
    if named.is_empty() || !unknown.is_empty() {
        named.push(last);
    }
    named.dedup();
    let named: Vec<StepId> = named.into_iter().map(|(_, id)| id.clone()).collect();
    if !unknown.is_empty() {
        let message = format!(
            "wave {} depends on {}, which is no wave before it: it waits for wave {}",
            wave.number,
            first_names(&unknown, STORIES_NAMED),
            last.0
        );
        let path = epic.plan_path.clone().unwrap_or_else(|| epic.files.state.clone());
        epic.findings.push(Finding::new(FindingCode::DependencyDangling, message).at(&path));
    }
    named
}

fn group_of(wave: &Wave) -> String {
    format!("wave-{}", wave.number)
}

/// Returns the stories of a wave. They are sequential unless the plan makes them parallel.
fn stories(epic: &mut EpicFiles<'_>, wave: &Wave, predecessors: &[StepId], before: &[Step]) -> Vec<Step> {
    let planned = planned_wave(epic, wave);
    let order: Vec<String> = match (planned, &epic.plan) {
        (Some(planned), _) => planned.stories.clone(),
        // A plan without waves still orders its stories.
        (None, Some(plan)) => plan.stories.iter().map(|story| story.id.clone()).collect(),
        (None, None) => Vec::new(),
    };
    let is_in_plan = planned.is_some();
    let is_parallel = planned.is_some_and(|planned| planned.is_parallel);
    let mut stories: Vec<Step> = Vec::new();
    let listed = order.iter().filter(|id| is_in_plan && !epic.recorded.contains(id.as_str()));
    let added: Vec<String> = listed.cloned().collect();
    let order_of: BTreeMap<&str, usize> = order.iter().enumerate().rev().map(|(at, id)| (id.as_str(), at)).collect();
    let recorded: BTreeMap<&str, &StoryState> =
        wave.stories.iter().rev().map(|story| (story.id.as_str(), story)).collect();
    let mut ids: Vec<&str> = recorded.keys().copied().chain(added.iter().map(String::as_str)).collect();
    ids.sort_by_cached_key(|id| (order_of.get(id).copied().unwrap_or(usize::MAX), StepId::new(*id)));
    ids.dedup();
    let before: BTreeSet<&str> = before.iter().map(|step| step.id.as_str()).collect();
    for id in ids {
        if before.contains(id) {
            let message = format!("story {id} is in more than one wave; the first one wins");
            epic.findings.push(Finding::new(FindingCode::DuplicateId, message).at(&epic.files.state));
            continue;
        }
        let mut step = match recorded.get(id) {
            Some(recorded) => story_step(epic, id, StoryRecord::State(recorded)),
            None if wave.is_counted && wave.status.as_deref() == Some("completed") => {
                story_step(epic, id, StoryRecord::CompletedWave)
            }
            None if wave.is_counted => story_step(epic, id, StoryRecord::OpenWave),
            None => story_step(epic, id, StoryRecord::PlanOnly),
        };
        step.group = Some(group_of(wave));
        step.depends_on.extend(predecessors.iter().cloned());
        if let Some(previous) = stories.last().filter(|_| !is_parallel) {
            step.depends_on.push(previous.id.clone());
        }
        step.depends_on.dedup();
        stories.push(step);
    }
    stories
}

/// Returns the planned stories that are in no wave of the plan or the state. They follow all waves, one after the other.
fn unassigned(epic: &mut EpicFiles<'_>, steps: &[Step], exits: &[StepId]) -> Vec<Step> {
    let Some(plan) = &epic.plan else { return Vec::new() };
    let mut known: BTreeSet<&str> = steps.iter().map(|step| step.id.as_str()).collect();
    let rest = plan.stories.iter().map(|story| story.id.as_str()).filter(|id| known.insert(id));
    let ids: Vec<String> = rest.map(str::to_owned).collect();
    let mut added: Vec<Step> = Vec::new();
    for id in ids {
        let mut step = story_step(epic, &id, StoryRecord::PlanOnly);
        step.group = Some(UNASSIGNED.to_owned());
        step.depends_on.extend(exits.iter().cloned());
        step.depends_on.extend(added.last().map(|before| before.id.clone()));
        step.depends_on.dedup();
        added.push(step);
    }
    added
}

/// What the state records about a story.
#[derive(Clone, Copy)]
enum StoryRecord<'a> {
    State(&'a StoryState),
    /// Its wave is only counted, and is completed.
    CompletedWave,
    /// Its wave is only counted, and is open.
    OpenWave,
    /// Only the plan has the story.
    PlanOnly,
}

fn story_step(epic: &mut EpicFiles<'_>, id: &str, recorded: StoryRecord<'_>) -> Step {
    let planned = epic.plan.as_ref().and_then(|plan| plan.story(id));
    let title = planned.and_then(|story| story.title.clone()).unwrap_or_else(|| untitled(id));
    let mut step = Step::new(StepId::new(id), title);
    let executor = match recorded {
        StoryRecord::State(story) => story.executor.clone(),
        StoryRecord::CompletedWave | StoryRecord::OpenWave | StoryRecord::PlanOnly => None,
    };
    step.agent = executor.or_else(|| planned.and_then(|story| story.executor.clone()));
    for before in planned.map(|story| story.depends_on.as_slice()).unwrap_or_default() {
        let is_planned = || epic.plan.as_ref().is_some_and(|plan| plan.story(before).is_some());
        let is_known = epic.recorded.contains(before.as_str()) || is_planned();
        if is_known {
            step.depends_on.push(StepId::new(before.as_str()));
        } else if says_done(epic, before) {
            let message =
                format!("story {id} depends on {before}, which is not in the state; its story says it is done");
            let finding = Finding::new(FindingCode::DefinitionDrift, message).at(&epic.files.state).on(&step.id);
            epic.findings.push(Finding { severity: Severity::Warning, ..finding });
        } else {
            step.dangling.push(before.clone());
        }
    }
    match recorded {
        StoryRecord::State(recorded) => apply_record(epic, &mut step, recorded),
        StoryRecord::CompletedWave => step.status = Status::Completed,
        StoryRecord::OpenWave => {}
        StoryRecord::PlanOnly => drift::only_planned(epic, &step.id),
    }
    let at = epic.documents.locate(epic.base, epic.plan.as_ref(), id);
    let is_odd = |story: &StoryState| story.status.is_some() && status_of(story.status.as_deref()).is_none();
    let is_understood = !matches!(recorded, StoryRecord::State(story) if is_odd(story));
    if is_understood || !matches!(at, StoryLocation::At(_)) {
        epic.findings.extend(consistency::compare(&epic.documents, &at, &step.id, step.status));
    }
    if let Some(path) = at.file() {
        let story = epic.documents.bytes(path).map(|bytes| story::parse(path, bytes));
        if let Some(story) = story {
            fill_from_story(&mut step, &story);
            review_next(epic, &mut step, (path, &story), recorded);
        }
        step.file = Some(path.clone());
    }
    step
}

/// Returns whether the file of a story outside the state says that it is done.
fn says_done(epic: &EpicFiles<'_>, id: &str) -> bool {
    let at = epic.documents.locate(epic.base, epic.plan.as_ref(), id);
    let Some(path) = at.file() else { return false };
    let story = epic.documents.bytes(path).map(|bytes| story::parse(path, bytes));
    story.is_some_and(|story| story.status().is_some_and(|mention| mention.status == StoryStatus::Done))
}

/// Fills in what neither the state nor the plan provides.
fn fill_from_story(step: &mut Step, story: &Story<'_>) {
    if step.title == untitled(step.id.as_str()) {
        step.title = story.title.clone().unwrap_or_else(|| untitled(step.id.as_str()));
    }
    step.agent = step.agent.take().or_else(|| story.executor.clone());
    step.detail.targets.clone_from(&story.files);
    step.detail.acceptance = story.section(SectionKind::Acceptance);
}

/// Tells whether the next work on a story is its review.
pub(in crate::dialect::aios) fn is_story_review(step: &Step) -> bool {
    step.status == Status::InProgress && step.kind == StepKind::Work && step.title.starts_with(REVIEW_OF)
}

/// A story in review was developed: its review is next, until that sends it back (docs/formats/aios.md#status-consistency).
fn review_next(
    epic: &mut EpicFiles<'_>,
    step: &mut Step,
    (path, story): (&RelPath, &Story<'_>),
    recorded: StoryRecord<'_>,
) {
    let in_review = story.status().filter(|mention| mention.status == StoryStatus::InReview);
    let Some(mention) = in_review.filter(|_| step.status == Status::InProgress) else { return };
    let gate = gate::of_story(epic.files, path, story, &mut epic.findings);
    if gate.is_some_and(|gate| gate.decision == GateDecision::Fail && !gate.is_answered) {
        return;
    }
    // The session may have ended after it changed the story and before it changed the state.
    if story.is_all_ticked() {
        step.proof.witnesses.push(Witness {
            source: format!("the story ({})", clean_line(&mention.raw, 60)).into(),
            done: true,
            file: Some(path.clone()),
            line: Some(mention.line),
        });
    }
    let reviewer = match recorded {
        StoryRecord::State(story) => story.quality_gate.clone(),
        StoryRecord::CompletedWave | StoryRecord::OpenWave | StoryRecord::PlanOnly => None,
    };
    let planned = epic.plan.as_ref().and_then(|plan| plan.story(step.id.as_str()));
    let reviewer = reviewer.or_else(|| planned.and_then(|story| story.quality_gate.clone()));
    step.agent = Some(reviewer.unwrap_or_else(|| REVIEWER.to_owned()));
    step.title = format!("{REVIEW_OF}{}", step.title);
    // The attempts so far were at the development.
    step.attempts = 0;
}

fn untitled(id: &str) -> String {
    format!("Story {id}")
}

/// Fills in what the state records about a story.
fn apply_record(epic: &mut EpicFiles<'_>, step: &mut Step, recorded: &StoryState) {
    let raw = recorded.status.as_deref();
    step.status = status_of(raw).unwrap_or_else(|| {
        let (code, what) = match raw {
            Some(raw) => (FindingCode::StatusUnknown, format!("the status `{}`", raw.escape_debug())),
            None => (FindingCode::StatusMissing, "no status".to_owned()),
        };
        let finding = Finding::new(code, format!("story {} has {what}; it does not count as done", recorded.id));
        epic.findings.push(finding.at(&epic.files.state).line(recorded.line, None).on(&step.id));
        Status::Pending
    });
    step.started_at = recorded.started_at.as_deref().and_then(|stamp| epic.files.time(stamp));
    step.finished_at = recorded.completed_at.as_deref().and_then(|stamp| epic.files.time(stamp));
    step.attempts = u32::from(matches!(step.status, Status::InProgress | Status::Completed | Status::Failed));
    if matches!(step.status, Status::Failed | Status::Blocked) {
        step.failures = u32::from(step.status == Status::Failed);
        step.error.clone_from(&recorded.note);
        let message = format!("story {} is {}", recorded.id, step.status);
        let finding = Finding::new(FindingCode::StoryStopped, message).at(&epic.files.state);
        let (id, run) = (&recorded.id, RunId::new(EPIC.run_id(&epic.state.id)));
        let begin = Suggested::on_step(Verb::Begin, id, &run);
        let skip = Suggested::of(Verb::Decide, id).word("skip").run(&run).by_and_why();
        let close = Suggested::of(Verb::Close, &run).flag("abort");
        let fix =
            format!("look at why; then `{begin}` tries it again, `{skip}` leaves it out, `{close}` ends the epic");
        epic.findings.push(finding.line(recorded.line, None).on(&step.id).fix(fix));
    }
}

/// Parses the status of a story. `skipped` is used but missing from the format's list (docs/formats/aios.md#epic-state).
pub(in crate::dialect::aios) fn status_of(raw: Option<&str>) -> Option<Status> {
    match raw? {
        // The short words are what people write by hand.
        "pending" | "todo" => Some(Status::Pending),
        "in_progress" | "doing" => Some(Status::InProgress),
        "completed" | "done" => Some(Status::Completed),
        "failed" => Some(Status::Failed),
        "blocked" => Some(Status::Blocked),
        "skipped" => Some(Status::Skipped),
        _ => None,
    }
}

/// Returns the gate of a wave, which depends on its stories. A completed wave has passed its gate.
fn wave_gate(epic: &mut EpicFiles<'_>, wave: &Wave, predecessors: Vec<StepId>) -> Step {
    let planned = planned_wave(epic, wave);
    let name = wave.name.as_deref().or_else(|| planned?.name.as_deref());
    let title = name.map_or_else(|| wave.number.clone(), |name| format!("{} ({name})", wave.number));
    let mut gate = Step::new(StepId::new(format!("gate-{}", wave.number)), format!("Gate of wave {title}"));
    gate.kind = StepKind::Review;
    gate.ends.verdicts = GATE_VERDICTS;
    gate.group = Some(group_of(wave));
    gate.depends_on = predecessors;
    gate.detail.requirements = planned.map(|planned| planned.gate_focus.clone()).unwrap_or_default();
    let state = epic.state;
    let verdict = state.gates.iter().find(|verdict| verdict.wave == wave.number);
    gate.agent = verdict
        .and_then(|verdict| verdict.agent.clone())
        .or_else(|| planned.and_then(|planned| planned.gate_agent.clone()));
    let review = |verdict| Some(Review { verdict, open_conditions: None });
    let word = verdict.and_then(|verdict| verdict.status.as_deref());
    let ended_at = verdict.and_then(|verdict| epic.files.time(verdict.at.as_deref()?));
    match word {
        Some("rejected") => {
            gate.status = Status::Failed;
            (gate.attempts, gate.failures) = (1, 1);
            gate.review = review(ReviewVerdict::Rejected);
            gate.error = verdict.and_then(|verdict| verdict.notes.clone());
            gate.finished_at = ended_at;
            if gate.depends_on.len() > 1 {
                epic.findings.push(names_no_story(epic, wave, &gate));
            }
        }
        Some("approved") => {
            gate.status = Status::Completed;
            gate.review = review(ReviewVerdict::Approved);
            gate.finished_at = ended_at;
        }
        Some(_) | None => {
            epic.findings.extend(verdict.map(|verdict| unknown_verdict(epic, verdict, &gate.id)));
            match wave.status.as_deref() {
                Some("completed") => {
                    gate.status = Status::Completed;
                    gate.review = review(ReviewVerdict::Approved);
                }
                Some("gate_review") => gate.status = Status::InProgress,
                Some(_) | None => {}
            }
        }
    }
    gate
}

/// Reports that a rejected gate may be about any story of its wave.
fn names_no_story(epic: &EpicFiles<'_>, wave: &Wave, gate: &Step) -> Finding {
    let stories: Vec<&str> = gate.depends_on.iter().take(STORIES_NAMED).map(StepId::as_str).collect();
    let message = format!("the verdict of wave {} names no story", wave.number);
    let finding = Finding::new(FindingCode::StoryStopped, message).at(&epic.files.state).on(&gate.id);
    finding.fix(format!(
        "after NEEDS_REVISION, begin the one that it is about ({}); after REJECTED, a person's redo opens all of them",
        stories.join(" or ")
    ))
}

/// Reopens the gate of a wave, because the verdict does not cover stories that were reopened.
fn reopen(epic: &mut EpicFiles<'_>, wave: &Wave, gate: &mut Step) {
    gate.status = Status::Pending;
    gate.review = None;
    gate.finished_at = None;
    let message = format!("wave {} passed its gate but has open stories, so the gate is repeated", wave.number);
    epic.findings.push(Finding::new(FindingCode::StaleDependent, message).at(&epic.files.state).on(&gate.id));
}

fn unknown_verdict(epic: &EpicFiles<'_>, verdict: &GateVerdict, gate: &StepId) -> Finding {
    let word = verdict.status.as_deref().unwrap_or("null").escape_debug().to_string();
    let message = format!("the verdict of wave {} is `{word}`, which is neither approved nor rejected", verdict.wave);
    Finding::new(FindingCode::VerdictUnknown, message).at(&epic.files.state).line(verdict.line, None).on(gate)
}

/// Returns the merge step of a wave. While the wave is open behind its gate, its branches may or may not be merged.
fn merge(wave: &Wave, gate: &Step, requirements: Vec<String>) -> Step {
    let id = StepId::new(format!("merge-{}", wave.number));
    let mut merge = Step::new(id, format!("Merge the branches of wave {}", wave.number));
    merge.group = Some(group_of(wave));
    merge.agent = Some("devops".to_owned());
    merge.depends_on = vec![gate.id.clone()];
    merge.idempotent = false;
    merge.begins_unrecorded = true;
    merge.skip_is_done = true;
    merge.probe = Some("git branch --merged".to_owned());
    merge.detail.requirements = requirements;
    match (gate.status, wave.status.as_deref()) {
        (Status::Completed, Some("completed")) => merge.status = Status::Completed,
        (Status::Completed, Some("failed")) => {
            merge.status = Status::Failed;
            (merge.attempts, merge.failures) = (1, 1);
        }
        (_, _) => {}
    }
    merge
}

fn final_gate(epic: &EpicFiles<'_>, predecessors: Vec<StepId>) -> Step {
    let mut gate = Step::new(StepId::new(FINAL), "Final gate of the epic");
    gate.kind = StepKind::Review;
    gate.begins_unrecorded = true;
    gate.ends.verdicts = GATE_VERDICTS;
    // Its no has no word in the state.
    (gate.ends.failed, gate.ends.refused) = (false, false);
    gate.group = Some(FINAL.to_owned());
    gate.depends_on = predecessors;
    gate.agent = epic.plan.as_ref().and_then(|plan| plan.final_agent.clone());
    gate.detail.requirements = required::of_final_gate(epic);
    if epic.state.status.as_deref() == Some("completed") {
        gate.status = Status::Completed;
        gate.review = Some(Review { verdict: ReviewVerdict::Approved, open_conditions: None });
    }
    gate
}
