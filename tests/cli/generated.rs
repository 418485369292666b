//! Generated plans of other systems. What is right about each step is known from how the project was made, never from the answer.

use serde_json::{Value, json};

use crate::{
    cli::checklist,
    support::{Dice, Sandbox, takes_all},
};

/// What was done about a step besides what its own state says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Trace {
    Nothing,
    /// Part of the work is there.
    Part,
    /// All of it is there, or another part of the state says so.
    All,
}

/// A step of a generated project.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Generated {
    pub(in crate::cli) id: String,
    /// Its own state says that it is done.
    pub(in crate::cli) is_claimed: bool,
    pub(in crate::cli) trace: Trace,
}

/// A generated project.
pub(in crate::cli) struct Project {
    /// The id of the run.
    pub(in crate::cli) run: String,
    /// The path of its state.
    pub(in crate::cli) state: String,
    pub(in crate::cli) steps: Vec<Generated>,
    /// The step that has to run next, where nothing contradicts anything.
    pub(in crate::cli) first: Option<String>,
}

/// Returns the number of projects to make.
pub(in crate::cli) fn rounds() -> u64 {
    if takes_all() { 500 } else { 10 }
}

/// Checks what is said about a project against how it was made.
pub(in crate::cli) fn check(sandbox: &Sandbox, project: &Project, seed: u64) {
    let before = sandbox.everything();
    let output = sandbox.piton(["plan", &project.state, "--steps"]).run();
    let next = checklist::next(&output);
    let completed = output.at("/data/steps/completed").as_array().cloned().unwrap_or_default();
    for step in &project.steps {
        let has = |action: &str| next.contains(&format!("{action} {}", step.id));
        let is_over = step.is_claimed || step.trace == Trace::All;
        assert!(!(is_over && (has("run") || has("retry"))), "seed {seed}: {step:?} runs again: {output}");
        assert!(!(step.trace == Trace::Part && has("run")), "seed {seed}: {step:?} begins again: {output}");
        let is_called_done = completed.iter().any(|id| id == step.id.as_str());
        assert!(step.is_claimed || !is_called_done, "seed {seed}: {step:?} is called done: {output}");
    }
    let verdict = output.at("/data/verdict");
    let all_claimed = project.steps.iter().all(|step| step.is_claimed);
    assert!(all_claimed || verdict != "complete", "seed {seed}: {output}");
    if let Some(first) = &project.first {
        assert_eq!(
            (verdict.as_str(), next.first()),
            (Some("resume"), Some(&format!("run {first}"))),
            "seed {seed}: {output}"
        );
    }
    let list = sandbox.piton(["list", "--all"]).run();
    let rows = list.at("/data/runs").as_array().cloned().unwrap_or_default();
    let row = rows.iter().find(|row| row["id"] == project.run.as_str());
    let listed = &row.unwrap_or_else(|| panic!("seed {seed}: {list}"))["verdict"];
    assert!(*listed == verdict || listed == "confirm", "seed {seed}: list says {listed}, plan {verdict}");
    let state = project.state.as_str();
    for verb in [vec!["context", state], vec!["status", state], vec!["validate", state], vec!["plan", state, "--patch"]]
    {
        sandbox.piton(verb).run();
    }
    assert_eq!(before.changes(&sandbox.everything()), [""; 0], "seed {seed}");
}

/// How the claims of a project are spread.
struct Spread {
    /// How many steps at the start are done; `None` mixes all.
    done: Option<usize>,
}

impl Spread {
    fn of(dice: &mut Dice, steps: usize) -> Self {
        let done = (dice.below(2) == 0).then(|| 1 + dice.below(steps.max(2) - 1));
        Self { done }
    }

    const fn is_clean(&self) -> bool {
        self.done.is_some()
    }

    fn claim(&self, dice: &mut Dice, at: usize) -> bool {
        self.done.map_or_else(|| dice.below(2) == 0, |done| at < done)
    }

    /// Returns the work on an open step.
    fn trace(&self, dice: &mut Dice) -> Trace {
        match dice.below(4) {
            0 if !self.is_clean() => Trace::All,
            1 if !self.is_clean() => Trace::Part,
            _ => Trace::Nothing,
        }
    }
}

fn spelled(dice: &mut Dice, text: &str) -> String {
    let text = if dice.below(3) == 0 { text.replace('\n', "\r\n") } else { text.to_owned() };
    if dice.below(4) == 0 { format!("\u{feff}{text}") } else { text }
}

/// Writes a planning folder of GSD: phases with plans, summaries, boxes of the roadmap that agree or not.
fn gsd(sandbox: &Sandbox, dice: &mut Dice) -> Project {
    let sizes: Vec<usize> = (0..=dice.below(3)).map(|_| 1 + dice.below(3)).collect();
    let spread = Spread::of(dice, sizes.iter().sum());
    let word = ["Sail", "Voile", "帆", "Парус"][dice.below(4)];
    let mut roadmap = format!("# Roadmap: {word}\n\n");
    let mut steps = Vec::new();
    for (phase, plans) in (1..).zip(&sizes) {
        roadmap.push_str(&format!("### Phase {phase}: {word} {phase}\n\nPlans:\n"));
        let mut before = String::new();
        for plan in 1..=*plans {
            let id = format!("{phase:02}-{plan:02}");
            let is_claimed = spread.claim(dice, steps.len());
            let trace = if is_claimed { Trace::All } else { spread.trace(dice) };
            // A box that is ticked although nothing was built is a word against the claim.
            let is_told = !is_claimed && !spread.is_clean() && dice.below(4) == 0;
            let mark = if is_claimed || is_told { "x" } else { " " };
            roadmap.push_str(&format!("- [{mark}] {id}-PLAN.md — {word}\n"));
            let depends = if before.is_empty() || dice.below(2) == 0 {
                String::new()
            } else {
                format!("depends_on: [\"{before}\"]\n")
            };
            let wave = if dice.below(2) == 0 { format!("wave: {plan}\n") } else { String::new() };
            let text = format!(
                "---\nphase: {phase}\nplan: {plan}\n{wave}{depends}must_haves:\n  artifacts:\n    - path: src/{id}/a.py\n      contains: \"def \"\n    - path: src/{id}/b.py\n---\n\n<objective>\n{word}.\n</objective>\n\n<task type=\"auto\">\n  <name>Task 1: {word}</name>\n  <files>src/{id}/a.py</files>\n</task>\n<task type=\"auto\">\n  <name>Task 2</name>\n  <files>src/{id}/b.py</files>\n</task>\n"
            );
            let text = if spread.is_clean() { text } else { spelled(dice, &text) };
            sandbox.file(&format!(".planning/phases/{phase:02}-part/{id}-PLAN.md"), &text);
            let trace = if is_told { Trace::All } else { trace };
            before.clone_from(&id);
            steps.push((Generated { id, is_claimed, trace }, phase, is_told));
        }
        roadmap.push('\n');
    }
    sandbox.file(".planning/ROADMAP.md", &spelled(dice, &roadmap));
    sandbox.git_init();
    sandbox.commit("docs: plans");
    for (step, phase, is_told) in &steps {
        let id = &step.id;
        let work = if *is_told { Trace::Nothing } else { step.trace };
        match work {
            Trace::Nothing => continue,
            Trace::Part => sandbox.file(&format!("src/{id}/a.py"), "def a(): pass\n"),
            Trace::All => {
                sandbox.file(&format!("src/{id}/a.py"), "def a(): pass\n").file(&format!("src/{id}/b.py"), "b = 1\n")
            }
        };
        let verb = ["feat", "fix", "test"][dice.below(3)];
        sandbox.commit(&format!("{verb}({id}): work"));
        if step.is_claimed {
            sandbox.file(&format!(".planning/phases/{phase:02}-part/{id}-SUMMARY.md"), "# Summary\n\nIt works.\n");
            sandbox.commit(&format!("docs({id}): complete"));
        }
    }
    let steps: Vec<Generated> = steps.into_iter().map(|(step, _, _)| step).collect();
    let first = spread.is_clean().then(|| steps.iter().find(|step| !step.is_claimed).map(|step| step.id.clone()));
    Project { run: "gsd".to_owned(), state: ".planning".to_owned(), steps, first: first.flatten() }
}

/// Writes a task list: both shapes, ids as numbers and texts, statuses in several spellings, subtasks, commits that name tasks.
fn taskmaster(sandbox: &Sandbox, dice: &mut Dice) -> Project {
    let count = 2 + dice.below(4);
    let spread = Spread::of(dice, count);
    let (mut tasks, mut steps, mut commits) = (Vec::new(), Vec::new(), Vec::new());
    for at in 1..=count {
        let is_claimed = spread.claim(dice, at - 1);
        let is_named = !is_claimed && !spread.is_clean() && dice.below(4) == 0;
        let trace = if is_named { Trace::All } else { Trace::Nothing };
        let word = |dice: &mut Dice, done: bool| {
            if done {
                ["done", "completed", "Done"][dice.below(3)]
            } else {
                ["pending", "Pending", "todo"][dice.below(3)]
            }
        };
        let mut pieces = Vec::new();
        for piece in 1..=dice.below(4) {
            let is_done = if spread.is_clean() { is_claimed } else { dice.below(2) == 0 };
            let id = if dice.below(3) == 0 { json!(format!("{at}.{piece}")) } else { json!(piece) };
            let on = if piece > 1 && dice.below(2) == 0 { json!([piece - 1]) } else { json!([]) };
            pieces.push(
                json!({"id": id, "title": format!("Piece {piece}"), "status": word(dice, is_done), "dependencies": on}),
            );
            // What a person has to look at as a whole is looked at with its pieces.
            let of_parent = if is_claimed || is_named { Trace::All } else { Trace::Nothing };
            steps.push(Generated { id: format!("{at}.{piece}"), is_claimed: is_done, trace: of_parent });
        }
        let id = if dice.below(2) == 0 { json!(at) } else { json!(at.to_string()) };
        let on = if at > 1 && dice.below(2) == 0 { json!([at - 1]) } else { json!([]) };
        let priority = if spread.is_clean() { "high" } else { ["critical", "high", "medium", "low"][dice.below(4)] };
        tasks.push(json!({"id": id, "title": format!("タスク {at}"), "status": word(dice, is_claimed), "priority": priority, "dependencies": on, "subtasks": pieces}));
        steps.push(Generated { id: at.to_string(), is_claimed, trace });
        commits.extend(is_named.then(|| format!("feat: it ({} {at})", ["task", "Task"][dice.below(2)])));
    }
    let list =
        if dice.below(3) == 0 { json!({"tasks": tasks}) } else { json!({"master": {"tasks": tasks, "metadata": {}}}) };
    let text =
        if dice.below(2) == 0 { list.to_string() } else { serde_json::to_string_pretty(&list).expect("it is data") };
    let state = [".taskmaster/tasks/tasks.json", "tasks/tasks.json"][dice.below(2)];
    sandbox.file(state, &text);
    sandbox.git_init();
    sandbox.commit("chore: tasks");
    for (at, subject) in commits.iter().enumerate() {
        sandbox.file(&format!("src/{at}.js"), "x").commit(subject);
    }
    let is_done = |task: &&Value| {
        task["status"].as_str().is_some_and(|word| word.to_lowercase().starts_with("done") || word == "completed")
    };
    let open = tasks.iter().position(|task| !is_done(&task));
    let first = open.filter(|_| spread.is_clean()).map(|at| match tasks[at]["subtasks"].as_array().map(Vec::len) {
        Some(0) | None => (at + 1).to_string(),
        Some(_) => format!("{}.1", at + 1),
    });
    Project { run: "taskmaster-master".to_owned(), state: state.to_owned(), steps, first }
}

/// Writes a sprint: epics, stories with letters in their keys, files that agree or not.
fn bmad(sandbox: &Sandbox, dice: &mut Dice) -> Project {
    let sizes: Vec<usize> = (0..=dice.below(2)).map(|_| 1 + dice.below(4)).collect();
    let spread = Spread::of(dice, sizes.iter().sum());
    let folder = ["_bmad-output/implementation-artifacts", "docs/sprint-artifacts"][dice.below(2)];
    let mut sprint = "# generated\nproject: Kites\n\ndevelopment_status:\n".to_owned();
    let mut steps = Vec::new();
    for (epic, stories) in (1..).zip(&sizes) {
        sprint.push_str(&format!("  epic-{epic}: in-progress\n"));
        for story in 1..=*stories {
            let letter = ["", "a"][usize::from(dice.below(4) == 0)];
            let key = format!("{epic}-{story}{letter}-kite");
            let is_claimed = spread.claim(dice, steps.len());
            let trace = if is_claimed { Trace::Nothing } else { spread.trace(dice) };
            let (word, boxes) = match (is_claimed, trace) {
                (true, _) => (["done", "Done", "done # 2026-01-02"][dice.below(3)], Some(("done", "- [x] one\n"))),
                (_, Trace::Nothing) => ("backlog", None),
                (_, Trace::Part) => {
                    (["ready-for-dev", "in-progress"][dice.below(2)], Some(("in-progress", "- [x] one\n- [ ] two\n")))
                }
                (_, Trace::All) => (
                    ["ready-for-dev", "in-progress", "review"][dice.below(3)],
                    Some(("review", "- [x] one\n- [x] two\n")),
                ),
            };
            sprint.push_str(&format!("  {key}: {word}\n"));
            if let Some((status, boxes)) = boxes {
                let text = format!("# Story {epic}.{story}: 凧\n\nStatus: {status}\n\n## Tasks / Subtasks\n\n{boxes}");
                sandbox.file(&format!("{folder}/{key}.md"), &spelled(dice, &text));
            }
            steps.push(Generated { id: key, is_claimed, trace });
        }
        sprint.push_str(&format!("  epic-{epic}-retrospective: optional\n\n"));
    }
    let state = format!("{folder}/sprint-status.yaml");
    sandbox.file(&state, &spelled(dice, &sprint));
    if dice.below(3) > 0 {
        sandbox.git_init();
        sandbox.commit("docs: sprint");
    }
    let first = spread.is_clean().then(|| steps.iter().find(|step| !step.is_claimed).map(|step| step.id.clone()));
    Project { run: "bmad".to_owned(), state, steps, first: first.flatten() }
}

/// Makes projects and checks each.
fn each(system: fn(&Sandbox, &mut Dice) -> Project) {
    for seed in 0..rounds() {
        let sandbox = Sandbox::new();
        let project = system(&sandbox, &mut Dice::new(seed));
        check(&sandbox, &project, seed);
    }
}

#[test]
fn plans_of_gsd_are_read_as_they_were_made() {
    each(gsd);
}

#[test]
fn task_lists_are_read_as_they_were_made() {
    each(taskmaster);
}

#[test]
fn sprints_are_read_as_they_were_made() {
    each(bmad);
}
