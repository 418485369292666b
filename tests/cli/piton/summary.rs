//! What is said of a run when it ends: on the terminal, in the JSON, and as a JUnit report.

use serde_json::json;

use super::support::Stage;
use crate::support::Sandbox;

const FLOW: &str = "name: nightly
steps:
- {id: build, title: 'Build <all> & \"more\"', shell: 'true'}
- {id: lint, shell: 'exit 1', on_failure: {shell: 'true', max_attempts: 0, fail_workflow: false}}
- {id: test, shell: 'echo boom >&2; test -e fixed', retry: {attempts: 2, initial_delay: 10ms}}
- {id: publish, shell: 'true'}
";

#[test]
fn the_end_of_a_run_has_each_step_with_its_time_and_attempts() {
    let stage = Stage::in_place(FLOW);
    let (output, id) = stage.run(&["--no-worktree"]);
    let failed = output.expect_code(7);
    let line = |start: &str| failed.stderr.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    assert!(line("   ✅ build Build <all> & \"more\" ").ends_with(" s"), "{failed}");
    assert!(line("   ⚠️  lint ").ends_with(" s, never passed"), "{failed}");
    assert!(line("   ❌ test ").ends_with(" s, 2 attempts"), "{failed}");
    assert!(!failed.stderr.contains("· publish"), "it did not begin: {failed}");
    let quiet = stage.piton(["-q", "resume", &id]).run().expect_code(7);
    assert!(!quiet.stderr.contains("   ✅ build"), "{quiet}");
    let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
    assert!(shown.at("/data/steps/0/seconds").is_u64(), "{shown}");
    assert_eq!(shown.at("/data/steps/3/seconds"), json!(null), "{shown}");
    let ended = stage.piton(["--format", "json", "resume", &id]).run().expect_code(7);
    let steps = ended.at("/data/steps");
    let of = |key: &str| steps.as_array().into_iter().flatten().map(|step| step[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("step"), ["build", "lint", "test"]);
    assert_eq!(of("status"), ["completed", "tolerated", "failed"]);
    assert_eq!(ended.at("/data/progress/tolerated"), json!(1), "{ended}");
}

#[test]
fn a_ci_service_gets_a_run_as_a_junit_report() {
    let stage = Stage::in_place(FLOW);
    let (output, id) = stage.run(&["--no-worktree"]);
    output.expect_code(7);
    let report = stage.piton(["show", &id, "--format", "junit"]).run().expect_code(0).stdout;
    assert!(report.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "), "{report}");
    assert!(report.contains("tests=\"4\" failures=\"1\" skipped=\"1\""), "{report}");
    assert!(report.contains("name=\"build: Build &lt;all&gt; &amp; &quot;more&quot;\""), "{report}");
    let case = |id: &str| {
        let start = report.find(&format!("name=\"{id}")).unwrap_or_else(|| panic!("no case {id}: {report}"));
        report[start..].split("</testcase>").next().unwrap_or_default().to_owned()
    };
    assert!(case("test").contains("<failure message=") && case("test").contains("exit code 1"), "{report}");
    assert!(case("publish").contains("<skipped message="), "{report}");
    let tolerated = case("lint");
    assert!(tolerated.contains("<property name=\"tolerated\" value=\"exit code 1\">"), "{report}");
    assert!(tolerated.contains("<system-out>never passed; ") && tolerated.contains(": exit code 1<"), "{report}");
    assert!(!tolerated.contains("<failure") && report.matches("\"tolerated\"").count() == 1, "{report}");
    assert!(!case("build").contains("<failure") && !case("build").contains("<skipped"), "{report}");
    assert!(is_well_formed(&report), "{report}");
    stage.sandbox.file("fixed", "");
    stage.resume(&id).expect_code(0);
    let report = stage.piton(["show", &id, "--format", "junit"]).run().expect_code(0).stdout;
    assert!(report.contains("tests=\"4\" failures=\"0\" skipped=\"0\""), "{report}");
}

#[test]
fn the_command_at_the_end_can_write_the_report() {
    let program = env!("CARGO_BIN_EXE_piton");
    let on_end = format!("on_end: '{program} show \"$PITON_RUN\" --format junit > LOG'\n");
    let stage = Stage::in_place(&format!("steps: [{{id: a, shell: 'true'}}]\n{on_end}"));
    stage.run(&["--no-worktree"]).0.expect_code(0);
    let report = std::fs::read_to_string(stage.log()).unwrap_or_default();
    assert!(report.contains("tests=\"1\" failures=\"0\""), "{report}");
}

#[test]
fn other_verbs_have_no_junit_report() {
    let refused = Sandbox::with_git().piton(["list", "--format", "junit"]).run().expect_code(2);
    assert!(refused.stdout.contains("--format junit is for `show`"), "{refused}");
}

/// Tells whether every element is closed in the order in which it was opened.
fn is_well_formed(xml: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for tag in xml.split('<').skip(2) {
        let Some((tag, text)) = tag.split_once('>') else { return false };
        if text.contains('&') && !["&amp;", "&lt;", "&gt;", "&quot;"].iter().any(|known| text.contains(known)) {
            return false;
        }
        match tag.strip_prefix('/') {
            Some(name) if open.pop() == Some(name) => {}
            Some(_) => return false,
            None => open.push(tag.split(' ').next().unwrap_or_default()),
        }
    }
    open.is_empty()
}

#[test]
fn the_end_of_a_run_counts_and_names_skipped_steps() {
    let stage = Stage::in_place(
        "steps:\n- {id: a, shell: 'true'}\n- {id: b, shell: 'false', when: 'false'}\n- {id: c, shell: 'false'}\n\
         - {id: d, shell: 'true', if_skipped: run}\n",
    );
    let ended = stage.run(&[]).0.expect_code(0);
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.starts_with("   ")).collect();
    assert_eq!(lines[1..3], ["   – b false skipped", "   – c false skipped"], "{ended}");
    assert!(ended.stderr.contains("is complete: 4/4 steps, 2 of them skipped"), "{ended}");
    let ended = stage.piton(["--format", "json", "run", "w.yml"]).run().expect_code(0);
    let steps = ended.at("/data/steps");
    let statuses: Vec<_> = steps.as_array().into_iter().flatten().map(|step| step["status"].clone()).collect();
    assert_eq!(statuses, ["completed", "skipped", "skipped", "completed"], "{ended}");
    assert_eq!(ended.at("/data/skipped"), json!(2), "{ended}");
}
