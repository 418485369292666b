//! A check list as a run: steps with their witnesses, groups and order (docs/formats/checklist.md).

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    kind::ListKind,
    list::{Claim, Group, ListedTask, Stage, TaskList, Wording},
};
use crate::model::{
    CommitName, DeclaredFile, DialectId, Doubt, Finding, FindingCode, GuestProof, GuestWord, Pace, Records, RelPath,
    Run, Status, Step, StepId, Weight, first_names, plural,
};

/// Number of ids that a finding names.
const NAMED: usize = 5;
/// Tasks that may be done together. Each waits for all of the ones before it, so that there are at most as many dependencies.
const TOGETHER: usize = 64;
/// Steps of a run that are read.
const STEPS: usize = 20_000;

/// Builds the run of a list.
pub(super) fn build(kind: ListKind, id: &str, state: &RelPath, list: &TaskList) -> Run {
    let title = list.title.as_deref().map(without_prefix).filter(|title| !title.is_empty());
    let title = title.map_or_else(|| id.to_owned(), |title| crate::model::clean_line(title, 60));
    let mut run = Run::new(id, DialectId::Checklist, title, kind.workflow(), vec![state.clone()]);
    run.records = Records::NONE;
    run.writable = false;
    let tasks = &list.tasks[..list.tasks.len().min(STEPS)];
    run.steps = tasks.iter().enumerate().map(|(at, task)| step(kind, state, list, at, task)).collect();
    let order = match kind {
        ListKind::SpecKit => order_of_stages(list, tasks).on,
        ListKind::OpenSpec | ListKind::Superpowers | ListKind::PlanMode => in_file_order(tasks),
    };
    for (step, on) in run.steps.iter_mut().zip(order) {
        step.depends_on = on.into_iter().map(|on| StepId::new(&tasks[on].id)).collect();
    }
    note_passed_over(tasks, &mut run.steps);
    let rest = rest(kind, state, list, run.steps.len());
    run.steps.extend(rest);
    run
}

/// Returns a step for what the list has and the tasks leave out, without which it would look complete.
fn rest(kind: ListKind, state: &RelPath, list: &TaskList, at: usize) -> Option<Step> {
    let is_over = list.tasks.iter().all(|task| matches!(task.claim, Claim::Done | Claim::Skipped));
    let (id, title, reason) = if let Some(line) = list.unclosed {
        let reason =
            format!("a code block or comment that begins in line {line} is never closed: tasks may stand behind it");
        (format!("line-{line}"), "the rest of the list", reason)
    } else if list.tasks.len() > STEPS {
        ("rest".to_owned(), "the rest of the list", format!("only the first {STEPS} tasks are read"))
    } else if kind == ListKind::PlanMode && is_over {
        let reason = "every box is ticked, but nothing keeps the boxes of such a plan: see whether it is done";
        ("plan".to_owned(), "the plan as a whole", reason.to_owned())
    } else {
        let line = list.nameless.first().filter(|_| is_over)?;
        let reason = format!("every task is over, but boxes without an id are open, the first in line {line}");
        ("boxes".to_owned(), "open boxes without an id", reason)
    };
    let mut step = Step::new(StepId::new(id), title);
    step.plan_order = Some(at);
    step.recorded = false;
    step.file = Some(state.clone());
    let doubts = vec![Doubt::look(reason)];
    step.guest = Some(Box::new(GuestProof { doubts, document: Some(state.clone()), ..GuestProof::default() }));
    Some(step)
}

/// Returns a title without the word that all lists begin with.
fn without_prefix(title: &str) -> &str {
    ["Implementation Tasks:", "Tasks:", "Tasks for", "Task List:"]
        .iter()
        .find_map(|start| title.strip_prefix(start))
        .unwrap_or(title)
        .trim()
}

fn step(kind: ListKind, state: &RelPath, list: &TaskList, at: usize, task: &ListedTask) -> Step {
    let mut step = Step::new(StepId::new(&task.id), task.title.clone());
    step.status = match task.claim {
        Claim::Open => Status::Pending,
        Claim::Begun => Status::InProgress,
        Claim::Done => Status::Completed,
        Claim::Skipped => Status::Skipped,
    };
    step.plan_order = Some(at);
    step.group = task.group.and_then(|group| list.groups.get(group)).map(|group| group.title.clone());
    step.recorded = false;
    step.file = Some(state.clone());
    step.definition = serde_json::json!({ "line": task.line, "text": task.text });
    step.detail.parts.clone_from(&task.parts);
    let files = || task.files.created.iter().chain(&task.files.modified).chain(&task.files.named);
    step.detail.targets = files().map(|path| path.as_str().to_owned()).collect();
    step.guest = Some(Box::new(proof(kind, state, task)));
    step
}

fn proof(kind: ListKind, state: &RelPath, task: &ListedTask) -> GuestProof {
    let files = &task.files;
    let names = match kind {
        ListKind::SpecKit => vec![CommitName::Word(task.id.clone())],
        ListKind::Superpowers => {
            let number = task.id.strip_prefix("task-").unwrap_or(&task.id).to_owned();
            vec![CommitName::After { noun: "task", id: number }]
        }
        // A number alone names nothing.
        ListKind::OpenSpec | ListKind::PlanMode => Vec::new(),
    };
    let open = task.parts.iter().filter(|part| part.is_open()).count();
    let boxes = if task.parts.is_empty() || open == 0 { "its box".to_owned() } else { format!("its {}", boxes(open)) };
    let record = match task.boxes.is_empty() {
        true => format!("if it is done, write that there ({state}, line {})", task.line),
        false => format!("if it is done, tick {boxes} ({state}, line {})", task.line),
    };
    let mut proof = GuestProof {
        document: Some(state.clone()),
        names,
        results: files.created.iter().cloned().map(DeclaredFile::plain).collect(),
        changed: files.modified.clone(),
        mentioned: files.named.clone(),
        built: files.created.iter().chain(&files.modified).chain(&files.named).cloned().collect(),
        changes_prove: kind == ListKind::Superpowers,
        // A task of one line is not half done.
        commits_prove: kind == ListKind::SpecKit,
        commits_need_files: kind == ListKind::SpecKit,
        parent: task.above.as_deref().map(StepId::new),
        pace: Pace::Group,
        record,
        ..GuestProof::default()
    };
    if task.claim == Claim::Begun {
        let first = task.parts.iter().position(|part| part.is_open());
        let place = first.map(|first| {
            format!("continue with box {} of {}, {}", first + 1, task.parts.len(), task.parts[first].title)
        });
        proof.notes.extend(place);
    }
    for word in &task.words {
        add_word(word, task, &mut proof);
    }
    if files.is_outside && proof.built.is_empty() && matches!(task.claim, Claim::Open | Claim::Begun) {
        proof.doubts.push(unseen());
    }
    proof
}

/// What is said about a task whose files are all in another repository.
pub(super) fn unseen() -> Doubt {
    Doubt::of(
        FindingCode::HistoryUnseen,
        "in another repository, so nothing here shows whether they are done",
        "all of its files are in another repository: whether it is done cannot be seen from here",
    )
}

fn boxes(count: usize) -> String {
    if count == 1 { "open box".to_owned() } else { format!("{count} open boxes") }
}

fn add_word(word: &Wording, task: &ListedTask, proof: &mut GuestProof) {
    match word {
        Wording::SaysDone(said) => {
            let source = "the text beside it".to_owned();
            proof.words.push(GuestWord { source, done: true, weight: Weight::Hint });
            proof.notes.push(format!("the words are: {said}"));
        }
        Wording::SaysOpen(said) => {
            let source = "the text beside it".to_owned();
            proof.words.push(GuestWord { source, done: false, weight: Weight::Record });
            proof.notes.push(format!("the words are: {said}"));
        }
        Wording::Waits(said) => proof.notes.push(format!("its text says: {said}")),
        Wording::TickedElsewhere(line) => {
            let reason = format!("lines {} and {line} are the same task, and only one of them is ticked", task.line);
            proof.doubts.push(Doubt::conflict("listed twice, once ticked and once not", reason));
        }
    }
}

/// What the next task waits for: the tasks before it, and those that were passed over.
#[derive(Clone, Debug, Default)]
struct Before {
    last: Vec<usize>,
    /// Open tasks of the last ones that had any. They wait for the open ones before them.
    open: Vec<usize>,
}

impl Before {
    /// Adds neighbours that may be done together.
    fn add(&mut self, batch: &[usize], tasks: &[ListedTask]) {
        let is_open = |at: &usize| matches!(tasks[*at].claim, Claim::Open | Claim::Begun);
        let open: Vec<usize> = batch.iter().copied().filter(is_open).collect();
        if !open.is_empty() {
            self.open = open;
        }
        self.last = batch.to_vec();
    }

    fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.last.iter().chain(&self.open).copied()
    }

    fn sorted(&self) -> Vec<usize> {
        self.all().collect::<BTreeSet<usize>>().into_iter().collect()
    }
}

/// Returns the dependencies of tasks that are done one after the other.
fn in_file_order(tasks: &[ListedTask]) -> Vec<Vec<usize>> {
    let mut before = Before::default();
    let order = (0..tasks.len()).map(|at| {
        let on = before.sorted();
        before.add(&[at], tasks);
        on
    });
    order.collect()
}

/// The dependencies of the tasks of a list with phases.
#[derive(Debug)]
struct StageOrder {
    on: Vec<Vec<usize>>,
    /// Dependencies that the list names and its order contradicts: on a task of a later phase, or on one that waits itself.
    contradicted: Vec<(usize, usize)>,
}

/// Returns the dependencies of a list with phases: phases in order, user stories free of each other, and inside of a phase in file order,
/// with neighbours together that are marked for it and share no file, and a task behind the later one that it names.
fn order_of_stages(list: &TaskList, tasks: &[ListedTask]) -> StageOrder {
    let by_id: BTreeMap<String, usize> =
        tasks.iter().enumerate().map(|(at, task)| (task.id.to_lowercase(), at)).rev().collect();
    let at_id = |id: &String| by_id.get(&id.to_lowercase()).copied();
    let named: Vec<Vec<usize>> = tasks.iter().map(|task| task.waits_for.iter().filter_map(at_id).collect()).collect();
    let mut order = StageOrder { on: vec![Vec::new(); tasks.len()], contradicted: Vec::new() };
    // What a phase waits for, and the last tasks of the stories since.
    let mut barrier: Vec<usize> = Vec::new();
    let mut stories: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    let mut ends: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    let mut from = 0;
    while from < tasks.len() {
        let group = tasks[from].group;
        let to = (from..tasks.len()).find(|at| tasks[*at].group != group).unwrap_or(tasks.len());
        let stage = group.and_then(|group| list.groups.get(group)).map_or(Stage::Plain, |group: &Group| group.stage);
        let start: Vec<usize> = match stage {
            Stage::Plain => {
                if !stories.is_empty() {
                    barrier = std::mem::take(&mut stories).into_values().flatten().collect();
                }
                barrier.clone()
            }
            Stage::Story(number) => {
                let waits = list.story_waits.iter().filter(|(story, _)| Some(*story) == number);
                let on = waits.filter_map(|(_, on)| ends.get(on)).flatten().copied();
                let earlier = stories.get(&group).cloned().unwrap_or_default();
                barrier.iter().copied().chain(earlier).chain(on).collect()
            }
        };
        let mut before = Before { last: start.clone(), open: Vec::new() };
        let turns = turns(from..to, &named);
        let turn: BTreeMap<usize, usize> = turns.iter().zip(0..).map(|(at, turn)| (*at, turn)).collect();
        for batch in batches(&turns, tasks) {
            for at in batch.iter().copied() {
                let is_before = |on: &usize| turn.get(on).map_or(*on < from, |other| *other < turn[&at]);
                let (earlier, later): (Vec<usize>, Vec<usize>) = named[at].iter().partition(|on| is_before(on));
                order.contradicted.extend(later.into_iter().map(|on| (at, on)));
                order.on[at] = match earlier.is_empty() {
                    true => before.sorted(),
                    false => start.iter().copied().chain(earlier).collect::<BTreeSet<usize>>().into_iter().collect(),
                };
            }
            before.add(batch, tasks);
        }
        let before = before.sorted();
        match stage {
            Stage::Plain => barrier = before,
            Stage::Story(number) => {
                ends.extend(number.map(|number| (number, before.clone())));
                stories.insert(group, before);
            }
        }
        from = to;
    }
    order
}

/// Returns the tasks of a phase in file order, each behind the later ones of the phase that it names.
fn turns(phase: Range<usize>, named: &[Vec<usize>]) -> Vec<usize> {
    let mut open: BTreeMap<usize, usize> = BTreeMap::new();
    let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in phase.clone() {
        for on in named[at].iter().filter(|on| phase.contains(on)) {
            *open.entry(at).or_default() += 1;
            behind.entry(*on).or_default().push(at);
        }
    }
    let mut ready: BTreeSet<usize> = phase.clone().filter(|at| !open.contains_key(at)).collect();
    let mut turns = Vec::with_capacity(phase.len());
    while let Some(at) = ready.pop_first() {
        turns.push(at);
        for waiting in behind.remove(&at).unwrap_or_default() {
            if let Some(count) = open.get_mut(&waiting) {
                *count -= 1;
                if *count == 0 {
                    open.remove(&waiting);
                    ready.insert(waiting);
                }
            }
        }
    }
    // These wait for each other.
    turns.extend(open.into_keys());
    turns
}

/// Splits the tasks of a phase into neighbours that may be done together.
fn batches<'a>(turns: &'a [usize], tasks: &[ListedTask]) -> Vec<&'a [usize]> {
    let mut batches = Vec::new();
    let mut from = 0;
    while from < turns.len() {
        let first = &tasks[turns[from]];
        let mut files: BTreeSet<&RelPath> = first.files.named.iter().collect();
        let mut to = from + 1;
        while to < turns.len() && to - from < TOGETHER && first.is_parallel && tasks[turns[to]].is_parallel {
            let named = &tasks[turns[to]].files.named;
            if named.iter().any(|file| files.contains(file)) {
                break;
            }
            files.extend(named);
            to += 1;
        }
        batches.push(&turns[from..to]);
        from = to;
    }
    batches
}

/// Says of open tasks which finished ones stand behind them: the first open task is not where the work stopped.
fn note_passed_over(tasks: &[ListedTask], steps: &mut [Step]) {
    let mut behind: Vec<&str> = Vec::new();
    let mut count = 0;
    for (task, step) in tasks.iter().zip(steps).rev() {
        if matches!(task.claim, Claim::Open | Claim::Begun) && count > 0 {
            let more = if count > behind.len() { format!(" and {} more", count - behind.len()) } else { String::new() };
            let verb = if count == 1 { "which stands behind it, is" } else { "which stand behind it, are" };
            if let Some(proof) = &mut step.guest {
                proof.notes.push(format!("{}{more}, {verb} done", behind.join(", ")));
            }
        }
        if task.claim == Claim::Done {
            count += 1;
            behind.insert(0, &task.id);
            behind.truncate(2);
        }
    }
}

/// Returns the open tasks that finished ones stand behind.
fn passed_over(tasks: &[ListedTask]) -> Vec<&str> {
    let last = tasks.iter().rposition(|task| task.claim == Claim::Done).unwrap_or(0);
    let open = tasks[..last].iter().filter(|task| matches!(task.claim, Claim::Open | Claim::Begun));
    open.map(|task| task.id.as_str()).collect()
}

/// Returns what is to be said about a list.
pub(super) fn findings(state: &RelPath, list: &TaskList) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |code, message: String, line: Option<u32>| {
        let finding = Finding::new(code, message).at(state);
        findings.push(match line {
            Some(line) => finding.line(line, None),
            None => finding,
        });
    };
    let over = passed_over(&list.tasks);
    if over.len() > 1 {
        let message = format!("open, although tasks behind them are done: {}", listed(&over));
        add(FindingCode::StepPassedOver, message, None);
    }
    if let Some((_, line)) = list.odd_marks.first() {
        let marks: Vec<String> =
            list.odd_marks.iter().map(|(mark, _)| format!("[{}]", crate::model::clean_line(mark, 4))).collect();
        let marks: Vec<&str> = marks.iter().map(String::as_str).collect();
        let verb = if marks.len() == 1 { "is" } else { "are" };
        add(
            FindingCode::StatusAlias,
            format!("{} {verb} no tick: such boxes count as open", listed(&marks)),
            Some(*line),
        );
    }
    if let Some((_, line)) = list.repeated.first() {
        let ids: Vec<&str> = list.repeated.iter().map(|(id, _)| id.as_str()).collect();
        add(
            FindingCode::DuplicateId,
            format!("more than one task has the id {}; the later ones got a number", listed(&ids)),
            Some(*line),
        );
    }
    if let Some(line) = list.nameless.first() {
        let message = format!(
            "{} among the tasks: they have no id and are no steps",
            plural(list.nameless.len(), "open box").replace("boxs", "boxes")
        );
        add(FindingCode::BoxNameless, message, Some(*line));
    }
    if let Some(line) = list.unclosed {
        add(
            FindingCode::StateCorrupt,
            format!("a code block or comment that begins in line {line} is never closed: tasks behind it are not read"),
            Some(line),
        );
    }
    let unknown = unknown_waits(&list.tasks);
    if !unknown.is_empty() {
        let unknown: Vec<&str> = unknown.iter().map(String::as_str).collect();
        add(
            FindingCode::DependencyDangling,
            format!("tasks wait for others that the list does not have: {}", listed(&unknown)),
            None,
        );
    }
    let contradicted = contradicted_waits(list);
    if !contradicted.is_empty() {
        let contradicted: Vec<&str> = contradicted.iter().map(String::as_str).collect();
        let message = format!(
            "tasks wait for others that the order of the list puts behind them, and that order counts: {}",
            listed(&contradicted)
        );
        add(FindingCode::DependencyDangling, message, None);
    }
    if list.tasks.len() > STEPS {
        add(
            FindingCode::PartUnreadable,
            format!("the list has {} tasks; the first {STEPS} are read", list.tasks.len()),
            None,
        );
    }
    findings
}

/// Returns the tasks that wait for ids that the list does not have, with the id.
fn unknown_waits(tasks: &[ListedTask]) -> Vec<String> {
    let known: BTreeSet<String> = tasks.iter().map(|task| task.id.to_lowercase()).collect();
    let waits = tasks.iter().flat_map(|task| task.waits_for.iter().map(move |on| (task, on)));
    let unknown = waits.filter(|(task, on)| !known.contains(&on.to_lowercase()) && task.claim != Claim::Done);
    unknown.map(|(task, on)| format!("{} for {on}", task.id)).collect()
}

/// Returns the open tasks that wait for others that come behind them, with the id.
fn contradicted_waits(list: &TaskList) -> Vec<String> {
    let tasks = &list.tasks[..list.tasks.len().min(STEPS)];
    if tasks.iter().all(|task| task.waits_for.is_empty()) {
        return Vec::new();
    }
    let contradicted = order_of_stages(list, tasks).contradicted.into_iter();
    let open = contradicted.filter(|(at, _)| tasks[*at].claim != Claim::Done);
    open.map(|(at, on)| format!("{} for {}", tasks[at].id, tasks[on].id)).collect()
}

fn listed(ids: &[&str]) -> String {
    first_names(&ids.iter().map(|id| crate::model::clean_line(id, 60)).collect::<Vec<_>>(), NAMED)
}
