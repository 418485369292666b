//! Which run is selected: by number, id, part of an id, path, or because there is only one.

use super::projects::{self, NINE_STEP, SESSION, document, hints, replace, run_printed};
use crate::support::{Output, Sandbox};

fn run_of(output: &Output) -> String {
    assert_eq!(output.code, 0, "{output}");
    document(output)["data"]["run"]["id"].as_str().expect("a run has an id").to_owned()
}

#[test]
fn a_run_has_many_names() {
    let sandbox = projects::both();
    let absolute = sandbox.root().join(NINE_STEP).into_string();
    let worktree = sandbox.root().join(".worktree/user-auth").into_string();
    for (name, id) in [
        ("1", "user-auth"),
        ("2", "WFS-user-auth"),
        ("user-auth", "user-auth"),
        ("WFS-user-auth", "WFS-user-auth"),
        ("wfs", "WFS-user-auth"),
        (".worktree/user-auth", "user-auth"),
        ("./.worktree/user-auth/", "user-auth"),
        (NINE_STEP, "user-auth"),
        (absolute.as_str(), "user-auth"),
        (worktree.as_str(), "user-auth"),
        (SESSION, "WFS-user-auth"),
        ("./.workflow", "WFS-user-auth"),
        (".workflow", "WFS-user-auth"),
        (".workflow/active/WFS-user-auth/workflow-session.json", "WFS-user-auth"),
        (".workflow/active/WFS-user-auth/.task/IMPL-002.json", "WFS-user-auth"),
    ] {
        assert_eq!(run_of(&sandbox.piton(["plan", name]).run()), id, "{name}");
    }
    // A bare word names a run; `./` makes it a path, and so does the dot of a hidden folder.
    sandbox.file("notes/a.md", "");
    sandbox.piton(["plan", "notes"]).run().expect_code(3);
}

#[test]
fn the_run_of_the_current_folder_is_selected() {
    let sandbox = projects::both();
    let inside = sandbox.piton(["plan"]).folder(".worktree/user-auth".into()).run();
    assert_eq!(run_of(&inside), "user-auth");
    let inside = sandbox.piton(["plan"]).folder(SESSION.into()).run();
    assert_eq!(run_of(&inside), "WFS-user-auth");
}

/// Starts two nine-step runs with the same steps.
fn twins() -> Sandbox {
    let sandbox = Sandbox::with_git();
    for feature in ["quotes", "orders"] {
        sandbox.piton(["start", "nine-step", "--feature", feature, "--phases", "1"]).run().expect_code(0);
    }
    sandbox
}

/// N-D20.
#[test]
fn several_runs_are_listed_with_the_command_that_was_typed() {
    for (typed, printed) in [
        (&["plan"][..], "piton plan user-auth"),
        (&["resume", "--yes"], "piton resume user-auth --yes"),
        (&["status"], "piton status user-auth"),
        (&["history"], "piton history user-auth"),
        (&["archive", "--yes"], "piton archive user-auth --yes"),
        (&["context", "--budget", "900"], "piton context user-auth --budget 900"),
        (&["plan", "auth", "--retry"], "piton plan user-auth --retry"),
        (&["plan", "--format", "json"], "piton plan user-auth"),
        (&["pause", "--run", "auth", "--reason", "it's late"], r"piton pause user-auth --reason 'it'\''s late'"),
        (&["validate", "auth"], "piton validate user-auth"),
        (&["begin", "--agent", "a b"], "piton begin --run user-auth --agent 'a b'"),
    ] {
        let sandbox = projects::both();
        let before = sandbox.tree();
        let asked = sandbox.piton(typed.iter().copied()).run().expect_code(8);
        assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0], "{typed:?}");
        let hints = hints(&asked);
        assert_eq!(hints[0].split("   # ").next(), Some(printed), "{asked}");
        assert_eq!(
            hints[0].split("   # ").nth(1),
            Some("1. Phase 2: Step 4 failed, next: return 2:3 (Implementation), 30 minutes ago")
        );
        assert_eq!(hints.len(), 2, "{asked}");
        for hint in hints {
            run_printed(&sandbox, &hint).expect_code(0);
        }
    }
}

#[test]
fn a_step_that_several_runs_have_is_asked_about() {
    let sandbox = twins();
    for typed in [
        &["begin", "1:1"][..],
        &["finish", "1:1", "--output", "a", "b"],
        &["skip", "1:1", "--reason", "-"],
        &["approve", "1:2.5", "--by", "Kim"],
        &["accept", "1:2", "--note", "-x"],
    ] {
        let asked = sandbox.piton(typed.iter().copied()).run().expect_code(8);
        let hints = hints(&asked);
        let of = |run: &str| {
            let rest = typed[2..].join(" ").replace("--note -x", "--note='-x'").replace("--reason -", "--reason='-'");
            let rest = if rest.is_empty() { rest } else { format!(" {rest}") };
            format!("piton {} {} --run {run}{rest}", typed[0], typed[1])
        };
        let commands: Vec<&str> = hints.iter().filter_map(|hint| hint.split("   # ").next()).collect();
        assert_eq!(commands, [of("orders"), of("quotes")], "{asked}");
    }
    let begin = hints(&sandbox.piton(["begin", "1:1"]).run());
    run_printed(&sandbox, &begin[1]).expect_code(0);
    assert!(sandbox.read(".plan/quotes.workflow-state.json").contains("in_progress"));
    assert!(!sandbox.read(".plan/orders.workflow-state.json").contains("in_progress"));
}

#[test]
fn the_only_run_that_has_a_step_is_taken() {
    let sandbox = projects::both();
    let finished = sandbox.piton(["finish", "impl-002"]).run().expect_code(0);
    assert_eq!(finished.at("/data/run"), "WFS-user-auth");
    let begun = sandbox.piton(["begin", "2:3"]).run().expect_code(0);
    assert_eq!(begun.at("/data/run"), "user-auth");
    let change = r#"{"change": "finish", "step": "2:3", "status": "completed"}"#;
    let finished = sandbox.piton(["finish", "--json", "-"]).stdin(change).run().expect_code(0);
    assert_eq!(finished.at("/data/run"), "user-auth");

    let before = sandbox.tree();
    let nowhere = sandbox.piton(["begin", "9:9"]).run().expect_code(3);
    assert_eq!(nowhere.at("/error/message"), "no open run has a step `9:9`");
    for hint in hints(&nowhere) {
        run_printed(&sandbox, &hint).expect_code(0);
    }
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
}

#[test]
fn numbers_and_paths_with_blanks_and_quotes_are_quoted() {
    let sandbox = Sandbox::new();
    for name in ["one", "two"] {
        let state = format!(".worktree/it's {name}/.workflow-state.json");
        sandbox.file(&state, &projects::nine_step().read(NINE_STEP));
    }
    // Both have the same name, so a path selects.
    let output = sandbox.piton(["plan"]).run().expect_code(8);
    let hint = output.at("/error/hints/0").as_str().unwrap().to_owned();
    assert!(hint.starts_with(r"piton plan '$ROOT/.worktree/it'\''s one/.workflow-state.json'"), "{hint}");
    assert!(hint.contains("# 1. user-auth, Phase 2: "), "{hint}");
    run_printed(&sandbox, &hint).expect_code(9);
    sandbox.piton(["plan", ".worktree/it's two"]).run().expect_code(9);
    let output = sandbox.piton(["--project", ".worktree/it's two", "plan"]).run().expect_code(9);
    assert_eq!(output.at("/data/run/worktree"), ".worktree/it's two");
}

/// N-D21.
#[test]
fn a_folder_and_a_branch_are_names_of_a_run() {
    let sandbox = twins();
    sandbox.worktree(".worktree/feat-quotes", "work/quotes");
    let state = sandbox.read(".plan/quotes.workflow-state.json");
    sandbox.remove(".plan/quotes.workflow-state.json");
    sandbox.file(".worktree/feat-quotes/.workflow-state.json", &state.replace("feature/quotes", "work/quotes"));
    for (typed, id) in [("feat-quotes", "quotes"), ("work/quotes", "quotes"), ("feature/orders", "orders")] {
        assert_eq!(run_of(&sandbox.piton(["plan", typed]).run()), id, "{typed}");
        let status = sandbox.piton(["status", typed]).run().expect_code(0);
        assert_eq!(status.at("/data/run"), id, "{typed}");
    }
    sandbox.piton(["pause", "--run", "feat-quotes"]).run().expect_code(0);
    assert!(sandbox.read(".worktree/feat-quotes/.workflow-state.json").contains("paused"));
    // A branch of two runs does not select one of them.
    let orders = sandbox.read(".plan/orders.workflow-state.json");
    sandbox.file(".plan/orders.workflow-state.json", &orders.replace("feature/orders", "work/quotes"));
    sandbox.piton(["plan", "work/quotes"]).run().expect_code(8);
}

#[test]
fn a_typo_is_answered_with_the_nearest_names() {
    let sandbox = twins();
    let asked = sandbox.piton(["begin", "1:1", "--run", "qotes"]).run().expect_code(3);
    assert_eq!(asked.at("/error/message"), "no run `qotes` in $ROOT; did you mean quotes?");
    let command = hints(&asked);
    assert_eq!(command.len(), 1, "{asked}");
    assert!(command[0].starts_with("piton begin 1:1 --run quotes   # "), "{asked}");
    run_printed(&sandbox, &command[0]).expect_code(0);

    let by_branch = sandbox.piton(["plan", "faeture/orders"]).run().expect_code(3);
    assert!(hints(&by_branch)[0].starts_with("piton plan orders   # "), "{by_branch}");

    sandbox.piton(["start", "nine-step", "--feature", "quoted", "--phases", "1"]).run().expect_code(0);
    let asked = sandbox.piton(["status", "quoten"]).run().expect_code(3);
    assert_eq!(asked.at("/error/message"), "no run `quoten` in $ROOT; did you mean quoted or quotes?");
    for hint in hints(&asked) {
        run_printed(&sandbox, &hint).expect_code(0);
    }

    let far = sandbox.piton(["status", "something-else"]).run().expect_code(3);
    assert_eq!(hints(&far), ["there are orders, quoted, quotes", "piton list --all"]);
}

#[test]
fn another_project_is_one_flag_away() {
    let sandbox = projects::ccw();
    let elsewhere = Sandbox::new();
    let root = sandbox.root().into_string();
    let output = elsewhere.piton(["--project", &root, "plan"]).run();
    assert_eq!(run_of(&output), "WFS-user-auth");
    assert_eq!(run_of(&elsewhere.piton(["plan", &root]).run()), "WFS-user-auth");
    let output = elsewhere.piton(["plan", "--project", "no/such/place"]).run().expect_code(4);
    assert!(output.at("/error/message").as_str().unwrap().starts_with("no/such/place"), "{output}");
}

#[test]
fn a_nested_repository_is_a_project_of_its_own() {
    let sandbox = projects::ccw();
    sandbox.git_init();
    sandbox.file("vendored/x", "").git_in("vendored", ["init", "--quiet", "--initial-branch=main"]);
    let inner = projects::nine_step().read(NINE_STEP);
    sandbox.file(&format!("vendored/{NINE_STEP}"), &inner);
    assert_eq!(run_of(&sandbox.piton(["plan"]).run()), "WFS-user-auth");
    let output = sandbox.piton(["plan"]).folder("vendored".into()).run();
    assert_eq!(output.at("/data/run/id"), "user-auth");
}

#[test]
fn of_several_runs_the_only_open_one_is_meant() {
    let sandbox = projects::both();
    sandbox.piton(["abort", "./.worktree/user-auth"]).run().expect_code(0);
    assert_eq!(run_of(&sandbox.piton(["plan"]).run()), "WFS-user-auth");
    replace(&sandbox, &format!("{SESSION}/.task/IMPL-002.json"), "in_progress", "completed");
    assert_eq!(sandbox.piton(["plan", "user-auth"]).run().at("/data/run/id"), "user-auth");
}

#[test]
fn of_many_runs_the_five_newest_are_named() {
    let sandbox = Sandbox::new();
    for number in 10..18 {
        let state = sandbox_state(&format!("run-{number}"), &format!("2026-01-31T11:{number}:00Z"));
        sandbox.file(&format!(".worktree/run-{number}/.workflow-state.json"), &state);
    }
    let named = |output: &Output| {
        let hints = hints(output);
        let runs =
            hints.iter().filter_map(|hint| Some(hint.strip_prefix("piton plan ")?.split(' ').next()?.to_owned()));
        (runs.collect::<Vec<_>>(), hints.last().cloned().unwrap_or_default())
    };
    let newest = ["run-17", "run-16", "run-15", "run-14", "run-13"].map(str::to_owned).to_vec();
    let output = sandbox.piton(["plan"]).run().expect_code(8);
    assert_eq!(named(&output), (newest.clone(), "3 more: `piton list`".to_owned()));
    let elsewhere = sandbox.piton(["plan", "--project", "."]).run().expect_code(8);
    assert_eq!(named(&elsewhere), (newest, "3 more: `piton list --project .`".to_owned()));
    let all = sandbox.piton(["list", "--project", "."]).run().expect_code(0);
    assert_eq!(document(&all)["data"]["runs"].as_array().map(Vec::len), Some(8));
}

/// Returns the state of the nine-step example for another feature and time.
fn sandbox_state(feature: &str, updated: &str) -> String {
    let mut state: serde_json::Value =
        serde_json::from_str(&projects::nine_step().read(NINE_STEP)).expect("the example is JSON");
    state["feature_name"] = feature.into();
    state["last_execution"]["timestamp"] = updated.into();
    state.to_string()
}
