//! Generated projects: spellings, orders, line ends, languages; half ticked, built and unticked, ticked and unbuilt.

use crate::{
    cli::generated::{Generated, Project, Trace, check, rounds},
    support::{Dice, Sandbox},
};

/// Writes a project of one grammar.
fn project(sandbox: &Sandbox, dice: &mut Dice) -> Project {
    let grammar = dice.below(4);
    let count = 3 + dice.below(9);
    let style = dice.below(4);
    let end = if dice.below(3) == 0 { "\r\n" } else { "\n" };
    let bullet = ["-", "*", "+", "1."][dice.below(4)];
    let word = ["Add", "Ajouter", "作成", "Добавить"][dice.below(4)];
    let (mut tasks, mut files) = (Vec::new(), Vec::new());
    let mut text = format!("{}# Tasks: {word}{end}{end}", if dice.below(4) == 0 { "\u{feff}" } else { "" });
    for at in 1..=count {
        let is_ticked = match style {
            0 => at * 2 < count,
            1 => false,
            2 => dice.below(2) == 0,
            _ => true,
        };
        // A plan of plan mode names no results.
        let is_built = grammar != 3 && if dice.below(4) == 0 { !is_ticked } else { is_ticked };
        let mark = if is_ticked { ["x", "X"][dice.below(2)] } else { " " };
        let file = format!("src/m{at}/part{at}.rs");
        let id = match grammar {
            0 => format!("T{at:03}"),
            1 => format!("1.{at}"),
            2 => format!("task-{at}"),
            _ => at.to_string(),
        };
        if grammar == 0 && at % 4 == 1 {
            text.push_str(&format!("## Phase {}: {word}{end}{end}", at / 4 + 1));
        }
        if grammar == 1 && at == 1 {
            text.push_str(&format!("## 1. {word}{end}"));
        }
        let bold = if dice.below(3) == 0 { "**" } else { "" };
        text.push_str(&match grammar {
            0 | 1 => format!("{bullet} [{mark}] {bold}{id}{bold} {word} `{file}`{end}"),
            3 => format!("{bullet} [{mark}] {bold}{word}{bold} the rest{end}"),
            _ => format!("### Task {at}: {word}{end}{end}**Files:**{end}- Create: `{file}`{end}{end}- [{mark}] **Step 1: {word}**{end}{end}"),
        });
        files.extend(is_built.then_some(file));
        let trace = if is_built { Trace::All } else { Trace::Nothing };
        tasks.push(Generated { id, is_claimed: is_ticked, trace });
    }
    let (path, run) = [
        ("specs/001-gen/tasks.md", "speckit-001-gen"),
        ("openspec/changes/gen/tasks.md", "openspec-gen"),
        ("docs/superpowers/plans/2026-01-02-gen.md", "superpowers-2026-01-02-gen"),
        ("plans/gen.md", "plan-gen"),
    ][grammar];
    sandbox.file(".claude/settings.json", "{\"plansDirectory\": \"plans\"}");
    sandbox.file(path, &text).file("README.md", "x");
    if dice.below(3) > 0 {
        sandbox.git_init();
        sandbox.commit("plan");
    }
    for file in &files {
        sandbox.file(file, "x");
    }
    if sandbox.exists(".git/HEAD") && !files.is_empty() {
        sandbox.commit("build");
    }
    Project { run: run.to_owned(), state: path.to_owned(), steps: tasks, first: None }
}

#[test]
fn nothing_that_was_built_runs_again_and_nothing_open_is_done() {
    for seed in 0..rounds() {
        let mut dice = Dice::new(seed);
        let sandbox = Sandbox::new();
        let project = project(&sandbox, &mut dice);
        check(&sandbox, &project, seed);
    }
}
