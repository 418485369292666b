//! The states that no public project has: read and planned, never written (docs/formats/aios-states.md#states-that-are-only-read).
//!
//! A table per kind says where its state has what, and one reader follows it.

use super::{
    dev_cycle::{PHASES as CYCLE, PUSH, WORKFLOW},
    spec, story_cycle,
};
use crate::{
    dialect::{
        Guest,
        aios::{
            fields::{self, KindReader as _},
            kind::{Claim, Descriptor, FINISHED_STATUS, StoryName, Unnamed},
            steps::first_open,
        },
        story,
    },
    document::{Field, Node, Reader, escape},
    model::{
        Candidate, Finding, FindingCode, Review, ReviewVerdict, Run, RunStatus, Status, Step, StepId, clean_line,
        is_commit_hash, quoted,
    },
};

/// The largest number of a step that is read.
const NUMBER_LIMIT: u32 = 100;

/// Where the states of a kind have what. Places are JSON pointers, in which `{}` is the key of a step; elsewhere `{}` is what a text is about.
struct Table {
    workflow: &'static str,
    title: &'static str,
    standing: StatusPlace,
    /// Id, title and agent of a step that the system does not fix.
    id: &'static str,
    step: &'static str,
    agent: Option<&'static str>,
    /// The steps that the system fixes.
    fixed: fn(&Reader<'_>) -> Vec<Fixed>,
    /// Whether the keys count from 1, and whether they are paths of stories.
    is_numbered: bool,
    names_stories: bool,
    /// The steps that are over: a list, or a number of them.
    done: Option<&'static str>,
    /// The step in hand, its agent, and the phase that it is in.
    current: Option<&'static str>,
    current_agent: Option<&'static str>,
    phase: Option<&'static str>,
    /// The steps ahead: lists or single ones.
    ahead: &'static [&'static str],
    /// A mapping with an entry per step.
    entries: Option<&'static str>,
    /// The step that failed, if the run did.
    failed: Option<&'static str>,
    /// The errors of a step: a text, or a list of texts or of entries that may name their step.
    errors: &'static [&'static str],
    /// How often a step failed, first the place that counts.
    failures: &'static [&'static str],
    /// The title of the step that may follow those that the state names, and how many steps there are.
    more: Option<&'static str>,
    total: Option<&'static str>,
    /// After how many seconds of silence the runner is considered gone (docs/formats/aios.md#liveness).
    silence: Option<i64>,
    branch: Option<&'static str>,
}

/// Key, title and agent of a step.
type Fixed = (&'static str, &'static str, &'static str);

/// How a state says where its run stands.
enum StatusPlace {
    /// By the word of its status.
    Status,
    /// By the type of its last action, which says too what became of the step in hand.
    Action(&'static str),
    /// By being there: it is written when a run is paused or aborted after the step in hand.
    Rest,
}

const TABLE: Table = Table {
    workflow: "",
    title: "Workflow {}",
    standing: StatusPlace::Status,
    id: "{}",
    step: "Story {}",
    agent: None,
    fixed: |_| Vec::new(),
    is_numbered: false,
    names_stories: false,
    done: None,
    current: None,
    current_agent: None,
    phase: None,
    ahead: &[],
    entries: None,
    failed: None,
    errors: &[],
    failures: &[],
    more: None,
    total: None,
    silence: None,
    branch: None,
};

/// One story through specification, execution and review, which its engine calls epics 3, 4 and 6.
pub(super) static ADE: Descriptor = Descriptor {
    workflow_type: "Master Orchestration",
    prefix: "ade",
    version: Some(("/schemaVersion", 1)),
    subject: &["/storyId"],
    unnamed: Unnamed::Stem(".json"),
    // The file is called `current.json` if there is no story.
    story: StoryName::Subject(Some("current")),
    stamps: &["/timestamps/updatedAt", "/timestamps/savedAt", "/updatedAt"],
    started: Some("/timestamps/startedAt"),
    claim: Some(Claim { path: None, finished: FINISHED_STATUS }),
    ..Descriptor::only_read("the state of a master orchestration", |tree| ADE_TABLE.run(&ADE, tree))
};

static ADE_TABLE: Table = Table {
    workflow: "master-orchestration",
    title: "Master Orchestration for story {}",
    id: "epic-{}",
    step: "Epic {}",
    agent: Some("dev"),
    // Epic 5, the recovery, is there once it was begun.
    fixed: |_| vec![("3", "Spec Pipeline", "pm"), ("4", "Execution Engine", "dev"), ("6", "QA Loop", "qa")],
    current: Some("/currentEpic"),
    entries: Some("/epics"),
    errors: &["/epics/{}/errors"],
    // An attempt may have been interrupted: attempts are failures only where nothing counts those.
    failures: &["/retryCount/{}", "/epics/{}/attempts"],
    silence: Some(24 * 3_600),
    ..TABLE
};

/// The phases of a context manager, each written when it is over.
pub(super) static PHASES: Descriptor = Descriptor {
    subject: &["/workflowId"],
    unnamed: Unnamed::Stem(".json"),
    stamps: &["/updatedAt", "/failedAt"],
    started: Some("/startedAt"),
    ..Descriptor::only_read("the phases of a context manager", |tree| PHASES_TABLE.run(&PHASES, tree))
};

static PHASES_TABLE: Table = Table {
    workflow: "phases",
    id: "phase-{}",
    step: "Phase {}",
    is_numbered: true,
    entries: Some("/phases"),
    failed: Some("/failedPhase"),
    errors: &["/phases/{}/result/error", "/error"],
    more: Some("Phase {}"),
    ..TABLE
};

/// The stories of an epic, one of them in the middle of its development cycle.
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
    ..Descriptor::only_read("the session of Bob", |tree| BOB_TABLE.run(&BOB, tree))
};

static BOB_TABLE: Table = Table {
    workflow: "bob-session",
    title: "Bob Session for Epic {}",
    standing: StatusPlace::Action("/session_state/last_action/type"),
    agent: Some("dev"),
    names_stories: true,
    done: Some("/session_state/progress/stories_done"),
    current: Some("/session_state/progress/current_story"),
    phase: Some("/session_state/workflow/current_phase"),
    ahead: &["/session_state/progress/stories_pending"],
    failures: &["/session_state/workflow/attempt_count"],
    silence: Some(1_800),
    branch: Some("/session_state/context_snapshot/branch"),
    ..TABLE
};

/// The subtasks of one story: those that are done and the one in hand. Those to come are only in the plan of the build.
pub(super) static BUILD: Descriptor = Descriptor {
    workflow_type: "Build",
    prefix: "build",
    version: Some(("/schemaVersion", 1)),
    subject: &["/storyId"],
    unnamed: Unnamed::Folder,
    story: StoryName::Subject(None),
    stamps: &["/lastCheckpoint", "/startedAt", "/abandonedAt"],
    started: Some("/startedAt"),
    claim: Some(Claim { path: None, finished: FINISHED_STATUS }),
    ..Descriptor::only_read("the state of an autonomous build", |tree| BUILD_TABLE.run(&BUILD, tree))
};

static BUILD_TABLE: Table = Table {
    workflow: "autonomous-build",
    title: "Build for story {}",
    step: "Subtask {}",
    agent: Some("dev"),
    done: Some("/completedSubtasks"),
    current: Some("/currentSubtask"),
    errors: &["/failedAttempts"],
    more: Some("The next subtask of the plan"),
    total: Some("/metrics/totalSubtasks"),
    silence: Some(3_600),
    ..TABLE
};

/// The phases of a nexos orchestration: those that are over and the one in hand.
pub(super) static RECORD: Descriptor = Descriptor {
    workflow_type: "Orchestration",
    subject: &["/execution_id"],
    unnamed: Unnamed::Nowhere,
    // `context` has no fixed keys; it names the story like the other states do.
    story: StoryName::At(&[
        "/context/story",
        "/context/story_id",
        "/context/storyId",
        "/context/current_story",
        "/context/currentStory",
    ]),
    stamps: &["/updated_at", "/started_at"],
    started: Some("/started_at"),
    ..Descriptor::only_read("the record of a nexos orchestration", |tree| RECORD_TABLE.run(&RECORD, tree))
};

static RECORD_TABLE: Table = Table {
    workflow: "orchestrate",
    title: "Orchestration {}",
    id: "phase-{}",
    step: "Phase {}",
    fixed: phases_of_workflow,
    is_numbered: true,
    done: Some("/phases_completed"),
    current: Some("/current_phase"),
    current_agent: Some("/current_agent"),
    more: Some("Phase {}"),
    ..TABLE
};

/// A development cycle that was paused or aborted at its checkpoint, without its phases: only the remaining stories of the epic.
pub(super) static PAUSED: Descriptor = Descriptor {
    workflow_type: "Development Cycle",
    prefix: "dev",
    subject: &["/current_story", "/epic_progress/aborted_at_story"],
    subject_is_path: true,
    story: StoryName::At(&["/epic_progress/aborted_at_story", "/current_story"]),
    stamps: &["/paused_at", "/aborted_at"],
    ..Descriptor::only_read("a development cycle that was paused or aborted at its checkpoint", |tree| {
        PAUSED_TABLE.run(&PAUSED, tree)
    })
};

static PAUSED_TABLE: Table = Table {
    workflow: WORKFLOW,
    title: "Development Cycle for story {}",
    standing: StatusPlace::Rest,
    agent: Some("dev"),
    names_stories: true,
    done: Some("/epic_progress/completed_stories"),
    current: Some("/current_story"),
    ahead: &["/epic_progress/aborted_at_story", "/epic_progress/next_story", "/epic_progress/remaining_stories"],
    ..TABLE
};

/// Returns the phases of a known workflow of nexos, of which a spec pipeline has no plan (docs/formats/aios-stories.md#spec-pipeline).
fn phases_of_workflow(tree: &Reader<'_>) -> Vec<Fixed> {
    let workflow = tree.node().at("/workflow").and_then(Node::scalar).unwrap_or_default().to_lowercase();
    if workflow.contains("spec") {
        spec::PHASES[..5].iter().map(|(_, key, title, agent, _)| (*key, *title, *agent)).collect()
    } else if workflow.contains("sdc") || workflow.contains("story") {
        story_cycle::PHASES.iter().map(|(_, key, title, agent)| (*key, *title, *agent)).collect()
    } else {
        Vec::new()
    }
}

/// Returns what continues a run whose state is only read.
pub(in crate::dialect::aios) fn guest(candidate: &Candidate) -> Guest {
    // A file that cannot be read does not say which story it is about.
    let run = if candidate.is_named { candidate.name.as_str() } else { "" };
    let refusal = "belongs to AIOS: piton reads it and never writes it".to_owned();
    Guest { refusal, command: command(run), has_brief: true }
}

/// Returns the command of AIOS that continues such a run (docs/formats/aios-states.md#states-that-are-only-read).
pub(in crate::dialect::aios) fn command(run: &str) -> String {
    match (run.strip_prefix("build-"), run.strip_prefix("ade-")) {
        (Some(story), _) => format!("*build-resume {}", quoted(story)),
        (None, Some(story)) => format!("*orchestrate-resume {}", quoted(story)),
        (None, None) => "orchestrate-resume".to_owned(),
    }
}

impl Table {
    /// Reads the run.
    fn run(&self, kind: &Descriptor, tree: &Reader<'_>) -> Run {
        let mut run = tree.run(kind, self.workflow, self.title.replace("{}", &tree.subject(kind)));
        let mut list = StepList { table: self, tree, current: None, steps: Vec::new() };
        list.read();
        (run.steps, run.position) = list.in_order();
        let is_over = !run.steps.is_empty() && first_open(&run.steps).is_none();
        run.status = match self.standing {
            StatusPlace::Status => tree.get("status").run_status(&run.steps),
            StatusPlace::Action(at) => match tree.at(at).text() {
                Some("PAUSE") => RunStatus::Paused,
                Some("ABORT") => RunStatus::Aborted,
                Some(_) | None if is_over => RunStatus::Completed,
                Some(_) | None => RunStatus::Active,
            },
            StatusPlace::Rest if was_aborted(tree) => RunStatus::Aborted,
            StatusPlace::Rest => RunStatus::Paused,
        };
        let counted = self.done.map(|at| tree.at(at)).filter(|done| done.is_number()).and_then(Field::number);
        let named = run.steps.iter().filter(|step| step.status == Status::Completed).count();
        run.done_elsewhere = counted.map_or(0, |count| (count as usize).saturating_sub(named));
        run.workspace.branch = self.branch.and_then(|at| tree.at(at).id());
        if let Some(silence) = self.silence.filter(|_| run.status == RunStatus::Active) {
            tree.report_abandoned(run.stamp.or(run.started_at), silence);
        }
        run
    }
}

fn was_aborted(tree: &Reader<'_>) -> bool {
    tree.get("aborted_at").is_there() || tree.get("status").text() == Some("aborted")
}

/// The steps of a state as far as they are read, each with its key.
struct StepList<'a> {
    table: &'a Table,
    tree: &'a Reader<'a>,
    /// The key of the step in hand.
    current: Option<String>,
    steps: Vec<(String, Step)>,
}

impl<'a> StepList<'a> {
    fn read(&mut self) {
        let (table, tree) = (self.table, self.tree);
        for (key, title, agent) in (table.fixed)(tree) {
            let step = self.step(key);
            (step.title, step.agent) = (title.to_owned(), Some(agent.to_owned()));
        }
        let has_fixed = !self.steps.is_empty();
        let done = table.done.filter(|at| !tree.at(at).is_number()).map(|at| self.keys(at)).unwrap_or_default();
        self.current = table.current.and_then(|at| self.keys(at).pop());
        let entries = table.entries.map(|at| tree.at(at).members()).unwrap_or_default();
        let keys = done.iter().chain(&self.current).map(String::as_str).chain(entries.iter().map(|(key, _)| *key));
        let last = keys.filter(|_| table.is_numbered).filter_map(number).max();
        for key in 1..=last.unwrap_or(0) {
            self.step(&key.to_string());
        }
        for key in done {
            self.step(&key).status = Status::Completed;
        }
        if let Some(key) = self.current.clone() {
            self.take_up(&key);
        }
        for (key, entry) in &entries {
            let is_begun = !matches!(entry.get("status").text(), Some("pending") | None);
            if !has_fixed || is_begun || self.has(key) {
                self.fill(key, *entry);
            }
        }
        for key in table.ahead.iter().flat_map(|at| self.keys(at)).collect::<Vec<_>>() {
            self.step(&key);
        }
        self.fail();
        if let Some(title) = table.more.filter(|_| !has_fixed) {
            self.add_next(title, entries.last().map(|(_, entry)| entry.get("handoff").get("to")));
        }
    }

    fn has(&self, key: &str) -> bool {
        self.steps.iter().any(|(known, _)| known == key)
    }

    /// Returns the step with a key, which is added unless it is there.
    fn step(&mut self, key: &str) -> &mut Step {
        let at = self.steps.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
            let table = self.table;
            let mut step = Step::new(StepId::new(table.id.replace("{}", key)), table.step.replace("{}", key));
            step.agent = table.agent.map(str::to_owned);
            step.short = table.is_numbered.then(|| key.to_owned());
            self.steps.push((key.to_owned(), step));
            self.steps.len() - 1
        });
        &mut self.steps[at].1
    }

    /// Returns the keys at a place: of each element of a list, else of the value.
    fn keys(&self, at: &'static str) -> Vec<String> {
        let field = self.tree.at(at);
        let items = if field.node().is_some_and(Node::is_list) { field.items() } else { vec![field] };
        items.into_iter().filter_map(|item| self.key(item)).collect()
    }

    /// Returns a key as written, the name of a story, or the number of a phase, which may be in an entry of its own or named by its title.
    fn key(&self, item: Field<'a>) -> Option<String> {
        let item = if item.get("phase").is_there() { item.get("phase") } else { item };
        let word = item.id()?;
        if self.table.names_stories {
            return Some(story::name_of(&word).to_owned()).filter(|name| !name.is_empty());
        }
        if !self.table.is_numbered || number(&word).is_some() {
            return Some(word);
        }
        let titled = self.steps.iter().find(|(_, step)| step.title.eq_ignore_ascii_case(&word));
        if titled.is_none() {
            let message = format!("the phase `{word}` is unknown; it was ignored");
            item.report(Finding::new(FindingCode::StateCorrupt, message));
        }
        titled.map(|(key, _)| key.clone())
    }

    /// Marks the step in hand.
    fn take_up(&mut self, key: &str) {
        let (table, tree) = (self.table, self.tree);
        let phase = table.phase.and_then(|at| tree.at(at).text());
        let at = CYCLE.iter().position(|(id, name, ..)| Some(*id) == phase || Some(*name) == phase);
        let named = table.current_agent.and_then(|at| fields::agent(tree.at(at)));
        let step = self.step(key);
        step.agent = match at {
            Some(at) => CYCLE[at].3.map(str::to_owned),
            None => named.or_else(|| step.agent.take()),
        };
        step.title.extend(phase.map(|phase| format!(", in {}", clean_line(phase, 60))));
        step.idempotent = at != Some(PUSH);
        if step.status.satisfies() {
            return;
        }
        step.status = match table.standing {
            StatusPlace::Status => Status::InProgress,
            StatusPlace::Action(at) => match tree.at(at).text() {
                Some("GO" | "STORY_COMPLETED") => Status::Completed,
                Some("CHECKPOINT_REACHED" | "REVIEW") => Status::WaitingApproval,
                Some("ERROR_OCCURRED") => Status::Failed,
                Some(_) | None => Status::InProgress,
            },
            // A cycle pauses after its checkpoint; an aborted one did not finish its story.
            StatusPlace::Rest if was_aborted(tree) => Status::Pending,
            StatusPlace::Rest => Status::Completed,
        };
        step.attempts = u32::from(step.status != Status::Pending);
    }

    /// Reads the entry of a step.
    fn fill(&mut self, key: &str, entry: Field<'a>) {
        let (word, result) = (entry.get("status"), entry.get("result").get("status").text());
        let step = self.step(key);
        step.status = match result {
            _ if word.is_there() => fields::status(word, &step.id),
            Some("failed" | "error") => Status::Failed,
            Some("skipped") => Status::Skipped,
            Some(_) | None if entry.get("completedAt").is_there() => Status::Completed,
            Some(_) | None => Status::Pending,
        };
        step.title.extend(entry.either(["action", "task"]).id().map(|task| format!(": {task}")));
        step.agent = fields::agent(entry.get("agent")).or_else(|| step.agent.take());
        step.started_at = entry.get("startedAt").time();
        step.finished_at = entry.get("completedAt").time();
        let counted = entry.get("attempts").number().unwrap_or(0);
        step.attempts = counted.max(u32::from(step.status != Status::Pending));
        if entry.get("gateResult").get("verdict").text() == Some("blocked") {
            step.review = Some(Review { verdict: ReviewVerdict::Rejected, open_conditions: None });
        }
    }

    /// Marks what failed, and reads how often and why.
    fn fail(&mut self) {
        let (table, tree) = (self.table, self.tree);
        let failed = table.failed.filter(|_| tree.get("status").text() == Some("failed"));
        for key in failed.map(|at| self.keys(at)).unwrap_or_default() {
            self.step(&key).status = Status::Failed;
        }
        for (key, step) in &mut self.steps {
            let place = |at: &&str| tree.node().at(&at.replace("{}", &escape(key)));
            let errors: Vec<String> = table.errors.iter().filter_map(place).flat_map(|at| errors(at, key)).collect();
            // Without a status of its own a step failed if it has an error.
            if step.status == Status::InProgress && !errors.is_empty() && table.entries.is_none() {
                step.status = Status::Failed;
            }
            if step.status == Status::Failed {
                let count = table.failures.iter().filter_map(place).find_map(|count| count.scalar()?.parse().ok());
                step.failures = u32::try_from(errors.len()).unwrap_or(u32::MAX).max(count.unwrap_or(1)).max(1);
                step.attempts = step.failures;
                step.error = errors.last().cloned();
                step.past_errors = errors;
            } else if step.status == Status::Completed {
                step.commit = commit(tree, key);
            }
        }
    }

    /// Adds the step after those that the state names, which its last one may hand over to, unless nothing is left.
    fn add_next(&mut self, title: &str, told: Option<Field<'a>>) {
        let (table, tree, count) = (self.table, self.tree, self.steps.len());
        let total = table.total.and_then(|at| tree.at(at).number()).filter(|total| *total > 0);
        let is_over = matches!(tree.get("status").text(), Some("completed" | "complete"))
            || total.is_some_and(|total| count >= total as usize)
            || self.steps.iter().any(|(_, step)| !step.status.satisfies());
        if is_over {
            return;
        }
        let named = told.and_then(|to| to.get("phase").id());
        let is_known = named.is_some() || total.is_some() || count == 0;
        let key = named.unwrap_or_else(|| if table.is_numbered { (count + 1).to_string() } else { "next".to_owned() });
        let step = self.step(&key);
        step.agent = told.and_then(|to| fields::agent(to.get("agent"))).or_else(|| step.agent.take());
        step.title = format!("{}{}", title.replace("{}", &key), if is_known { "" } else { ", if there is one" });
        if !is_known {
            let message = "it is unknown whether there is a step after the last recorded one";
            tree.report(Finding::new(FindingCode::TotalMissing, message));
        }
    }

    /// Chains the steps: after what is over comes the one that the state is at, then every other open one. Returns the first open one too.
    fn in_order(self) -> (Vec<Step>, Option<StepId>) {
        let is_at = |(key, step): &(String, Step)| self.current.as_ref() == Some(key) && !step.status.satisfies();
        let at = self.steps.iter().position(is_at);
        let mut steps: Vec<Step> = self.steps.into_iter().map(|(_, step)| step).collect();
        let (over, open): (Vec<usize>, Vec<usize>) =
            (0..steps.len()).partition(|place| steps[*place].status.satisfies());
        let reached = at.max(over.last().copied());
        let rest = || open.iter().copied().filter(|place| Some(*place) != at);
        for passed in rest().filter(|place| Some(*place) < reached).map(|place| &steps[place]) {
            let message = format!("{} is {}, but the state is at a later step", passed.id, passed.status);
            self.tree.report(Finding::new(FindingCode::StateCorrupt, message).on(&passed.id));
        }
        let next = at.or_else(|| open.first().copied()).map(|place| steps[place].id.clone());
        let order: Vec<usize> = over.into_iter().chain(at).chain(rest()).collect();
        for pair in order.windows(2) {
            steps[pair[1]].depends_on = vec![steps[pair[0]].id.clone()];
        }
        (steps, next)
    }
}

/// Returns the number of a step.
fn number(key: &str) -> Option<u32> {
    key.parse().ok().filter(|number| *number <= NUMBER_LIMIT)
}

/// Returns the errors at a place that are about a step, oldest first.
fn errors(place: &Node, key: &str) -> Vec<String> {
    let is_its = |entry: &&Node| entry.get("subtaskId").is_none_or(|of| of.scalar() == Some(key));
    let text = |entry: &Node| {
        let error = entry.get("message").or_else(|| entry.get("error")).unwrap_or(entry);
        error.scalar().unwrap_or("it failed").to_owned()
    };
    match place.scalar() {
        Some(error) => vec![error.to_owned()],
        None => place.items().iter().filter(is_its).map(text).collect(),
    }
}

/// Returns the commit that the last checkpoint of a step names.
fn commit(tree: &Reader<'_>, key: &str) -> Option<String> {
    let checkpoints = tree.node().at("/checkpoints").map(Node::items).unwrap_or_default().iter().rev();
    let mut of_step = checkpoints.filter(|point| point.get("subtaskId").and_then(Node::scalar) == Some(key));
    of_step.find_map(|point| point.get("gitCommit")?.scalar().filter(|text| is_commit_hash(text)).map(str::to_owned))
}

#[cfg(test)]
#[path = "others_tests.rs"]
mod tests;
