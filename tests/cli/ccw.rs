//! What cases do not say of CCW (docs/formats/ccw.md, tests/cases/ccw): the table of its decisions, sizes, a terminal,
//! sessions of public projects, and calls at the same time.

use serde_json::{Value, json};

use crate::support::{Output, Sandbox, Tree, repository};

const DIR: &str = ".workflow/active/WFS-x";

/// Makes a project with the session `WFS-x`, three hours old, with a plan document and nothing to do.
fn session() -> Sandbox {
    let sandbox = Sandbox::new();
    add_to(&sandbox, DIR);
    sandbox
}

fn add_to(sandbox: &Sandbox, dir: &str) {
    let id = dir.rsplit('/').next().expect("a path has a name");
    let state =
        json!({"session_id": id, "project": "Sign-in", "status": "active", "created_at": "2026-01-31T09:00:00Z"});
    sandbox.file(&format!("{dir}/workflow-session.json"), &state.to_string());
    sandbox.file(&format!("{dir}/IMPL_PLAN.md"), "# Plan\n");
}

/// Writes the file of a task; a field that is null is left out.
fn task(sandbox: &Sandbox, id: &str, fields: &Value) {
    let mut task = json!({"id": id, "title": format!("Title of {id}")});
    for (key, value) in fields.as_object().expect("fields are an object") {
        task[key] = value.clone();
    }
    task.as_object_mut().expect("it was made as one").retain(|_, value| !value.is_null());
    sandbox.file(&format!("{DIR}/.task/{id}.json"), &task.to_string());
}

/// Writes the checklist, ` ` standing for an open box.
fn todo(sandbox: &Sandbox, marks: &[(&str, char)]) {
    let lines: String = marks.iter().map(|(id, mark)| format!("- [{mark}] **{id}**: Title of {id}\n")).collect();
    sandbox.file(&format!("{DIR}/TODO_LIST.md"), &format!("# Tasks\n\n{lines}"));
}

fn summary(sandbox: &Sandbox, id: &str) {
    sandbox.file(&format!("{DIR}/.summaries/{id}-summary.md"), &format!("# What {id} did\n"));
}

/// Returns what comes next as `run IMPL-1`.
fn next(plan: &Output) -> Vec<String> {
    let word = |next: &Value, key: &str| next[key].as_str().unwrap_or_default().to_owned();
    let next = plan.at("/data/next");
    next.as_array().into_iter().flatten().map(|next| word(next, "action") + " " + &word(next, "step")).collect()
}

/// One row: status, has a summary, mark in the checklist (`-` none) → the next step and its kind when the
/// dependency is done, and when it is not and never will be.
type Row = (&'static str, bool, char, (&'static str, &'static str), (&'static str, &'static str));

const COMPLETE: (&str, &str) = ("archive", "workflow_complete");
const BLOCK: (&str, &str) = ("", "dependency_block");
const READY: (&str, &str) = ("run", "ready_to_execute");
const LOOK: (&str, &str) = ("verify", "needs_verification");
const CUT_OFF: (&str, &str) = ("retry", "agent_interruption");
const FAILURE: (&str, &str) = ("retry", "task_failure");

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("pending",     false, '-', READY,    BLOCK),
    ("pending",     false, ' ', READY,    BLOCK),
    ("pending",     false, 'x', LOOK,     LOOK),
    ("pending",     true,  '-', LOOK,     LOOK),
    ("pending",     true,  ' ', LOOK,     LOOK),
    ("pending",     true,  'x', LOOK,     LOOK),
    ("",            false, '-', READY,    BLOCK),
    ("",            false, ' ', READY,    BLOCK),
    ("",            false, 'x', LOOK,     LOOK),
    ("",            true,  ' ', LOOK,     LOOK),
    ("",            true,  'x', LOOK,     LOOK),
    ("in_progress", false, '-', CUT_OFF,  CUT_OFF),
    ("in_progress", false, ' ', CUT_OFF,  CUT_OFF),
    ("in_progress", false, 'x', LOOK,     LOOK),
    ("in_progress", true,  ' ', LOOK,     LOOK),
    ("in_progress", true,  'x', LOOK,     LOOK),
    ("active",      false, ' ', CUT_OFF,  CUT_OFF),
    ("active",      true,  '-', LOOK,     LOOK),
    ("completed",   false, '-', COMPLETE, COMPLETE),
    ("completed",   false, ' ', COMPLETE, COMPLETE),
    ("completed",   false, 'x', COMPLETE, COMPLETE),
    ("completed",   true,  ' ', COMPLETE, COMPLETE),
    ("completed",   true,  'x', COMPLETE, COMPLETE),
    ("failed",      false, ' ', FAILURE,  FAILURE),
    ("failed",      true,  ' ', FAILURE,  FAILURE),
    ("failed",      false, 'x', FAILURE,  FAILURE),
    ("blocked",     false, ' ', READY,    BLOCK),
    ("blocked",     false, 'x', LOOK,     LOOK),
    ("blocked",     true,  ' ', LOOK,     LOOK),
    ("blocked",     true,  'x', LOOK,     LOOK),
    ("skipped",     false, ' ', COMPLETE, COMPLETE),
    ("skipped",     true,  'x', COMPLETE, COMPLETE),
    ("cancelled",   false, ' ', COMPLETE, COMPLETE),
    ("cancelled",   true,  'x', COMPLETE, COMPLETE),
    ("container",   false, ' ', BLOCK,    BLOCK),
    ("half-baked",  false, ' ', BLOCK,    BLOCK),
    ("half-baked",  true,  'x', BLOCK,    BLOCK),
];

#[test]
fn every_row_of_the_decision_table() {
    for (status, has_summary, mark, met, unmet) in TABLE {
        for (dependency, (action, kind)) in [("completed", met), ("cancelled", unmet)] {
            let sandbox = session();
            task(&sandbox, "IMPL-1", &json!({"status": dependency}));
            let status_field = if status.is_empty() { Value::Null } else { json!(status) };
            task(&sandbox, "IMPL-2", &json!({"status": status_field, "depends_on": ["IMPL-1"]}));
            summary(&sandbox, "IMPL-1");
            let marks = [("IMPL-1", 'x'), ("IMPL-2", *mark)];
            todo(&sandbox, if *mark == '-' { &marks[..1] } else { &marks });
            if *has_summary {
                summary(&sandbox, "IMPL-2");
            }
            let plan = sandbox.piton(["plan", "--native", "--exit-code"]).run();
            let row = format!("{status}, summary {has_summary}, [{mark}], dependency {dependency}\n{plan}");
            let expected: &[String] = if action.is_empty() { &[] } else { &[format!("{action} IMPL-2")] };
            assert_eq!(next(&plan), expected, "{row}");
            assert_eq!(plan.at("/data/native/interruption_point/type"), *kind, "{row}");
            let (verdict, code) = match *action {
                "archive" => ("complete", 0),
                "" => ("blocked", 9),
                "verify" => ("confirm", 9),
                // What blocked it is done, or was never said.
                "run" if *status == "blocked" => ("confirm", 9),
                _ => ("resume", 0),
            };
            assert_eq!((plan.at("/data/verdict"), plan.code), (json!(verdict), code), "{row}");
        }
    }
}

#[test]
fn a_budget_is_kept_and_what_is_left_out_is_listed() {
    let sandbox = session();
    task(&sandbox, "IMPL-1", &json!({"status": "completed"}));
    task(&sandbox, "IMPL-2", &json!({"status": "in_progress", "depends_on": ["IMPL-1"]}));
    summary(&sandbox, "IMPL-1");
    let whole = sandbox.piton(["context"]).run().expect_code(0);
    let budget = whole.at("/data").to_string().len() - 1;
    let cut = sandbox.piton(["context", "--budget", &budget.to_string()]).run().expect_code(0);
    assert!(cut.at("/data").to_string().len() <= budget, "{}", cut.at("/data").to_string().len());
    assert_eq!(cut.at("/data/omitted/0/what"), "done", "{cut}");
    assert_eq!(cut.at("/data/next_action"), whole.at("/data/next_action"));
}

/// A plan of fifty rows is folded: what is next and what is wrong come first, the rest on request.
#[test]
fn a_plan_of_fifty_rows_is_folded() {
    let sandbox = session();
    let ids: Vec<String> = (1..=50).map(|number| format!("IMPL-{number}")).collect();
    ids.iter().for_each(|id| task(&sandbox, id, &json!({"status": "pending"})));
    let ticks = ids.iter().enumerate().map(|(at, id)| (id.as_str(), if at < 40 { ' ' } else { 'x' }));
    todo(&sandbox, &ticks.collect::<Vec<_>>());
    let short = sandbox.piton(["plan", "--format", "text", "--exit-code"]).run().expect_code(9).stdout;
    assert!(short.contains("  and 32 more, IMPL-9 to IMPL-40; `-v` shows them"), "{short}");
    assert!(short.contains("  verify 10 steps IMPL-41, IMPL-42,"), "{short}");
    assert!(short.contains(", 6 of status-conflict; -v shows them"), "{short}");
    assert!(short.lines().count() <= 45, "{short}");
    let long = sandbox.piton(["plan", "-v", "--format", "text", "--exit-code"]).run().expect_code(9).stdout;
    assert!(ids.iter().all(|id| long.contains(&format!(" {id} "))), "{long}");
    assert_eq!(long.matches("[status-conflict]").count(), 10, "{long}");
}

#[test]
fn a_resume_that_is_declined_names_the_command_for_later() {
    let sandbox = session();
    task(&sandbox, "IMPL-1", &json!({"status": "pending"}));
    let resume = sandbox.piton(["--format", "text", "resume", "--skip", "IMPL-1"]);
    if let Some(declined) = resume.on_terminal("n\n") {
        let yes = "→ when you do: piton resume WFS-x --skip IMPL-1 --yes";
        assert!(declined.stderr.contains(yes), "{declined}");
    }
}

#[test]
fn two_sessions_archived_at_once_are_both_entered() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..6).map(|number| format!("WFS-{number}")).collect();
    for name in &names {
        add_to(&sandbox, &format!(".workflow/active/{name}"));
        sandbox.file(&format!(".workflow/active/{name}/.task/IMPL-1.json"), "{\"id\": \"IMPL-1\"}\n");
    }
    std::thread::scope(|scope| {
        for name in &names {
            let call = sandbox.piton(["close", name, "--abort"]).env("PITON_LOCK_TIMEOUT_MS", "60000");
            scope.spawn(|| call.run().expect_code(0));
        }
    });
    let list = sandbox.read_json(".workflow/archives/manifest.json");
    let mut entered: Vec<&str> =
        list.as_array().unwrap().iter().map(|entry| entry["session_id"].as_str().unwrap()).collect();
    entered.sort_unstable();
    assert_eq!(entered, names);
}

/// Project, session, exit code, verdict, what is next.
type Real = (&'static str, &'static str, i32, &'static str, &'static [&'static str]);

const REAL: &[Real] = &[
    (
        "nano-banana",
        "WFS-refactor-frontend-shadcn-hci",
        9,
        "confirm",
        &["verify IMPL-007", "verify IMPL-008", "verify IMPL-009", "verify IMPL-011"],
    ),
    (
        "save-restricted-bot",
        "WFS-config-refactor",
        9,
        "confirm",
        &["verify IMPL-1", "verify IMPL-2", "verify IMPL-3", "verify IMPL-4", "verify IMPL-5", "verify IMPL-6"],
    ),
    ("save-restricted-bot", "WFS-mobile-adaptation-complete", 0, "complete", &[]),
    ("niko-studio", "WFS-niko-complete-all-20260209", 9, "confirm", &["run IMPL-001"]),
    ("niko-studio", "WFS-phase-2-services-layer-migration-20260329", 0, "complete", &[]),
    ("triattention", "WFS-speckv-similarity-dedup", 0, "complete", &["archive IMPL-007"]),
];

#[test]
fn real_sessions_are_planned_as_a_person_would() {
    // A worktree of the repository lies one folder deeper.
    let places = ["../shared/real/ccw", "../../shared/real/ccw"].map(|place| repository().join(place));
    let Some(place) = places.into_iter().find(|place| place.is_dir()) else { return };
    for (project, session, code, verdict, expected) in REAL {
        let sandbox = Sandbox::new();
        Tree::of(&place.join(project)).write_to(&sandbox.root());
        let before = sandbox.tree();
        let plan = sandbox.piton(["plan", session, "--exit-code"]).run().expect_code(*code);
        assert_eq!(plan.at("/data/verdict"), *verdict, "{session}");
        assert_eq!(next(&plan), *expected, "{session}");
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{session}");
        sandbox.piton(["--format", "text", "plan", session, "--exit-code"]).run().expect_code(*code);
    }
}
