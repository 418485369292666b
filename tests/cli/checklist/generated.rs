//! Generated projects: spellings, orders, line ends, languages; half ticked, built and unticked, ticked and unbuilt.

use super::next;
use super::plan;
use super::steps;
use crate::support::Dice;
use crate::support::Sandbox;
use crate::support::takes_all;

/// A task of a generated project.
struct Generated {
    id: String,
    file: String,
    is_ticked: bool,
    is_built: bool,
}

/// Writes a project of one grammar, and returns the list and its tasks.
fn project(sandbox: &Sandbox, dice: &mut Dice) -> (String, Vec<Generated>) {
    let grammar = dice.below(3);
    let count = 3 + dice.below(9);
    let style = dice.below(4);
    let end = if dice.below(3) == 0 { "\r\n" } else { "\n" };
    let bullet = ["-", "*", "+", "1."][dice.below(4)];
    let word = ["Add", "Ajouter", "作成", "Добавить"][dice.below(4)];
    let mut tasks = Vec::new();
    let mut text = format!("{}# Tasks: {word}{end}{end}", if dice.below(4) == 0 { "\u{feff}" } else { "" });
    for at in 1..=count {
        let is_ticked = match style {
            0 => at * 2 < count,
            1 => false,
            2 => dice.below(2) == 0,
            _ => true,
        };
        let is_built = match dice.below(4) {
            0 => !is_ticked,
            _ => is_ticked,
        };
        let mark = if is_ticked { ["x", "X"][dice.below(2)] } else { " " };
        let file = format!("src/m{at}/part{at}.rs");
        let id = match grammar {
            0 => format!("T{at:03}"),
            1 => format!("1.{at}"),
            _ => format!("task-{at}"),
        };
        if grammar == 0 && at % 4 == 1 {
            text.push_str(&format!("## Phase {}: {word}{end}{end}", at / 4 + 1));
        }
        if grammar == 1 && at == 1 {
            text.push_str(&format!("## 1. {word}{end}"));
        }
        let bold = if dice.below(3) == 0 { "**" } else { "" };
        text.push_str(&match grammar {
            0 => format!("{bullet} [{mark}] {bold}{id}{bold} {word} `{file}`{end}"),
            1 => format!("{bullet} [{mark}] {bold}{id}{bold} {word} `{file}`{end}"),
            _ => format!("### Task {at}: {word}{end}{end}**Files:**{end}- Create: `{file}`{end}{end}- [{mark}] **Step 1: {word}**{end}{end}"),
        });
        tasks.push(Generated { id, file, is_ticked, is_built });
    }
    let path = ["specs/001-gen/tasks.md", "openspec/changes/gen/tasks.md", "docs/superpowers/plans/2026-01-02-gen.md"]
        [grammar];
    sandbox.file(path, &text).file("README.md", "x");
    if dice.below(3) > 0 {
        sandbox.git_init();
        sandbox.commit("plan");
    }
    for task in tasks.iter().filter(|task| task.is_built) {
        sandbox.file(&task.file, "x");
    }
    if sandbox.exists(".git/HEAD") && tasks.iter().any(|task| task.is_built) {
        sandbox.commit("build");
    }
    (path.to_owned(), tasks)
}

#[test]
fn nothing_that_was_built_runs_again_and_nothing_open_is_done() {
    let rounds = if takes_all("PITON_PLANS") { 2_000 } else { 40 };
    for seed in 0..rounds {
        let mut dice = Dice::new(seed);
        let sandbox = Sandbox::new();
        let (path, tasks) = project(&sandbox, &mut dice);
        let before = sandbox.everything();
        let output = plan(&sandbox, &path);
        let next = next(&output);
        for task in &tasks {
            let runs = ["run", "retry"].map(|action| format!("{action} {}", task.id));
            let is_run = next.iter().any(|step| runs.contains(step));
            assert!(!(is_run && (task.is_ticked || task.is_built)), "seed {seed}: {} runs again: {output}", task.id);
        }
        let completed = steps(&sandbox, &path, "completed");
        let wrong = tasks.iter().find(|task| !task.is_ticked && completed.contains(&task.id));
        assert!(wrong.is_none(), "seed {seed}: {} is called done", wrong.map_or("", |task| &task.id));
        let all_ticked = tasks.iter().all(|task| task.is_ticked);
        let verdict = output.at("/data/verdict");
        assert!(all_ticked || verdict != "complete", "seed {seed}: {output}");
        let list = sandbox.piton(["list", "--all"]).run();
        let row = list
            .at("/data/runs")
            .as_array()
            .and_then(|runs| runs.iter().find(|run| run["state"] == path.as_str()).cloned());
        let listed = row.unwrap_or_else(|| panic!("seed {seed}: {list}"))["verdict"].clone();
        assert!(listed == verdict || listed == "confirm", "seed {seed}: list says {listed}, plan {verdict}");
        for verb in
            [vec!["context", &path], vec!["status", &path], vec!["validate", &path], vec!["plan", &path, "--patch"]]
        {
            sandbox.piton(verb.iter().map(|word| &**word)).run();
        }
        assert_eq!(before.changes(&sandbox.everything()), [""; 0], "seed {seed}");
    }
}
