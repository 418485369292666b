//! Generated trees: sessions of several eras and spellings beside stories, broken files, old clones and the files of other tools. What is
//! known to be done is never run again, nothing open is called complete, and every verb says the same.
//!
//! `PITON_TESTS=all` makes four hundred instead of fifteen.

use serde_json::json;

use crate::support::{Output, Sandbox, takes_all};

/// An hour after the newest stamp in any of the trees.
const NOW: &str = "2026-01-31T12:00:00Z";
/// The time of a file of a fresh checkout: a minute before.
const CHECKED_OUT: u64 = 1_769_860_740;

/// A sequence of numbers that is the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % sides as u64).expect("it is small")
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.roll(words.len())]
    }
}

/// A run of a tree: its id, and what is known of its steps.
struct Known {
    run: String,
    done: Vec<String>,
    open: Vec<String>,
}

const DONE: [&str; 5] = ["completed", "Completed", "✅ completed", "done", "已完成"];
const TODO: [&str; 5] = ["pending", "todo", "not_started", "待处理", "Pending"];

/// Adds a session of CCW. A task that is done says so in its file, or in the list and a summary; a third one is done and its file is broken.
fn ccw(sandbox: &Sandbox, dice: &mut Dice, number: usize) -> Known {
    let run = format!("WFS-tree-{number}");
    let dir = format!(".workflow/active/{run}");
    let mut session = json!({"session_id": run, "project": "A tree"});
    session["status"] = json!(dice.pick(&["active", "planning", "implementing"]));
    if dice.roll(3) > 0 {
        session["created_at"] = json!("2026-01-31T09:00:00Z");
    }
    sandbox.file(&format!("{dir}/workflow-session.json"), &session.to_string());
    let (mut known, mut list) = (Known { run, done: Vec::new(), open: Vec::new() }, "# Tasks\n".to_owned());
    let (style, depends_in, has_rows) = (dice.roll(4), dice.roll(4), dice.roll(2) == 0);
    let count = 2 + dice.roll(4);
    let finished = dice.roll(count + 1);
    for at in 1..=count {
        let id = format!("IMPL-{at:03}");
        let is_done = at <= finished;
        let by_evidence = is_done && dice.roll(3) == 0;
        let status = if is_done && !by_evidence { dice.pick(&DONE) } else { dice.pick(&TODO) };
        let before: Vec<String> = (at > 1).then(|| format!("IMPL-{:03}", at - 1)).into_iter().collect();
        let mut task = json!({"id": id, "title": format!("Build part {at}"), "status": status});
        match depends_in {
            0 => task["depends_on"] = json!(before),
            1 => task["context"] = json!({"depends_on": before}),
            2 => task["dependencies"] = json!(before),
            _ => task["relations"] = json!({"depends_on": before}),
        }
        let text = match is_done && by_evidence && dice.roll(3) == 0 {
            true => format!("{task}\n  }},\n"),
            false => task.to_string(),
        };
        sandbox.file(&format!("{dir}/.task/{id}.json"), &text);
        if is_done {
            sandbox.file(&format!("{dir}/.summaries/{id}-summary.md"), &format!("# Task: {id} Build part {at}\n"));
        }
        let mark = if is_done { 'x' } else { ' ' };
        list.push_str(&match style {
            0 => format!("- [{mark}] **{id}**: Build part {at} → [📋](./.task/{id}.json)\n"),
            1 => format!("### {id}: Build part {at}\n- [{mark}] **Task**: build it\n"),
            2 => format!("- [{mark}] {id}: Build part {at}\n"),
            _ => format!("* [{mark}] `{id}` Build part {at}\n"),
        });
        if has_rows {
            list.push_str(&format!("  - [{mark}] {id}.1: first\n  - [{mark}] **P0 label**\n"));
        }
        if is_done { &mut known.done } else { &mut known.open }.push(id);
    }
    sandbox.file(&format!("{dir}/TODO_LIST.md"), &list);
    known
}

/// Adds a story of AIOS in the middle of its work, or under review with and without a verdict.
fn story(sandbox: &Sandbox, dice: &mut Dice, number: usize) -> Known {
    let status = match dice.roll(3) {
        0 => "**Status:** InProgress",
        1 => "## Status\n- **Status**: In Progress",
        _ => "## Status\n\nReadyForReview",
    };
    let is_reviewed = status.ends_with("Review");
    let verdict = match is_reviewed && dice.roll(2) == 0 {
        true => dice.pick(&["## QA Results\n\n### Gate Decision\n\nPASS\n", "## QA Results\n**Verdict:** APPROVED\n"]),
        false => "",
    };
    let boxes = if is_reviewed { "- [x] One\n- [x] Two" } else { "- [x] One\n- [ ] Two" };
    let text = format!("# Story {number}.1: A tree\n\n{status}\n\n## Tasks\n{boxes}\n\n{verdict}");
    sandbox.file(&format!("docs/stories/{number}.1.tree.story.md"), &text);
    let mut known = Known { run: format!("sdc-{number}.1"), done: Vec::new(), open: Vec::new() };
    known.done.extend(["1_create", "2_validate"].map(str::to_owned));
    match (is_reviewed, verdict.is_empty()) {
        (true, false) => known.done.extend(["3_implement", "4_qa"].map(str::to_owned)),
        (true, true) => known.open.push("4_qa".to_owned()),
        (false, _) => known.open.push("3_implement".to_owned()),
    }
    known
}

/// Adds files that are no run: another tool's state, a plan, a leftover, a finished story.
fn foreign(sandbox: &Sandbox, dice: &mut Dice) {
    let (path, text) = match dice.roll(5) {
        0 => (".workflow/.maestro/run/status.json", "{\"status\":\"running\"}"),
        1 => (
            "docs/stories/epics/epic-kite/rollout-plan.yaml",
            "epicId: KITE\nstatus: planned\nwaves:\n- {id: w, stories: [K-1]}\n",
        ),
        2 => (".aios/crew-jobs/night/state.yaml", "jobId: night\npipeline: x\nstatus: running\n"),
        3 => ("docs/stories/9.9.over.story.md", "# Story 9.9: Over\n\n**Status:** Done\n\n## Tasks\n- [ ] never\n"),
        _ => (".workflow-state.json", "{\"schemaVersion\":\"2\",\"nodes\":[]}"),
    };
    sandbox.file(path, text);
}

fn ids(output: &Output, pointer: &str) -> Vec<String> {
    let steps = output.at(pointer);
    steps.as_array().into_iter().flatten().map(|id| id.as_str().unwrap_or_default().to_owned()).collect()
}

/// Tells what is wrong with the plan of a run.
fn wrong(known: &Known, plan: &Output) -> Vec<String> {
    let mut wrong = Vec::new();
    let next = plan.at("/data/next");
    for next in next.as_array().into_iter().flatten() {
        let (action, step) = (next["action"].as_str().unwrap_or_default(), next["step"].as_str().unwrap_or_default());
        if ["run", "retry", "return"].contains(&action) && known.done.iter().any(|done| done == step) {
            wrong.push(format!("{step} is done, and the plan says {action}"));
        }
    }
    let completed = ids(plan, "/data/steps/completed");
    for open in known.open.iter().filter(|open| completed.contains(open)) {
        wrong.push(format!("{open} is open, and the plan calls it completed"));
    }
    if !known.open.is_empty()
        && ["complete", "nothing"].contains(&plan.at("/data/verdict").as_str().unwrap_or_default())
    {
        wrong.push(format!("{} is open, and the verdict is {}", known.open.join(", "), plan.at("/data/verdict")));
    }
    wrong
}

/// Makes the tree of a seed, and returns its runs.
fn tree(seed: usize) -> (Sandbox, Vec<Known>) {
    let mut dice = Dice(seed as u64 * 7_919 + 1);
    let sandbox = if dice.roll(3) == 0 { Sandbox::new() } else { Sandbox::with_git() };
    let mut known = Vec::new();
    for number in 1..=1 + dice.roll(3) {
        known.push(if dice.roll(3) == 0 {
            story(&sandbox, &mut dice, number)
        } else {
            ccw(&sandbox, &mut dice, number)
        });
        foreign(&sandbox, &mut dice);
    }
    if sandbox.exists(".git") && dice.roll(2) == 0 {
        sandbox.commit("a tree");
    }
    for path in sandbox.tree().without(".git").without_folders().paths() {
        sandbox.modified(&path, CHECKED_OUT);
    }
    (sandbox, known)
}

#[test]
fn in_generated_trees_every_verb_says_the_same_and_what_is_true() {
    let seeds = if takes_all() { 400 } else { 15 };
    let (mut problems, mut runs) = (Vec::new(), 0);
    for seed in 0..seeds {
        let (sandbox, known) = tree(seed);
        let before = sandbox.everything();
        let list = sandbox.piton(["list"]).now(NOW).run();
        let listed = list.at("/data/runs");
        let row = |run: &str| listed.as_array().into_iter().flatten().find(|row| row["id"] == *run).cloned();
        let event = json!({"session_id": "s", "cwd": sandbox.root(), "source": "startup"}).to_string();
        let hook = sandbox.piton(["hook", "session-start"]).now(NOW).stdin(event.as_bytes()).run().expect_code(0);
        for known in &known {
            runs += 1;
            let plan = sandbox.piton(["plan", &known.run, "--steps"]).now(NOW).run();
            problems
                .extend(wrong(known, &plan).into_iter().map(|wrong| format!("tree {seed}, {}: {wrong}", known.run)));
            let status = sandbox.piton(["status", &known.run]).now(NOW).run();
            if status.at("/data/verdict") != plan.at("/data/verdict") {
                problems.push(format!("tree {seed}, {}: status says {status}", known.run));
            }
            if let Some(row) = row(&known.run) {
                let of_plan = (plan.at("/data/verdict"), plan.at("/data/age/band"));
                if (&row["verdict"], &row["age_band"]) != (&of_plan.0, &of_plan.1) {
                    problems.push(format!("tree {seed}, {}: the list says {row}, and the plan {of_plan:?}", known.run));
                }
            } else if !known.open.is_empty() {
                problems.push(format!("tree {seed}, {}: it is not listed\n{list}", known.run));
            }
            let is_over = matches!(plan.at("/data/verdict").as_str(), Some("complete" | "nothing"));
            if is_over && hook.stdout.contains(&format!("- {} (", known.run)) {
                problems.push(format!("tree {seed}, {}: the hook offers a run that is over", known.run));
            }
        }
        // A hook keeps its own log of sessions.
        let changes = before.without(".piton").changes(&sandbox.everything().without(".piton"));
        problems.extend(
            changes
                .into_iter()
                .filter(|path| !path.contains(".piton/") && !path.contains(".git/piton"))
                .map(|path| format!("tree {seed}: {path} changed")),
        );
    }
    println!("generated trees: {seeds} trees, {runs} runs, {} wrong", problems.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
