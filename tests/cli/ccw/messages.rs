//! The messages of CCW, verbatim, at the top of the text output (docs/formats/ccw.md#messages).

use serde_json::json;

use super::session::Session;
use crate::support::Sandbox;

/// Runs `plan` for a person and expects these lines in this order.
#[track_caller]
fn says(session: &Session, lines: &[&str]) {
    let text = session.call("--format text plan").run();
    let mut rest = text.stdout.as_str();
    for line in lines {
        let Some(at) = rest.find(line) else { panic!("`{line}` is not said\n{text}") };
        rest = &rest[at + line.len()..];
    }
}

#[test]
fn no_active_session() {
    let sandbox = Sandbox::new();
    sandbox.dir(".workflow/active");
    let text = sandbox.piton(["--format", "text", "plan"]).run().expect_code(3);
    let head = "❌ No active workflow session found\n";
    assert!(text.stderr.starts_with(head), "{text}");
    assert!(text.stderr.contains("→ Use: /workflow:session:start or /workflow:plan first\n"), "{text}");
    let json = sandbox.piton(["list"]).run().expect_code(3);
    assert_eq!(json.at("/error/message"), "No active workflow session found");
    sandbox.remove(".workflow");
    let other = sandbox.piton(["plan"]).run().expect_code(3);
    assert_eq!(other.at("/error/message"), "No interrupted workflow found.");
}

#[test]
fn corrupted_session_state() {
    let session = Session::new();
    session.file("workflow-session.json", "{").tasks(&[("IMPL-1", "pending", &[])]);
    says(
        &session,
        &[
            "⚠️ Session state corrupted or inconsistent",
            "→ Use: correct the file by hand, or rebuild it: `piton repair ./.workflow/active/WFS-x --from-evidence`",
            "workflow-session.json:1:1",
        ],
    );
}

#[test]
fn conflicts_in_the_dependency_chain() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &["IMPL-2"]), ("IMPL-2", "pending", &["IMPL-1"])]);
    says(
        &session,
        &[
            "❌ Task dependency chain has conflicts",
            "→ Use: `piton resume WFS-x --skip IMPL-1` to bypass blockers",
            "Verdict",
        ],
    );
    session.ok("resume --skip IMPL-1 --yes");
    session.tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "pending", &["IMPL-1.9"])]);
    says(&session, &["❌ Task IMPL-1.9 referenced but JSON file missing", "❌ Task dependency chain has conflicts"]);
}

#[test]
fn repeated_failures() {
    let session = Session::new();
    session.task("impl-1.2", &json!({"status": "pending"}));
    for error in ["tsc error 1", "tsc error 2", "tsc error 3"] {
        session.ok("begin impl-1.2");
        session.call("finish impl-1.2 --status failed --error").arguments([error]).run().expect_code(0);
    }
    says(
        &session,
        &[
            "❌ Task impl-1.2 failed 3 times\n→ Manual Review Required\n",
            "task_failure at impl-1.2: tsc error 3\n",
            "failed 3 times (attempt 1: tsc error 1; attempt 2: tsc error 2; attempt 3: tsc error 3)",
            "piton skip impl-1.2 --run WFS-x --reason TEXT   # leave the step out\n",
        ],
    );
    assert!(!session.call("--format text plan").run().stdout.contains("Same Step"), "another system's words");
    session.file(".summaries/impl-1.2-failure-analysis.md", "# Why");
    let analysis = ".workflow/active/WFS-x/.summaries/impl-1.2-failure-analysis.md";
    says(&session, &[&format!("→ Manual Review Required: Check {analysis}\n")]);
    session.ok("resume WFS-x --skip impl-1.2 --yes");
}

#[test]
fn an_agent_context_that_cannot_be_rebuilt() {
    let session = Session::new();
    session.file(".task/IMPL-1.json", "{").tasks(&[("IMPL-2", "pending", &["IMPL-1"]), ("IMPL-3", "pending", &[])]);
    says(&session, &["⚠️ Cannot rebuild agent context for IMPL-1", "run IMPL-3"]);
    session.tasks(&[("IMPL-3", "completed", &[])]);
    says(
        &session,
        &[
            "⚠️ Cannot rebuild agent context for IMPL-1",
            "❌ Critical dependency IMPL-1 failed validation",
            "→ Use: /workflow:plan to regenerate tasks or manual intervention required",
            "⚠️ All tasks completed or blocked",
        ],
    );
}

#[test]
fn a_valid_session_has_no_findings() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]).todo(&[("IMPL-1", ' ')]);
    insta::assert_snapshot!(session.call("--format text plan").run(), @r"
    code: 0
    ----- stdout -----
    Plan for Sign-in for users  ccw WFS-x
      Verdict      resume: go on
      Progress     0 of 1 steps
      Last change  3 hours ago (recent)

    Next
      run IMPL-1 Title of IMPL-1 — one of code-developer, universal-executor, attempt 1
          it depends on nothing

    → piton begin IMPL-1 --run WFS-x
    → piton context WFS-x --step IMPL-1
    → piton resume WFS-x   # continue
    ");
}
